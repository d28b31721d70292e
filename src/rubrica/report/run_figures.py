"""Figures of many values, gathered in one pass: what they hold does not grow with how many there were."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Generic, TypeVar

from rubrica.scoring.correlation import pearson
from rubrica.scoring.spread import SortedCounts

T = TypeVar("T")
Column = Sequence[float | None]

MOST_CELLS = 4096
"""Different values kept apart; of more, neighbours are counted together."""
FENCE = 1.5
"""How many times the middle half's width the whiskers of a box may reach beyond it (Tukey's)."""


@dataclass(frozen=True, slots=True)
class Box:
    """What a box plot shows: the middle half, the median, and how far the values within the fences reach."""

    low: float
    first: float
    median: float
    third: float
    high: float
    least: float
    most: float

    @property
    def fences(self) -> tuple[float, float]:
        """How far the whiskers may reach."""
        reach = FENCE * (self.third - self.first)
        return self.first - reach, self.third + reach


class Distribution:
    """How values are spread. Exact up to 4,096 different values; of more, each is known to a cell, whose width is at
    most a two-thousandth of the range. The mean is exact either way.

    >>> marks = Distribution()
    >>> marks.add([7, 8, None, 8, 10])
    >>> marks.count, marks.missing, marks.mean, marks.quantile(0.5)
    (4, 1, 8.25, 8.0)
    """

    def __init__(self) -> None:
        self.count = 0
        self.missing = 0
        self.width = 0.0  # of a cell; 0: every value is exact
        self._cells: Counter[float] = Counter()  # by value, or by the number of the cell
        self._sum = 0.0
        self._least, self._most = math.inf, -math.inf

    def add(self, values: Column) -> None:
        """Take in values; None is only counted as missing."""
        known = [value for value in values if value is not None]
        if not math.isfinite(sum(known)):
            known = [value for value in known if math.isfinite(value)]
        self.missing += len(values) - len(known)
        if not known:
            return
        self.count += len(known)
        self._sum += math.fsum(known)
        self._least, self._most = min(self._least, min(known)), max(self._most, max(known))
        width = self.width
        self._cells.update([value // width for value in known] if width else known)
        while len(self._cells) > MOST_CELLS:
            self._coarsen()

    def _coarsen(self) -> None:
        if self.width:
            merged: Counter[float] = Counter()
            for cell, count in self._cells.items():
                merged[cell // 2] += count
            self.width *= 2
        else:
            self.width = 2.0 ** math.ceil(math.log2((self._most - self._least) / MOST_CELLS))
            merged = Counter()
            for value, count in self._cells.items():
                merged[value // self.width] += count
        self._cells = merged

    @property
    def mean(self) -> float | None:
        return self._sum / self.count if self.count else None

    @property
    def range(self) -> tuple[float, float] | None:
        """The lowest and the highest value."""
        return (self._least, self._most) if self.count else None

    @property
    def whole(self) -> bool:
        """Whether every value is a whole number."""
        return not self.width and all(float(value).is_integer() for value in self._cells)

    def values(self) -> list[tuple[float, int]]:
        """Rising values (or the middles of cells) and how often each occurred."""
        width = self.width
        return [((cell + 0.5) * width if width else float(cell), count) for cell, count in sorted(self._cells.items())]

    @property
    def counted(self) -> SortedCounts:
        """The same values in the form in which they are told usual or far off."""
        values = self.values()
        return SortedCounts([value for value, _ in values], list(accumulate(count for _, count in values)))

    @property
    def std(self) -> float | None:
        """The standard deviation of a sample; None for fewer than two values."""
        if self.count < 2:
            return None
        mean = self._sum / self.count
        return math.sqrt(math.fsum(count * (value - mean) ** 2 for value, count in self.values()) / (self.count - 1))

    def quantile(self, share: float) -> float | None:
        """The value below which this share of the values lies; between two, the straight line."""
        return self.quantiles([share])[0] if self.count else None

    def quantiles(self, shares: Sequence[float]) -> list[float]:
        """Several at once; `shares` rise, and there is at least one value."""
        places = [share * (self.count - 1) for share in shares]
        wanted = sorted({floor for place in places for floor in (math.floor(place), math.ceil(place))})
        at: dict[int, float] = {}
        seen, rising = 0, iter(self.values())
        value, count = next(rising)
        for rank in wanted:
            while rank >= seen + count:
                seen += count
                value, count = next(rising)
            at[rank] = min(max(value, self._least), self._most)
        low_high = [(at[math.floor(place)], at[math.ceil(place)], place % 1) for place in places]
        return [low + (high - low) * part for low, high, part in low_high]

    def box(self) -> Box | None:
        """The figures of a box plot."""
        if not self.count:
            return None
        first, median, third = self.quantiles([0.25, 0.5, 0.75])
        box = Box(first, first, median, third, third, self._least, self._most)
        low_fence, high_fence = box.fences
        inside = [value for value, _ in self.values() if low_fence <= value <= high_fence] or [median]
        low, high = max(inside[0], self._least), min(inside[-1], self._most)
        return Box(min(low, first), first, median, third, max(high, third), self._least, self._most)

    def bins(self, low: float, high: float, number: int) -> list[int]:
        """Counts in bins of equal width from `low` to `high`; what lies outside counts in the first or last."""
        counts = [0] * number
        span = high - low or 1.0
        for value, count in self.values():
            counts[min(max(int((value - low) / span * number), 0), number - 1)] += count
        return counts


class Reservoir(Generic[T]):
    """A fair sample of a stream: each item has the same chance to be in it, and its size is bounded."""

    def __init__(self, size: int, draw: Random) -> None:
        self.size = size
        self.items: list[T] = []
        self.seen = 0
        self._draw = draw
        self._chance = 1.0
        self._next = 0  # the position of the next item that is taken

    def offer(self, items: Sequence[T]) -> None:
        """Take a chance on each item. Positions that are passed over cost nothing."""
        fresh = items[: max(self.size - self.seen, 0)]
        self.items += fresh
        end = self.seen + len(items)
        if len(self.items) == self.size and fresh and self.size:
            self._next = self.seen + len(fresh) - 1
            self._skip()
        while self.size and len(self.items) == self.size and self._next < end:
            if self._next >= self.seen:
                self.items[self._draw.randrange(self.size)] = items[self._next - self.seen]
            self._skip()
        self.seen = end

    def _skip(self) -> None:
        """Where the next item is taken (Li's algorithm L)."""
        self._chance *= math.exp(math.log(1.0 - self._draw.random()) / self.size)
        rest = math.log1p(-self._chance) if self._chance < 1 else -math.inf
        self._next += 1 + (math.floor(math.log(1.0 - self._draw.random()) / rest) if rest else 1 << 62)


def correlations(columns: Sequence[Column]) -> list[list[float | None]]:
    """Pearson's correlation of every column with every other, over the rows where both have a value.

    None where fewer than three rows have both, or one of the two does not vary there.

    >>> round(correlations([[1, 2, 3], [2, 4, 6]])[0][1], 12)
    1.0
    """
    size = len(columns)
    found: list[list[float | None]] = [[None] * size for _ in range(size)]
    for row in range(size):
        for column in range(row + 1):
            found[row][column] = found[column][row] = _correlation(columns[row], columns[column])
    return found


def _correlation(xs: Column, ys: Column) -> float | None:
    pairs = [(x, y) for x, y in zip(xs, ys, strict=True) if x is not None and y is not None]
    return pearson([x for x, _ in pairs], [y for _, y in pairs]) if len(pairs) >= 3 else None
