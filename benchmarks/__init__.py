"""Benchmarks: one command, one table, ratios against a floor measured in the same run."""
