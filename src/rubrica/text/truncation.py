"""Long texts, judged by their head and tail: what code reads of one text is bounded, and the bound is told."""

from __future__ import annotations

from dataclasses import dataclass

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
