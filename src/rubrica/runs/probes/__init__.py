"""What a model could gain by writing for a rubric rather than for its reader."""
