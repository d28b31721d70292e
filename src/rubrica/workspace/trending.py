"""The trend of listings: every import and good rating counts, half as much a week later.

The trend of a rubric at time t is the sum of ``weight * 2 ** -((t - event) / HALF_LIFE)`` over its events. What is
kept is ``log2(sum(weight * 2 ** ((event - EPOCH) / HALF_LIFE)))``: that sum seen from a fixed day. Seen from any other
day every rubric's sum changes by the same factor, so the kept numbers stand in the same order for ever: an index
answers what trends, and no row is touched because time goes by.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

HALF_LIFE = timedelta(days=7)
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
IMPORT = 1.0
"""The weight of somebody's first import."""

INDIFFERENT = 3
"""Ratings up to this one move nothing."""


def rating_weight(rating: int) -> float:
    """The weight of somebody's first rating, in imports.

    >>> [rating_weight(stars) for stars in (1, 2, 3, 4, 5)]
    [0.0, 0.0, 0.0, 1.0, 2.0]
    """
    return float(max(rating - INDIFFERENT, 0))


def add_to(kept: float, weight: float, at: datetime) -> float:
    """The kept number after one more event; the order of events does not matter.

    >>> monday, week_later = EPOCH, EPOCH + HALF_LIFE
    >>> kept = add_to(add_to(-1e6, IMPORT, monday), IMPORT, week_later)
    >>> round(current_trend(kept, week_later), 6)
    1.5
    """
    if weight <= 0:
        return kept
    event = math.log2(weight) + _half_lives(at)
    high, low = max(kept, event), min(kept, event)
    return high + math.log1p(math.exp2(low - high)) / math.log(2)


def current_trend(kept: float, now: datetime) -> float:
    """The decayed sum as it is now, in imports: 3 is worth three imports made this moment.

    >>> current_trend(-1e6, EPOCH)
    0.0
    """
    return math.exp2(min(kept - _half_lives(now), 1000.0))  # beyond 1023 there is no such number


def least(days: float, now: datetime) -> float:
    """The kept number of a single import made so many days ago.

    >>> current_trend(least(14, EPOCH), EPOCH)
    0.25
    """
    return _half_lives(now - timedelta(days=days))


def _half_lives(at: datetime) -> float:
    return (at - EPOCH) / HALF_LIFE
