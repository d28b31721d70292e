"""Linear heads over the sentence vectors of exchanges: logistic regression by Newton's method, shrunken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rubrica.text.sentence_model import SentenceModel
from rubrica.text.sentence_risk import ExchangeHead, KindModel, beginnings

from .exchanges import Labelled
from .fit import Floats

Vectors = NDArray[np.float32]

STEPS = 5
KIND_SHRINK = 1.0


class KindWeights(NamedTuple):
    """What is learnt of one kind of exchange; each is a weight for every number of a vector and one for every text."""

    kind: Floats  # how to tell it
    unsafe: Floats  # how to tell what is unsafe in it


class KnownTexts(NamedTuple):
    """What is known of some texts."""

    unsafe: NDArray[np.int64]
    counts: Floats  # how much each teaches
    kinds: Sequence[str]  # "" where it is not known: such a text teaches the heads of all kinds


def vectors_of(model: SentenceModel, texts: Sequence[Labelled]) -> Vectors:
    """The vectors of prompt and response side by side, of each text that is no part of another; else noughts."""
    read = [("", "") if each.part else beginnings(each.exchange) for each in texts]
    distinct = sorted({text for pair in read for text in pair if text})
    vectors = dict(zip(distinct, model.encode_both(distinct), strict=True))
    nothing = np.zeros_like(vectors[distinct[0]])
    return np.stack([np.concatenate([vectors.get(text, nothing) for text in pair]) for pair in read])


def fit_kinds(vectors: Vectors, known: KnownTexts, shrinks: tuple[float, float]) -> list[KindWeights]:
    """Heads for each kind of text; one for all where no kinds are known. A kind is told by the last vectors."""
    kinds = np.array(known.kinds)
    last = np.flatnonzero(_layers(vectors) == 0)
    found = []
    for kind in sorted(set(known.kinds) - {""}) or [""]:
        rows = np.flatnonzero((kinds == kind) | (kinds == ""))
        telling = np.zeros(vectors.shape[1] + 1)
        if kind:
            of_kind = (kinds == kind).astype(np.int64)
            telling[np.append(last, -1)] = fit_head(vectors[:, last], of_kind, known.counts, KIND_SHRINK)
        found.append(KindWeights(telling, fit_layers(vectors[rows], known.unsafe[rows], known.counts[rows], shrinks)))
    return found


def kind_scores(heads: Sequence[KindWeights], vectors: Vectors) -> Floats:
    """The score of each text: the mean of what the heads say, each by how much the text is of its kind."""
    kinds = np.stack([head_scores(head.kind, vectors) for head in heads], axis=1)
    shares = np.exp(kinds - kinds.max(axis=1, keepdims=True))
    unsafe = np.stack([head_scores(head.unsafe, vectors) for head in heads], axis=1)
    return np.asarray((shares * unsafe).sum(axis=1) / shares.sum(axis=1))


def _layers(vectors: Vectors) -> NDArray[np.int64]:
    """The layer of each number: 0 for the last one, 1 for the middle one, of the prompt and then of the response."""
    return np.asarray(np.arange(vectors.shape[1]) // (vectors.shape[1] // 4) % 2)


def fit_layers(vectors: Vectors, unsafe: NDArray[np.int64], counts: Floats, shrinks: tuple[float, float]) -> Floats:
    """The mean of two heads, one over the last vectors of prompt and response and one over the middle ones."""
    mean = np.zeros(vectors.shape[1] + 1)
    layers = _layers(vectors)
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


def to_heads(heads: Sequence[KindWeights], add: float) -> tuple[KindModel, ...]:
    """The weights as they are stored, with something added to every score."""
    return tuple(KindModel(_to_head(head.kind, 0.0), _to_head(head.unsafe, add)) for head in heads)


def _to_head(weights: Floats, add: float) -> ExchangeHead:
    """The weights as they are stored, without noughts at the end: what is not there says nothing."""
    half = (len(weights) - 1) // 2
    prompt, response = (_stored(part) for part in (weights[:half], weights[half:-1]))
    return ExchangeHead(round(float(weights[-1]) + add, 4), prompt, response)


def _stored(weights: Floats) -> tuple[float, ...]:
    return tuple(round(float(each), 4) for each in np.trim_zeros(weights, "b"))


def _with_one(vectors: Vectors) -> Vectors:
    return np.column_stack([vectors, np.ones(len(vectors))]).astype(np.float32)
