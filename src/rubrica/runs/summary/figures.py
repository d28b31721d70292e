"""The figures of a run: what a summary holds, and as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rubrica.model.evaluation import Cost
from rubrica.runs.summary.measures import Measure
from rubrica.scoring.intervals import Estimate
from rubrica.scoring.spread import Spread

from .certainty import PointVerdicts, ProfileFigures, certainty_figures
from .criteria_counts import PositionFigures, TagFigures


@dataclass(frozen=True, slots=True)
class VerdictShare:
    """How often a verdict came out; the interval counts cases of one group, and repeats, as less than so many cases."""

    count: int
    rate: Estimate


@dataclass(frozen=True, slots=True)
class Correlation:
    """How two dimensions go together, from -1 to 1; None where one of them does not vary."""

    one: str
    other: str
    pearson: float | None
    spearman: float | None
    pairs: int  # evaluations that have both


class Outlier(NamedTuple):
    """A case whose value lies far from what is usual; `off` counts robust standard deviations."""

    case: str
    repeat: int
    measure: Measure
    value: float
    off: float
    verdict: str


@dataclass(frozen=True, slots=True)
class RubricSummary:
    """The evaluations of one rubric, summed up."""

    evaluations: int
    out_of: float
    spreads: Mapping[Measure, Spread | None]  # None: nothing has a value
    verdicts: Mapping[str, VerdictShare]  # the most frequent first
    unscored: Mapping[str, int]  # by dimension: should have a score and have none
    gates: Mapping[str, int]  # that fired
    rules: Mapping[str, int]  # that changed a score, as ``dimension: rule``
    correlations: tuple[Correlation, ...]
    outliers: tuple[Outlier, ...]  # the furthest
    outlying: int  # values that lie far off, told or not
    tags: Mapping[str, TagFigures] = field(default_factory=dict)
    positions: tuple[PositionFigures, ...] = ()  # of criteria in their cases
    profiles: Mapping[str, ProfileFigures] = field(default_factory=dict)  # the most frequent first
    point_verdicts: PointVerdicts | None = None  # None: none was of a kind that was measured
    undecided: int = 0  # inconclusive evaluations with offline scores

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        figures: dict[str, dict[str, Any]] = {"score": {}, "section": {}, "dimension": {}, "tag": {}}
        for measure, spread in self.spreads.items():
            figures[measure.kind][measure.name] = spread.to_dict() if spread is not None else {"count": 0}
        return {
            "evaluations": self.evaluations,
            "out_of": self.out_of,
            "score": figures["score"].get("score"),
            "sections": figures["section"],
            "dimensions": {
                name: {**own, "unscored": self.unscored.get(name, 0)} for name, own in figures["dimension"].items()
            },
            **self._criteria(figures["tag"]),
            **certainty_figures(self.profiles, self.point_verdicts, self.undecided),
            "verdicts": {
                label: {"count": own.count, "rate": own.rate.value, "low": own.rate.low, "high": own.rate.high}
                for label, own in self.verdicts.items()
            },
            "gates": dict(self.gates),
            "rules": dict(self.rules),
            "correlations": [
                {"one": c.one, "other": c.other, "pearson": c.pearson, "spearman": c.spearman, "pairs": c.pairs}
                for c in self.correlations
            ],
            "outliers": [
                {**outlier._asdict(), "measure": outlier.measure.name, "kind": outlier.measure.kind}
                for outlier in self.outliers
            ],
            "outlying": self.outlying,
        }

    def _criteria(self, spreads: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        """What there is only where cases are judged by criteria."""
        if not self.tags and not self.positions:
            return {}
        tags = {tag: {**own.to_dict(), "by_case": spreads.get(tag)} for tag, own in self.tags.items()}
        return {"tags": tags, "positions": [own.to_dict() for own in self.positions]}


@dataclass(frozen=True, slots=True)
class Summary:
    """A run in figures, by rubric (name@version)."""

    evaluations: int
    cases: int  # repeats count once
    parts: Mapping[str, RubricSummary]
    durations: Spread | None  # milliseconds
    cost: Cost  # what is known; `usd` is None where nothing has a price
    unpriced: int  # evaluations that used tokens whose price is not known
    offline: int
    errors: int  # rules, gates and formulas that could not be applied

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        spent = {"usd": self.cost.usd, "input_tokens": self.cost.input_tokens, "output_tokens": self.cost.output_tokens}
        return {
            "evaluations": self.evaluations,
            "cases": self.cases,
            "rubrics": {rubric: part.to_dict() for rubric, part in self.parts.items()},
            "durations_ms": self.durations.to_dict() if self.durations is not None else None,
            "cost": {**spent, "unpriced": self.unpriced},
            "offline": self.offline,
            "errors": self.errors,
        }
