"""Bootstrap intervals of many means at once, over cases that may stand in groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from random import Random
from statistics import NormalDist

from .intervals import LEVEL, Estimate, Moments, mean_estimate, percentile_interval, student

REPLICATES = 2_000
FEWEST_GROUPS, MOST_GROUPS = 6, 1_000
"""With fewer groups there is too little to draw from, and with more the bootstrap only repeats Student's interval."""


@dataclass(frozen=True, slots=True)
class GroupSums:
    """The values of one measure, summed by group; every measure of a set has the same groups in the same order."""

    totals: Sequence[float]
    sizes: Sequence[int]  # 0: no value in that group

    @property
    def moments(self) -> Moments:
        pairs = [(total, size) for total, size in zip(self.totals, self.sizes, strict=True) if size]
        return Moments(
            len(pairs),
            sum(size for _, size in pairs),
            math.fsum(total for total, _ in pairs),
            math.fsum(total * total for total, _ in pairs),
            math.fsum(total * size for total, size in pairs),
            float(sum(size * size for _, size in pairs)),
        )


def mean_intervals(
    measures: Mapping[str, GroupSums], chance: Random, *, level: float = LEVEL, replicates: int = REPLICATES
) -> dict[str, Estimate | None]:
    """The mean of each measure with its bootstrap interval; None with fewer than two groups.

    Whole groups are drawn, the same ones for every measure. The percentiles are taken as far out as Student's
    distribution lies beyond the normal one, without which an interval of few groups is too narrow.

    >>> print(mean_intervals({"d": GroupSums([float(n) for n in range(21)], [1] * 21)}, Random(1))["d"])
    10 (7.19 to 12.8)
    """
    moments = {name: measure.moments for name, measure in measures.items()}
    drawn = {name: measures[name] for name, found in moments.items() if FEWEST_GROUPS <= found.groups <= MOST_GROUPS}
    means = _drawn_means(drawn, chance, replicates)
    intervals: dict[str, Estimate | None] = {}
    for name, found in moments.items():
        if name not in drawn or found.mean is None:
            intervals[name] = mean_estimate(found, level)
            continue
        low, high = percentile_interval(means[name], _widened(found.groups, level))
        intervals[name] = Estimate(found.mean, low, high)
    return intervals


def _drawn_means(measures: Mapping[str, GroupSums], chance: Random, replicates: int) -> dict[str, list[float]]:
    means: dict[str, list[float]] = {name: [] for name in measures}
    if not measures:
        return means
    groups = len(next(iter(measures.values())).totals)
    even = {name: set(measure.sizes) == {1} for name, measure in measures.items()}
    for _ in range(replicates):
        draw = itemgetter(*chance.choices(range(groups), k=groups))
        for name, measure in measures.items():
            count = groups if even[name] else sum(draw(measure.sizes))
            if count:
                means[name].append(sum(draw(measure.totals)) / count)
    return means


def _widened(groups: int, level: float) -> float:
    """The share of replicates whose bounds hold the true mean as often as `level` says."""
    reach = student(groups - 1, level) * math.sqrt(groups / (groups - 1))
    return 1 - 2 * NormalDist().cdf(-reach)
