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
from rubrica.scoring.decision_plan import NOISE_DIGITS

from .audience import listeners
from .earned import criterion_steps, tag_results
from .outcomes import NotApplicable, NotNeeded, Outcome
from .plan import AxisPlan
from .profile_verdicts import across_profiles
from .reliability import NO_NOTE, judges_notes, verdict_note
from .repeats import split_verdicts
from .state import EvaluationState, doubts_of, formula_values

MOST_CONCLUSIONS_KEPT = 10_000


def _conclusion(state: EvaluationState) -> Conclusion:
    """What follows from the outcomes; equal ones conclude equally where the rubric reads nothing else."""
    plan, outcomes = state.plan, state.outcomes
    if not plan.decision.closed:
        return _conclude(state)
    key: tuple[object, ...] = (state.terms.profile,)
    for axis in plan.axes:
        outcome = outcomes[axis.name]
        if isinstance(outcome, Score):
            key += (outcome.value, outcome.bounds, outcome.offline)
            continue
        if isinstance(outcome, Unscored) and outcome.between is not None:  # which is told with its reason
            return _conclude(state)
        if isinstance(outcome, NotNeeded) and axis.name in state.parts:  # of which some parts are known
            return _conclude(state)
        key += (type(outcome),)
    found = plan.conclusions.get(key)
    if found is None:
        found = _conclude(state)
        if len(plan.conclusions) >= MOST_CONCLUSIONS_KEPT:
            plan.conclusions.clear()
        plan.conclusions[key] = found
    return found


def _conclude(state: EvaluationState) -> Conclusion:
    names, unknown = formula_values(state)
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
    steps = end.steps
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
    if plan.criteria is not None and plan.decision.points and steps:
        steps = criterion_steps(plan, dimensions, steps)
    rubric, version, hash = plan.identity
    confidence = total / scored if scored else None
    errors = (*faults, *end.errors) if faults else end.errors
    notes: tuple[str, ...] = (terms.note,) if terms.note else ()
    if not state.namespace.in_full:
        notes += state.namespace.notes
    note = verdict_note(state, verdict) if offline else NO_NOTE
    if note.text:
        notes += (note.text,)
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
        steps,
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
    if terms.classified is not None:
        found = msgspec.structs.replace(found, classified=terms.classified)
    if note.right is not None:
        found = msgspec.structs.replace(found, right=note.right)
    return msgspec.structs.replace(found, tags=tag_results(dimensions)) if plan.tagged else found


def _band(state: EvaluationState, axis: AxisPlan, score: Score) -> str:
    """The band of a score; none where its bounds lie in several."""
    low, high = axis.ends
    bands = {state.plan.decision.band(share_of(end, low, high)) for end in score.bounds or (score.value,)}
    return bands.pop() if len(bands) == 1 else ""


def _split_reason(split: Mapping[int, str]) -> str:
    repeats_text = ", ".join(f"repeat {repeat + 1} {verdict}" for repeat, verdict in sorted(split.items()))
    return f"the judges do not agree with themselves: {repeats_text}"


def _parts(state: EvaluationState, axis: AxisPlan, scored: Mapping[str, Outcome]) -> dict[str, DimensionResult]:
    """The results of the parts of a node; a part of which nothing was scored, being not needed, is not descended."""
    found = {}
    for part in axis.parts:
        outcome = scored.get(part.name)
        if outcome is None and part.parts:
            leaves = [scored[leaf.name] for leaf in part.leaves if leaf.name in scored]
            outcome = next((leaf for leaf in leaves if isinstance(leaf, NotNeeded)), None)
        if outcome is not None:
            found[part.name] = _result(state, part, outcome, scored)
    if all(result.status == "not_needed" and not result.parts for result in found.values()):
        return {}
    return found


def _result(
    state: EvaluationState, axis: AxisPlan, outcome: Outcome, scored: Mapping[str, Outcome] | None = None
) -> DimensionResult:
    parts = _parts(state, axis, state.parts.get(axis.name, {}) if scored is None else scored) if axis.parts else {}
    points, tags = axis.points, axis.spec.tags
    asks = axis.spec.asks if axis.of_case else ""
    decision = state.plan.decision
    status: Status
    low, high = axis.ends
    weight = state.terms.weights.get(axis.name, axis.weight)
    if isinstance(outcome, Score):
        share = share_of(outcome.value, low, high)
        status = "scored"
        between = None
        earned = None if points is None else round(points * share, NOISE_DIGITS)
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
            between,
            points,
            earned,
            tags,
            asks,
        )
    if isinstance(outcome, Unscored):
        counted = axis.name in state.outcomes or scored is not None
        neutral = decision.on_unscored.policy == "neutral" and counted and outcome.between is None
        value = decision.on_unscored.value_on(axis.scale) if neutral else None
        whole = None if value is None else share_of(value, low, high)
        return DimensionResult(
            value=value,
            share=whole,
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
            points=points,
            earned=None if points is None or whole is None else round(points * whole, NOISE_DIGITS),
            tags=tags,
            asks=asks,
        )
    cost, duration_ms = (outcome.cost, outcome.duration_ms) if isinstance(outcome, NotNeeded) else (None, 0.0)
    status = "not_applicable" if isinstance(outcome, NotApplicable) else "not_needed"
    return DimensionResult(
        None,
        None,
        status,
        outcome.reason,
        confidence=0.0,
        weight=weight,
        low=low,
        high=high,
        parts=parts,
        cost=cost,
        duration_ms=duration_ms,
        points=points,
        tags=tags,
        asks=asks,
    )
