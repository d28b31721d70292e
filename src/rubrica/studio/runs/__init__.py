"""Runs: the list, one run, a case, comparison, baselines, and starting one."""
