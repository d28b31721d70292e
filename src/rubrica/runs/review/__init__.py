"""People score a sample of a run, and judges are held against them."""
