"""Texts in UTF-8, as patterns read them, and the way back: from places in bytes to places in the whole text."""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.truncation import Excerpt, judged_part

_SURROGATES = lazy_pattern("[\ud800-\udfff]")


class EncodedPart(msgspec.Struct, frozen=True):
    """What is read of a text: all of it, or its head and tail.

    >>> part = encoded_part("é" * 60 + "!" + "é" * 60, 100)
    >>> part.places([(0, 2), (95, 97)]), part.excerpt.note("prompt")
    ([(0, 1), (120, 121)], 'the prompt has 121 characters: the first 23 and the last 23 were read')
    """

    excerpt: Excerpt
    data: bytes  # in UTF-8

    def places(self, found: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Stretches of the bytes as stretches of the whole text, without those that touch what was left out."""
        part = self.excerpt
        if len(self.data) != len(part.text):
            found = in_characters(self.data, found)
        if not part.left_out:
            return found
        return [(part.position(start), part.position(end)) for start, end in found if not part.is_near_gap(start, end)]


class SearchClock:
    """The processor time that is left for looking for matches in one text."""

    __slots__ = ("_started", "left")

    def __init__(self, seconds: float) -> None:
        self.left = seconds
        self._started = 0.0

    def __enter__(self) -> None:
        self._started = thread_time()

    def __exit__(self, *_: object) -> None:
        self.left -= thread_time() - self._started


def encoded_part(text: str, limit: int) -> EncodedPart:
    """What is read of a text: `limit` bytes at most."""
    part = judged_part(text, limit)
    return EncodedPart(part, encoded(part.text))


def encoded(text: str) -> bytes:
    """UTF-8; half of a surrogate pair, which UTF-8 cannot hold, becomes U+FFFD and stays one character."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return without_surrogates(text).encode()


def without_surrogates(text: str) -> str:
    """The text with U+FFFD for each half of a surrogate pair."""
    return _SURROGATES.sub("\ufffd", text)


def in_characters(data: bytes, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Byte offsets as character offsets, in one walk over the text."""
    found: list[tuple[int, int]] = []
    at_byte = at_character = 0
    for start, end in spans:
        first = at_character + len(data[at_byte:start].decode("utf-8", "replace"))
        at_character = first + len(data[start:end].decode("utf-8", "replace"))
        at_byte = end
        found.append((first, at_character))
    return found
