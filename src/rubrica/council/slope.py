"""How one measure rises with another within groups, and whether chance alone explains it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations, product
from random import Random
from statistics import fmean

MOST_EXACT = 5_000
"""Arrangements up to which every one is tried; of more, DRAWS are drawn by lot."""
DRAWS = 1_999
MOST_WORKED_OUT = 6
"""Pairs of a group up to which all its arrangements, 720, are worked out before any is drawn."""

Group = Sequence[tuple[float, float]]
"""Pairs that belong together, such as the answers of one session."""


@dataclass(frozen=True, slots=True)
class Slope:
    """What y gains for each unit of x, the correlation behind it, and how often chance would do as much."""

    gain: float
    correlation: float
    p: float  # two-sided
    groups: int  # that tell something
    pairs: int


def within_groups(groups: Sequence[Group], chance: Random) -> Slope | None:
    """The common slope inside groups; what differs between groups does not count. None where x or y does not vary.

    p asks how often the slope is as steep when each group's y are dealt to its x anew.

    >>> found = within_groups([[(1, 5.0), (2, 6.0), (3, 7.0)]] * 4, Random(1))
    >>> found.gain, round(found.correlation, 3), found.p < 0.05
    (1.0, 1.0, True)
    """
    centred = [_centred(group) for group in groups]
    telling = [(xs, ys) for xs, ys in centred if any(xs) and any(ys)]
    across = math.fsum(x * x for xs, _ in telling for x in xs)
    along = math.fsum(y * y for _, ys in telling for y in ys)
    if not across or not along:
        return None
    together = math.fsum(_product(xs, ys) for xs, ys in telling)
    return Slope(
        together / across,
        max(-1.0, min(1.0, together / math.sqrt(across * along))),
        _as_far(telling, abs(together) - 1e-9 * math.sqrt(across * along), chance),
        len(telling),
        sum(len(xs) for xs, _ in telling),
    )


def _centred(group: Group) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if len(group) < 2:
        return (), ()
    middle_x, middle_y = fmean(x for x, _ in group), fmean(y for _, y in group)
    return tuple(_plain(x - middle_x) for x, _ in group), tuple(_plain(y - middle_y) for _, y in group)


def _plain(value: float) -> float:
    """A difference without the last bits, so that what is 0 is 0."""
    return round(value, 9) + 0.0


def _as_far(groups: Sequence[tuple[tuple[float, ...], tuple[float, ...]]], reached: float, chance: Random) -> float:
    """The share of all ways to deal the ys that reach as far."""
    if math.prod(math.factorial(len(xs)) for xs, _ in groups) <= MOST_EXACT:
        each = [[_product(xs, dealt) for dealt in permutations(ys)] for xs, ys in groups]
        sums = [math.fsum(ways) for ways in product(*each)]
        return sum(abs(found) >= reached for found in sums) / len(sums)
    drawn = [_shuffled_products(xs, ys, chance) for xs, ys in groups]
    further = sum(abs(math.fsum(found)) >= reached for found in zip(*drawn, strict=True))
    return (further + 1) / (DRAWS + 1)


def _shuffled_products(xs: Sequence[float], ys: Sequence[float], chance: Random) -> list[float]:
    """What DRAWS ways of dealing one group's ys come to. Of a small group every way is worked out once."""
    if len(xs) <= MOST_WORKED_OUT:
        return chance.choices([_product(xs, dealt) for dealt in permutations(ys)], k=DRAWS)
    return [_product(xs, chance.sample(ys, len(ys))) for _ in range(DRAWS)]


def _product(xs: Sequence[float], ys: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(xs, ys, strict=True))
