"""A reply that is heard while it is written: whoever listens gets each piece of text, and the Reply at the end.

Retries, limits, budgets and public names stand between whoever asks and the client; they pass a Reply on and know
nothing of pieces. So the listener is kept beside the call, as the budget of a request is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from rubrica.errors import JsonError
from rubrica.jsontext import decode_json

LONGEST_LINE = 1_000_000  # bytes of one event


class TextListener(Protocol):
    """Hears a reply as it comes. Where an attempt fails, the next one begins anew."""

    def begin(self) -> None: ...

    def receive(self, text: str) -> None: ...


def _ignore_text(_text: str, _anew: bool) -> None:
    pass


@dataclass(slots=True)
class Transcript:
    """Keeps a reply while it is written, and passes it on. `tell` hears a piece, and whether the reply begins anew."""

    tell: Callable[[str, bool], None] = _ignore_text
    has_text: bool = False
    _anew: bool = False
    _pieces: list[str] = field(default_factory=list)
    _longest: str = ""  # of the attempts before this one

    @property
    def longest_text(self) -> str:
        """What came of the attempt that came furthest."""
        return max(self._longest, "".join(self._pieces), key=len).strip()

    def begin(self) -> None:
        self._anew = self.has_text
        self._longest, self._pieces = self.longest_text, []

    def receive(self, text: str) -> None:
        self._pieces.append(text)
        self.tell(text, self._anew)
        self.has_text, self._anew = True, False


class StreamAssembly(Protocol):
    """Puts the events of one protocol together into the body that a whole answer would have had."""

    @property
    def ended(self) -> bool: ...  # the answer is complete

    def take(self, event: Mapping[str, Any]) -> str: ...  # the text that an event adds

    def body(self) -> dict[str, Any]: ...


_LISTENER: ContextVar[TextListener | None] = ContextVar("text_listener", default=None)


@contextmanager
def streaming_to(listener: TextListener) -> Iterator[None]:
    """Let the calls that are made inside be heard while they are answered, where the provider streams."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def current_listener() -> TextListener | None:
    """Who listens to the call under way."""
    return _LISTENER.get()


@dataclass(slots=True)
class EventLines:
    """The data of server-sent events, out of bytes that come in any pieces.

    >>> lines = EventLines()
    >>> list(lines.take(b'data: {"a"')), list(lines.take(b': 1}\\n\\ndata: [DONE]\\n'))
    ([], [{'a': 1}])
    """

    _rest: bytearray = field(default_factory=bytearray)

    def take(self, chunk: bytes) -> Iterator[Mapping[str, Any]]:
        self._rest += chunk
        while (end := self._rest.find(b"\n")) >= 0:
            line = bytes(self._rest[:end]).strip()
            del self._rest[: end + 1]
            if not line.startswith(b"data:"):
                continue
            try:
                found = decode_json(line.removeprefix(b"data:").strip())
            except JsonError:
                continue  # [DONE], or something that no protocol promises
            if isinstance(found, dict):
                yield found
        if len(self._rest) > LONGEST_LINE:
            self._rest.clear()
