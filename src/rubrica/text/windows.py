"""Long texts a window at a time: a quick screen of every window, and a close look only where it finds something."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import msgspec

from rubrica.text.truncation import JUDGED_BYTES

LONG = JUDGED_BYTES
"""Characters of a text that is looked at closely as a whole."""
MOST_SCREENED = 4_000_000
"""Characters of a text that is screened; of a longer one, as many of its head and of its tail."""

Item = TypeVar("Item")


class WindowedFindings(msgspec.Struct, Generic[Item], frozen=True):
    """What was found in a text, in order, and how much of it nobody looked at."""

    found: tuple[Item, ...]
    unread: int = 0  # characters


class TextWindow(msgspec.Struct, frozen=True):
    """A stretch of a text. What begins in it is its own; what stands around it is there to be understood."""

    start: int
    end: int
    low: int  # with its surroundings
    high: int

    def owns(self, place: int) -> bool:
        """Whether what begins at a place of its surroundings begins in the window."""
        return self.start <= self.low + place < self.end


def windows_of(text: str, size: int, margin: int) -> Iterator[TextWindow]:
    """The windows of a text that is screened, which cover it without overlap, from both of its ends towards the middle.

    >>> [(window.start, window.end, window.low, window.high) for window in windows_of("0123456789", 4, 1)]
    [(0, 4, 0, 5), (8, 10, 7, 10), (4, 8, 3, 9)]
    """
    total, half = len(text), MOST_SCREENED // 2
    stretches = [(0, total)] if total <= MOST_SCREENED else [(0, half), (total - half, total)]
    windows = [
        TextWindow(start, min(start + size, last), max(0, start - margin), min(total, min(start + size, last) + margin))
        for first, last in stretches
        for start in range(first, last, size)
    ]
    for number in range(len(windows)):
        yield windows[number // 2 if number % 2 == 0 else -(number // 2) - 1]


def unscreened(text: str) -> int:
    """Characters of a text that no window covers."""
    return max(0, len(text) - MOST_SCREENED)
