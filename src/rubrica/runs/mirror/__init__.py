"""Runs in object stores: a folder of this machine, and what of it is committed to the store."""
