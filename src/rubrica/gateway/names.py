"""What clients are told a model is called."""

from rubrica.llm.public import public_name, public_names

__all__ = ["public_name", "public_names"]
