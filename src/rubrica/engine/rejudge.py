"""Applies a rubric to scores that are already there, without scoring anything again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rubrica.errors import ContextError
from rubrica.hints import did_you_mean
from rubrica.model.context import Context
from rubrica.model.evaluation import DimensionResult, Evaluation, Score, Unscored
from rubrica.scorers.namespace import is_number

from .case_plan import case_plan
from .evaluate import evaluate_scores
from .plan import AxisPlan, Plan


def decide(plan: Plan, scores: Mapping[str, object], context: Context) -> Evaluation:
    """From given dimension scores, on their own scale, to an Evaluation.

    A dimension with parts takes one number, or a mapping of its parts to numbers. None means: not scored.
    """
    given: dict[str, Score | Unscored] = {}
    plan = case_plan(plan, context)
    for name, value in _flat(plan, scores).items():
        given[name] = _given_outcome(plan, name, value)
    return evaluate_scores(plan, context, given)


def rejudge(plan: Plan, stored: Evaluation) -> Evaluation:
    """The same scores under another rubric (or another version of it): no scorer and no judge is asked."""
    given: dict[str, Score | Unscored] = {}
    plan = case_plan(plan, stored.context or Context())
    for axis in plan.axes:
        result = stored.dimensions.get(axis.name)
        if result is None:
            given[axis.name] = Unscored(
                f"the stored evaluation ({stored.rubric}@{stored.version}) has no such dimension"
            )
            continue
        if result.status == "not_applicable" and axis.applies is not None:
            continue  # whether it applies is told anew, from the context
        given |= _stored_parts(axis, result)
        if not axis.parts or any(part.name not in result.parts for part in axis.parts):
            given[axis.name] = _stored_outcome(result)
    return evaluate_scores(plan, stored.context or Context(), given, stored.case, stored)


def _stored_parts(axis: AxisPlan, result: DimensionResult) -> dict[str, Score | Unscored]:
    """The outcomes of the parts of a node; a part of which not all parts are known counts as a whole."""
    found: dict[str, Score | Unscored] = {}
    for part in axis.parts:
        if (own := result.parts.get(part.name)) is None:
            continue
        inner = _stored_parts(part, own)
        if not part.parts or any(each.name not in inner for each in part.parts):
            inner = {part.name: _stored_outcome(own)}
        found |= inner
    return found


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
    flat = dict(_flatten_scores(scores))
    names = [own.name for axis in plan.axes for own in axis.every()]
    known = dict.fromkeys([axis.name for axis in plan.axes] + names)
    for name in flat:
        if name not in known:
            hint = did_you_mean(name, known, f"it has {', '.join(list(known)[:20])}")
            raise ContextError(f"{plan.rubric.name} has no dimension {name!r}; {hint}")
    return flat


def _flatten_scores(scores: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for name, value in scores.items():
        if isinstance(value, Mapping):
            yield from _flatten_scores(value)
        else:
            yield str(name), value


def _given_outcome(plan: Plan, name: str, value: object) -> Score | Unscored:
    if isinstance(value, Score | Unscored):
        return value
    if value is None:
        return Unscored("no score was given")
    if not is_number(value):
        raise ContextError(f"the score of {name} is {value!r}, not a number")
    scale = next(own.scale for axis in plan.axes for own in axis.every() if own.name == name)
    if not scale.holds(value):
        raise ContextError(f"the score of {name} is {value:g}, off its scale {scale}")
    return Score(float(value), "given", 1.0, "human")
