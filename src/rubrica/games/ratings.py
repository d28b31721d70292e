"""Ratings: how strong players are, by who did better in rounds of the same number. Ties count half.

Elo moves after every round; Bradley–Terry is the fit to all of them. Both are on Elo's scale: 400 points are odds of 10
to 1, and the mean is 1500. A player's round against several rivals is one performance, so intervals go by rounds and
not by pairs. One tie against an average player is added to the fit, so that who won everything has a finite rating.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
RoundShares = Mapping[Key, float]
"""What every player reached in the rounds of one number."""

MEAN = 1500.0
SCALE = 400 / math.log(10)
"""Points of a unit of log odds."""

STEP = 32.0
"""Points that one round can move an Elo rating by, at most."""

FEWEST_ROUNDS = 10
"""Rounds against somebody before a rating means something."""

SAME = 1e-9
"""Shares that lie no further apart are a tie."""

QUANTILE = 1.959964
PRIOR = 1.0
"""Ties against an average player that are added."""


@dataclass(frozen=True, slots=True)
class PlayerRating(Generic[Key]):
    """One player's ratings, each with its 95 % interval."""

    player: Key
    elo: float
    elo_bounds: tuple[float, float]
    bradley_terry: float
    bradley_terry_bounds: tuple[float, float]
    wins: int
    ties: int
    losses: int
    rounds: int  # against somebody

    @property
    def provisional(self) -> bool:
        """Whether there are too few rounds for it to mean something."""
        return self.rounds < FEWEST_ROUNDS


def rate(rounds: Sequence[RoundShares[Key]]) -> list[PlayerRating[Key]]:
    """Everybody's ratings, the strongest first; who met nobody has none.

    >>> [(each.player, round(each.elo), each.wins, each.ties) for each in rate([{"ann": 0.9, "bo": 0.4}])]
    [('ann', 1516, 1, 0), ('bo', 1484, 0, 0)]
    """
    met = [shares for shares in rounds if len(shares) > 1]
    names = list(dict.fromkeys(name for shares in met for name in shares))
    counts = _counts(met)
    elo, strengths = elo_ratings(met), bradley_terry(met)
    errors = standard_errors(met, strengths)
    centre = fmean(strengths.values()) if strengths else 0.0
    found = []
    for name in names:
        fitted = MEAN + SCALE * (strengths[name] - centre)
        played = sum(name in shares for shares in met)
        half, moving = QUANTILE * SCALE * errors[name], QUANTILE * math.sqrt(STEP * SCALE / 2)
        wide = math.hypot(half, moving)
        found.append(
            PlayerRating(
                name,
                round(elo[name], 1),
                (round(elo[name] - wide, 1), round(elo[name] + wide, 1)),
                round(fitted, 1),
                (round(fitted - half, 1), round(fitted + half, 1)),
                *counts[name],
                played,
            )
        )
    return sorted(found, key=lambda each: -each.bradley_terry)


def elo_ratings(rounds: Sequence[RoundShares[Key]]) -> dict[Key, float]:
    """Elo after some rounds. All pairs of a round count at once, and together as one game.

    >>> elo_ratings([{"ann": 0.5, "bo": 0.5}])
    {'ann': 1500.0, 'bo': 1500.0}
    """
    ratings: dict[Key, float] = {}
    for shares in rounds:
        for name in shares:
            ratings.setdefault(name, MEAN)
        moved = dict.fromkeys(shares, 0.0)
        for one, other, score in _pairs(shares):
            surprise = score - _chance((ratings[one] - ratings[other]) / SCALE)
            moved[one] += surprise
            moved[other] -= surprise
        for name, surprise in moved.items():
            ratings[name] += STEP * surprise / max(len(shares) - 1, 1)
    return ratings


def bradley_terry(rounds: Sequence[RoundShares[Key]]) -> dict[Key, float]:
    """The log strengths that make the results likeliest, with one tie each against a strength of 0.

    >>> found = bradley_terry([{"ann": 1, "bo": 0}, {"ann": 1, "bo": 0}, {"ann": 0, "bo": 1}])
    >>> round(found["ann"], 3), round(found["bo"], 3)
    (0.293, -0.293)
    """
    won: dict[Key, float] = {name: PRIOR / 2 for shares in rounds for name in shares}
    met: dict[Key, dict[Key, int]] = {name: {} for name in won}
    for shares in rounds:
        for one, other, score in _pairs(shares):
            won[one] += score
            won[other] += 1 - score
            met[one][other] = met[one].get(other, 0) + 1
            met[other][one] = met[other].get(one, 0) + 1
    strength = dict.fromkeys(won, 1.0)
    for _ in range(2_000):
        moved = 0.0
        for name, rivals in met.items():
            own = strength[name]
            weight = math.fsum(count / (own + strength[rival]) for rival, count in rivals.items())
            new = won[name] / (weight + PRIOR / (own + 1))
            moved = max(moved, abs(math.log(new / own)))
            strength[name] = new
        if moved < 1e-7:
            break
    return {name: math.log(value) for name, value in strength.items()}


