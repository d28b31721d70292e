"""The rubrics one can see: the list, one rubric, its versions."""
