"""Rubrics in the studio: the list, one rubric, its versions."""
