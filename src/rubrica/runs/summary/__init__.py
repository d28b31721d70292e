"""A run summed up: figures, pages, annotations, JUnit."""