def standard_errors(rounds: Sequence[RoundShares[Key]], strengths: Mapping[Key, float]) -> dict[Key, float]:
    """Of log strengths against their mean: the larger of what the fit says of pairs, and of what rounds say of it."""
    names = list(strengths)
    at = {name: place for place, name in enumerate(names)}
    size = len(names)
    information = [[0.0] * size for _ in names]
    slopes = []
    for name in names:
        chance = _chance(strengths[name])
        information[at[name]][at[name]] += PRIOR * chance * (1 - chance)
    for shares in rounds:
        slope = [0.0] * size
        for one, other, score in _pairs(shares):
            i, j, chance = at[one], at[other], _chance(strengths[one] - strengths[other])
            doubt = chance * (1 - chance)
            information[i][i] += doubt
            information[j][j] += doubt
            information[i][j] -= doubt
            information[j][i] -= doubt
            slope[i] += score - chance
            slope[j] -= score - chance
        slopes.append(slope)
    inverse = _inverted(information)
    centred = _centred(inverse)
    steps = [[math.fsum(map(_product, row, slope)) for row in centred] for slope in slopes]
    spread = len(rounds) / max(len(rounds) - 1, 1)
    errors = {}
    for name, place in at.items():
        by_rounds = spread * math.fsum(step[place] ** 2 for step in steps)
        errors[name] = math.sqrt(max(_variance(inverse, place), by_rounds))
    return errors


def _variance(inverse: Sequence[Sequence[float]], place: int) -> float:
    """Of a strength minus the mean strength."""
    size = len(inverse)
    whole = math.fsum(map(math.fsum, inverse))
    return max(inverse[place][place] - 2 * math.fsum(inverse[place]) / size + whole / size**2, 0.0)


def _centred(inverse: Sequence[Sequence[float]]) -> list[list[float]]:
    """Rows that give a strength minus the mean strength."""
    size = len(inverse)
    means = [math.fsum(column) / size for column in zip(*inverse, strict=True)]
    return [[value - mean for value, mean in zip(row, means, strict=True)] for row in inverse]


def _inverted(matrix: Sequence[Sequence[float]]) -> list[list[float]]:
    """The inverse of a positive definite matrix, by Gauss and Jordan."""
    size = len(matrix)
    rows = [[*row, *(float(i == j) for j in range(size))] for i, row in enumerate(matrix)]
    for i in range(size):
        pivot = rows[i][i]
        rows[i] = [value / pivot for value in rows[i]]
        for j in range(size):
            if j != i and (factor := rows[j][i]):
                rows[j] = [value - factor * own for value, own in zip(rows[j], rows[i], strict=True)]
    return [row[size:] for row in rows]


def _pairs(shares: RoundShares[Key]) -> Iterator[tuple[Key, Key, float]]:
    """Every two players of a round, and what the first made of it: 1, 0, or a half for a tie."""
    listed = list(shares.items())
    for place, (one, own) in enumerate(listed):
        for other, theirs in listed[:place]:
            yield one, other, 0.5 if abs(own - theirs) <= SAME else float(own > theirs)


def _counts(rounds: Sequence[RoundShares[Key]]) -> dict[Key, tuple[int, int, int]]:
    counts: dict[Key, list[int]] = {}
    for shares in rounds:
        for one, other, score in _pairs(shares):
            for name, own in ((one, score), (other, 1 - score)):
                counts.setdefault(name, [0, 0, 0])[0 if own == 1 else 1 if own == 0.5 else 2] += 1
    return {name: (own[0], own[1], own[2]) for name, own in counts.items()}


def _chance(difference: float) -> float:
    return 1 / (1 + math.exp(-min(max(difference, -700.0), 700.0)))


def _product(one: float, other: float) -> float:
    return one * other
