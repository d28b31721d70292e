"""One evaluation under way: what has been scored so far, and what formulas can read of it."""

from __future__ import annotations

import time
from dataclasses import dataclass

import msgspec

from rubrica.formula import Interval
from rubrica.model.answers import label_name
from rubrica.model.context import Context
from rubrica.model.evaluation import Remarks, Score, Unscored
from rubrica.scorers.namespace import Namespace
from rubrica.scoring.conclude import Doubts
from rubrica.scoring.decision_plan import ProfilePlan, share_name

from .plan import AxisPlan, Plan


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """The dimension has nothing to judge here; its weight is shared out."""

    reason: str


@dataclass(frozen=True, slots=True)
class NotNeeded:
    """Not scored, because it could not change the verdict."""

    reason: str


Outcome = Score | Unscored | NotApplicable | NotNeeded


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
        return sorted(left, key=lambda axis: -self.terms.weights.get(axis.name, 0.0))


def doubts_of(state: EvaluationState) -> Doubts:
    """Which names that formulas read are only known as an interval, and why."""
    every = [state.outcomes, *state.parts.values()]
    bounded = {
        name: outcome.offline
        for found in every
        for name, outcome in found.items()
        if isinstance(outcome, Score) and outcome.bounds
    }
    names = frozenset(bounded) | {share_name(name) for name in bounded}
    for axis in state.plan.axes:
        for own in (axis, *axis.parts):
            if own.spec.answers and own.name in bounded:
                names |= {label_name(own.name, label) for label in own.spec.answers}
    return Doubts(names, frozenset(name for name, offline in bounded.items() if offline), unread(state))


def weighable(state: EvaluationState) -> tuple[dict[str, object], dict[str, Interval]]:
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
                continue
            case Unscored() if policy == "neutral":
                value = decision.neutral(axis.name)
            case Unscored() if policy == "skip":
                pass
            case _:  # still to be scored, or not scored and nothing may be assumed
                scale, optional = axis.scale, policy == "skip"
                unknown[axis.name] = Interval(scale.min, scale.max, optional=optional)
                unknown[share] = Interval(scale.share(scale.min), 1.0, optional=optional)
                unknown |= _open_answers(axis, outcome, optional=optional)
                if isinstance(outcome, Unscored) and outcome.label:
                    _read_answers(axis, outcome, names)
                continue
        names[axis.name] = value
        if axis.spec.answers and outcome is not None:
            _read_answers(axis, outcome, names, absent=value is None)
        if share in decision.reads_shares:
            names[share] = None if value is None else axis.scale.share(value)
    answered = (
        {part.name: part for axis in state.plan.axes for part in axis.parts if part.spec.answers} if state.parts else {}
    )
    for outcomes in state.parts.values():
        for part, found in outcomes.items():
            spec = answered.get(part)
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
            elif isinstance(found, Unscored) and found.between is not None:
                unknown[part] = Interval(*found.between)
                unknown |= _open_answers(spec, found) if spec is not None else {}
            elif policy != "inconclusive":
                names[part] = None
    if decision.reads_others and (partial := names.partial_counts(decision.reads_others)):
        unknown |= {name: known.interval for name, known in partial.items()}
    return names, unknown


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
    if not axis.spec.answers or (isinstance(outcome, Score | Unscored) and outcome.label):
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
