"""Judged text with the evidence in it marked, shortened around the marks where it is long."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from .figures import count_of

Tone = Literal["plus", "minus", "note"]
Window = tuple[int, int]

LONGEST = 4_000
"""Characters of a text shown in full; a longer one is shortened."""
AROUND = 160
"""Characters kept on each side of a mark in a shortened text."""
LONGEST_MARK = 400
"""A longer mark in a shortened text shows its two ends."""
OPENING, CLOSING = 600, 200
SMALLEST_GAP = 60
TITLES_SHOWN = 6

_PICTURES = {code: 0x2400 + code for code in range(32) if code not in (9, 10, 13)} | {127: 0x2421}
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
_VISIBLE = _PICTURES | _SURROGATES


def visible(text: str) -> str:
    """The text with control characters drawn as their symbols, one for one, so that no browser drops or changes them.

    >>> visible("a\\x00b")
    'a␀b'
    """
    return text.translate(_VISIBLE)


@dataclass(frozen=True, slots=True)
class Highlight:
    """A stretch of a text that is evidence, and of what."""

    start: int
    end: int
    title: str
    tone: Tone = "note"


@dataclass(frozen=True, slots=True)
class TextRun:
    """A run of text under the same marks, or a note on what was left out."""

    text: str
    kind: Literal["plain", "mark", "gap"] = "plain"
    title: str = ""
    tone: Tone = "note"


def excerpt(text: str, marks: Iterable[Highlight], longest: int = LONGEST) -> list[TextRun]:
    """The text as pieces. Where marks overlap, the shared stretch is a piece of its own that names them all.

    >>> [(p.text, p.title) for p in excerpt("abcdef", [Highlight(1, 4, "one"), Highlight(3, 5, "two")])]
    [('a', ''), ('bc', 'one'), ('d', 'one; two'), ('e', 'two'), ('f', '')]
    """
    inside = (Highlight(max(mark.start, 0), min(mark.end, len(text)), mark.title, mark.tone) for mark in marks)
    kept = sorted({mark for mark in inside if mark.start < mark.end}, key=lambda m: (m.start, m.end, m.title, m.tone))
    if len(text) <= longest:
        return list(_cut(text, kept, 0, len(text)))
    pieces: list[TextRun] = []
    end = 0
    for start, stop in _windows(len(text), kept, longest):
        if start > end:
            pieces.append(_gap(kept, end, start))
        pieces += _cut(text, kept, start, stop)
        end = stop
    if end < len(text):
        pieces.append(_gap(kept, end, len(text)))
    return pieces


def _cut(text: str, marks: Sequence[Highlight], start: int, stop: int) -> Iterator[TextRun]:
    """The pieces of text[start:stop]."""
    here = [mark for mark in marks if mark.start < stop and mark.end > start]
    edges = {max(mark.start, start) for mark in here} | {min(mark.end, stop) for mark in here}
    places = sorted(edges | {start, stop})
    open_marks: list[Highlight] = []
    waiting = iter(here)
    coming = next(waiting, None)
    for low, high in pairwise(places):
        open_marks = [mark for mark in open_marks if mark.end > low]
        while coming is not None and coming.start <= low:
            open_marks.append(coming)
            coming = next(waiting, None)
        yield _piece(text[low:high], open_marks)


def _piece(text: str, marks: Sequence[Highlight]) -> TextRun:
    if not marks:
        return TextRun(text)
    titles = list(dict.fromkeys(mark.title for mark in marks))
    more = f"; and {len(titles) - TITLES_SHOWN} more" if len(titles) > TITLES_SHOWN else ""
    tones = {mark.tone for mark in marks}
    tone: Tone = "minus" if "minus" in tones else "plus" if "plus" in tones else "note"
    return TextRun(text, "mark", "; ".join(titles[:TITLES_SHOWN]) + more, tone)


def _windows(length: int, marks: Sequence[Highlight], longest: int) -> list[Window]:
    """What to keep of a long text: its opening, what surrounds the marks while there is room, its closing."""
    wanted = [(0, min(OPENING, longest)), (max(length - CLOSING, 0), length)]
    room = longest - sum(stop - start for start, stop in wanted)
    for mark in marks:
        for window in _around(mark, length):
            if room <= 0:
                break
            wanted.append(window)
            room -= window[1] - window[0]
    merged: list[Window] = []
    for start, stop in sorted(wanted):
        if merged and start - merged[-1][1] < SMALLEST_GAP:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _around(mark: Highlight, length: int) -> list[Window]:
    before, after = max(mark.start - AROUND, 0), min(mark.end + AROUND, length)
    if mark.end - mark.start <= LONGEST_MARK:
        return [(before, after)]
    half = LONGEST_MARK // 2
    return [(before, mark.start + half), (mark.end - half, after)]


def _gap(marks: Sequence[Highlight], start: int, stop: int) -> TextRun:
    first = bisect_right(marks, start - 1, key=lambda mark: mark.start)
    hidden = sum(mark.end <= stop for mark in marks[first : bisect_right(marks, stop, key=lambda mark: mark.start)])
    left_out = f"{stop - start:,} characters left out"
    return TextRun(f"{left_out}, with {count_of(hidden, 'marked place')}" if hidden else left_out, "gap")
