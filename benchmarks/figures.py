"""Figures with intervals, as the cards of scores need them: agreement, shares, coverage.

Texts that belong together, such as answers to one question, are drawn together when an interval is made.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Sequence
from random import Random
from statistics import fmean

import msgspec

from rubrica.packs.validity import Figure
from rubrica.scoring.agreement import spearman
from rubrica.scoring.intervals import REPLICATES, percentile_interval

Statistic = Callable[[Sequence[int]], float | None]
"""A figure of the texts at some places; None where they are too few for one."""


def measured(figure: Figure, groups: Sequence[Hashable], statistic: Statistic) -> Figure:
    """The figure with its value, number of texts and an interval from drawing groups of texts anew."""
    members: dict[Hashable, list[int]] = {}
    for place, group in enumerate(groups):
        members.setdefault(group, []).append(place)
    value = statistic(range(len(groups)))
    if value is None:
        raise ValueError(f"{figure.score}: nothing to measure in {figure.data}")
    names, chance = list(members), Random(1)  # noqa: S311 - drawing texts anew, no secret
    drawn = (
        statistic([place for name in chance.choices(names, k=len(names)) for place in members[name]])
        for _ in range(REPLICATES)
    )
    found = [each for each in drawn if each is not None]
    low, high = percentile_interval(found) if found else (value, value)
    if low == high:
        low, high = unseen_bounds(value, len(names))
    return msgspec.structs.replace(
        figure, value=round(value, 3), low=round(low, 3), high=round(high, 3), texts=len(groups)
    )


def unseen_bounds(value: float, groups: int) -> tuple[float, float]:
    """What a share may be of which all groups of texts say the same: what none of them shows may hold for some more.

    Drawing them anew would give no room at all, as if eight texts could prove a share of 1.

    >>> [round(bound, 2) for bound in unseen_bounds(1.0, 8)], [round(bound, 2) for bound in unseen_bounds(0.5, 16)]
    ([0.69, 1.0], [0.41, 0.59])
    """
    unseen = 1 - 0.05 ** (1 / groups)
    return value * (1 - unseen), value + (1 - value) * unseen


def rank_correlation(scores: Sequence[float], people: Sequence[float]) -> Statistic:
    """How far scores and people's values rank texts alike."""
    return lambda places: spearman([scores[at] for at in places], [people[at] for at in places])


def ranked_above(scores: Sequence[float], wanted: Sequence[bool]) -> Statistic:
    """The AUC: how often a text that has what is looked for scores above one that has not."""

    def statistic(places: Sequence[int]) -> float | None:
        with_it = sorted(scores[at] for at in places if wanted[at])
        without = sorted(scores[at] for at in places if not wanted[at])
        return area(without, with_it) if with_it and without else None

    return statistic


def found_at(allowed: float, scores: Sequence[float], wanted: Sequence[bool]) -> Statistic:
    """The share of the texts looked for above the lowest limit that at most the allowed share of the others exceeds."""

    def statistic(places: Sequence[int]) -> float | None:
        with_it = [scores[at] for at in places if wanted[at]]
        without = sorted((scores[at] for at in places if not wanted[at]), reverse=True)
        if not with_it or not without:
            return None
        limit = without[int(allowed * len(without))]
        return sum(each > limit for each in with_it) / len(with_it)

    return statistic


def share_of(holds: Sequence[bool]) -> Statistic:
    """The share of texts for which something holds."""
    return lambda places: sum(holds[at] for at in places) / len(places) if places else None


def mean_of(values: Sequence[float]) -> Statistic:
    """The mean of what texts, or pairs of them, are credited with."""
    return lambda places: fmean(values[at] for at in places) if places else None


def area(low: Sequence[float], high: Iterable[float]) -> float:
    """How often one of `high` exceeds one of `low`, which is sorted; ties count for half.

    >>> area([0.1, 0.4], [0.4, 0.9])
    0.875
    """
    above = list(high)
    wins = sum((bisect_left(low, each) + bisect_right(low, each)) / 2 for each in above)
    return wins / (len(low) * len(above))
