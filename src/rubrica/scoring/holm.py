"""Holm's correction: several tests at once, without a false alarm among them more often than one test would give."""

from __future__ import annotations

from collections.abc import Sequence


def holm(ps: Sequence[float]) -> list[float]:
    """Each p as it counts among its family: to be compared with the level of the whole.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted = [1.0] * len(ps)
    highest = 0.0
    for place, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        highest = max(highest, min(1.0, ps[index] * (len(ps) - place)))
        adjusted[index] = highest
    return adjusted


def holm_shares(ps: Sequence[float]) -> list[float]:
    """The share of the level that each p was held to: one nth for the smallest of n, all of it for the largest.

    >>> holm_shares([0.01, 0.04, 0.03])
    [0.3333333333333333, 1.0, 0.5]
    """
    shares = [1.0] * len(ps)
    for place, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        shares[index] = 1 / (len(ps) - place)
    return shares
