"""Two runs compared, baselines, trends."""

from pathlib import Path

DEFAULT_FILE = Path(".rubrica/baselines.json")
"""Where a project keeps its baselines."""
