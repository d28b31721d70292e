"""Judges: prompts, replies, panels of several judges, calibration."""
