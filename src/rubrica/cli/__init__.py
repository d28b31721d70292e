"""The ``rubrica`` command: one module per command, and the tables and options that they share."""
