"""Several models answer, review each other by rubric, and a chair writes the answer."""
