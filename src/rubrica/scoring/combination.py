"""A panel that learns: judges' scores put together by weights from labels, which may be below 0.

Few labels cannot tell many judges apart, so no single way of combining them is trusted. Each simple way (the mean of
all, all by their odds of being right, one judge alone, all with weights of their own) is fitted with shrinkage, tried
on labels it was not fitted to, and counts by how well it did there. All of them are straight lines, and so is what
comes out. Whether it is used at all is for the caller to try: a majority needs no labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul
from statistics import fmean

BELIEF_IN_MEAN, BELIEF_IN_ODDS, BELIEF_IN_ONE, BELIEF_IN_WEIGHTS = 0.3, 0.45, 0.2, 0.05
"""How far each way is believed in before any label is seen."""

PRIOR_OF_POOL, PRIOR_OF_ONE, PRIOR_OF_WEIGHTS = 1.0, 4.0, 10.0
"""Each slope is shrunk towards 0 as if so many labels (at the ends of the scale) had shown nothing."""

PRIOR_OF_LOG_ODDS = 1.0
"""The same where slopes are of log-odds: the inverse of the variance that is expected of them."""

COMMON_WEIGHT = 10.0
"""How freely the weight that all judges share may move, when each also has one of its own."""

PRIOR_ANSWERS = 4.0
"""So many tosses of a coin are added to the record by which a judge's odds of being right are told."""

SHARPNESS = 2.0
"""The odds are raised to this power. Independent judges would want their logarithm; judges make the same mistakes, so
three middling ones must not outvote a good one."""

NEGLIGIBLE = 1e-4
_STEPS, _LONGEST_STEP, _SHORTEST_STEP = 12, 2.0, 1e-6
_Columns = list[list[float]]  # by judge, then by item; 0 where a judge gave nothing


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
    rows: Sequence[Mapping[str, float]], truth: Sequence[float], folds: Sequence[Sequence[int]], *, sides: bool = False
) -> LinearCombination:
    """Weights for the judges of some labelled items.

    Scores and labels are laid out from -1 to 1. `folds` are the items by number, each in one fold; what belongs
    together stands in the same. With `sides`, labels are one of two sides that mean nothing by themselves: what comes
    out are log-odds of the upper one, and a judge that leans to one side is taken at its word.

    >>> said = [{"right": side, "fooled": -side if item % 3 else side} for item, side in enumerate([1, -1] * 30)]
    >>> folds = [range(start, 60, 5) for start in range(5)]
    >>> learned = learn_combination(said, [1, -1] * 30, folds, sides=True)
    >>> learned.weights["right"] > 2, abs(learned.weights["fooled"]) < 0.1
    (True, True)
    """
    judges = sorted({judge for row in rows for judge in row})
    ways = _ways(len(judges), sides=sides)
    loss = _surprise if sides else _square
    lost = [0.0] * len(ways)
    for fold in folds:
        others = sorted(set(range(len(rows))) - set(fold))
        layout = _Layout.of([rows[item] for item in others], [truth[item] for item in others], judges, sides=sides)
        fitted = [way.fit(layout) for way in ways]
        tried = [(_distances(rows[item], judges, layout.centres), truth[item]) for item in fold]
        for place, weights in enumerate(fitted):
            lost[place] += math.fsum(loss(layout.level + sum(map(mul, weights, given)), true) for given, true in tried)
    layout = _Layout.of(rows, truth, judges, sides=sides)
    weights = [0.0] * len(judges)
    for way, belief in zip(ways, _beliefs(ways, lost, len(rows), sides=sides), strict=True):
        if belief > NEGLIGIBLE:
            weights = [total + belief * own for total, own in zip(weights, way.fit(layout), strict=True)]
    return LinearCombination(
        layout.level, dict(zip(judges, weights, strict=True)), dict(zip(judges, layout.centres, strict=True))
    )


def _square(said: float, true: float) -> float:
    return (said - true) ** 2


def _surprise(log_odds: float, true: float) -> float:
    """How unlikely the true side was held to be: the negative logarithm of its chance."""
    return math.log1p(math.exp(-max(-30.0, min(30.0, log_odds * true))))


