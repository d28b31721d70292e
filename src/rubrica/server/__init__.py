"""The REST service: FastAPI routes over the workspace and the games, and what stands around every request."""
