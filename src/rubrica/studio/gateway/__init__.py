"""The gateway: its figures, and one request."""
