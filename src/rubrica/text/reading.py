"""What a text feature is, and the texts it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rubrica.model.evidence import Field, Span

__all__ = ["Feature", "Field", "Span", "Texts"]


class Texts:
    """The texts of one context. Everything derived from them is computed at most once, and only when asked for."""

    __slots__ = ("asked", "derived", "history", "prompt", "response")

    def __init__(
        self, prompt: str = "", response: str = "", history: Sequence[str] = (), asked: Sequence[str] = ()
    ) -> None:
        self.prompt = prompt
        self.response = response
        self.history = history  # earlier replies of the same speaker, oldest first
        self.asked = asked  # what those replies answered
        self.derived: dict[object, object] = {}  # scratch space, keyed by the function that fills it

    def of(self, name: Field) -> str:
        """The text of one field."""
        match name:
            case "prompt":
                return self.prompt
            case "response":
                return self.response
            case "history":
                return "\n".join(self.history)


@dataclass(frozen=True, slots=True)
class Feature:
    """A number that can be read off the texts, by name, in any formula."""

    name: str
    says: str  # one line for the generated table: what it counts, its unit
    low: float
    high: float
    compute: Callable[[Texts], float]
    evidence: Callable[[Texts], Sequence[Span]] | None = None  # the stretches it counted, where there are any
