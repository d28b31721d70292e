"""Long texts, read by their head and tail where all of it would take too long: the bound is told.

The cost of a pattern is bounded by its steps for each byte (`text.pattern_cost`) times the bytes it reads, so the bound
for texts is in bytes of UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

JUDGED_BYTES = 40_000
"""Bytes of one text, in UTF-8, that features read, and every pattern at least; of a longer one, its head and tail."""
CHARACTER_BYTES = 4
"""Of one character in UTF-8, at most."""
SHORT = JUDGED_BYTES // CHARACTER_BYTES
"""Characters of a text that is within the bound whatever it is written in."""

GAP = "\n…\n"
"""What stands in an excerpt for the part that was left out."""


class Excerpt(msgspec.Struct, frozen=True):
    """The head and the tail of a text, or the whole text where it is short enough.

    >>> part = excerpt("The beginning of a long text, and its end.", 21)
    >>> part.text, part.left_out, part.note("response")
    ('The begin\\n…\\n its end.', 24, 'the response has 42 characters: the first 9 and the last 9 were read')
    """

    text: str  # what is kept, with GAP between head and tail
    left_out: int = 0  # characters of the whole text that are not kept
    head: int = 0  # characters kept from the beginning, where something was left out

    @property
    def tail(self) -> int:
        """Characters kept from the end, where something was left out."""
        return len(self.text) - self.head - len(GAP) if self.left_out else 0

    @property
    def read(self) -> int:
        """Characters of the whole text that are kept."""
        return self.head + self.tail if self.left_out else len(self.text)

    def is_near_gap(self, start: int, end: int) -> bool:
        """Whether a stretch of the excerpt touches what was left out: in the whole text it may not be there.

        >>> part = excerpt("a word cut in two", 11)
        >>> part.text, part.is_near_gap(2, 4), part.is_near_gap(0, 3)
        ('a wo\\n…\\n two', True, False)
        """
        return bool(self.left_out) and end >= self.head and start <= self.head + len(GAP)

    def position(self, at: int) -> int:
        """Where a position in the excerpt lies in the whole text.

        >>> excerpt("0123456789", 7).position(5), "0123456789"[8:]
        (8, '89')
        """
        if not self.left_out or at <= self.head:
            return at
        return max(self.head, at - len(GAP) + self.left_out)

    def note(self, name: str) -> str:
        """What was read of the text of this name; nothing where all of it was.

        >>> excerpt("short", 100).note("prompt")
        ''
        """
        if not self.left_out:
            return ""
        total = self.read + self.left_out
        return f"the {name} has {total:,} characters: the first {self.head:,} and the last {self.tail:,} were read"


def excerpt(text: str, limit: int) -> Excerpt:
    """At most `limit` characters of a text: all of it, or as much of its head as of its tail.

    >>> excerpt("abc", 3)
    Excerpt(text='abc', left_out=0, head=0)
    """
    if len(text) <= limit:
        return Excerpt(text)
    if limit <= len(GAP):
        raise ValueError(f"an excerpt has more than {len(GAP)} characters, got a limit of {limit}")
    tail = (limit - len(GAP)) // 2
    head = limit - len(GAP) - tail
    kept = f"{text[:head]}{GAP}{text[len(text) - tail :]}"
    return Excerpt(kept, len(text) - head - tail, head)


def judged_part(text: str, limit: int = JUDGED_BYTES) -> Excerpt:
    """What is read of a text: `limit` bytes of UTF-8 at most.

    >>> part = judged_part("é" * 30_000)
    >>> len(part.text.encode()), part.left_out
    (39997, 10004)
    """
    if len(text) * CHARACTER_BYTES <= limit or (len(text) <= limit and text.isascii()):
        return Excerpt(text)
    if text.isascii():
        return excerpt(text, limit - _size(GAP) + len(GAP))
    if len(text) <= limit and _size(text) <= limit:
        return Excerpt(text)
    half = (limit - _size(GAP)) // 2
    head = len(_encoded(text[:half])[:half].decode(errors="ignore"))
    tail = len(_encoded(text[-half:])[-half:].decode(errors="ignore"))
    return Excerpt(f"{text[:head]}{GAP}{text[len(text) - tail :]}", len(text) - head - tail, head)


class RecentTexts(msgspec.Struct, frozen=True):
    """The last of several texts: earlier ones are empty where all together are too long."""

    texts: Sequence[str]
    left_out: int = 0  # characters of the beginning that are not kept
    emptied: int = 0  # texts that are empty now

    def position(self, at: int) -> int:
        """Where a position in the texts that are kept, one a line, lies in all of them, one a line."""
        return at + self.left_out if at >= self.emptied else at

    def note(self, name: str) -> str:
        """What was read of the texts of this name; nothing where all of it was."""
        if not self.left_out:
            return ""
        kept = sum(map(len, self.texts))
        return f"the {name} has {kept + self.left_out:,} characters: the last {kept:,} were read"


def recent_part(texts: Sequence[str]) -> RecentTexts:
    """What features and patterns read of earlier texts, oldest first: the last `JUDGED_BYTES` of UTF-8 together.

    >>> recent_part(["a" * 50_000, "b" * 39_998, "c"]).texts[0]
    'a'
    """
    if sum(map(len, texts)) <= SHORT:
        return RecentTexts(texts)
    kept: list[str] = []
    room = JUDGED_BYTES
    for text in reversed(texts):
        part = text[-room:] if room else ""
        data = _encoded(part)
        if len(data) > room:
            part = part[-len(data[-room:].decode(errors="ignore")) :]
        kept.append(part)
        room = room - len(data) if part == text else 0
    kept.reverse()
    left_out = sum(map(len, texts)) - sum(map(len, kept))
    if not left_out:
        return RecentTexts(texts)
    emptied = next((number for number, part in enumerate(kept) if part), len(kept))
    return RecentTexts(tuple(kept), left_out, emptied)


def _size(text: str) -> int:
    return len(_encoded(text))


def _encoded(text: str) -> bytes:
    """UTF-8, one character for each, whatever the text."""
    return text.encode(errors="replace")
