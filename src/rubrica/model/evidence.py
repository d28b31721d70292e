"""Stretches of judged text that explain a score."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, Protocol, cast

import msgspec

Field = Literal["prompt", "response", "history"]

LONGEST_QUOTE = 200
"""Characters of judged text kept in one Span, so that evidence stays small however long the match."""


class Span(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A stretch of one field that is evidence for a score: ``text[start:end]``, in characters."""

    field: Field
    start: int
    end: int
    text: str  # at most LONGEST_QUOTE characters
    label: str = ""  # what it is evidence of


class SpanFinder(Protocol):
    """Knows where in a text the evidence for one thing lies."""

    def spans_in(self, text: str) -> tuple[Span, ...]: ...


class SpansOnDemand(Sequence[Span]):
    """The tuple of spans that a finder finds in a text, looked for when it is first read.

    That a pattern occurs is known before where; most evaluations are counted and never looked into. It reads and
    compares like the tuple; stored, copied or pickled it is that tuple.
    """

    __slots__ = ("_finder", "_found", "_text")

    def __init__(self, finder: SpanFinder, text: str) -> None:
        self._finder = finder
        self._text = text
        self._found: tuple[Span, ...] | None = None

    @property
    def found(self) -> tuple[Span, ...]:
        """The spans."""
        if self._found is None:
            self._found = self._finder.spans_in(self._text)
        return self._found

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Span]:
        return iter(self.found)

    def __getitem__(self, index: Any) -> Any:
        return self.found[index]

    def __eq__(self, other: object) -> bool:
        return self.found == (other.found if isinstance(other, SpansOnDemand) else other)

    def __hash__(self) -> int:
        return hash(self.found)

    def __repr__(self) -> str:
        return repr(self.found)

    def __reduce__(self) -> tuple[type, tuple[tuple[Span, ...]]]:
        return tuple, (self.found,)


spans_on_demand = cast("Callable[[SpanFinder, str], tuple[Span, ...]]", SpansOnDemand)
"""Makes SpansOnDemand, typed as the tuple it stands for: that is what a stored result is read back with."""
