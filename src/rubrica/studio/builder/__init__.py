"""The builder: a rubric written by form or as a document, tried on a sample, and saved."""
