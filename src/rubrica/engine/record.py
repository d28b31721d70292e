"""From a finished state to the Evaluation that is kept."""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

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
from rubrica.model.scale import share_of
from rubrica.scoring.conclude import CERTAIN, Conclusion, conclude

from .audience import listeners
from .plan import AxisPlan
from .profile_verdicts import across_profiles
from .reliability import judges_notes, verdict_note
from .repeats import split_verdicts
from .state import EvaluationState, NotApplicable, Outcome, doubts_of, weighable

MOST_CONCLUSIONS_KEPT = 10_000


def _conclusion(state: EvaluationState) -> Conclusion:
    """What follows from the outcomes; equal ones conclude equally where the rubric reads nothing else."""
    plan, outcomes = state.plan, state.outcomes
    if not plan.decision.closed:
        return _conclude(state)
    key: tuple[object, ...] = (state.terms.profile,)
    for axis in plan.axes:
        outcome = outcomes[axis.name]
        if isinstance(outcome, Unscored) and outcome.between is not None:  # which is told with its reason
            return _conclude(state)
        key += (outcome.value, outcome.bounds, outcome.offline) if isinstance(outcome, Score) else (type(outcome),)
    found = plan.conclusions.get(key)
    if found is None:
        found = _conclude(state)
        if len(plan.conclusions) >= MOST_CONCLUSIONS_KEPT:
            plan.conclusions.clear()
        plan.conclusions[key] = found
    return found


def _conclude(state: EvaluationState) -> Conclusion:
    names, unknown = weighable(state)
    evidence = state.namespace.evidence
    doubts = doubts_of(state) if unknown else CERTAIN
    return conclude(state.plan.decision, state.terms, names, unknown, evidence, doubts)


def record(state: EvaluationState, case: str | None) -> Evaluation:
    """The Evaluation of a finished state, told to whoever listens."""
    evaluation = record_state(state, case)
    for listener in listeners:
        listener(evaluation)
    return evaluation


def record_state(state: EvaluationState, case: str | None) -> Evaluation:
    """The Evaluation of a finished state."""
    plan, terms = state.plan, state.terms
    end = _conclusion(state)
    verdict, reason = end.verdict, end.reason
    if plan.judge is not None or state.voted:
        split = split_verdicts(state)
        if split:
            verdict, reason = INCONCLUSIVE, _split_reason(split)
    bounds = end.bounds
    if terms.others:
        verdict, reason, bounds = across_profiles(state, verdict, reason)
    dimensions: dict[str, DimensionResult] = {}
    scored, total = 0, 0.0
    costs: list[Cost] = []
    faults: list[str] = []
    offline = False
    if terms.classified is not None and terms.classified.cost is not None:
        costs.append(terms.classified.cost)
    for axis in plan.axes:
        result = dimensions[axis.name] = _result(state, axis, state.outcomes[axis.name])
        if result.value is not None:
            scored += 1
            total += result.confidence
        if result.cost is not None:
            costs.append(result.cost)
        if result.offline:
            offline = True
        for hit in result.hits:
            if hit.error:
                faults.append(f"{axis.name}: {hit.rule}: {hit.error}")
    rubric, version, hash = plan.identity
    confidence = total / scored if scored else None
    errors = (*faults, *end.errors) if faults else end.errors
    notes: tuple[str, ...] = (terms.note,) if terms.note else ()
    if not state.namespace.in_full:
        notes += state.namespace.notes
    if offline and (note := verdict_note(state, verdict)):
        notes += (note,)
    if plan.rubric.calibration is not None:
        notes += judges_notes(state, verdict)
    cost = total_cost(costs) if costs else None
    duration_ms = (time.perf_counter() - state.started) * 1000
    # By place, for keywords take a seventh of the time of a whole evaluation by rules. Each argument is called as its
    # field is, and a test holds that against the fields.
    found = Evaluation(
        rubric,
        version,
        hash,
        verdict,
        reason,
        end.score,
        plan.decision.out_of,
        bounds,
        dimensions,
        terms.threshold,
        terms.profile,
        end.band,
        confidence,
        end.variance,
        end.sections,
        end.gates,
        end.steps,
        errors,
        notes,
        offline,
        state.stopped,
        state.remarks,
        duration_ms,
        cost,
        state.context,
        case,
    )
    return found if terms.classified is None else msgspec.structs.replace(found, classified=terms.classified)


def _band(state: EvaluationState, axis: AxisPlan, score: Score) -> str:
    """The band of a score; none where its bounds lie in several."""
    low, high = axis.ends
    bands = {state.plan.decision.band(share_of(end, low, high)) for end in score.bounds or (score.value,)}
    return bands.pop() if len(bands) == 1 else ""


def _split_reason(split: Mapping[int, str]) -> str:
    said = ", ".join(f"repeat {repeat + 1} {verdict}" for repeat, verdict in sorted(split.items()))
    return f"the judges do not agree with themselves: {said}"


def _parts(state: EvaluationState, axis: AxisPlan) -> dict[str, DimensionResult]:
    scored = state.parts.get(axis.name, {})
    return {part.name: _result(state, part, scored[part.name]) for part in axis.parts if part.name in scored}


def _result(state: EvaluationState, axis: AxisPlan, outcome: Outcome) -> DimensionResult:
    parts = _parts(state, axis) if axis.parts else {}
    decision = state.plan.decision
    status: Status
    low, high = axis.ends
    weight = state.terms.weights.get(axis.name, axis.weight)
    if isinstance(outcome, Score):
        share = share_of(outcome.value, low, high)
        status = "scored"
        band = _band(state, axis, outcome) if decision.bands else ""
        return DimensionResult(  # by place, as above
            outcome.value,
            share,
            status,
            outcome.reason,
            outcome.confidence,
            outcome.source,
            outcome.offline,
            weight,
            low,
            high,
            band,
            outcome.hits,
            outcome.start,
            parts,
            outcome.cost,
            outcome.duration_ms,
            outcome.votes,
            outcome.judge,
            outcome.bounds,
            outcome.kind,
            outcome.label,
        )
    if isinstance(outcome, Unscored):
        neutral = decision.on_unscored.policy == "neutral" and axis.name in state.outcomes and outcome.between is None
        value = decision.neutral(axis.name) if neutral else None
        return DimensionResult(
            value=value,
            share=None if value is None else share_of(value, low, high),
            status="neutral" if neutral else "unscored",
            reason=outcome.reason,
            confidence=0.0,
            source=outcome.source,
            weight=weight,
            low=low,
            high=high,
            hits=outcome.hits,
            parts=parts,
            cost=outcome.cost,
            duration_ms=outcome.duration_ms,
            votes=outcome.votes,
            judge=outcome.judge,
            label=outcome.label,
            between=outcome.between,
        )
    status = "not_applicable" if isinstance(outcome, NotApplicable) else "not_needed"
    return DimensionResult(None, None, status, outcome.reason, confidence=0.0, weight=weight, low=low, high=high)
