"""What the builder knows about a rubric that is being written; its pages only draw it."""
