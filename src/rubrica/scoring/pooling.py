"""Pooling: one value out of several judges' values, and how much each judge should count."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev
from typing import Generic, Literal, TypeVar, assert_never

from rubrica.model.scale import Scale

Pool = Literal["mean", "median", "trimmed", "weighted", "majority", "unanimous", "any"]
Item = TypeVar("Item", bound=Hashable)

TRIM = 0.2
"""`trimmed` drops this share of the values at each end, and at least one of them from three values on."""

PRIOR_LABELS = 10.0
"""A judge's own record counts like this many labels of an average judge were added to it."""


def pool(values: Sequence[float], how: Pool, weights: Sequence[float] | None = None) -> float:
    """One value for several; it lies within their range and does not depend on their order.

    >>> pool([7, 8, 4], "median"), pool([7, 8, 4, 1, 9], "mean"), pool([7, 8, 4, 1, 9], "trimmed")
    (7, 5.8, 6.333333333333333)
    >>> pool([7, 4], "weighted", [2, 1])
    6.0
    """
    if not values:
        raise ValueError("there is nothing to pool")
    match how:
        case "mean":
            pooled = fmean(values)
        case "median" | "majority" | "unanimous" | "any":  # the last three are for answers
            pooled = median(values)
        case "trimmed":
            cut = max(math.floor(TRIM * len(values)), 1) if len(values) >= 3 else 0
            pooled = fmean(sorted(values)[cut : len(values) - cut])
        case "weighted":
            pooled = _weighted_mean(values, weights)
        case _:
            assert_never(how)
    return min(max(pooled, min(values)), max(values))  # rounding may step just outside


def pool_judges(given: Mapping[str, Sequence[float]], how: Pool, weights: Mapping[str, float]) -> float | None:
    """One value for several judges: each one's repeats first. None where nobody who counts gave one.

    `weights` are for ``weighted``; a judge that is not named there counts 1.

    >>> pool_judges({"a": [7, 9], "b": [4]}, "mean", {}), pool_judges({"a": [8], "b": [4]}, "weighted", {"b": 0})
    (6.0, 8.0)
    """
    if how != "weighted":
        return pool([pool(own, how) for own in given.values()], how) if given else None
    counted = {judge: weight for judge in given if (weight := weights.get(judge, 1.0)) > 0}
    return pool([fmean(given[judge]) for judge in counted], "weighted", list(counted.values())) if counted else None


def pool_labels(votes: Sequence[tuple[str, float, float]], how: Pool) -> str | None:
    """One label for several, each with its value and the weight of its judge; None where they are split evenly.

    ``unanimous`` is the worst that was given, so that the best needs all; ``any`` is the best. Of labels with the same
    value, and by every other rule, the one with most weight behind it.

    >>> votes = [("yes", 1, 1), ("no", 0, 1), ("yes", 1, 1)]
    >>> [pool_labels(votes, how) for how in ("majority", "unanimous", "any")], pool_labels(votes[:2], "majority")
    (['yes', 'no', 'yes'], None)
    """
    weights: dict[str, float] = {}
    end = {"unanimous": min, "any": max}.get(how)
    only = None if end is None or not votes else end(value for _, value, _ in votes)
    for label, value, weight in votes:
        if only is None or value == only:
            weights[label] = weights.get(label, 0.0) + weight
    most = max(weights.values(), default=0.0)
    best = [label for label, weight in weights.items() if weight >= most - 1e-9]
    return best[0] if len(best) == 1 and most > 0 else None


def check_weights(weights: Iterable[float]) -> None:
    """A ValueError where a weight is below 0 or not a finite number."""
    for weight in weights:
        if not (math.isfinite(weight) and weight >= 0):
            raise ValueError(f"a weight is a number from 0 up, not {weight:g}")


