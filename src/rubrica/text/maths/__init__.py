"""Sums, equations and amounts in a text: read, worked out exactly, and held against what the text says of them."""
