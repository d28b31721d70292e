"""What a text feature is, and the texts it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from rubrica.model.evidence import Field, Span

__all__ = ["Feature", "Field", "Span", "Texts"]


@dataclass
class Texts:
    """The texts of one context. Everything derived from them is computed at most once, and only when asked for."""

    prompt: str = ""
    response: str = ""
    history: Sequence[str] = ()  # earlier replies of the same speaker, oldest first
    derived: dict[object, object] = field(default_factory=dict)  # scratch space, keyed by the function that fills it

    @cached_property
    def joined_history(self) -> str:
        return "\n".join(self.history)

    def of(self, name: Field) -> str:
        """The text of one field."""
        match name:
            case "prompt":
                return self.prompt
            case "response":
                return self.response
            case "history":
                return self.joined_history


@dataclass(frozen=True, slots=True)
class Feature:
    """A number that can be read off the texts, by name, in any formula."""

    name: str
    says: str  # one line for the generated table: what it counts, its unit
    low: float
    high: float
    compute: Callable[[Texts], float]
    evidence: Callable[[Texts], Sequence[Span]] | None = None  # the stretches it counted, where there are any
