"""How many cases it takes to tell a difference from noise."""

from __future__ import annotations

import math
from statistics import NormalDist

POWER = 0.8
"""How often a difference that is there should be found."""
RANK_EFFICIENCY = 3 / math.pi
"""What the signed-rank test makes of its cases, beside the best test, where differences are normal."""


def cases_needed(error: float, cases: int, gap: float, *, level: float, power: float = POWER) -> int:
    """Cases that find a difference of `gap`, when so many cases left its mean with this standard error.

    `level` is how rarely a difference may be found that is not there. Groups are taken to stay as large as they are.

    >>> cases_needed(0.1, 100, 0.5, level=0.05)
    35
    """
    normal = NormalDist()
    chance, missed = normal.inv_cdf(1 - level / 2), normal.inv_cdf(power)
    spread = error * error * cases  # the variance that one case brings
    exact = (chance + missed) ** 2 * spread / (gap * gap) / RANK_EFFICIENCY
    return math.ceil(exact + chance * chance / 2)  # the second term is what not knowing the variance costs


def fewest_pairs(level: float) -> int:
    """Pairs that must differ, all to one side, before chance alone is less likely than `level`.

    >>> fewest_pairs(0.05), fewest_pairs(0.005)
    (6, 9)
    """
    return math.ceil(math.log2(2 / level))
