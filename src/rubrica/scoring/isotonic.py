"""Isotonic regression: the rising curve nearest to some points, by pooling adjacent violators."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from statistics import fmean

Knots = tuple[tuple[float, float], ...]
"""Points (x, y) of a curve, x strictly rising, y never falling."""

DECIMALS = 4
"""Knots are kept in a document that people read; finer than this no judge scores."""


def fit_rising(points: Iterable[tuple[float, float]]) -> Knots:
    """The never-falling curve with the least squared error; no points, no knots.

    Equal x are pooled first. Neighbours that fall are then pooled into a level stretch at their mean, until nothing
    falls; each stretch gives a knot at both of its ends.

    >>> fit_rising([(1, 1), (2, 3), (3, 2), (4, 5)])
    ((1, 1.0), (2, 2.5), (3, 2.5), (4, 5.0))
    """
    by_x: dict[float, list[float]] = {}
    for x, y in points:
        by_x.setdefault(round(x, DECIMALS), []).append(y)
    stretches: list[tuple[float, float, float, int]] = []  # first x, last x, level, points
    for x in sorted(by_x):
        first, level, count = x, fmean(by_x[x]), len(by_x[x])
        while stretches and stretches[-1][2] >= level:
            first, _, lower, fewer = stretches.pop()
            level = (lower * fewer + level * count) / (fewer + count)
            count += fewer
        stretches.append((first, x, level, count))
    knots: list[tuple[float, float]] = []
    for first, last, level, _ in stretches:
        height = round(level, DECIMALS)
        knots += [(first, height)] if first == last else [(first, height), (last, height)]
    return tuple(knots)


def interpolate(knots: Knots, x: float, low: float, high: float) -> float:
    """The curve at x, within low to high: straight lines between knots; without knots x itself.

    Beyond the first and last knot nothing was learned, so the correction there is carried on unchanged: a curve that
    lowers an 8 by one lowers a 9 by one. (A level end would lift the worst response to the worst one ever labelled.)

    >>> curve = ((4.0, 3.0), (8.0, 7.5))
    >>> [interpolate(curve, x, 1, 10) for x in (1, 4, 6, 8, 10)]
    [1, 3.0, 5.25, 7.5, 9.5]
    """
    after = bisect_right(knots, x, key=lambda knot: knot[0])
    if not knots:
        value = x
    elif after == 0:
        value = knots[0][1] + (x - knots[0][0])
    elif after == len(knots):
        value = knots[-1][1] + (x - knots[-1][0])
    else:
        (x0, y0), (x1, y1) = knots[after - 1], knots[after]
        value = min(y0 + (y1 - y0) * ((x - x0) / (x1 - x0)), y1)  # min: rounding must not overshoot the next knot
    return min(max(value, low), high)
