"""Batches of evaluations: reading cases, resuming, figures, comparison with earlier runs."""
