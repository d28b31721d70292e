"""People score a sample of a run, and the judges are compared with them."""
