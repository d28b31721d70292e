"""What a text feature is, and the texts it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from rubrica.model.evidence import Field, Span
from rubrica.text.truncation import SHORT, Excerpt, RecentTexts, judged_part, recent_part

__all__ = ["Feature", "Field", "Span", "Texts"]


class Texts:
    """The texts of one context, as far as they are read: of a long text, its head and tail.

    Everything derived from them is computed at most once, and only when asked for.

    >>> texts = Texts(response="word " * 20_000)
    >>> len(texts.response), texts.notes
    (39998, ('the response has 100,000 characters: the first 19,998 and the last 19,997 were read',))
    """

    __slots__ = ("asked", "derived", "history", "parts", "prompt", "response", "whole_prompt", "whole_response")

    def __init__(
        self, prompt: str = "", response: str = "", history: Sequence[str] = (), asked: Sequence[str] = ()
    ) -> None:
        self.whole_prompt, self.whole_response = prompt, response
        self.parts: dict[Field, Excerpt | RecentTexts] = {}  # of the texts that are too long to be read in full
        if len(prompt) > SHORT:
            prompt = self._part("prompt", prompt)
        if len(response) > SHORT:
            response = self._part("response", response)
        if history:
            recent = recent_part(history)
            history = recent.texts
            if recent.left_out:
                self.parts["history"] = recent
        self.prompt = prompt
        self.response = response
        self.history = history  # earlier replies of the same speaker, oldest first
        self.asked = recent_part(asked).texts if asked else asked  # what those replies answered
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

    def whole(self, name: Field) -> str:
        """The whole text of one field, however long; of earlier texts, as much as is read."""
        return self.whole_response if name == "response" else self.whole_prompt if name == "prompt" else self.of(name)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which texts were not read in full, and what was read of them."""
        return tuple(part.note(name) for name, part in self.parts.items())

    def in_whole(self, spans: Sequence[Span]) -> tuple[Span, ...]:
        """Stretches of what was read, as stretches of the whole texts."""
        if not self.parts:
            return tuple(spans)
        return tuple(self._in_whole(span) for span in spans)

    def _in_whole(self, span: Span) -> Span:
        part = self.parts.get(span.field)
        if part is None:
            return span
        return Span(span.field, part.position(span.start), part.position(span.end), span.text, span.label)

    def _part(self, name: Field, text: str) -> str:
        part = judged_part(text)
        if part.left_out:
            self.parts[name] = part
        return part.text


class Feature(msgspec.Struct, frozen=True):
    """A number that can be read off the texts, by name, in any formula.

    Most are estimates where a text is long: they read its head and tail. A feature with `unread` looks for something
    in whole texts, and its evidence lies in them; where it could not look everywhere, its value is the least it can be.
    """

    name: str
    says: str  # one line for the generated table: what it counts, its unit
    low: float
    high: float
    compute: Callable[[Texts], float]
    evidence: Callable[[Texts], Sequence[Span]] | None = None  # the stretches it counted, where there are any
    unread: Callable[[Texts], int] | None = None  # characters that it should have looked at, and did not
