"""Figures over time: whether they rise or fall, and whether the latest fits those before it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from statistics import NormalDist, fmean, median, stdev

from .agreement import kendall

MOST_EXACT = 40
"""Figures up to which every order of them is counted."""


def slope(values: Sequence[float]) -> float | None:
    """How far a figure moves from one to the next: the median over all pairs (Theil and Sen); None for fewer than two.

    >>> slope([1, 2, 3, 4, 90])
    1.0
    """
    steps = [(values[j] - values[i]) / (j - i) for i, j in combinations(range(len(values)), 2)]
    return float(median(steps)) if steps else None


def trend_p(values: Sequence[float]) -> float:
    """How often figures in no order at all would rise or fall as steadily (Mann and Kendall's test, two-sided).

    >>> round(trend_p([1, 2, 3, 4, 5]), 4)
    0.0167
    """
    count = len(values)
    tau = kendall(range(count), values) if count > 1 else None
    if not tau:
        return 1.0
    ties = Counter(values)
    pairs = count * (count - 1) // 2
    tied = sum(size * (size - 1) // 2 for size in ties.values())
    rising = abs(round(tau * math.sqrt(pairs * (pairs - tied))))  # pairs in order minus pairs out of order
    if not tied and count <= MOST_EXACT:
        ways = _orders(count)
        return min(1.0, 2 * sum(ways[: (pairs - rising) // 2 + 1]) / math.factorial(count))
    variance = _kendall_variance(count) - math.fsum(map(_kendall_variance, ties.values()))
    return min(1.0, 2 * NormalDist().cdf(-(rising - 1) / math.sqrt(variance)))


def latest_p(values: Sequence[float], least: float = 0.0) -> float:
    """How often one more figure like those before would lie as far from them as the last does.

    They are taken to vary by `least` at the very least: a history that never moved says nothing about small steps, but
    does not hide a fall. Without `least`, after such a history only the rank of the last one says anything.

    >>> round(latest_p([10, 11, 9, 10, 10, 14]), 4), latest_p([5, 5, 5, 4])
    (0.0067, 0.5)
    >>> latest_p([0.85, 0.85, 0.85, 0.85, 0.40], least=0.01) < 0.001, latest_p([0.85, 0.85, 0.85, 0.85], least=0.01)
    (True, 1.0)
    """
    earlier, last = values[:-1], values[-1]
    if len(earlier) < 2:
        return 1.0
    off = last - fmean(earlier)
    spread = max(stdev(earlier), least)
    if not spread:
        return min(1.0, 2 / len(values)) if off else 1.0
    return student_tails(off / (spread * math.sqrt(1 + 1 / len(earlier))), len(earlier) - 1)


def student_tails(t: float, freedom: float) -> float:
    """How often Student's t lies as far from 0, to either side.

    >>> round(student_tails(2.776445, 4), 6), student_tails(0.0, 7)
    (0.05, 1.0)
    """
    return _beta_share(freedom / (freedom + t * t), freedom / 2, 0.5)


def _orders(count: int) -> list[int]:
    """In how many orders of so many things 0, 1, 2 … pairs stand the wrong way round."""
    ways = [1]
    for size in range(2, count + 1):
        longer = [0] * (len(ways) + size - 1)
        for shift in range(size):
            for place, found in enumerate(ways):
                longer[place + shift] += found
        ways = longer
    return ways


def _kendall_variance(count: int) -> float:
    return count * (count - 1) * (2 * count + 5) / 18


def _beta_share(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function, by its continued fraction where that is quick."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_share(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    share = d
    for step in range(1, 500):  # Lentz's way
        for term in (
            step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step)),
            -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1)),
        ):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            share *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return front * share / a
