"""Kept scores: a list of them, and a page for each."""
