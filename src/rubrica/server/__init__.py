"""The REST service: FastAPI routes over the arena, and what stands around every request."""
