"""One evaluation under way: what has been scored so far, and what formulas can read of it."""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from rubrica.formula import Interval
from rubrica.model.answers import label_name
from rubrica.model.context import Context
from rubrica.model.criteria import MOST_POINTS
from rubrica.model.evaluation import Remarks, Score, Unscored
from rubrica.scorers.namespace import Namespace
from rubrica.scoring.conclude import Doubts
from rubrica.scoring.decision_plan import ProfilePlan, points_names, share_name

from .outcomes import NotApplicable, NotNeeded, Outcome
from .parts import PointsReach, earned_share, point_ends, points_reach, reach_of
from .plan import AxisPlan, Plan

ANY_POINTS = Interval.of(1 / MOST_POINTS, MOST_POINTS**2)


class EvaluationState(msgspec.Struct, eq=False, gc=False):
    """One evaluation under way."""

    plan: Plan
    context: Context
    terms: ProfilePlan
    namespace: Namespace
    outcomes: dict[str, Outcome] = msgspec.field(default_factory=dict)
    parts: dict[str, dict[str, Outcome]] = msgspec.field(default_factory=dict)
    remarks: Remarks | None = None
    voted: bool = False  # some outcome may carry the votes of a panel or of repeats
    stopped: bool = False
    started: float = msgspec.field(default_factory=time.perf_counter)

    @property
    def waiting(self) -> list[AxisPlan]:
        """The axes without an outcome, those that can move the score most first."""
        left = [axis for axis in self.plan.axes if axis.name not in self.outcomes]
        return sorted(left, key=self.influence, reverse=True)

    def influence(self, axis: AxisPlan) -> float:
        """How far an axis can move the score, beside the others."""
        if axis.criteria and self.plan.decision.points:
            return sum(abs(part.points or 0.0) for part in axis.parts)
        return self.terms.weights.get(axis.name, 0.0) if axis.points is None else abs(axis.points)

    @property
    def case_criteria(self) -> frozenset[str]:
        """The criteria that the case brought, which no formula reads by their names."""
        at = self.plan.criteria
        return frozenset() if at is None else frozenset(part.name for part in self.plan.axes[at].parts)

    @property
    def formula_parts(self) -> dict[str, AxisPlan]:
        """The parts that formulas may read; criteria of a case are none of them."""
        return {part.name: part for axis in self.plan.axes if axis.parts for part in axis.every() if not part.of_case}


def doubts_of(state: EvaluationState) -> Doubts:
    """Which names that formulas read are only known as an interval, and why."""
    read = state.formula_parts
    every = [state.outcomes, *({n: o for n, o in found.items() if n in read} for found in state.parts.values())]
    bounded = {
        name: outcome.offline
        for found in every
        for name, outcome in found.items()
        if isinstance(outcome, Score) and outcome.bounds
    }
    names = frozenset(bounded) | {share_name(name) for name in bounded}
    for axis in state.plan.axes:
        names |= set(points_names(axis.name)) if axis.criteria and axis.name in bounded else set()
        for own in axis.every():
            if own.spec.answer_set is not None and own.name in bounded:
                names |= {label_name(own.name, label) for label in own.spec.answers}
    return Doubts(names, frozenset(name for name, offline in bounded.items() if offline), unread(state))


def formula_values(state: EvaluationState) -> tuple[dict[str, object], dict[str, Interval]]:
    """The names that formulas read, with the rubric's policy applied to what has no score, and what stays unknown.

    A score that is only known within bounds is among both: as the value it is estimated at, and as its bounds.
    """
    decision = state.plan.decision
    policy = decision.on_unscored.policy
    names = state.namespace
    unknown: dict[str, Interval] = {}
    for axis in state.plan.axes:
        share = share_name(axis.name)
        value: float | None = None
        outcome = state.outcomes.get(axis.name)
        match outcome:
            case Score() as score:
                value = score.value
                if score.bounds is not None:
                    low, high = score.bounds
                    unknown[axis.name] = Interval.of(low, high)
                    unknown[share] = Interval.of(axis.scale.share(low), axis.scale.share(high))
                    unknown |= _open_answers(axis, score)
            case NotApplicable():
                pass
            case Unscored(between=(low, high), may_not_apply=optional):
                unknown[axis.name] = Interval(low, high, optional=optional)
                unknown[share] = Interval(axis.scale.share(low), axis.scale.share(high), optional=optional)
                unknown |= _open_answers(axis, outcome, optional=optional)
                if axis.criteria:
                    own = state.parts.get(axis.name, {})
                    points = points_reach(axis, own, decision.on_unscored) if axis.parts else None
                    unknown |= _open_points(axis, points, optional=optional)
                continue
            case Unscored() if policy == "neutral":
                value = decision.neutral(axis.name)
            case Unscored() if policy == "skip":
                pass
            case _:  # still to be scored, or not scored and nothing may be assumed
                optional = policy == "skip"
                unknown |= open_reach(state, axis, state.parts.get(axis.name, {}))
                unknown |= _open_answers(axis, outcome, optional=optional)
                if isinstance(outcome, Unscored) and outcome.label:
                    _read_answers(axis, outcome, names)
                continue
        names[axis.name] = value
        if axis.spec.answer_set is not None and outcome is not None:
            _read_answers(axis, outcome, names, absent=value is None)
        if share in decision.reads_shares:
            names[share] = None if value is None else axis.scale.share(value)
        if axis.criteria:
            unknown |= _read_points(state, axis, value, names)
    parts = state.formula_parts if state.parts else {}
    for outcomes in state.parts.values():
        for part, found in outcomes.items():
            if part not in parts:
                continue
            spec = parts[part] if parts[part].spec.answer_set is not None else None
            if spec is not None:
                if policy == "inconclusive" and isinstance(found, Unscored) and not found.label:
                    unknown |= _open_answers(spec, found)
                else:
                    _read_answers(spec, found, names, absent=not isinstance(found, Score))
            if isinstance(found, Score):
                names[part] = found.value
                if found.bounds is not None:
                    unknown[part] = Interval.of(*found.bounds)
                    unknown |= _open_answers(spec, found) if spec is not None else {}
            elif isinstance(found, NotNeeded):
                unknown[part] = Interval.of(*parts[part].ends)
            elif isinstance(found, Unscored) and found.between is not None:
                unknown[part] = Interval(*found.between)
                unknown |= _open_answers(spec, found) if spec is not None else {}
            elif policy != "inconclusive":
                names[part] = None
    if decision.reads_others and (partial := names.partial_counts(decision.reads_others)):
        unknown |= {name: known.interval for name, known in partial.items()}
    return names, unknown


