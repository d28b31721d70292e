"""Two runs compared, baselines, trends."""
