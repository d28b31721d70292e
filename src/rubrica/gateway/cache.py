"""The cache of answers: for equal requests, and, where configured, for very similar questions."""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from rubrica.lru_cache import LruCache

from .chat import Chat

T = TypeVar("T")
NOT_PART = ("stream", "stream_options", "user", "metadata", "store")
"""Keys of a request that do not change its answer."""

MOST_BYTES = 100_000_000
"""Of all answers that are kept, together."""

LARGEST_SHARE = 50
"""One answer may take the fiftieth part of that."""

COMPARED_CHARACTERS = 4_000
"""Of a question that is compared with others; a longer one is answered again only if all of it is equal."""

COMPARED_ENTRIES = 200
"""Earlier questions that one is compared with, the latest first: it takes some milliseconds."""

_WORD = re.compile(r"[^\W\d_]+|\d[\d.,]*")
_ENCODER = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True)
class CacheHit(Generic[T]):
    """A kept answer, how old it is in seconds, and how alike its question was, 0 to 1."""

    value: T
    age: float
    likeness: float = 1.0
    exact: bool = True  # whether the requests are equal


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    value: T
    at: float
    size: int  # bytes
    around: bytes | None = None  # digest of everything but the question; None: nothing is compared
    shape: QuestionShape | None = None


@dataclass(frozen=True, slots=True)
class QuestionShape:
    """A question as far as likeness goes: its words in order, its numbers, and its pieces of three letters."""

    numbers: tuple[str, ...]
    pieces: frozenset[str]
    negated: int


class AnswerCache(Generic[T]):
    """The latest answers, in memory. Keys hold the whole request and what it chose; texts are not kept, only digests.

    >>> cache = AnswerCache[str](entries=10, seconds=60)
    """

    def __init__(
        self,
        *,
        entries: int,
        seconds: float,
        alike_from: float | None = None,  # None: equal requests only
        most_bytes: int = MOST_BYTES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._entries = LruCache[bytes, _Entry[T]](entries, weight=lambda entry: entry.size, most_weight=most_bytes)
        self._seconds, self._alike_from, self._clock = seconds, alike_from, clock
        self._most_bytes = most_bytes

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, chat: Chat, chosen: str = "") -> CacheHit[T] | None:
        """An answer to this request; `chosen` is whatever else the answer depends on."""
        now = self._clock()
        key = _digest(chat.body, chosen)
        entry = self._entries.get(key)
        if entry is not None and now - entry.at <= self._seconds:
            return CacheHit(entry.value, now - entry.at)
        if self._alike_from is None or len(chat.question) > COMPARED_CHARACTERS:
            return None
        return self._nearest(chat, chosen, now, self._alike_from)

    def put(self, chat: Chat, value: T, chosen: str = "", *, size: int = 0) -> None:
        """Keep an answer of so many bytes. One that is too large for its share of the cache is not kept."""
        if size > self._most_bytes // LARGEST_SHARE:
            return
        entry = _Entry(value, self._clock(), size)
        if self._alike_from is not None and len(chat.question) <= COMPARED_CHARACTERS:
            entry = _Entry(value, self._clock(), size, _around(chat, chosen), question_shape(chat.question))
        self._entries.put(_digest(chat.body, chosen), entry)

    def _nearest(self, chat: Chat, chosen: str, now: float, alike_from: float) -> CacheHit[T] | None:
        around, wanted = _around(chat, chosen), question_shape(chat.question)
        best: CacheHit[T] | None = None
        compared = 0
        for entry in self._entries.latest():
            if entry.shape is None or entry.around != around or now - entry.at > self._seconds:
                continue
            found = likeness(wanted, entry.shape)
            if found >= alike_from and (best is None or found > best.likeness):
                best = CacheHit(entry.value, now - entry.at, found, exact=False)
            compared += 1
            if compared == COMPARED_ENTRIES:
                break
        return best


def question_shape(question: str) -> QuestionShape:
    """A question reduced to what likeness looks at."""
    words = [word.casefold() for word in _WORD.findall(question)]
    numbers = tuple(word.strip(".,") for word in words if word[0].isdigit())
    text = f" {' '.join(words)} "
    pieces = frozenset(text[place : place + 3] for place in range(len(text) - 2))
    return QuestionShape(numbers, pieces, sum(word in _NEGATIONS for word in words))


_NEGATIONS = frozenset({"not", "no", "never", "without", "non", "nicht", "kein", "keine", "ne", "pas", "sin", "не"})


def likeness(one: QuestionShape, other: QuestionShape) -> float:
    """How alike two questions are, 0 to 1: the share of three-letter pieces they have in common.

    Another number or another negation makes another question.

    >>> likeness(question_shape("What is the capital of France?"), question_shape("what is the  capital of france"))
    1.0
    >>> likeness(question_shape("What is 2 + 2?"), question_shape("What is 2 + 3?"))
    0.0
    """
    if one.numbers != other.numbers or one.negated != other.negated:
        return 0.0
    together = len(one.pieces | other.pieces)
    return len(one.pieces & other.pieces) / together if together else 0.0


def _digest(body: Mapping[str, Any], chosen: str) -> bytes:
    content = {key: value for key, value in body.items() if key not in NOT_PART}
    return hashlib.sha256(_ENCODER.encode((content, chosen))).digest()


def _around(chat: Chat, chosen: str) -> bytes:
    """Everything about a request but the words of its last question."""
    turns = list(chat.turns)
    last = max((place for place, turn in enumerate(turns) if turn.role == "user"), default=0)
    others = [(turn.role, turn.text) for place, turn in enumerate(turns) if place != last]
    content = {key: value for key, value in chat.body.items() if key not in (*NOT_PART, "messages")}
    return hashlib.sha256(_ENCODER.encode((content, others, chat.images, chosen))).digest()
