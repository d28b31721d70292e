"""Fits a linear model to examples: multinomial logistic regression by accelerated gradient descent, or, where columns
are few, logistic regression by Newton's method.

Everything is added up in a fixed order and nothing is drawn at random, so that the same examples give the same weights.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NEWTON_STEPS = 50
CLIP = 99.99  # the percentile of weights that becomes the largest byte; the few beyond it are cut


@dataclass(frozen=True, slots=True)
class Recipe:
    """How weights are found."""

    shrink: float  # the price of large weights
    balance: float  # from 0, every example counts the same, to 1, every label does
    steps: int


@dataclass(frozen=True, slots=True)
class Sparse:
    """The vectors of many texts: entry i says that `rows[i]` has `values[i]` in `columns[i]`, sorted by row."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: Floats
    height: int
    width: int

    @classmethod
    def of(cls, vectors: Sequence[Mapping[int, float]], width: int) -> Sparse:
        rows = np.repeat(np.arange(len(vectors)), [len(vector) for vector in vectors])
        columns = np.array([row for vector in vectors for row in vector], dtype=np.int64)
        values = np.array([value for vector in vectors for value in vector.values()], dtype=np.float64)
        return cls(rows, columns, values, len(vectors), width)

    def chosen(self, rows: NDArray[np.int64]) -> Sparse:
        """Some of the texts, in the order given, which is rising."""
        place = np.full(self.height, -1)
        place[rows] = np.arange(len(rows))
        kept = place[self.rows] >= 0
        return Sparse(place[self.rows[kept]], self.columns[kept], self.values[kept], len(rows), self.width)

    def stretched(self, by: Floats) -> Sparse:
        """The same texts, each column multiplied."""
        return Sparse(self.rows, self.columns, self.values * by[self.columns], self.height, self.width)

    def texts_by_column(self) -> NDArray[np.int64]:
        """How many texts touch each column."""
        return np.bincount(self.columns, minlength=self.width)

    def times(self, weights: Floats) -> Floats:
        """Every text's vector times each column of weights."""
        return np.stack(
            [np.bincount(self.rows, self.values * column[self.columns], self.height) for column in weights.T], axis=1
        )

    def turned_times(self, parts: Floats) -> Floats:
        """The transposed vectors times each column of parts."""
        return np.stack(
            [np.bincount(self.columns, self.values * column[self.rows], self.width) for column in parts.T], axis=1
        )


def in_bytes(weights: Floats) -> tuple[array[int], float]:
    """Weights as signed bytes, row by row, and what to multiply them with."""
    scale = float(np.percentile(np.abs(weights[weights != 0]), CLIP)) / 127
    whole = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    return array("b", whole.tobytes()), scale


def descend(vectors: Sparse, wanted: NDArray[Any], labels: int, recipe: Recipe, counts: Floats | float = 1.0) -> Floats:
    """Weights by label that make the wanted ones likely, by Nesterov's method; `counts` is how much each text does."""
    texts = np.bincount(wanted, minlength=labels)
    importance = (counts * ((texts.sum() / texts / labels) ** recipe.balance)[wanted])[:, None]
    target = np.eye(labels)[wanted]
    step = 1 / (0.5 * importance.max() * _largest_stretch(vectors) + recipe.shrink)
    now = before = np.zeros((vectors.width, labels))
    for turn in range(recipe.steps):
        ahead = now + turn / (turn + 3) * (now - before)
        slope = vectors.turned_times((chances_of(vectors.times(ahead)) - target) * importance)
        now, before = ahead - step * (slope + recipe.shrink * ahead), now
    return now


def descend_dense(vectors: Floats, wanted: NDArray[Any], labels: int, recipe: Recipe, counts: Floats) -> Floats:
    """As `descend`, for vectors without gaps."""
    texts = np.bincount(wanted, minlength=labels)
    importance = (counts * ((texts.sum() / texts / labels) ** recipe.balance)[wanted])[:, None]
    target = np.eye(labels)[wanted]
    step = 1 / (0.55 * importance.max() * np.linalg.norm(vectors.T @ vectors, 2) + recipe.shrink)
    now = before = np.zeros((vectors.shape[1], labels))
    for turn in range(recipe.steps):
        ahead = now + turn / (turn + 3) * (now - before)
        slope = vectors.T @ ((chances_of(vectors @ ahead) - target) * importance)
        now, before = ahead - step * (slope + recipe.shrink * ahead), now
    return np.asarray(now)


def descend_between_two(vectors: Sparse, second: NDArray[Any], recipe: Recipe, counts: Floats) -> Floats:
    """What `descend` gives the second of two labels over the first, in less than half the time."""
    touched = vectors.values != 0
    used, columns = np.unique(vectors.columns[touched], return_inverse=True)
    compact = Sparse(vectors.rows[touched], columns, vectors.values[touched], vectors.height, len(used))
    step = 1 / (0.25 * counts.max() * _largest_stretch(compact) + recipe.shrink / 2)
    now = before = np.zeros((len(used), 1))
    for turn in range(recipe.steps):
        ahead = now + turn / (turn + 3) * (now - before)
        chances = 1 / (1 + np.exp(-compact.times(ahead)[:, 0]))
        slope = compact.turned_times(((chances - second) * counts)[:, None])
        now, before = ahead - step * (slope + recipe.shrink / 2 * ahead), now
    found = np.zeros(vectors.width)
    found[used] = now[:, 0]
    return found


def newton(numbers: Floats, wanted: Floats, prices: Floats, counts: Floats | float = 1.0) -> Floats:
    """A weight for each column, by logistic regression; `prices` is what a large weight costs, by column."""
    found = np.zeros(numbers.shape[1])
    for _ in range(NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(numbers @ found, -30, 30)))
        slope = numbers.T @ (counts * (chance - wanted)) + prices * found
        bend = (numbers * (counts * chance * (1 - chance))[:, None]).T @ numbers + np.diag(prices)
        step = np.linalg.solve(bend, slope)
        found = found - step
        if np.abs(step).max() < 1e-7:
            break
    return found


def rounded(values: Iterable[float]) -> tuple[float, ...]:
    """Weights as they are stored."""
    return tuple(round(float(value), 4) for value in values)


def chances_of(scores: Floats) -> Floats:
    """Scores by label as chances that add up to 1."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _largest_stretch(vectors: Sparse) -> float:
    """The largest eigenvalue of the vectors' products, a little overestimated: no step may be longer."""
    guess = np.ones((vectors.height, 1))
    length = 1.0
    for _ in range(20):
        guess = vectors.times(vectors.turned_times(guess))
        length = float(np.linalg.norm(guess))
        guess /= length
    return 1.05 * length
