"""HTML reports, charts, and the readable page of a rubric."""
