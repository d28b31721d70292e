"""Bands as rows of a form: a name and where it begins, in percent of full marks, and how far they cover the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from rubrica.errors import Problem

from .anchors import Coverage, Kind, ScaleStretch
from .document import Data, mapping_at

PLACES = 4
"""Decimals of a share; a percent has two fewer."""


@dataclass(frozen=True, slots=True)
class Band:
    """One band as it is typed; where it begins may be missing."""

    name: str
    start: float | None = None  # percent of full marks


USUAL = (
    Band("excellent", 90),
    Band("good", 70),
    Band("acceptable", 50),
    Band("poor", 30),
    Band("unacceptable", 0),
)
"""Five bands to begin with."""


def rows_of(bands: Any) -> list[Band]:
    """The rows of a document's bands, the best first; one that does not say where it begins comes last.

    >>> rows_of({"poor": 0, "good": 0.7})
    [Band(name='good', start=70), Band(name='poor', start=0)]
    """
    return sort_bands([Band(name.strip(), _percent(share)) for name, share in mapping_at({"": bands}, ("",)).items()])


def bands_of(rows: Sequence[Band]) -> dict[str, Any]:
    """Rows as a document has them, the best first. Rows of the same name stay apart, by a space, so that none is lost.

    >>> bands_of([Band("poor", 0), Band("good", 72.5), Band("good")])
    {'good': 0.725, 'poor': 0.0, 'good ': None}
    """
    bands: dict[str, Any] = {}
    for row in sort_bands(rows):
        key = row.name.strip()
        while key in bands:
            key += " "
        bands[key] = None if row.start is None else round(row.start / 100, PLACES)
    return bands


def sort_bands(rows: Sequence[Band]) -> list[Band]:
    """The rows from the best to the worst."""
    return sorted(rows, key=rank, reverse=True)


def rank(row: Band) -> float:
    """What rows are ordered by; one that does not say where it begins comes last."""
    return float("-inf") if row.start is None else row.start


def new_band(rows: Sequence[Band]) -> Band:
    """A further row: at the bottom where nothing covers that, else above all the others.

    >>> new_band([Band("good", 70)]), new_band([Band("good", 70), Band("poor", 0)])
    (Band(name='', start=0), Band(name='', start=85))
    """
    starts = [row.start for row in rows if row.start is not None]
    return Band("", 0 if not starts or min(starts) > 0 else _tidy((max(starts) + 100) / 2))


def coverage(rows: Sequence[Band]) -> Coverage:
    """Which part of the score, from nothing to full marks, each band covers.

    >>> [(piece.kind, piece.label, piece.width) for piece in coverage([Band("good", 70), Band("fair", 20)]).stretches]
    [('gap', 'no band', 20.0), ('anchor', 'fair', 50.0), ('anchor', 'good', 30.0)]
    """
    by_start: dict[float, list[str]] = {0.0: []}
    for row in rows:
        if row.start is not None and 0 <= row.start <= 100:
            by_start.setdefault(float(row.start), []).append(row.name)
    starts = sorted(by_start)
    pieces = []
    for start, end in pairwise([*starts, 100.0]):
        names = by_start[start]
        label = " / ".join(name or "…" for name in names) or "no band"
        kind: Kind = "gap" if not names else "anchor" if len(names) == 1 else "overlap"
        if end > start:
            pieces.append(ScaleStretch(kind, label, start, round(end - start, 3)))
    return Coverage(tuple(pieces), ())


def problems_of(document: Data) -> list[Problem]:
    """What a form must not leave as it is, though a document might say it: bands without a name, or with the same."""
    names = [str(name).strip() for name in mapping_at(document, ("bands",))]
    found = []
    if "" in names:
        found.append(Problem("a band has no name", ("bands",), fix="say what such a score is called, such as good"))
    twice = sorted({name for name in names if name and names.count(name) > 1})
    found += [Problem(f"two bands are called {name}", ("bands",), fix="give one another name") for name in twice]
    return found


def _percent(share: Any) -> float | None:
    known = isinstance(share, int | float) and not isinstance(share, bool)
    return _tidy(float(share) * 100) if known else None


def _tidy(percent: float) -> float:
    rounded = round(percent, PLACES - 2)
    return int(rounded) if float(rounded).is_integer() else rounded
