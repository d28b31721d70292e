"""One number out of several rubrics, by weight; what is missing stays missing, and is told with its bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from uuid import UUID

import msgspec

NOISE_DIGITS = 9
"""Decimals that mean something; the rest is the noise of binary fractions."""


class CompositePart(msgspec.Struct, frozen=True):
    """One attached rubric and what it gave: a share from 0 to 1, or nothing, and why."""

    attachment_id: UUID
    rubric: str  # its slug
    dimension: str
    weight: float
    share: float | None
    bounds: tuple[float, float] = (0.0, 1.0)  # the share lies between these; looked at where it is None
    reason: str = ""  # why there is none


class MissingScore(msgspec.Struct, frozen=True):
    """An attached rubric that gave no score."""

    attachment_id: UUID
    rubric: str
    dimension: str
    reason: str


class Composite(msgspec.Struct, frozen=True):
    """The weighted mean of all parts, and of each dimension's own; None where a part that counts is missing."""

    score: float | None
    by_dimension: dict[str, float | None]
    missing: list[MissingScore]
    bounds: tuple[float, float]  # the score lies between these


def compose(parts: Sequence[CompositePart]) -> Composite:
    """Weigh parts into one score.

    >>> ids = [UUID(int=1), UUID(int=2)]
    >>> speed = CompositePart(ids[0], "speed-demon", "speed", 0.4, 0.5)
    >>> whole = compose([speed, CompositePart(ids[1], "rigor", "rigor", 0.6, 1.0)])
    >>> whole.score, whole.by_dimension
    (0.8, {'speed': 0.5, 'rigor': 1.0})
    >>> part = compose([speed, CompositePart(ids[1], "rigor", "rigor", 0.6, None)])
    >>> part.score, part.bounds, [missing.rubric for missing in part.missing]
    (None, (0.2, 0.8), ['rigor'])
    """
    dimensions: dict[str, list[CompositePart]] = {}
    for part in parts:
        dimensions.setdefault(part.dimension, []).append(part)
    return Composite(
        _known(parts),
        {name: _known(own) for name, own in dimensions.items()},
        [MissingScore(p.attachment_id, p.rubric, p.dimension, p.reason) for p in parts if p.share is None],
        (_mean(parts, 0), _mean(parts, 1)) if parts else (0.0, 1.0),
    )


def weighted_mean(values: Sequence[tuple[float, float]]) -> float:
    """The mean of (weight, value) pairs; where every weight is 0, each counts alike. Their order does not matter.

    >>> weighted_mean([(0.75, 1.0), (0.25, 0.0)]), weighted_mean([(0.0, 1.0), (0.0, 0.5)])
    (0.75, 0.75)
    """
    total = math.fsum(weight for weight, _ in values)
    if total <= 0:
        return round(math.fsum(value for _, value in values) / len(values), NOISE_DIGITS)
    mean = math.fsum(weight * value for weight, value in values) / total
    low, high = min(value for _, value in values), max(value for _, value in values)
    return min(max(round(mean, NOISE_DIGITS), low), high)


def _known(parts: Sequence[CompositePart]) -> float | None:
    """The mean, unless a part that counts is missing."""
    counting = [part for part in parts if part.weight > 0] or parts
    if not counting:
        return None
    values = [(part.weight, part.share) for part in counting if part.share is not None]
    return weighted_mean(values) if len(values) == len(counting) else None


def _mean(parts: Sequence[CompositePart], end: int) -> float:
    return weighted_mean([(p.weight, p.bounds[end] if p.share is None else p.share) for p in parts])
