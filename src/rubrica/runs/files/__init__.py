"""The files of a run: cases in, evaluations and figures out, nothing lost."""
