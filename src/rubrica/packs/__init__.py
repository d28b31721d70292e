"""The bundled rubrics, each in a folder with its examples, and how they are found by name."""
