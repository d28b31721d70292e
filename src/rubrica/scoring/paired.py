"""Tests of paired differences: whether they lean to one side further than chance would make them.

Each asks how often differences as large as these would lean as far if every sign were drawn by lot, which is what
two runs of equal worth give. None assumes a normal distribution. p is two-sided.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import getitem
from random import Random
from statistics import NormalDist
from typing import Literal

MOST_EXACT_RANKS = 50
"""Differences up to which every way to draw the signs is counted; beyond, the normal distribution is as good."""
MOST_EXACT_FLIPS = 14
"""Groups up to which every way to draw the signs is tried."""
MOST_DRAWN_FLIPS = 1_000
"""Groups up to which signs are drawn by lot; beyond, their sum is normal for every practical purpose."""
DRAWS = 9_999

Method = Literal["none", "signed-rank", "signed-rank-normal", "mcnemar", "sign-flip", "sign-flip-drawn", "normal"]
_CHUNK = 8  # signs that one byte holds
_DIGITS = 9  # differences that agree to so many decimals are ties: 0.3 - 0.2 and 0.2 - 0.1


@dataclass(frozen=True, slots=True)
class TestResult:
    """What a test found. `lean` is from -1 (every difference is a loss) to 1 (every one is a gain)."""

    p: float
    lean: float
    used: int  # differences, or groups of them, that are not 0
    method: Method

    @property
    def exact(self) -> bool:
        return self.method in ("none", "signed-rank", "mcnemar", "sign-flip")


NOTHING = TestResult(1.0, 0.0, 0, "none")
"""Where no two values differ."""


def signed_rank(differences: Sequence[float]) -> TestResult:
    """Wilcoxon's signed-rank test. Zeros are left out; equal sizes share their mean rank, and it stays exact.

    >>> signed_rank([1, 2, 3, 4, 5, 6]).p
    0.03125
    >>> signed_rank([1, -2, 3, 4, 5, 6]).p
    0.09375
    """
    known = tidy(differences)
    if not known:
        return NOTHING
    ranks = _double_ranks([abs(value) for value in known])
    total = sum(ranks)
    gained = sum(rank for rank, value in zip(ranks, known, strict=True) if value > 0)
    lean = (2 * gained - total) / total
    if len(known) <= MOST_EXACT_RANKS:
        ways = _ways(ranks)
        tail = sum(ways[: min(gained, total - gained) + 1])
        return TestResult(min(1.0, 2 * tail / 2 ** len(known)), lean, len(known), "signed-rank")
    # ranks are doubled, so half a rank of continuity is 2; their squares are what ties leave of the variance
    off = max(abs(2 * gained - total) - 2, 0) / math.sqrt(sum(rank * rank for rank in ranks))
    return TestResult(_two_sided(off), lean, len(known), "signed-rank-normal")


def mcnemar(better: int, worse: int) -> TestResult:
    """McNemar's exact test: of the cases that changed sides, were as many won as lost?

    >>> round(mcnemar(1, 9).p, 6)
    0.021484
    >>> mcnemar(5, 5).p
    1.0
    """
    changed = better + worse
    if not changed:
        return NOTHING
    fewer = min(better, worse)
    log_term = _log_choose(changed, fewer) - changed * math.log(2)
    term = tail = 1.0
    for count in range(fewer, 0, -1):  # downwards from the likeliest; what is left soon adds nothing
        term *= count / (changed - count + 1)
        tail += term
        if term < tail * 1e-17:
            break
    return TestResult(min(1.0, 2 * tail * math.exp(log_term)), (better - worse) / changed, changed, "mcnemar")


def sign_flips(totals: Sequence[float], chance: Random, draws: int = DRAWS) -> TestResult:
    """Whether sums of groups lean to one side: each group's sign is flipped as a whole, as its cases stand together.

    Few groups are flipped in every way there is; of many, `draws` ways are drawn by lot.

    >>> sign_flips([3.0, 1.0, 2.0, 2.5, 0.5, 4.0], Random(1)).p
    0.03125
    """
    known = tidy(totals)
    if not known:
        return NOTHING
    size = math.fsum(map(abs, known))
    seen = math.fsum(known)
    lean, reached = seen / size, abs(seen) - size * 1e-9  # the same sum in another order may differ in its last bits
    if len(known) <= MOST_EXACT_FLIPS:
        sums = _every_sum(known)
        return TestResult(sum(abs(found) >= reached for found in sums) / len(sums), lean, len(known), "sign-flip")
    if len(known) > MOST_DRAWN_FLIPS:
        off = abs(seen) / math.sqrt(math.fsum(value * value for value in known))
        return TestResult(_two_sided(off), lean, len(known), "normal")
    tables = [_every_sum(known[start : start + _CHUNK]) for start in range(0, len(known), _CHUNK)]
    for table in tables:  # the last one may be short of a byte
        table *= 2**_CHUNK // len(table)
    further = sum(abs(sum(map(getitem, tables, chance.randbytes(len(tables))))) >= reached for _ in range(draws))
    return TestResult((further + 1) / (draws + 1), lean, len(known), "sign-flip-drawn")


def tidy(differences: Sequence[float]) -> list[float]:
    """The differences that are not 0, rounded so that what is equal but for the last bits is equal.

    >>> tidy([0.3 - 0.2, 0.2 - 0.1, 0.1 + 0.2 - 0.3])
    [0.1, 0.1]
    """
    return [rounded for value in differences if (rounded := round(value, _DIGITS))]


def _double_ranks(sizes: Sequence[float]) -> list[int]:
    """Twice the rank of each, counted from 1; equal ones share their mean rank, which is then a whole number."""
    counts = Counter(sizes)
    ordered = sorted(counts)
    ends = accumulate(counts[size] for size in ordered)
    rank = {size: 2 * end - counts[size] + 1 for size, end in zip(ordered, ends, strict=True)}
    return [rank[size] for size in sizes]


def _ways(ranks: Sequence[int]) -> list[int]:
    """In how many ways signs can be drawn so that the positive ranks sum to 0, 1, 2 …"""
    ways = [1] + [0] * sum(ranks)
    reach = 0
    for rank in ranks:
        reach += rank
        for total in range(reach, rank - 1, -1):
            ways[total] += ways[total - rank]
    return ways


def _every_sum(values: Sequence[float]) -> list[float]:
    """The sums of all ways to sign the values; the signs are the bits of the place."""
    sums = [0.0]
    for value in values:
        sums = [found + value for found in sums] + [found - value for found in sums]
    return sums


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _two_sided(z: float) -> float:
    return min(1.0, 2 * NormalDist().cdf(-abs(z)))