def _weighted_mean(values: Sequence[float], weights: Sequence[float] | None) -> float:
    if weights is None or len(weights) != len(values):
        raise ValueError(f"pooling {len(values)} values by weight needs as many weights")
    check_weights(weights)
    total = math.fsum(weights)
    if total <= 0:
        raise ValueError("the weights of those who answered are all 0")
    return math.fsum(weight * value for weight, value in zip(weights, values, strict=True)) / total


@dataclass(frozen=True, slots=True)
class NormalisedScores(Generic[Item]):
    """Scores by judge and item after z-normalisation, and what could not be normalised, in words."""

    scores: Mapping[str, Mapping[Item, float]]
    notes: tuple[str, ...] = ()


def level_judges(scores: Mapping[str, Mapping[Item, float]], scale: Scale) -> NormalisedScores[Item]:
    """Takes out each judge's harshness and spread: its z-scores, mapped back to the scale.

    A judge's scores are put in standard deviations from its own mean over its items, then laid out again around the
    mean of the judges' means with the mean of their deviations, and kept on the scale. A judge with fewer than two
    scores, or with all scores equal, has no deviation: its scores stay as they are and a note says so. Fair only
    where judges saw the same items, so a note also says where they did not.

    >>> level_judges({"harsh": {1: 2, 2: 4}, "kind": {1: 6, 2: 8}}, Scale(min=1, max=10)).scores
    {'harsh': {1: 4.0, 2: 6.0}, 'kind': {1: 4.0, 2: 6.0}}
    """
    shapes, notes = {}, []
    for judge, given in scores.items():
        if len(given) < 2:
            notes.append(
                f"{judge} gave {len(given)} score{'s' * (len(given) != 1)}, too few to normalise: left as given"
            )
        elif (deviation := pstdev(given.values())) < 1e-9:
            notes.append(f"{judge} gave every item the same score: left as given")
        else:
            shapes[judge] = (fmean(given.values()), deviation)
    if len(shapes) < 2:
        return NormalisedScores(
            {judge: dict(given) for judge, given in scores.items()}, (*notes, "nothing was normalised")
        )
    if len({frozenset(scores[judge]) for judge in shapes}) > 1:
        notes.append("the judges did not score the same items; what is taken for harshness may be harder items")
    centre = fmean(mean for mean, _ in shapes.values())
    width = fmean(deviation for _, deviation in shapes.values())
    levelled: dict[str, Mapping[Item, float]] = {}
    for judge, given in scores.items():
        mean, deviation = shapes.get(judge, (0.0, 0.0))
        levelled[judge] = {
            item: scale.clamp(centre + (score - mean) / deviation * width) if judge in shapes else score
            for item, score in given.items()
        }
    return NormalisedScores(levelled, tuple(notes))


def weights_from_errors(off: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """How much each judge's score should count, from its errors against labels: the inverse of its mean squared error.

    The mean squared error is shrunk towards that of all judges as if PRIOR_LABELS more labels said so, so that few
    labels give nearly equal weights. The weights have mean 1, which is what a judge not named here counts.

    >>> weights_from_errors({"good": [0.5] * 40, "poor": [-2] * 40}), weights_from_errors({"good": [0.5], "poor": [-2]})
    ({'good': 1.7059, 'poor': 0.2941}, {'good': 1.0802, 'poor': 0.9198})
    """
    squares = {judge: [gap * gap for gap in gaps] for judge, gaps in off.items()}
    every = [square for own in squares.values() for square in own]
    if not every:
        return dict.fromkeys(off, 1.0)
    prior = fmean(every)
    shrunk = {j: (math.fsum(own) + PRIOR_LABELS * prior) / (len(own) + PRIOR_LABELS) for j, own in squares.items()}
    return _mean_one({judge: 1 / error if error > 0 else 1.0 for judge, error in shrunk.items()})


def _mean_one(weights: Mapping[str, float]) -> dict[str, float]:
    mean = fmean(weights.values())
    return {judge: round(weight / mean, 4) for judge, weight in weights.items()}
