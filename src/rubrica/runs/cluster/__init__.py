"""Runs on the nodes of a Ray cluster: only who judges differs, the folder and all that is kept stay with the driver."""
