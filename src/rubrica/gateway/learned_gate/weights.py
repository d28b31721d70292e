"""Logistic regression over a few signals: a chance between 0 and 1, shrunk towards what is true on average."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from statistics import fmean, pstdev

import msgspec

from rubrica.scoring.combination import solve

SHRINK = 5.0
"""Each weight is pulled towards 0 as if so many samples spoke against it."""

LEAST_SPREAD = 0.05
STEPS, LONGEST_STEP, SMALLEST_STEP = 10, 2.0, 0.01
FARTHEST = 4.0
"""Spreads from the mean beyond which a signal counts no further: nothing was learnt there."""


class ChanceWeights(msgspec.Struct, frozen=True):
    """What each signal counts, once its mean is taken off and it is divided by its spread."""

    means: tuple[float, ...]
    spreads: tuple[float, ...]
    weights: tuple[float, ...]
    level: float

    def chance(self, signals: Sequence[float]) -> float:
        """How likely it is.

        >>> round(ChanceWeights((1.0,), (2.0,), (1.0,), 0.0).chance([5.0]), 3)
        0.881
        """
        return _logistic(self.level + sum(map(mul, self.weights, _placed(signals, self.means, self.spreads))))


def fit_chance(rows: Sequence[Sequence[float]], true: Sequence[bool]) -> ChanceWeights:
    """The weights under which the samples are likeliest, by Newton's method.

    >>> found = fit_chance([[0.0], [1.0]] * 50, [False, True] * 50)
    >>> found.chance([1.0]) > 0.8 > 0.2 > found.chance([0.0])
    True
    """
    columns = list(zip(*rows, strict=True))
    means = tuple(fmean(column) for column in columns)
    spreads = tuple(max(pstdev(column), LEAST_SPREAD) for column in columns)
    placed = [list(column) for column in zip(*(_placed(row, means, spreads) for row in rows), strict=True)]
    telling = [place for place, column in enumerate(placed) if any(column)]  # the others are the same for all
    found = _likeliest([*(placed[place] for place in telling), [1.0] * len(rows)], true)
    weights = dict(zip(telling, found, strict=False))
    return ChanceWeights(means, spreads, tuple(weights.get(place, 0.0) for place in range(len(columns))), found[-1])


def _likeliest(columns: Sequence[Sequence[float]], true: Sequence[bool]) -> list[float]:
    weights = [0.0] * len(columns)
    for _ in range(STEPS):
        steps = [max(-LONGEST_STEP, min(LONGEST_STEP, step)) for step in _newton_step(columns, true, weights)]
        weights = [own + step for own, step in zip(weights, steps, strict=True)]
        if max(map(abs, steps)) < SMALLEST_STEP:
            break
    return [round(weight, 6) for weight in weights]


def _newton_step(columns: Sequence[Sequence[float]], true: Sequence[bool], weights: Sequence[float]) -> list[float]:
    size = len(columns)
    shrink = [SHRINK] * (size - 1) + [1e-6]  # what is true on average is not shrunk
    chances = [_logistic(sum(map(mul, weights, row))) for row in zip(*columns, strict=True)]
    off = [wanted - chance for wanted, chance in zip(true, chances, strict=True)]
    bends = [chance * (1 - chance) for chance in chances]
    matrix = [[0.0] * size for _ in range(size)]
    for i in range(size):
        bent = list(map(mul, bends, columns[i]))
        for j in range(i + 1):
            matrix[i][j] = matrix[j][i] = sum(map(mul, bent, columns[j]))
        matrix[i][i] += shrink[i]
    pull = [sum(map(mul, off, columns[i])) - shrink[i] * weights[i] for i in range(size)]
    return solve(matrix, pull)


def _placed(signals: Sequence[float], means: Sequence[float], spreads: Sequence[float]) -> list[float]:
    """Signals as distances from their means, in spreads."""
    placed = ((value - mean) / spread for value, mean, spread in zip(signals, means, spreads, strict=True))
    return [max(-FARTHEST, min(FARTHEST, value)) for value in placed]


def _logistic(line: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, line))))
