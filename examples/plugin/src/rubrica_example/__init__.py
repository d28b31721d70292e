"""What this package adds to Rubrica; `pyproject.toml` makes it known."""