@dataclass(frozen=True, slots=True)
class _Layout:
    """Labelled items as columns of distances from each judge's centre, and labels as distances from the level."""

    columns: _Columns
    truth: list[float]
    centres: list[float]
    level: float

    @classmethod
    def of(
        cls, rows: Sequence[Mapping[str, float]], truth: Sequence[float], judges: Sequence[str], *, sides: bool
    ) -> _Layout:
        given = [[row[judge] for row in rows if judge in row] for judge in judges]
        centres = [fmean(own) if own and not sides else 0.0 for own in given]
        level = fmean(truth) if truth and not sides else 0.0
        distances = [_distances(row, judges, centres) for row in rows]
        columns = [list(column) for column in zip(*distances, strict=True)] or [[] for _ in judges]
        return cls(columns, [value - level for value in truth], centres, level)


@dataclass(frozen=True, slots=True)
class _Way:
    """One way to combine: how far it is believed in beforehand, and the weights that it gives."""

    belief: float
    fit: Callable[[_Layout], list[float]]


def _distances(row: Mapping[str, float], judges: Sequence[str], centres: Sequence[float]) -> list[float]:
    return [row[judge] - centre if judge in row else 0.0 for judge, centre in zip(judges, centres, strict=True)]


def _ways(judges: int, *, sides: bool) -> list[_Way]:
    def along(direction: Callable[[_Layout], list[float]], prior: float) -> Callable[[_Layout], list[float]]:
        return lambda layout: _scaled(direction(layout), layout, prior, sides=sides)

    alone = [
        _Way(BELIEF_IN_ONE / judges, along(partial(_alone, place), PRIOR_OF_LOG_ODDS if sides else PRIOR_OF_ONE))
        for place in range(judges)
    ]
    if judges == 1:
        return alone
    prior = PRIOR_OF_LOG_ODDS if sides else PRIOR_OF_POOL
    pooled = [
        _Way(BELIEF_IN_MEAN, along(_alike, prior)),
        _Way(BELIEF_IN_ODDS, along(partial(_by_odds, sides=sides), prior)),
        _Way(BELIEF_IN_WEIGHTS, _weighed_sides if sides else _weighed),
    ]
    return [*pooled, *alone]


def _beliefs(ways: Sequence[_Way], lost: Sequence[float], items: int, *, sides: bool) -> list[float]:
    """How far each way is believed in once its losses on left-out labels are known; they sum to 1."""
    logs = [
        math.log(way.belief) - (loss if sides else items / 2 * math.log(max(loss / items, 1e-9)))
        for way, loss in zip(ways, lost, strict=True)
    ]
    most = max(logs)
    odds = [math.exp(log - most) for log in logs]
    return [own / sum(odds) for own in odds]


def _scaled(direction: Sequence[float], layout: _Layout, prior: float, *, sides: bool) -> list[float]:
    """Weights in a direction, as large as the labels say."""
    pooled = [sum(map(mul, direction, values)) for values in zip(*layout.columns, strict=True)]
    slope = _log_odds_slopes([pooled], layout.truth, prior)[0] if sides else _slope(pooled, layout.truth, prior)
    return [slope * own for own in direction]


def _slope(given: Sequence[float], truth: Sequence[float], prior: float) -> float:
    along: float = sum(map(mul, given, truth))
    own: float = sum(map(mul, given, given))
    return along / (own + prior)


def _log_odds_slopes(columns: _Columns, truth: Sequence[float], prior: float) -> list[float]:
    """The slopes of log-odds that make the labels likeliest (logistic regression, by Newton's method)."""
    slopes = [0.0] * len(columns)
    items = list(zip(*columns, strict=True))
    for _ in range(_STEPS):
        said = (
            max(-30.0, min(30.0, true * sum(map(mul, slopes, item)))) for item, true in zip(items, truth, strict=True)
        )
        wrong = [true / (1 + math.exp(log_odds)) for log_odds, true in zip(said, truth, strict=True)]
        pull = [sum(map(mul, column, wrong)) - prior * slope for column, slope in zip(columns, slopes, strict=True)]
        bends = [abs(own) * (1 - abs(own)) for own in wrong]
        step = solve(_products(columns, bends, prior), pull)
        longest = max(map(abs, step), default=0.0)
        scale = min(1.0, _LONGEST_STEP / max(longest, _SHORTEST_STEP))
        slopes = [slope + scale * own for slope, own in zip(slopes, step, strict=True)]
        if longest < _SHORTEST_STEP:
            break
    return slopes


