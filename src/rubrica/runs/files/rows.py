"""Rows: an evaluation reduced to the figures that summaries, comparisons and tables are made of."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rubrica.model.evaluation import DimensionResult, Evaluation

GROUP = "group"
"""The piece of a case's metadata that says which cases belong together, such as all questions about one passage."""


class RunRow(msgspec.Struct, frozen=True, gc=False):
    """One evaluation in figures. Values of dimensions are on their own scale, those of sections on `out_of`."""

    case: str
    rubric: str  # name@version
    verdict: str
    score: float | None
    out_of: float
    dimensions: Mapping[str, float | None] = {}  # None: not scored, or nothing to judge
    sections: Mapping[str, float | None] = {}
    unscored: tuple[str, ...] = ()  # dimensions that should have a score and have none
    gates: tuple[str, ...] = ()  # that fired
    fired: tuple[str, ...] = ()  # rules that changed a score, as ``dimension: rule``
    profile: str | None = None
    group: str | None = None
    repeat: int = 0
    offline: bool = False
    errors: int = 0  # rules, gates and formulas that could not be applied
    duration_ms: float = 0.0
    usd: float | None = None  # None: nothing was paid, or the price is not known
    input_tokens: int = 0
    output_tokens: int = 0
    reason: str = ""
    earned: Mapping[str, float | None] = {}  # points, by tag
    possible: Mapping[str, float | None] = {}  # points that could be earned, by tag
    counted: Mapping[str, float | None] = {}  # criteria that have a score, by tag
    positions: tuple[float | None, ...] = ()  # of the criteria that the case brought, each as a share of full marks
    profile_confidence: float | None = None  # of whoever classified the prompt; None: nobody did
    right: float | None = None  # how often such a verdict by offline points was right when measured
    score_low: float | None = None  # what the score lies between, where it is an estimate or has no value
    score_high: float | None = None

    @property
    def tags(self) -> dict[str, float | None]:
        """By tag the share of its points that was earned, 0 to 1; None where there were none to earn."""
        shares = {tag: (self.earned.get(tag) or 0.0, possible or 0.0) for tag, possible in self.possible.items()}
        return {tag: min(max(own / most, 0.0), 1.0) if most > 0 else None for tag, (own, most) in shares.items()}

    @property
    def key(self) -> tuple[str, int]:
        """What two runs are paired by."""
        return self.case, self.repeat


def row_of(evaluation: Evaluation, group: str = GROUP) -> RunRow:
    """The figures of an evaluation. `group` names the metadata that cases are grouped by."""
    cost = evaluation.cost
    low, high = evaluation.bounds
    is_exact = low == high == evaluation.score
    results = evaluation.dimensions
    return RunRow(
        case=evaluation.case or "",
        rubric=f"{evaluation.rubric}@{evaluation.version}",
        verdict=evaluation.verdict,
        score=evaluation.score,
        out_of=evaluation.out_of,
        dimensions={name: result.value for name, result in results.items()},
        sections={name: section.score for name, section in evaluation.sections.items()},
        unscored=tuple(name for name, result in results.items() if result.status in ("unscored", "neutral")),
        gates=tuple(gate.name for gate in evaluation.gates if gate.fired),
        fired=tuple(rule for name, result in results.items() for rule in _fired_rules(name, result)),
        profile=evaluation.profile,
        group=_group(evaluation, group),
        repeat=evaluation.repeat,
        offline=evaluation.offline,
        errors=len(evaluation.errors),
        duration_ms=evaluation.duration_ms,
        usd=cost.usd if cost is not None else None,
        input_tokens=cost.input_tokens if cost is not None else 0,
        output_tokens=cost.output_tokens if cost is not None else 0,
        reason=evaluation.reason,
        earned={tag: own.earned for tag, own in evaluation.tags.items()},
        possible={tag: own.possible for tag, own in evaluation.tags.items()},
        counted={tag: float(own.count) for tag, own in evaluation.tags.items()},
        profile_confidence=evaluation.classified.confidence if evaluation.classified is not None else None,
        right=evaluation.right,
        score_low=None if is_exact else low,
        score_high=None if is_exact else high,
        positions=tuple(part.share for result in results.values() for part in result.parts.values() if part.asks),
    )


def _fired_rules(name: str, result: DimensionResult) -> list[str]:
    return [f"{name}: {hit.rule}" for hit in result.hits if hit.points]


def _group(evaluation: Evaluation, key: str) -> str | None:
    found = evaluation.context.lookup(key) if evaluation.context is not None else None
    return None if found is None else str(found)
