"""How sure a figure is: intervals for shares, means and their differences.

All are pure. A figure without enough behind it has no interval: the functions return None rather than a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import NormalDist
from typing import TypeVar

Drawn = TypeVar("Drawn")

LEVEL = 0.95
"""How often an interval holds the true value."""

REPLICATES = 1000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and the interval it lies in.

    >>> print(Estimate(0.8, 0.6, 0.9))
    0.8 (0.6 to 0.9)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"

    @property
    def clear(self) -> bool:
        """Whether it is not 0: of a difference, whether there is one."""
        return self.low > 0 or self.high < 0


def wilson(hits: float, trials: float, level: float = LEVEL) -> Estimate | None:
    """The share of hits, with Wilson's interval; None without trials. It stays within 0 and 1 for few trials, too.

    >>> print(wilson(8, 10))
    0.8 (0.49 to 0.943)
    >>> print(wilson(0, 10))
    0 (0 to 0.278)
    """
    if trials <= 0:
        return None
    z = _normal(level)
    share, pull = hits / trials, z * z / trials
    middle = (share + pull / 2) / (1 + pull)
    reach = z / (1 + pull) * math.sqrt(share * (1 - share) / trials + pull / (4 * trials))
    return Estimate(share, max(0.0, min(middle - reach, share)), min(1.0, max(middle + reach, share)))


@dataclass(frozen=True, slots=True)
class Moments:
    """Sums over groups of values, from which a mean and its error follow.

    Values of one group may be alike, as requests of one conversation are, so that only the groups are independent.
    Values that belong together with nothing are groups of one.
    """

    groups: int
    count: int  # values
    total: float  # of all values
    squares: float  # of the groups' totals
    products: float  # of each group's total and count
    sizes: float  # of the groups' counts, squared

    @classmethod
    def of(cls, groups: Sequence[Sequence[float]]) -> Moments:
        """From the values themselves."""
        pairs = [(math.fsum(group), len(group)) for group in groups if group]
        return cls(
            len(pairs),
            sum(size for _, size in pairs),
            math.fsum(total for total, _ in pairs),
            math.fsum(total * total for total, _ in pairs),
            math.fsum(total * size for total, size in pairs),
            float(sum(size * size for _, size in pairs)),
        )

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None

    @property
    def error(self) -> float | None:
        """The standard error of the mean; None with fewer than two groups."""
        mean = self.mean
        if mean is None or self.groups < 2:
            return None
        spread = self.squares - 2 * mean * self.products + mean * mean * self.sizes
        return math.sqrt(max(spread, 0.0) * self.groups / (self.groups - 1)) / self.count


def mean_estimate(found: Moments, level: float = LEVEL) -> Estimate | None:
    """A mean with Student's interval; None with fewer than two groups.

    >>> print(mean_estimate(Moments.of([[4], [5], [6]])))
    5 (2.52 to 7.48)
    >>> print(mean_estimate(Moments.of([[4, 4, 4], [5, 5, 5], [6, 6, 6]])))
    5 (2.52 to 7.48)
    """
    if found.mean is None or found.error is None:
        return None
    reach = student(found.groups - 1, level) * found.error
    return Estimate(found.mean, found.mean - reach, found.mean + reach)


def mean_difference(one: Moments, other: Moments, level: float = LEVEL) -> Estimate | None:
    """The mean of `other` minus that of `one`, with Welch's interval; None where either has fewer than two groups.

    >>> print(mean_difference(Moments.of([[1], [2], [3]]), Moments.of([[7], [8], [9]])))
    6 (3.73 to 8.27)
    """
    if one.mean is None or other.mean is None or one.error is None or other.error is None:
        return None
    first, second = one.error**2, other.error**2
    value = other.mean - one.mean
    if not first + second:
        return Estimate(value, value, value)
    freedom = (first + second) ** 2 / (first**2 / (one.groups - 1) + second**2 / (other.groups - 1))
    reach = student(freedom, level) * math.sqrt(first + second)
    return Estimate(value, value - reach, value + reach)


def share_estimate(found: Moments, level: float = LEVEL) -> Estimate | None:
    """The mean of values that are 0 or 1, with Wilson's interval for as many values as the groups are worth.

    >>> print(share_estimate(Moments.of([[1]] * 8 + [[0]] * 2)))
    0.8 (0.49 to 0.943)
    >>> print(share_estimate(Moments.of([[1, 1]] * 8 + [[0, 0]] * 2)))
    0.8 (0.49 to 0.943)
    """
    if found.mean is None:
        return None
    worth = _worth(found)
    return wilson(found.mean * worth, worth, level)


def share_difference(one: Moments, other: Moments, level: float = LEVEL) -> Estimate | None:
    """The share of `other` minus that of `one`, with Newcombe's interval; None where either has nothing.

    >>> none, all_ = Moments.of([[0]] * 10), Moments.of([[1]] * 10)
    >>> print(share_difference(none, all_))
    1 (0.608 to 1)
    """
    first, second = share_estimate(one, level), share_estimate(other, level)
    if first is None or second is None:
        return None
    value = second.value - first.value
    low = value - math.hypot(second.value - second.low, first.high - first.value)
    high = value + math.hypot(second.high - second.value, first.value - first.low)
    return Estimate(value, low, high)


def bootstrap(
    values: Sequence[Drawn],
    statistic: Callable[[Sequence[Drawn]], float | None],
    chance: Random,
    *,
    replicates: int = REPLICATES,
    level: float = LEVEL,
) -> Estimate | None:
    """Any statistic of independent values, with the percentile interval of resampling them.

    None without values, where the statistic has no value, and where it has none for most of what is drawn.

    >>> from statistics import median
    >>> print(bootstrap(range(101), median, Random(1)))
    50 (40 to 60)
    """
    value = statistic(values) if values else None
    if value is None:
        return None
    drawn = [statistic(chance.choices(values, k=len(values))) for _ in range(replicates)]
    found = [one for one in drawn if one is not None]
    if 2 * len(found) < replicates:
        return None
    return Estimate(value, *percentile_interval(found, level))


def percentile_interval(replicates: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Between which values the middle `level` of the replicates lies.

    >>> percentile_interval(range(1000))
    (25, 974)
    """
    ordered = sorted(replicates)
    cut = int((1 - level) / 2 * len(ordered) + 1e-9)
    return ordered[cut], ordered[-1 - cut]


