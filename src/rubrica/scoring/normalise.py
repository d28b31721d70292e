"""Making scores comparable: one score by its maximum, many scores with each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean, pstdev
from typing import Literal, TypeVar, assert_never

Method = Literal["none", "percentage_of_max", "min_max", "log", "z_score"]
Key = TypeVar("Key")

EQUAL = 0.5
"""The normalised value of scores that are all the same: neither best nor worst."""


def share_of_max(raw: float, maximum: float) -> float:
    """One score with nothing to compare it to: its share of the declared maximum, kept within 0 to 1.

    >>> share_of_max(35, 100), share_of_max(-20, 100), share_of_max(120, 100)
    (0.35, 0.0, 1.0)
    """
    if not maximum > 0:
        raise ValueError(f"the maximum must be above 0, not {maximum:g}")
    return min(max(raw / maximum, 0.0), 1.0)


def min_max(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Lowest to 0, highest to 1, all equal to 0.5.

    >>> min_max({"ann": 10, "bo": 20, "cy": 15})
    {'ann': 0.0, 'bo': 1.0, 'cy': 0.5}
    """
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    if low == high:
        return dict.fromkeys(scores, EQUAL)
    return {key: (score - low) / (high - low) for key, score in scores.items()}


def log_scores(scores: Mapping[Key, float]) -> dict[Key, float]:
    """KORGym's transform of one game: if the largest score exceeds 1, every score S becomes ln(1 + S).

    A score below 0 has no place on a logarithm and counts as 0.

    >>> log_scores({"ann": 0.5, "bo": 1.0})
    {'ann': 0.5, 'bo': 1.0}
    >>> log_scores({"ann": 0.0, "bo": math.e - 1})
    {'ann': 0.0, 'bo': 1.0}
    """
    if not scores or max(scores.values()) <= 1:
        return dict(scores)
    return {key: math.log1p(max(score, 0.0)) for key, score in scores.items()}


def z_scores(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Distance from the mean in standard deviations; all equal to 0. Used per judge, to take out harshness.

    >>> z_scores({"a": 4, "b": 6})
    {'a': -1.0, 'b': 1.0}
    """
    if not scores:
        return {}
    mean, spread = fmean(scores.values()), pstdev(scores.values())
    return {key: (score - mean) / spread if spread else 0.0 for key, score in scores.items()}


def over_set(
    scores: Mapping[Key, float], method: Method, *, maximum: float | None = None, apply_log: bool = False
) -> dict[Key, float]:
    """Normalise the scores of one game over its players. Where logarithms are taken, the maximum's is, too.

    >>> over_set({"ann": 5, "bo": 10}, "percentage_of_max", maximum=10)
    {'ann': 0.5, 'bo': 1.0}
    """
    finite = {key: score for key, score in scores.items() if math.isfinite(score)}
    if len(finite) != len(scores):
        raise ValueError(f"{len(scores) - len(finite)} of {len(scores)} scores are not finite numbers")
    prepared = log_scores(scores) if apply_log else dict(scores)
    match method:
        case "none":
            return prepared
        case "percentage_of_max":
            top = maximum if maximum is not None else max(scores.values(), default=1.0)
            if apply_log and max(scores.values(), default=0.0) > 1:
                top = math.log1p(max(top, 0.0))
            return {key: share_of_max(score, top) if top > 0 else 0.0 for key, score in prepared.items()}
        case "min_max":
            return min_max(prepared)
        case "log":
            return min_max(log_scores(scores))
        case "z_score":
            return z_scores(prepared)
        case _:
            assert_never(method)


def dimension_means(
    games: Mapping[str, Mapping[Key, float]], dimension_of: Mapping[str, str]
) -> dict[str, dict[Key, float]]:
    """Per dimension and player the mean over that dimension's games, each normalised as KORGym does.

    A player who did not play a game is left out of that game, not counted as 0.

    >>> means = dimension_means({"g1": {"ann": 1, "bo": 3}, "g2": {"ann": 7, "bo": 7}}, {"g1": "speed", "g2": "speed"})
    >>> means["speed"]
    {'ann': 0.25, 'bo': 0.75}
    """
    collected: dict[str, dict[Key, list[float]]] = {}
    for game, scores in games.items():
        players = collected.setdefault(dimension_of[game], {})
        for player, value in over_set(scores, "log").items():
            players.setdefault(player, []).append(value)
    return {
        dimension: {player: fmean(values) for player, values in players.items()}
        for dimension, players in collected.items()
    }


def population_variance(values: Sequence[float]) -> float | None:
    """The mean squared distance from the mean; None for no values.

    >>> population_variance([10, 10, 4])
    8.0
    """
    if not values:
        return None
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / len(values)
