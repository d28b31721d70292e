"""A panel that learns: judges' scores put together by weights from labels, which may be below 0.

Few labels cannot tell many judges apart, so no single way of combining them is trusted. Each simple way (all alike, one
judge alone, one judge beside all, a weight for each) is a regression with a prior, and counts by its evidence: how
likely the labels are under it, over all the weights that its prior allows. A way with more freedom has to earn it, and
no label is set aside to find that out. All of them are straight lines, and so is what comes out. Whether it is used at
all is for the caller to try: a majority needs no labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import mul
from statistics import fmean

ALIKE, ALONE, BESIDE, EACH = 0.2, 0.35, 0.3, 0.15
"""How far each way is believed in before any label is seen; what rests on one judge is shared among the judges."""

NEGLIGIBLE = 1e-4
_STEPS, _LONGEST_STEP, _STILL = 30, 3.0, 1e-6
_Columns = list[list[float]]  # by judge, then by item; 0 where a judge gave nothing
_Matrix = list[list[float]]


@dataclass(frozen=True, slots=True)
class Expected:
    """What slopes are expected to be: their mean, and how far from it they may lie (a standard deviation)."""

    common: float
    common_spread: float
    alone: float
    alone_spread: float
    own_spread: float  # of a judge's own weight, where all have one


OF_LOG_ODDS = Expected(common=2.0, common_spread=1.0, alone=3.0, alone_spread=1.5, own_spread=0.7)
"""Slopes of log-odds, for votes from -1 to 1: whom to follow alone is right 82 to 99 times in 100."""

OF_SCORES = Expected(common=1.0, common_spread=2.0, alone=1.0, alone_spread=2.0, own_spread=1.0)
"""Slopes of scores: judges are taken at their word. The spreads are in units of the error that is left."""

NOISE_LABELS, NOISE = 2.0, 0.1
"""The squared error of scores is expected to be NOISE, as if so many labels had shown it."""


@dataclass(frozen=True, slots=True)
class LinearCombination:
    """`level` plus, for every judge who gave a score, its weight times the distance of that score from its centre."""

    level: float
    weights: Mapping[str, float]
    centres: Mapping[str, float]

    def value(self, scores: Mapping[str, float]) -> float:
        """What the scores come to. A judge who gave none moves nothing.

        >>> LinearCombination(5, {"a": 0.9, "b": -0.2}, {"a": 6, "b": 7}).value({"a": 8, "b": 8})
        6.6
        """
        known = [
            (scores[judge], weight, self.centres[judge]) for judge, weight in self.weights.items() if judge in scores
        ]
        return self.level + math.fsum(weight * (score - centre) for score, weight, centre in known)

    def share(self, judges: Sequence[str]) -> float:
        """How much of all weight these judges hold, whatever its sign: 0 to 1."""
        total = math.fsum(map(abs, self.weights.values()))
        return math.fsum(abs(self.weights.get(judge, 0.0)) for judge in set(judges)) / total if total else 0.0


def learn_combination(
    rows: Sequence[Mapping[str, float]], truth: Sequence[float], *, sides: bool = False
) -> LinearCombination:
    """Weights for the judges of some labelled items.

    Scores and labels are laid out from -1 to 1. With `sides`, labels are one of two sides that mean nothing by
    themselves: what comes out are log-odds of the upper one, and a judge that leans to one side is taken at its word.

    >>> said = [{"right": side, "fooled": -side if item % 3 else side} for item, side in enumerate([1, -1] * 30)]
    >>> learned = learn_combination(said, [1, -1] * 30, sides=True)
    >>> learned.weights["right"] > 2, abs(learned.weights["fooled"]) < 0.5
    (True, True)
    """
    judges = sorted({judge for row in rows for judge in row})
    given = [[row[judge] for row in rows if judge in row] for judge in judges]
    centres = [fmean(own) if own and not sides else 0.0 for own in given]
    level = fmean(truth) if truth and not sides else 0.0
    columns = [
        [row[judge] - centre if judge in row else 0.0 for row in rows]
        for judge, centre in zip(judges, centres, strict=True)
    ]
    weights = _weights(columns, [value - level for value in truth], sides=sides)
    return LinearCombination(level, dict(zip(judges, weights, strict=True)), dict(zip(judges, centres, strict=True)))


def _weights(columns: _Columns, truth: Sequence[float], *, sides: bool) -> list[float]:
    """The mean of what every way makes of the labels, by how far each is believed in once they are seen."""
    ways = _ways(columns, OF_LOG_ODDS if sides else OF_SCORES)
    fit = _fit_sides if sides else _fit_scores
    fits = [fit(way.columns, truth, way.prior) for way in ways]
    logs = [math.log(way.belief) + found.evidence for way, found in zip(ways, fits, strict=True)]
    odds = [math.exp(log - max(logs)) for log in logs]
    weights = [0.0] * len(columns)
    for way, found, own in zip(ways, fits, odds, strict=True):
        if (belief := own / sum(odds)) > NEGLIGIBLE:
            for slope, shares in zip(found.slopes, way.shares, strict=True):
                for judge, share in shares.items():
                    weights[judge] += belief * slope * share
    return weights


@dataclass(frozen=True, slots=True)
class _Prior:
    """What is expected of slopes: their means, and the inverse of their covariance."""

    means: list[float]
    precision: _Matrix

    @classmethod
    def apart(cls, *slopes: tuple[float, float]) -> _Prior:
        """Of slopes that say nothing of each other, each with its mean and spread."""
        precision = [
            [spread**-2 if i == j else 0.0 for j in range(len(slopes))] for i, (_, spread) in enumerate(slopes)
        ]
        return cls([mean for mean, _ in slopes], precision)

    @classmethod
    def around_common(cls, count: int, expected: Expected) -> _Prior:
        """Of a slope for each judge, around one that all share (Sherman and Morrison's inverse)."""
        own, common = expected.own_spread**2, (expected.common_spread / count) ** 2
        shared = common / (own * (own + count * common))
        precision = [[(i == j) / own - shared for j in range(count)] for i in range(count)]
        return cls([expected.common / count] * count, precision)

    def apart_from(self, slopes: Sequence[float]) -> list[float]:
        """The precision times the distance of some slopes from what is expected."""
        distance = [slope - mean for slope, mean in zip(slopes, self.means, strict=True)]
        return [sum(map(mul, row, distance)) for row in self.precision]


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to combine: how far it is believed in beforehand, and what it gives slopes to."""

    belief: float
    columns: _Columns
    prior: _Prior
    shares: list[dict[int, float]]  # for each column, what of it is which judge's


@dataclass(frozen=True, slots=True)
class _Fit:
    """The likeliest slopes, and the logarithm of how likely the labels are, up to what all ways share."""

    slopes: list[float]
    evidence: float


def _ways(columns: _Columns, expected: Expected) -> list[_Way]:
    count = len(columns)
    if not count:
        return []
    alone = expected.alone, expected.alone_spread
    every = dict.fromkeys(range(count), 1 / count)
    if count == 1:
        return [_Way(1.0, columns, _Prior.apart(alone), [every])]
    mean = [fmean(values) for values in zip(*columns, strict=True)]
    common = expected.common, expected.common_spread
    ways = [
        _Way(ALIKE, [mean], _Prior.apart(common), [every]),
        _Way(EACH, columns, _Prior.around_common(count, expected), [{judge: 1.0} for judge in range(count)]),
    ]
    for judge, column in enumerate(columns):
        ways += [
            _Way(ALONE / count, [column], _Prior.apart(alone), [{judge: 1.0}]),
            _Way(
                BESIDE / count,
                [mean, column],
                _Prior.apart((0.0, expected.common_spread), alone),
                [every, {judge: 1.0}],
            ),
        ]
    return ways


def _fit_sides(columns: _Columns, truth: Sequence[float], prior: _Prior) -> _Fit:
    """Logistic regression by Newton's method; its evidence by Laplace's."""
    slopes = list(prior.means)
    for _ in range(_STEPS):
        said = _said(columns, slopes, truth)
        wrong = [true / (1 + math.exp(_within(log * true))) for log, true in zip(said, truth, strict=True)]
        pull = [
            sum(map(mul, column, wrong)) - back for column, back in zip(columns, prior.apart_from(slopes), strict=True)
        ]
        bends = [abs(own) * (1 - abs(own)) for own in wrong]
        lower = cholesky(_products(columns, prior.precision, bends))
        step = _solved(lower, pull)
        longest = max(map(abs, step))
        slopes = [
            slope + own * min(1.0, _LONGEST_STEP / max(longest, _STILL))
            for slope, own in zip(slopes, step, strict=True)
        ]
        if longest < _STILL:
            break
    said = _said(columns, slopes, truth)
    likely = -math.fsum(math.log1p(math.exp(-_within(log * true))) for log, true in zip(said, truth, strict=True))
    distance = [slope - mean for slope, mean in zip(slopes, prior.means, strict=True)]
    likely -= sum(map(mul, distance, prior.apart_from(slopes))) / 2
    return _Fit(slopes, likely + _log_root(cholesky(prior.precision)) - _log_root(lower))


def _fit_scores(columns: _Columns, truth: Sequence[float], prior: _Prior) -> _Fit:
    """Linear regression with an error that is not known; its evidence is exact."""
    lower = cholesky(_products(columns, prior.precision, [1.0] * len(truth)))
    back = [sum(map(mul, row, prior.means)) for row in prior.precision]
    along = [sum(map(mul, column, truth)) + own for column, own in zip(columns, back, strict=True)]
    slopes = _solved(lower, along)
    left = sum(map(mul, truth, truth)) + sum(map(mul, prior.means, back)) - sum(map(mul, slopes, along))
    count = NOISE_LABELS + len(truth)
    fit = -count / 2 * math.log(max(left, 0.0) + NOISE_LABELS * NOISE)
    return _Fit(slopes, fit + _log_root(cholesky(prior.precision)) - _log_root(lower))


def _said(columns: _Columns, slopes: Sequence[float], truth: Sequence[float]) -> list[float]:
    if not truth:
        return []
    return [sum(map(mul, slopes, values)) for values in zip(*columns, strict=True)]


def _within(log_odds: float) -> float:
    return max(-30.0, min(30.0, log_odds))


def _products(columns: _Columns, precision: _Matrix, by: Sequence[float]) -> _Matrix:
    """The precision of slopes once labels are seen."""
    found = [list(row) for row in precision]
    for i, column in enumerate(columns):
        weighed = list(map(mul, column, by))
        for j in range(i + 1):
            found[i][j] += sum(map(mul, weighed, columns[j]))
            found[j][i] = found[i][j]
    return found


def solve(matrix: _Matrix, right: Sequence[float]) -> list[float]:
    """The solution of a system of linear equations whose matrix is symmetric and positive definite (Cholesky).

    >>> solve([[4.0, 2.0], [2.0, 5.0]], [8.0, 12.0])
    [1.0, 2.0]
    """
    return _solved(cholesky(matrix), right)


def cholesky(matrix: _Matrix) -> _Matrix:
    """The rows of the lower triangle that, times itself turned over, is the matrix.

    >>> cholesky([[4.0, 2.0], [2.0, 5.0]])
    [[2.0], [1.0, 2.0]]
    """
    lower: _Matrix = []
    for i in range(len(matrix)):
        row: list[float] = []
        for j in range(i):
            row.append((matrix[i][j] - sum(map(mul, row, lower[j]))) / lower[j][j])
        row.append(math.sqrt(max(matrix[i][i] - sum(map(mul, row, row)), 1e-12)))
        lower.append(row)
    return lower


def _log_root(lower: _Matrix) -> float:
    """Half the logarithm of the determinant."""
    return math.fsum(math.log(row[-1]) for row in lower)


def _solved(lower: _Matrix, right: Sequence[float]) -> list[float]:
    size = len(right)
    forward: list[float] = []
    for i in range(size):
        forward.append((right[i] - sum(map(mul, lower[i], forward))) / lower[i][i])
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (forward[i] - sum(lower[k][i] * found[k] for k in range(i + 1, size))) / lower[i][i]
    return found
