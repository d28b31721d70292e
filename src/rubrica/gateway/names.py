"""What clients are told a model is called."""

from rubrica.llm.public import public_name

__all__ = ["public_name"]
