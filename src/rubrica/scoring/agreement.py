"""How far judges agree: with each other (alpha, pairs, spread) and with people (rank correlation, errors)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Literal, assert_never

Level = Literal["nominal", "ordinal", "interval"]
Unit = Sequence[float | None]
"""What several judges gave one item; None where a judge gave nothing."""

NO_PAIRS = "no item has scores of two judges"
NO_VARIATION = "every score is the same, so agreement by chance cannot be told from agreement"


@dataclass(frozen=True, slots=True)
class Agreement:
    """An agreement statistic, or why it has no value here."""

    value: float | None
    why: str = ""  # why `value` is None; empty otherwise
    units: int = 0  # items with scores of two or more judges

    def __str__(self) -> str:
        return self.why if self.value is None else f"{self.value:.3f}"


@dataclass(frozen=True, slots=True)
class JudgeSpread:
    """How far values lie apart: highest minus lowest, and the population standard deviation."""

    range: float
    std: float


def krippendorff_alpha(units: Iterable[Unit], level: Level = "interval") -> Agreement:
    """Krippendorff's alpha: 1 minus observed over expected disagreement. 1 is perfect, 0 what chance gives.

    Each unit is one item with what the judges gave it; missing values are left out, and a unit with fewer than two
    values counts for nothing. `level` says how far two values differ: nominal (equal or not), ordinal (by the ranks
    between them) or interval (by the squared distance).

    >>> print(krippendorff_alpha([(1, 1), (2, 2), (3, None)]))
    1.000
    >>> print(krippendorff_alpha([(1, 1), (1, 1)]))
    every score is the same, so agreement by chance cannot be told from agreement
    """
    paired = _paired(units)
    if not paired:
        return Agreement(None, NO_PAIRS)
    counts = Counter(value for unit in paired for value in unit)
    if len(counts) == 1:
        return Agreement(None, NO_VARIATION, len(paired))
    if level == "ordinal":  # the ordinal distance is the interval distance between mid-ranks
        ranks = _mid_ranks(counts)
        paired = [[ranks[value] for value in unit] for unit in paired]
        counts = Counter({ranks[value]: count for value, count in counts.items()})
    total = sum(counts.values())
    observed = math.fsum(_disagreement(Counter(unit), level) / (len(unit) - 1) for unit in paired)
    expected = _disagreement(counts, level) / (total - 1)
    return Agreement(1.0 - observed / expected, units=len(paired))


def spread(values: Iterable[float | None]) -> JudgeSpread | None:
    """How far apart the values lie; None where there are none.

    >>> spread([7, 8, 4]).range
    4
    """
    known = [value for value in values if value is not None]
    return JudgeSpread(max(known) - min(known), pstdev(known)) if known else None


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None where either side does not vary.

    >>> spearman([1, 2, 3], [10, 20, 15])
    0.5
    """
    counts_x, counts_y = Counter(xs), Counter(ys)
    if len(counts_x) < 2 or len(counts_y) < 2:
        return None
    ranks_x, ranks_y = _mid_ranks(counts_x), _mid_ranks(counts_y)
    middle = len(xs) / 2  # the mean of all mid-ranks
    pairs = [(ranks_x[x] - middle, ranks_y[y] - middle) for x, y in zip(xs, ys, strict=True)]
    together = math.fsum(a * b for a, b in pairs)
    alone = math.fsum(a * a for a, _ in pairs) * math.fsum(b * b for _, b in pairs)
    return max(-1.0, min(1.0, together / math.sqrt(alone)))


def kendall(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Kendall's tau-b: pairs in the same order minus pairs in the other, over pairs not tied; None without variation.

    >>> round(kendall([1, 2, 3], [10, 20, 15]), 3)
    0.333
    """
    points = sorted(zip(xs, ys, strict=True))
    pairs = len(points) * (len(points) - 1) // 2
    tied_x, tied_y = _tied_pairs(Counter(xs)), _tied_pairs(Counter(ys))
    if tied_x == pairs or tied_y == pairs:
        return None
    _, swaps = _sorted_with_swaps([y for _, y in points])
    # a swap is a pair in the wrong order; pairs tied in x are sorted by y and so never count as one
    concordance = pairs - tied_x - tied_y + _tied_pairs(Counter(points)) - 2 * swaps
    return max(-1.0, min(1.0, concordance / math.sqrt((pairs - tied_x) * (pairs - tied_y))))


@dataclass(frozen=True, slots=True)
class Errors:
    """Given values against true ones. `bias` is the mean of given minus true: above 0 is too kind."""

    mae: float
    rmse: float
    bias: float


def errors(given: Sequence[float], true: Sequence[float]) -> Errors:
    """Mean absolute error, root mean squared error and bias.

    >>> errors([7, 9], [6, 6])
    Errors(mae=2.0, rmse=2.23606797749979, bias=2.0)
    """
    off = [a - b for a, b in zip(given, true, strict=True)]
    return Errors(fmean(map(abs, off)), math.sqrt(fmean(gap * gap for gap in off)), fmean(off))


def _paired(units: Iterable[Unit]) -> list[list[float]]:
    known = ([value for value in unit if value is not None] for unit in units)
    return [unit for unit in known if len(unit) >= 2]


def _mid_ranks(counts: Counter[float]) -> dict[float, float]:
    """The middle of the places that each value takes when all are put in order, counted from 0."""
    ranks, below = {}, 0
    for value in sorted(counts):
        ranks[value] = below + counts[value] / 2
        below += counts[value]
    return ranks


def _disagreement(counts: Counter[float], level: Level) -> float:
    """The sum of the squared differences over all ordered pairs of the counted values."""
    total = sum(counts.values())
    match level:
        case "nominal":
            return float(total * total - sum(count * count for count in counts.values()))
        case "ordinal" | "interval":
            centre = fmean(counts.elements())  # the sum of squares is stable around the mean
            return 2 * total * math.fsum(count * (value - centre) ** 2 for value, count in counts.items())
        case _:
            assert_never(level)


def _tied_pairs(counts: Counter[float] | Counter[tuple[float, float]]) -> int:
    return sum(count * (count - 1) // 2 for count in counts.values())


def _sorted_with_swaps(values: list[float]) -> tuple[list[float], int]:
    """Merge sort, counting the pairs that stood in the wrong order."""
    if len(values) < 2:
        return values, 0
    middle = len(values) // 2
    left, swaps_left = _sorted_with_swaps(values[:middle])
    right, swaps_right = _sorted_with_swaps(values[middle:])
    swaps = swaps_left + swaps_right + sum(bisect_left(right, value) for value in left)
    return sorted(left + right), swaps