def _products(columns: _Columns, by: Sequence[float], prior: float) -> list[list[float]]:
    """Sums over items of the products of any two columns, each item counted `by` so much, and what is expected."""
    matrix = [[0.0] * len(columns) for _ in columns]
    for i, column in enumerate(columns):
        weighed = list(map(mul, column, by))
        for j in range(i + 1):
            matrix[i][j] = matrix[j][i] = sum(map(mul, weighed, columns[j]))
        matrix[i][i] += prior
    return matrix


def _alike(layout: _Layout) -> list[float]:
    """The same weight for every judge."""
    return [1 / len(layout.columns)] * len(layout.columns)


def _by_odds(layout: _Layout, *, sides: bool) -> list[float]:
    """Weights by the odds of being on the side of the label: none for a coin.

    A judge worse than a coin has a weight below 0 where there are two sides: then the other one is likely right. Of a
    scale, being off says nothing of where to look instead.
    """
    odds = []
    for column in layout.columns:
        sure = (max(-1.0, min(1.0, given * true)) for given, true in zip(column, layout.truth, strict=True))
        right = sum((1 + own) / 2 for own in sure)
        chance = (right + PRIOR_ANSWERS / 2) / (len(layout.truth) + PRIOR_ANSWERS)
        lead = (chance / (1 - chance)) ** SHARPNESS
        odds.append(lead - 1 if sides else lead if chance > 0.5 else 0.0)
    total = sum(map(abs, odds))
    return [own / total for own in odds] if total else _alike(layout)


def _alone(place: int, layout: _Layout) -> list[float]:
    """All weight for one judge."""
    return [float(other == place) for other in range(len(layout.columns))]


def _weighed(layout: _Layout) -> list[float]:
    """Weights of their own for all judges at once, each shrunk towards one that they share (ridge regression)."""
    columns, count = layout.columns, len(layout.columns)
    shared = PRIOR_OF_WEIGHTS**2 * COMMON_WEIGHT / count**2 / (1 + PRIOR_OF_WEIGHTS * COMMON_WEIGHT / count)
    matrix = [
        [value - shared for value in row] for row in _products(columns, [1.0] * len(layout.truth), PRIOR_OF_WEIGHTS)
    ]
    return solve(matrix, [sum(map(mul, column, layout.truth)) for column in columns])


def _weighed_sides(layout: _Layout) -> list[float]:
    """Log-odds of their own for all judges at once, so that judges who make the same mistakes count once."""
    return _log_odds_slopes(layout.columns, layout.truth, PRIOR_OF_LOG_ODDS)


def solve(matrix: list[list[float]], right: list[float]) -> list[float]:
    """The solution of a system of linear equations whose matrix is symmetric and positive definite (Cholesky).

    >>> solve([[4.0, 2.0], [2.0, 5.0]], [8.0, 12.0])
    [1.0, 2.0]
    """
    size = len(right)
    lower: list[list[float]] = []
    for i in range(size):
        row: list[float] = []
        for j in range(i):
            row.append((matrix[i][j] - sum(map(mul, row, lower[j]))) / lower[j][j])
        row.append(math.sqrt(max(matrix[i][i] - sum(map(mul, row, row)), 1e-12)))
        lower.append(row)
    forward: list[float] = []
    for i in range(size):
        forward.append((right[i] - sum(map(mul, lower[i], forward))) / lower[i][i])
    found = [0.0] * size
    for i in reversed(range(size)):
        found[i] = (forward[i] - sum(lower[k][i] * found[k] for k in range(i + 1, size))) / lower[i][i]
    return found
