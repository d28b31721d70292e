"""What is known of the people who gave ratings: how harsh each is, and how far apart their ratings lie.

Both are shrunk, so that a person with few ratings is taken for an average one. Of responses that others rated too,
harshness is told by theirs: whoever was given poor responses is not harsh for that. Of responses that nobody else
rated, it is told by the mean of all, as if they had been dealt out at random.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean

PRIOR_RATINGS = 5.0
"""A person's own record counts as if so many ratings of an average person were added to it."""

PRIOR_OF_ITEM = 1.0
"""And an item's mean as if one average rating were."""

_ROUNDS = 25
Rating = tuple[str, str, float]
"""An item, who rated it, and the rating."""


@dataclass(frozen=True, slots=True)
class RaterEffects:
    """Offsets and spreads by person. Somebody who is not known rates as people do on average."""

    level: float = 0.0
    offsets: Mapping[str, float] = field(default_factory=dict)
    spreads: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)

    def adjusted(self, rater: str, value: float) -> float:
        """What an average person would have given where this one gave `value`.

        >>> RaterEffects(5, {"kind": 2}, {"kind": 0.5}).adjusted("kind", 8)
        7.0
        """
        return self.level + (value - self.level - self.offsets.get(rater, 0.0)) / self.spreads.get(rater, 1.0)

    def expected(self, rater: str, value: float) -> float:
        """What this person would give where people give `value` on average.

        >>> RaterEffects(5, {"kind": 2}, {"kind": 0.5}).expected("kind", 7)
        8.0
        """
        return self.level + self.offsets.get(rater, 0.0) + (value - self.level) * self.spreads.get(rater, 1.0)


def rater_effects(ratings: Iterable[Rating]) -> RaterEffects:
    """Harshness and spread of everybody who rated, from what they gave.

    >>> given = [(f"{n}", who, 1 + n % 5 + more) for n in range(40) for who, more in (("a", 2), ("b", 0))]
    >>> found = rater_effects(given)
    >>> round(found.offsets["a"], 1), round(found.offsets["b"], 1)
    (0.9, -0.9)
    """
    given = list(ratings)
    if not given:
        return RaterEffects()
    level = fmean(value for _, _, value in given)
    by_item: dict[str, list[tuple[str, float]]] = {}
    by_rater: dict[str, list[tuple[str, float]]] = {}
    for item, rater, value in given:
        by_item.setdefault(item, []).append((rater, value))
        by_rater.setdefault(rater, []).append((item, value))
    offsets = dict.fromkeys(sorted(by_rater), 0.0)
    for _ in range(_ROUNDS):
        items = {
            item: (math.fsum(value - level - offsets[rater] for rater, value in own)) / (len(own) + PRIOR_OF_ITEM)
            for item, own in by_item.items()
        }
        offsets = {
            rater: math.fsum(value - level - items[item] for item, value in by_rater[rater])
            / (len(by_rater[rater]) + PRIOR_RATINGS)
            for rater in offsets
        }
    squares = {rater: math.fsum((v - level - offsets[rater]) ** 2 for _, v in own) for rater, own in by_rater.items()}
    usual = math.fsum(squares.values()) / len(given)
    spreads = {
        rater: math.sqrt((squares[rater] + PRIOR_RATINGS * usual) / (len(by_rater[rater]) + PRIOR_RATINGS) / usual)
        if usual > 0
        else 1.0
        for rater in offsets
    }
    return RaterEffects(level, offsets, spreads, {rater: len(by_rater[rater]) for rater in offsets})
