"""Columns of indices: from results in one table to results in the next.

Records are many and results are few, so what follows from a result is worked out once, and looked up for all records
at a time. ``column[places]`` takes a tenth of the time that ``column.gather(places)`` takes to get going.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl

MOST_PAIRS = 250_000
"""Pairs that are looked up in a column of their own; where more are possible, each record's pair is looked up alone."""


def places_of(numbers: Iterable[int]) -> pl.Series:
    """A column of places."""
    return pl.Series(list(numbers), dtype=pl.UInt32)


class DerivedIndex:
    """A number that follows from each result of a table, worked out as the table grows.

    >>> words = ["a", "bcd"]
    >>> DerivedIndex(words, len)(places_of([1, 0, 1])).to_list()
    [3, 1, 3]
    """

    def __init__(self, results: list[Any], work: Callable[[Any], int]) -> None:
        self._results, self._work = results, work
        self._known = places_of([])
        self._some = False

    def __call__(self, places: pl.Series) -> pl.Series:
        """The numbers at some places."""
        self._grow()
        return self._known[places]

    def __bool__(self) -> bool:
        """Whether a number is anything but 0."""
        self._grow()
        return self._some

    def _grow(self) -> None:
        start = len(self._known)
        if start < len(self._results):
            new = [self._work(result) for result in self._results[start:]]
            self._known.extend(places_of(new))
            self._some = self._some or any(new)


class PairIndex:
    """A number that follows from two places, worked out when the pair is first met.

    >>> pairs = PairIndex(lambda one, other: 10 * one + other)
    >>> pairs(places_of([1, 1, 0]), places_of([2, 0, 2]), (2, 3)).to_list()
    [12, 10, 2]
    """

    def __init__(self, work: Callable[[int, int], int]) -> None:
        self._work = work
        self._known: dict[tuple[int, int], int] = {}
        self._column = places_of([])  # what is known, row after row; null where it is not
        self._height = self._width = 0

    def __len__(self) -> int:
        return len(self._known)

    def __call__(self, ones: pl.Series, others: pl.Series, sizes: tuple[int, int]) -> pl.Series:
        """The numbers of many pairs; `sizes` are those of the two tables."""
        height, width = sizes
        if height * width > MOST_PAIRS:
            return places_of(map(self._number, ones.to_list(), others.to_list()))
        if height > self._height or width > self._width:
            self._lay_out(height, width)
        codes = ones * self._width + others
        found = self._column[codes]
        if found.null_count():
            new = codes.filter(found.is_null()).unique()
            pairs = zip((new // self._width).to_list(), (new % self._width).to_list(), strict=True)
            self._column = self._column.scatter(new, places_of(self._number(*pair) for pair in pairs))
            found = self._column[codes]
        return found

    def _number(self, one: int, other: int) -> int:
        found = self._known.get((one, other))
        if found is None:
            found = self._known[one, other] = self._work(one, other)
        return found

    def _lay_out(self, height: int, width: int) -> None:
        """Room for larger tables, and for half as much again: they grow from chunk to chunk."""
        self._height = height + height // 2 if height > self._height else self._height
        self._width = width + width // 2 if width > self._width else self._width
        self._column = pl.repeat(None, self._height * self._width, dtype=pl.UInt32, eager=True)
        if self._known:
            codes = places_of(one * self._width + other for one, other in self._known)
            self._column = self._column.scatter(codes, places_of(self._known.values()))
