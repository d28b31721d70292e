"""The cache of answers: for equal requests, and, where configured, for the same question in other dress."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from rubrica.lru_cache import LruCache

from .chat import Chat
from .question_form import question_form

T = TypeVar("T")
NOT_PART = ("stream", "stream_options", "user", "metadata", "store")
"""Keys of a request that do not change its answer."""

MOST_BYTES = 100_000_000
"""Of all answers that are kept, together."""

LARGEST_SHARE = 50
"""One answer may take the fiftieth part of that."""

_ENCODER = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True)
class CacheHit(Generic[T]):
    """A kept answer, and how old it is in seconds."""

    value: T
    age: float
    exact: bool = True  # whether the requests are equal, and not only their questions the same


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    value: T
    at: float
    size: int  # bytes


class AnswerCache(Generic[T]):
    """The latest answers, in memory. Keys hold the whole request and what it chose; texts are not kept, only digests.

    >>> cache = AnswerCache[str](entries=10, seconds=60)
    """

    def __init__(
        self,
        *,
        entries: int,
        seconds: float,
        forms: bool = False,  # also find the same question in other dress
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entries = LruCache[bytes, _Entry[T]](entries, weight=lambda entry: entry.size, most_weight=most_bytes)
        self._by_form = LruCache[bytes, bytes](entries) if forms else None  # to the keys of entries
        self._seconds, self._clock, self._most_bytes = seconds, clock, most_bytes

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, chat: Chat, chosen: str = "") -> CacheHit[T] | None:
        """An answer to this request; `chosen` is whatever else the answer depends on."""
        hit = self._find(request_digest(chat, chosen), exact=True)
        if hit is not None or self._by_form is None or (form := form_digest(chat, chosen)) is None:
            return hit
        key = self._by_form.get(form)
        return None if key is None else self._find(key, exact=False)

    def put(self, chat: Chat, value: T, chosen: str = "", *, size: int = 0, age: float = 0.0) -> None:
        """Keep an answer of so many bytes and seconds. One that is too large for its share is not kept."""
        if size > self._most_bytes // LARGEST_SHARE:
            return
        key = request_digest(chat, chosen)
        self._entries.put(key, _Entry(value, self._clock() - age, size))
        if self._by_form is not None and (form := form_digest(chat, chosen)) is not None:
            self._by_form.put(form, key)

    def _find(self, key: bytes, *, exact: bool) -> CacheHit[T] | None:
        entry, now = self._entries.get(key), self._clock()
        return None if entry is None or now - entry.at > self._seconds else CacheHit(entry.value, now - entry.at, exact)


def request_digest(chat: Chat, chosen: str) -> bytes:
    """All of a request that its answer depends on."""
    content = {key: value for key, value in chat.body.items() if key not in NOT_PART}
    return hashlib.sha256(_ENCODER.encode((content, chosen))).digest()


def form_digest(chat: Chat, chosen: str) -> bytes | None:
    """The same with its last question in the form that the same questions share; None: it has no such form."""
    form = question_form(chat.question)
    if form is None:
        return None
    turns = list(chat.turns)
    last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=0)
    others = [(turn.role, turn.text) for place, turn in enumerate(turns) if place != last]
    content = {key: value for key, value in chat.body.items() if key not in (*NOT_PART, "messages")}
    return hashlib.sha256(_ENCODER.encode((content, others, chat.images, chosen, form))).digest()
