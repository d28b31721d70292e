"""A linear head over the sentence vectors of exchanges: logistic regression by Newton's method, shrunken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rubrica.text.sentence_model import SentenceModel
from rubrica.text.sentence_risk import ExchangeHead, beginnings

from .exchanges import Labelled
from .fit import Floats

Vectors = NDArray[np.float32]

STEPS = 5


def vectors_of(model: SentenceModel, texts: Sequence[Labelled]) -> Vectors:
    """The vectors of prompt and response side by side, of each text that is no part of another; else noughts."""
    read = [("", "") if each.part else beginnings(each.exchange) for each in texts]
    distinct = sorted({text for pair in read for text in pair if text})
    vectors = dict(zip(distinct, model.encode_both(distinct), strict=True))
    nothing = np.zeros_like(vectors[distinct[0]])
    return np.stack([np.concatenate([vectors.get(text, nothing) for text in pair]) for pair in read])


def fit_layers(vectors: Vectors, unsafe: NDArray[np.int64], counts: Floats, shrinks: tuple[float, float]) -> Floats:
    """The mean of two heads, one over the last vectors of prompt and response and one over the middle ones."""
    mean = np.zeros(vectors.shape[1] + 1)
    layers = np.arange(vectors.shape[1]) // (vectors.shape[1] // 4) % 2
    for layer, shrink in enumerate(shrinks):
        columns = np.flatnonzero(layers == layer)
        found = fit_head(vectors[:, columns], unsafe, counts, shrink)
        mean[columns] = found[:-1] / len(shrinks)
        mean[-1] += found[-1] / len(shrinks)
    return mean


def fit_head(vectors: Vectors, unsafe: NDArray[np.int64], counts: Floats, shrink: float) -> Floats:
    """The weights that make the labels likely, and at the end what every text has.

    `counts` is how much each text does, `shrink` the price of large weights.
    """
    known = _with_one(vectors)  # in short numbers, since there are many
    price = np.append(np.full(vectors.shape[1], shrink), 1e-6)
    weights = np.zeros(known.shape[1])
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(-known @ weights))
        slope = known.T @ ((chances - unsafe) * counts) + price * weights
        bent = known * (counts * chances * (1 - chances)).astype(np.float32)[:, None]
        bend = (bent.T @ known).astype(np.float64) + np.diag(price)
        weights = weights - np.linalg.solve(bend, slope)
    return np.asarray(weights)


def head_scores(weights: Floats, vectors: Vectors) -> Floats:
    """The score of each text."""
    return np.asarray(_with_one(vectors) @ weights)


def to_head(weights: Floats, add: float) -> ExchangeHead:
    """The weights as they are stored, with something added to every score."""
    half = (len(weights) - 1) // 2
    prompt, response = (tuple(round(float(each), 4) for each in part) for part in (weights[:half], weights[half:-1]))
    return ExchangeHead(round(float(weights[-1]) + add, 4), prompt, response)


def _with_one(vectors: Vectors) -> Vectors:
    return np.column_stack([vectors, np.ones(len(vectors))]).astype(np.float32)
