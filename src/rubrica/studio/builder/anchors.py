"""Anchors as rows of a form, and how far they cover their scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from rubrica.model.scale import Scale, anchor_gaps, read_anchors

Kind = Literal["anchor", "gap", "overlap"]
OPEN = "?"
"""Stands in a range for an end that is not written yet."""


@dataclass(frozen=True, slots=True)
class AnchorRow:
    """One anchor as it is typed; an end may be missing."""

    low: float | None
    high: float | None
    text: str = ""


@dataclass(frozen=True, slots=True)
class ScaleStretch:
    """A piece of the scale: what covers it, and where it is drawn, in percent."""

    kind: Kind
    label: str
    left: float
    width: float


@dataclass(frozen=True, slots=True)
class Coverage:
    """The scale from its lowest value to its highest, piece by piece, and what is wrong in words."""

    stretches: tuple[ScaleStretch, ...]
    problems: tuple[str, ...]


def rows_of(anchors: Any) -> list[AnchorRow]:
    """The rows of a document's anchors, from the best range to the worst as far as they can be read.

    >>> rows_of({"1-4": "weak", "5-10": "fine"})
    [AnchorRow(low=5.0, high=10.0, text='fine'), AnchorRow(low=1.0, high=4.0, text='weak')]
    """
    rows = []
    for key, text in anchors.items() if isinstance(anchors, Mapping) else ():
        try:
            found = read_anchors({str(key): ""})[0]
            rows.append(AnchorRow(found.low, found.high, str(text)))
        except ValueError:
            low, _, high = str(key).strip().partition("-")
            rows.append(AnchorRow(_number(low), _number(high), str(text)))
    return sorted(rows, key=lambda row: row.low if row.low is not None else float("-inf"), reverse=True)


def anchors_of(rows: Sequence[AnchorRow]) -> dict[str, str]:
    """Rows as a document has them. Rows of the same range stay apart, by a space, so that no text is lost.

    >>> anchors_of([AnchorRow(5, 6, "one"), AnchorRow(5, 6, "two"), AnchorRow(7.5, None, "three")])
    {'5-6': 'one', '5-6 ': 'two', '7.5-?': 'three'}
    """
    anchors: dict[str, str] = {}
    for row in rows:
        key = (
            f"{_format_end(row.low)}-{_format_end(row.high)}"
            if row.low != row.high or row.low is None
            else f"{row.low:g}"
        )
        while key in anchors:
            key += " "
        anchors[key] = row.text
    return anchors


def spread(scale: Scale, count: int = 4) -> list[AnchorRow]:
    """Rows without text that cover a scale evenly, the best first.

    >>> [(row.low, row.high) for row in spread(Scale(min=1, max=10))]
    [(9.0, 10.0), (7.0, 8.0), (4.0, 6.0), (1.0, 3.0)]
    >>> [(row.low, row.high) for row in spread(Scale(), 2)]
    [(0.5, 1.0), (0.0, 0.5)]
    """
    low, high = scale.ends
    cells = high - low + 1
    if low.is_integer() and high.is_integer() and cells > count:
        sizes = [int(cells) // count + (index < int(cells) % count) for index in range(count)]
        rows, start = [], low
        for size in sizes:
            rows.append(AnchorRow(start, start + size - 1))
            start += size
        return rows[::-1]
    ends = [round(low + (high - low) * index / count, 4) for index in range(count + 1)]
    return [AnchorRow(below, above) for below, above in pairwise(ends)][::-1]


def coverage(rows: Sequence[AnchorRow], scale: Scale) -> Coverage:
    """Which pieces of a scale the rows cover: once, not at all, or twice.

    >>> found = coverage([AnchorRow(0, 4), AnchorRow(7, 10)], Scale(min=0, max=10))
    >>> [(piece.kind, piece.label) for piece in found.stretches], found.problems
    ([('anchor', '0–4'), ('gap', '5–6'), ('anchor', '7–10')], ('nothing covers the values between 4 and 7',))
    """
    whole = [(row.low, row.high) for row in rows if row.low is not None and row.high is not None]
    ranges = [(low, high) for low, high in whole if low <= high]
    problems = (
        list(
            anchor_gaps(read_anchors({f"{low} - {high}" + " " * i: "" for i, (low, high) in enumerate(ranges)}), scale)
        )
        if ranges
        else []
    )
    if len(ranges) < len(rows):
        problems.append("a range lacks an end, or runs backwards")
    counted = all(float(end).is_integer() for pair in (*ranges, scale.ends) for end in pair)
    unit = 1.0 if counted else 0.0  # on whole numbers a range fills its last number, too
    bottom, top = scale.min, scale.max + unit
    spans = [(max(low, bottom), min(high + unit, top)) for low, high in ranges]
    cuts = sorted({bottom, top, *(end for span in spans for end in span if bottom < end < top)})
    pieces: list[tuple[tuple[int, ...], float, float]] = []
    for start, end in pairwise(cuts):
        middle = (start + end) / 2
        over = tuple(index for index, (low, high) in enumerate(spans) if low < middle < high)
        if pieces and pieces[-1][0] == over:
            pieces[-1] = (over, pieces[-1][1], end)
        else:
            pieces.append((over, start, end))
    kinds: dict[int, Kind] = {0: "gap", 1: "anchor"}
    return Coverage(
        tuple(
            ScaleStretch(
                kinds.get(len(over), "overlap"),
                f"{start:g}" if end - unit == start else f"{start:g}–{end - unit:g}",
                round(100 * (start - bottom) / (top - bottom), 3),
                round(100 * (end - start) / (top - bottom), 3),
            )
            for over, start, end in pieces
        ),
        tuple(problems),
    )


def _format_end(end: float | None) -> str:
    return OPEN if end is None else f"{end:g}"


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
