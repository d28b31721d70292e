"""Long texts, judged by their head and tail: what code reads of one text is bounded, and the bound is told.

The cost of a pattern is bounded by its steps for each byte (`text.pattern_cost`) times the bytes it reads, so the bound
for texts is in bytes of UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

JUDGED_BYTES = 40_000
"""Bytes of one text, in UTF-8, that features and patterns read; of a longer one they read head and tail."""
SHORT = JUDGED_BYTES // 4
"""Characters of a text that is within the bound whatever it is written in."""

GAP = "\n…\n"
"""What stands in an excerpt for the part that was left out."""


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The head and the tail of a text, or the whole text where it is short enough.

    >>> part = excerpt("The beginning of a long text, and its end.", 21)
    >>> part.text, part.left_out, part.note("response")
    ('The begin\\n…\\n its end.', 24, 'the response has 42 characters: the first 9 and the last 9 were read')
    """

    text: str  # what is kept, with GAP between head and tail
    left_out: int = 0  # characters of the whole text that are not kept
    head: int = 0  # characters kept from the beginning, where something was left out

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
        tail = len(self.text) - self.head - len(GAP)
        total = self.head + self.left_out + tail
        return f"the {name} has {total:,} characters: the first {self.head:,} and the last {tail:,} were read"


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


def judged_part(text: str) -> Excerpt:
    """What features and patterns read of a text: `JUDGED_BYTES` of UTF-8 at most.

    >>> part = judged_part("é" * 30_000)
    >>> len(part.text.encode()), part.left_out
    (39997, 10004)
    """
    if len(text) <= SHORT or (text.isascii() and len(text) <= JUDGED_BYTES):
        return Excerpt(text)
    if text.isascii():
        return excerpt(text, JUDGED_BYTES - _size(GAP) + len(GAP))
    if len(text) <= JUDGED_BYTES and _size(text) <= JUDGED_BYTES:
        return Excerpt(text)
    half = (JUDGED_BYTES - _size(GAP)) // 2
    head = len(_encoded(text[:half])[:half].decode(errors="ignore"))
    tail = len(_encoded(text[-half:])[-half:].decode(errors="ignore"))
    return Excerpt(f"{text[:head]}{GAP}{text[len(text) - tail :]}", len(text) - head - tail, head)


@dataclass(frozen=True, slots=True)
class RecentTexts:
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
