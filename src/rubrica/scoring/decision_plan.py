"""The compiled half of a rubric that turns dimension scores into a verdict. Plain data; nothing here does I/O."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rubrica.formula import Formula
from rubrica.model.decisions import Gate, OnUnscored
from rubrica.model.evaluation import ProfileChoice
from rubrica.model.scale import Scale

NOISE_DIGITS = 9
"""Scores are rounded here even where the rubric does not ask, so that 0.1 + 0.2 meets a threshold of 0.3."""


class DimensionReading(msgspec.Struct, frozen=True):
    """How a score formula reads a dimension: under its own name or as its share, and the lowest value of that."""

    dimension: str
    name: str
    lowest: float


class ProfilePlan(msgspec.Struct, frozen=True):
    """Score formula, weights and threshold under one profile."""

    profile: str | None
    score: Formula
    weights: Mapping[str, float]  # empty where the score is a formula of the author's
    threshold: float | None
    constants: Mapping[str, object]  # the rubric's settings and the threshold, as formulas read them
    reads: tuple[DimensionReading, ...]
    note: str = ""  # why this profile, where the context did not ask for it
    classified: ProfileChoice | None = None  # how it was found, where a classifier did
    others: tuple[ProfilePlan, ...] = ()  # what the profile may be as well, where that is not certain


class GateRule(msgspec.Struct, frozen=True):
    """A gate with its condition, and its cap or floor, ready to be read."""

    gate: Gate
    when: Formula
    limit: Formula | float | None
    early: Formula | None = None  # whether it is checked before anything is scored, where that is a condition


class VerdictRule(msgspec.Struct, frozen=True):
    label: str
    when: Formula | None
    because: str = ""


class SectionRule(msgspec.Struct, frozen=True):
    name: str
    score: Formula
    verdicts: tuple[VerdictRule, ...]


class DecisionPlan(msgspec.Struct, frozen=True):
    """Everything between scores and verdict."""

    terms: Mapping[str | None, ProfilePlan]
    gates: tuple[GateRule, ...]
    vetoes: tuple[GateRule, ...]  # the gates that can force the verdict before anything is scored
    verdicts: tuple[VerdictRule, ...]
    sections: tuple[SectionRule, ...]
    scales: Mapping[str, Scale]  # per dimension
    scale: Scale  # the scale the score formula speaks
    section_scale: Scale  # the scale section formulas speak
    out_of: float
    bands: Mapping[str, float]  # labels by the share of full marks they start at
    digits: int
    on_unscored: OnUnscored
    reads_shares: frozenset[str]  # the NAME_share names that some formula reads
    reads_others: frozenset[str]  # what formulas read beside dimensions and constants
    closed: bool  # whether that is nothing: then equal scores conclude equally
    labels: frozenset[str] = frozenset()  # names that follow from a dimension: NAME_is_LABEL, and those of its points
    points: bool = False  # whether the score is points earned over points possible
    lowest: float = 0.0  # the least that a score can be, on out_of

    def to_score(self, value: float) -> float:
        """From the scale the score formula speaks to the rubric's out_of, kept on it, rounded. Monotone in `value`."""
        return self._convert(value, self.scale)

    def to_points_score(self, value: float) -> float:
        """The same for a score in points, as it is before it is clipped."""
        return round(value * self.out_of, self.digits) + 0.0

    def to_section_score(self, value: float) -> float:
        """The same, from the scale section formulas speak."""
        return max(self._convert(value, self.section_scale), 0.0)

    def _convert(self, value: float, scale: Scale) -> float:
        out_of = self.out_of
        score = value * (out_of / scale.max) if scale.min >= 0 else scale.share(value) * out_of
        lowest = self.lowest
        kept = lowest if score < lowest else out_of if score > out_of else score
        return round(kept, self.digits) + 0.0  # never −0, which conclusions that are kept do not tell from 0

    def band(self, share: float) -> str:
        """The highest band that a share of full marks reaches; empty where the rubric has none."""
        reached = [(start, label) for label, start in self.bands.items() if share >= start - 1e-9]
        return max(reached)[1] if reached else ""

    def neutral(self, dimension: str) -> float:
        """The value an unscored dimension takes under the neutral policy."""
        return self.on_unscored.value_on(self.scales[dimension])


def points_names(dimension: str) -> tuple[str, str]:
    """The names under which a formula reads the points that the criteria of a case can earn, and which share of them
    was earned: below 0 where more was lost than earned."""
    return f"{dimension}_possible", f"{dimension}_points"


def share_name(dimension: str) -> str:
    """The name under which a formula reads a dimension as a share of full marks, 0 to 1."""
    return f"{dimension}_share"
