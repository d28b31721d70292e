"""The learned gate: predicts whether tier-0's answer will do, and what to do about it within a limit of quality."""