def student(freedom: float, level: float = LEVEL) -> float:
    """How many standard errors an interval reaches to each side, by Student's t.

    >>> [round(student(freedom), 2) for freedom in (1, 2, 3, 5, 30, 1e9)]
    [12.71, 4.3, 3.18, 2.57, 2.04, 1.96]
    """
    if freedom < 3:
        return _student_of_few(freedom, level)
    z = _normal(level)
    terms = (  # Fisher's expansion around the normal distribution
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return sum(term / freedom**power for power, term in enumerate(terms))


def _student_of_few(freedom: float, level: float) -> float:
    """Exact for 1 and 2 degrees of freedom; between whole numbers, read off on a straight line in 1 / freedom."""
    one = math.tan(math.pi * level / 2)
    two = level * math.sqrt(2 / (1 - level * level))
    if freedom <= 1:
        return one
    (below, near), (above, far) = ((1, one), (2, two)) if freedom < 2 else ((2, two), (3, student(3, level)))
    along = (1 / below - 1 / freedom) / (1 / below - 1 / above)
    return near + along * (far - near)


def _worth(found: Moments) -> float:
    """How many independent values a share of grouped ones is worth: at most as many as there are."""
    share, error = found.mean or 0.0, found.error
    if not error or not 0 < share < 1:
        return float(found.groups)
    drawn = error**2 * (found.groups - 1) / found.groups  # groups of one are then worth what they count
    return min(share * (1 - share) / drawn, float(found.count))


def _normal(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)
