"""How values are spread: mean, deviation and percentiles, and which of them lie far off."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Self

PERCENTS = (5, 25, 50, 75, 90, 95, 99)
FAR = 3.5
"""Robust standard deviations from the median beyond which a value lies far off (Iglewicz and Hoaglin's bound)."""

_MAD_TO_SIGMA = 1.4826
_DECILES_TO_SIGMA = 1 / 2.5631  # from the 10th to the 90th percentile
_MEAN_DEVIATION_TO_SIGMA = 1.2533


@dataclass(frozen=True, slots=True)
class SortedCounts:
    """Values in rising order, each once, with how many are no larger: scores are of few kinds, however many there are.

    >>> found = SortedCounts.of([3, 1, 3, 2])
    >>> found.values, found.ends, found.percentile(0.5)
    ([1, 2, 3], [1, 2, 4], 2.5)
    """

    values: Sequence[float]
    ends: Sequence[int]

    @classmethod
    def of(cls, values: Iterable[float] | SortedCounts) -> SortedCounts:
        """Values in any order; those that are counted already stay as they are."""
        return values if isinstance(values, SortedCounts) else cls._from(Counter(values))

    @classmethod
    def _from(cls, counts: Counter[float]) -> Self:
        ordered = sorted(counts)
        return cls(ordered, list(accumulate(map(counts.__getitem__, ordered))))

    def __len__(self) -> int:
        return self.ends[-1] if self.ends else 0

    @property
    def counts(self) -> list[int]:
        return [above - below for below, above in pairwise((0, *self.ends))]

    def at(self, place: int) -> float:
        """The value at a place of the order, counted from 0."""
        return self.values[bisect_right(self.ends, place)]

    def percentile(self, share: float) -> float:
        """The value below which this share lies; between two, on the straight line.

        >>> SortedCounts.of([10, 20, 30, 40]).percentile(0.5)
        25.0
        """
        last = len(self) - 1
        place = share * last
        below = min(int(place), last)
        low, high = self.at(below), self.at(min(below + 1, last))
        return float(min(low + (place - below) * (high - low), high))

    @property
    def mean(self) -> float:
        total = math.fsum(value * count for value, count in zip(self.values, self.counts, strict=True))
        return min(max(total / len(self), self.values[0]), self.values[-1])  # rounding must not lead out of the values

    def distances_from(self, centre: float) -> SortedCounts:
        """The distances from a value."""
        found: Counter[float] = Counter()
        for value, count in zip(self.values, self.counts, strict=True):
            found[abs(value - centre)] += count
        return SortedCounts._from(found)

    def count_outside(self, low: float, high: float) -> int:
        """How many lie outside of these bounds."""
        below = bisect_left(self.values, low)
        above = bisect_right(self.values, high)
        return (self.ends[below - 1] if below else 0) + len(self) - (self.ends[above - 1] if above else 0)


@dataclass(frozen=True, slots=True)
class Spread:
    """How the values of one measure are spread."""

    count: int
    mean: float
    std: float | None  # of the population they were drawn from; None for one value
    low: float
    high: float
    percentiles: dict[int, float]  # by percent

    @property
    def median(self) -> float:
        return self.percentiles[50]

    def to_dict(self) -> dict[str, float | int | None]:
        """Plain data, ready for JSON."""
        shares: dict[str, float | int | None] = {f"p{percent}": value for percent, value in self.percentiles.items()}
        known = {"count": self.count, "mean": self.mean, "median": self.median, "std": self.std}
        return known | {"min": self.low, "max": self.high} | shares


def spread_of(values: Iterable[float] | SortedCounts, percents: Sequence[int] = PERCENTS) -> Spread | None:
    """The spread of values; None without any.

    >>> spread_of([1, 2, 3, 4, 10]).mean, spread_of([1, 2, 3, 4, 10]).percentiles[75]
    (4.0, 4.0)
    """
    found = SortedCounts.of(values)
    count = len(found)
    if not count:
        return None
    mean = found.mean
    off = math.fsum((value - mean) ** 2 * own for value, own in zip(found.values, found.counts, strict=True))
    std = math.sqrt(off / (count - 1)) if count > 1 else None
    cuts = {percent: found.percentile(percent / 100) for percent in sorted({*percents, 50})}
    return Spread(count, mean, std, found.values[0], found.values[-1], cuts)


@dataclass(frozen=True, slots=True)
class RobustRange:
    """Where values usually lie: around `median`, `sigma` being what a standard deviation would be without outliers."""

    median: float
    sigma: float

    def deviations(self, value: float) -> float:
        """How many of those deviations a value is above or below."""
        return (value - self.median) / self.sigma

    def count_outliers(self, values: Iterable[float] | SortedCounts) -> int:
        """How many values lie far off."""
        reach = FAR * self.sigma
        return SortedCounts.of(values).count_outside(self.median - reach, self.median + reach)


def robust_range(values: Iterable[float] | SortedCounts) -> RobustRange | None:
    """Where values usually lie; None where they do not vary.

    The deviation comes from the median distance to the median. Where most values are equal that is 0, and the
    distance of the deciles stands in; where that is 0 too, the mean distance.

    >>> found = robust_range([1, 2, 3, 4, 50])
    >>> found.median, round(found.deviations(50), 1)
    (3.0, 31.7)
    """
    found = SortedCounts.of(values)
    if len(found.values) < 2:
        return None
    median = found.percentile(0.5)
    away = found.distances_from(median)
    last = len(found) - 1
    sigma = (
        _MAD_TO_SIGMA * away.percentile(0.5)
        or _DECILES_TO_SIGMA * (found.at(math.ceil(0.9 * last)) - found.at(int(0.1 * last)))
        or _MEAN_DEVIATION_TO_SIGMA * away.mean
    )
    return RobustRange(median, sigma) if sigma else None


def upper_quantile(values: Sequence[float], level: float) -> float:
    """The least of the values that a further one stays below with this chance; infinite where they are too few.

    >>> upper_quantile([1, 2, 3, 4], 0.8), upper_quantile([1, 2, 3, 4], 0.9)
    (4, inf)
    """
    place = math.ceil(round(level * (len(values) + 1), 9))
    return sorted(values)[place - 1] if place <= len(values) else math.inf
