"""Runs: batches of evaluations in a folder, resumed, summed up, compared and reviewed."""
