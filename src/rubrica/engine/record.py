"""From a finished sitting to the Evaluation that is kept."""

from __future__ import annotations

import time
from collections.abc import Mapping

from rubrica.model.evaluation import (
    INCONCLUSIVE,
    Cost,
    DimensionResult,
    Evaluation,
    Score,
    Status,
    Unscored,
    total_cost,
)
from rubrica.scoring.conclude import Conclusion, conclude
from rubrica.scoring.normalise import population_variance

from .plan import AxisPlan
from .repeats import split_verdicts
from .sitting import NotApplicable, NotNeeded, Outcome, Sitting, weighable

MOST_CONCLUSIONS_KEPT = 10_000


def _conclusion(sitting: Sitting) -> Conclusion:
    """What follows from the scores; equal scores conclude equally where the rubric reads nothing else."""
    plan = sitting.plan
    names, unknown = weighable(sitting)
    if unknown or not plan.ruling.closed:
        return conclude(plan.ruling, sitting.terms, names, unknown, sitting.situation.evidence)
    key = (sitting.terms.profile, *[names[axis.name] for axis in plan.axes])
    known = plan.conclusions.get(key)
    if known is None:
        known = conclude(plan.ruling, sitting.terms, names, unknown, sitting.situation.evidence)
        if len(plan.conclusions) >= MOST_CONCLUSIONS_KEPT:
            plan.conclusions.clear()
        plan.conclusions[key] = known
    return known


def record(sitting: Sitting, case: str | None) -> Evaluation:
    plan, terms = sitting.plan, sitting.terms
    rubric, out_of = plan.rubric, plan.ruling.out_of
    split = split_verdicts(sitting) if plan.judge is not None or sitting.voted else {}
    end = _conclusion(sitting)
    verdict, reason = (end.verdict, end.reason) if not split else (INCONCLUSIVE, _told_apart(split))
    dimensions = {}
    values: list[float] = []
    confidences: list[float] = []
    costs: list[Cost] = []
    errors: list[str] = []
    offline = False
    for axis in plan.axes:
        result = dimensions[axis.name] = _result(sitting, axis)
        if result.value is not None:
            values.append(result.value)
            confidences.append(result.confidence)
        if result.cost is not None:
            costs.append(result.cost)
        offline = offline or result.offline
        errors += [f"{axis.name}: {hit.rule}: {hit.error}" for hit in result.hits if hit.error]
    return Evaluation(
        rubric=rubric.name,
        version=rubric.version,
        hash=rubric.hash,
        verdict=verdict,
        reason=reason,
        score=end.score,
        out_of=out_of,
        bounds=end.bounds,
        dimensions=dimensions,
        threshold=terms.threshold,
        profile=terms.profile,
        band=band_of(rubric.bands, end.score / out_of) if rubric.bands and end.score is not None else "",
        confidence=sum(confidences) / len(confidences) if confidences else None,
        variance=population_variance(values),
        sections=end.sections,
        gates=end.gates,
        steps=end.steps,
        errors=(*errors, *end.errors),
        notes=(sitting.note,) if sitting.note else (),
        offline=offline,
        stopped=sitting.stopped,
        remarks=sitting.remarks,
        duration_ms=(time.perf_counter() - sitting.started) * 1000,
        cost=total_cost(costs) if costs else None,
        context=sitting.context,
        case=case,
    )


def _told_apart(split: Mapping[int, str]) -> str:
    said = ", ".join(f"repeat {repeat + 1} {verdict}" for repeat, verdict in sorted(split.items()))
    return f"the judges do not agree with themselves: {said}"


def band_of(bands: Mapping[str, float], share: float) -> str:
    """The highest band that a share of full marks reaches.

    >>> band_of({"good": 0.7, "poor": 0.0}, 0.7)
    'good'
    """
    reached = [(start, label) for label, start in bands.items() if share >= start - 1e-9]
    return max(reached)[1] if reached else ""


def _result(sitting: Sitting, axis: AxisPlan) -> DimensionResult:
    if not axis.parts:
        return _axis_result(sitting, axis, sitting.outcomes[axis.name], {})
    parts = {
        part.name: _axis_result(sitting, part, sitting.parts[axis.name][part.name], {})
        for part in axis.parts
        if part.name in sitting.parts.get(axis.name, {})
    }
    return _axis_result(sitting, axis, sitting.outcomes[axis.name], parts)


def _axis_result(
    sitting: Sitting, axis: AxisPlan, outcome: Outcome, parts: Mapping[str, DimensionResult]
) -> DimensionResult:
    scale = axis.scale
    weight = sitting.terms.weights.get(axis.name, axis.spec.weight)
    match outcome:
        case Score():
            share = scale.share(outcome.value)
            return DimensionResult(
                outcome.value,
                share,
                "scored",
                outcome.reason,
                outcome.confidence,
                outcome.source,
                outcome.offline,
                weight,
                scale.min,
                scale.max,
                band_of(sitting.plan.rubric.bands, share) if sitting.plan.rubric.bands else "",
                outcome.hits,
                outcome.start,
                parts,
                outcome.cost,
                outcome.duration_ms,
                outcome.votes,
                outcome.judge,
            )
        case Unscored():
            neutral = sitting.plan.ruling.on_unscored.policy == "neutral" and axis.name in sitting.outcomes
            value = sitting.plan.ruling.neutral(axis.name) if neutral else None
            return DimensionResult(
                value=value,
                share=None if value is None else scale.share(value),
                status="neutral" if neutral else "unscored",
                reason=outcome.reason,
                confidence=0.0,
                source=outcome.source,
                weight=weight,
                low=scale.min,
                high=scale.max,
                hits=outcome.hits,
                parts=parts,
                cost=outcome.cost,
                duration_ms=outcome.duration_ms,
                votes=outcome.votes,
                judge=outcome.judge,
            )
        case NotApplicable() | NotNeeded():
            status: Status = "not_applicable" if isinstance(outcome, NotApplicable) else "not_needed"
            return DimensionResult(
                None, None, status, outcome.reason, confidence=0.0, weight=weight, low=scale.min, high=scale.max
            )
