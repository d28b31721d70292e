"""The sandbox: a rubric tried on whatever is typed."""
