"""How an attached rubric compares the players of a game: what its `normalization` asks for, applied to their means.

A method that compares players needs two of them: a lone player's points are taken as their share of the maximum.
Whatever is weighed with other rubrics lies between 0 and 1. What a method gives beyond that counts as follows: points
as they are count as their share of the maximum, and a distance of z standard deviations counts as the part of a normal
distribution below it.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, TypeVar

import msgspec

from rubrica.engine.expand import POINTS
from rubrica.engine.load import rubric_from_data
from rubrica.model.judge_options import Normalisation
from rubrica.scoring.normalise import Method, over_set

Key = TypeVar("Key")
_NORMAL = NormalDist()


class PlayerComparison(msgspec.Struct, frozen=True):
    """What a rubric asks for, and the most points it gives."""

    method: Method = "none"
    apply_log: bool = False
    maximum: float = 1.0

    @property
    def compares(self) -> bool:
        """Whether it does anything to scores."""
        return self.method != "none" or self.apply_log

    @property
    def is_relative(self) -> bool:
        """Whether a player's figure depends on the others', or on logarithms."""
        return self.apply_log or self.method not in ("none", "percentage_of_max")


class ComparedScore(msgspec.Struct, frozen=True):
    """One player's mean of points beside others': as the method lays it out, and as it is weighed, from 0 to 1."""

    normalized: float
    share: float


def comparison_of(definition: Mapping[str, Any]) -> PlayerComparison:
    """What a definition asks for.

    >>> short = {"scoring_type": "cumulative", "max_score": 50, "normalization_config": {"method": "log"}}
    >>> comparison_of(short)
    PlayerComparison(method='log', apply_log=False, maximum=50.0)
    """
    short = "scoring_type" in definition
    told = Normalisation.model_validate(definition.get("normalization_config" if short else "normalization") or {})
    return PlayerComparison(told.method, told.apply_log, _maximum(definition, short=short))


def compared(scores: Mapping[Key, float], comparison: PlayerComparison) -> dict[Key, ComparedScore]:
    """Every player's mean of points, compared with the others'.

    >>> compared({"ann": 10.0, "bo": 40.0}, PlayerComparison("min_max", maximum=50))["ann"]
    ComparedScore(normalized=0.0, share=0.0)
    >>> compared({"ann": 10.0}, PlayerComparison("min_max", maximum=50))["ann"]
    ComparedScore(normalized=0.2, share=0.2)
    """
    method, log, maximum = comparison.method, comparison.apply_log, comparison.maximum
    if len(scores) == 1 and method in ("min_max", "log", "z_score"):
        method, log = "percentage_of_max", False
    laid_out = over_set(scores, method, maximum=maximum, apply_log=log)
    if method == "none":
        shares = over_set(scores, "percentage_of_max", maximum=maximum, apply_log=log)
    elif method == "z_score":
        shares = {key: _NORMAL.cdf(z) for key, z in laid_out.items()}
    else:
        shares = laid_out
    return {key: ComparedScore(value, shares[key]) for key, value in laid_out.items()}


def _maximum(definition: Mapping[str, Any], *, short: bool) -> float:
    if not short:
        told = definition.get("score")
        return float(told.get("out_of", 1.0)) if isinstance(told, Mapping) else 1.0
    if definition["scoring_type"] == "binary":
        return 1.0
    most = definition.get("max_score")
    if most is None:
        scale = rubric_from_data(definition).dimensions[POINTS].scale
        most = 1.0 if scale is None else scale.max
    return float(most)