def open_reach(state: EvaluationState, axis: AxisPlan, outcomes: Mapping[str, Outcome]) -> dict[str, Interval]:
    """What the names of an axis may be while it, or some of its parts, have no outcome."""
    missing = state.plan.decision.on_unscored
    if not axis.criteria:
        return _named_reach(axis, reach_of(axis, outcomes, missing))
    points = points_reach(axis, outcomes, missing) if axis.parts else None
    ends = point_ends(axis, points)
    whole = None if ends is None else Interval(ends[0], ends[1], optional=ends[2])
    return _named_reach(axis, whole) | _open_points(axis, points, optional=missing.policy == "skip")


def _named_reach(axis: AxisPlan, reach: Interval | None) -> dict[str, Interval]:
    reach = reach or Interval(*axis.ends, optional=True)
    low, high = axis.scale.share(reach.lo), axis.scale.share(reach.hi)
    return {axis.name: reach, share_name(axis.name): Interval(low, high, optional=reach.optional)}


def _open_points(axis: AxisPlan, points: PointsReach | None, *, optional: bool) -> dict[str, Interval]:
    """What the criteria of a case may earn, and of how much."""
    possible_name, points_name = points_names(axis.name)
    if points is None:
        return {possible_name: ANY_POINTS, points_name: Interval(-MOST_POINTS, 1.0, optional=optional)}
    possible = ANY_POINTS if points.possible is None else Interval.point(points.possible)
    return {possible_name: possible, points_name: Interval(points.low, points.high, optional=points.optional)}


def _read_points(
    state: EvaluationState, axis: AxisPlan, value: float | None, names: dict[str, object]
) -> dict[str, Interval]:
    """Let formulas read what the criteria of a case earned; what is only known as an interval is given back."""
    possible_name, points_name = points_names(axis.name)
    outcomes = state.parts.get(axis.name, {})
    missing = state.plan.decision.on_unscored
    scored = isinstance(state.outcomes.get(axis.name), Score) and bool(outcomes)
    reach = points_reach(axis, outcomes, missing) if scored else None
    if reach is None or reach.possible is None:  # a value for all of it stands in, or it counts for nothing
        every = sum(max(part.points or 0.0, 0.0) for part in axis.parts)
        names[possible_name] = None if value is None else every or 1.0
        names[points_name] = None if value is None else axis.scale.share(value)
        return {}
    names[possible_name] = reach.possible
    names[points_name] = earned_share(axis, outcomes, missing)
    return {} if reach.low == reach.high else {points_name: Interval(reach.low, reach.high)}


def _read_answers(axis: AxisPlan, outcome: Outcome, names: dict[str, object], *, absent: bool = False) -> None:
    """Which label was answered, as formulas read it. A value that stands in for an answer is none of the labels."""
    answers = axis.spec.answer_set
    if answers is None:
        return
    answer = outcome.label if isinstance(outcome, Score | Unscored) else ""
    if isinstance(outcome, Score) and not answer:
        answer = answers.label_of(outcome.value)
    names.update(answers.readings(axis.name, None if absent and not answer else answer))


def _open_answers(axis: AxisPlan, outcome: Outcome | None, *, optional: bool = False) -> dict[str, Interval]:
    """The labels that may yet be the answer: all of them, unless one was answered."""
    if axis.spec.answer_set is None or (isinstance(outcome, Score | Unscored) and outcome.label):
        return {}
    return {label_name(axis.name, label): Interval(0.0, 1.0, optional=optional) for label in axis.spec.answers}


def unread(state: EvaluationState) -> dict[str, str]:
    """What is only known as an interval because a text was not read in full, and how much was read."""
    outcomes = dict(state.outcomes)
    for parts in state.parts.values():
        outcomes |= parts
    found = {
        name: outcome.reason
        for name, outcome in outcomes.items()
        if isinstance(outcome, Unscored) and outcome.between is not None
    }
    counts = state.namespace.partial_counts(state.plan.decision.reads_others)
    return found | {name: known.reason for name, known in counts.items()}
