"""Applies a rubric to scores that are already there, without scoring anything again."""

from __future__ import annotations

from collections.abc import Mapping

from rubrica.errors import ContextError
from rubrica.hints import did_you_mean
from rubrica.model.context import Context
from rubrica.model.evaluation import DimensionResult, Evaluation, Score, Unscored
from rubrica.scorers.namespace import is_number

from .evaluate import settle
from .plan import Plan


def decide(plan: Plan, scores: Mapping[str, object], context: Context) -> Evaluation:
    """From given dimension scores, on their own scale, to an Evaluation.

    A dimension with parts takes one number, or a mapping of its parts to numbers. None means: not scored.
    """
    given: dict[str, Score | Unscored] = {}
    for name, value in _flat(plan, scores).items():
        given[name] = _given_outcome(plan, name, value)
    return settle(plan, context, given)


def rejudge(plan: Plan, stored: Evaluation) -> Evaluation:
    """The same scores under another rubric (or another version of it): no scorer and no judge is asked."""
    given: dict[str, Score | Unscored] = {}
    for axis in plan.axes:
        result = stored.dimensions.get(axis.name)
        if result is None:
            given[axis.name] = Unscored(
                f"the stored evaluation ({stored.rubric}@{stored.version}) has no such dimension"
            )
            continue
        if result.status == "not_applicable" and axis.applies is not None:
            continue  # whether it applies is told anew, from the context
        parts = {
            part.name: _stored_outcome(result.parts[part.name]) for part in axis.parts if part.name in result.parts
        }
        given |= parts
        if len(parts) < len(axis.parts) or not axis.parts:
            given[axis.name] = _stored_outcome(result)
    return settle(plan, stored.context or Context(), given, stored.case, stored)


def _stored_outcome(result: DimensionResult) -> Score | Unscored:
    if result.status != "scored" or result.value is None:
        return Unscored(
            result.reason,
            result.source,
            result.hits,
            result.cost,
            result.duration_ms,
            result.votes,
            result.judge,
            result.between,
            label=result.label,
        )
    return Score(
        result.value,
        result.reason,
        result.confidence,
        result.source,
        result.offline,
        result.hits,
        result.start,
        result.cost,
        result.duration_ms,
        result.votes,
        result.judge,
        result.bounds,
        result.kind,
        result.label,
    )


def _flat(plan: Plan, scores: Mapping[str, object]) -> dict[str, object]:
    """Scores by axis name, parts given as a mapping taken out of it."""
    flat: dict[str, object] = {}
    for name, value in scores.items():
        flat |= {str(part): number for part, number in value.items()} if isinstance(value, Mapping) else {name: value}
    known = [axis.name for axis in plan.axes] + [part.name for axis in plan.axes for part in axis.parts]
    for name in flat:
        if name not in known:
            hint = did_you_mean(name, known, f"it has {', '.join(known)}")
            raise ContextError(f"{plan.rubric.name} has no dimension {name!r}; {hint}")
    return flat


def _given_outcome(plan: Plan, name: str, value: object) -> Score | Unscored:
    if isinstance(value, Score | Unscored):
        return value
    if value is None:
        return Unscored("no score was given")
    if not is_number(value):
        raise ContextError(f"the score of {name} is {value!r}, not a number")
    scale = next(a.scale for axis in plan.axes for a in (axis, *axis.parts) if a.name == name)
    if not scale.holds(value):
        raise ContextError(f"the score of {name} is {value:g}, off its scale {scale}")
    return Score(float(value), "given", 1.0, "human")
