"""Rubrics without judges over millions of texts, as columns of figures."""
