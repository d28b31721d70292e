"""From a rubric document to an evaluation: load, check, compile, evaluate, rejudge."""
