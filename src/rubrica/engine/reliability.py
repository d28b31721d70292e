"""Bounds of scores: how far people's lie from offline ones by the kind of text, and from a judge's by its labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from rubrica.errors import FormulaFault
from rubrica.model.evaluation import INCONCLUSIVE, Score, Unscored
from rubrica.model.reliability import Reliability
from rubrica.scorers.namespace import Namespace
from rubrica.scoring.conclude import MOST_NAMED

from .plan import AxisPlan
from .state import EvaluationState
from .vocabulary import OFFLINE_VALUE

TRUSTED = 0.5
"""The confidence from which on an offline score needs no word about what it rests on."""


def with_bounds(state: EvaluationState, axis: AxisPlan, outcome: Score | Unscored) -> Score | Unscored:
    """A score with its bounds, where the rubric wants them: offline by the kind of text, a judge's by its labels.

    They follow from the rubric and the context alone, so that stored scores get those of the rubric they are judged
    under. Scores of people stay as they are, those of judges that nobody measured, and offline ones for which the
    rubric asks no judge because it relies on them (`judge: uncertain`). Where it would ask one, an offline score counts
    as its bounds unless the rubric says `point`: code alone does not decide what the rubric says it cannot tell.
    """
    if not isinstance(outcome, Score):
        return outcome
    if outcome.source == "llm":
        return _judged_with_bounds(state, axis, outcome)
    if not outcome.offline:
        return outcome
    asks = asks_judge(state, axis)
    is_open = axis.asked_where is not None and asks and state.plan.rubric.judging.offline is None
    if not (axis.measured or state.plan.bounded or outcome.bounds or is_open):
        return outcome
    found = kind_of(axis, outcome.value, state.namespace)
    bounds = None
    if is_open or (state.plan.bounded and (found is not None or asks)):
        bounds = axis.ends if found is None else found.bounds(outcome.value, axis.ends)
    return msgspec.structs.replace(outcome, bounds=bounds, kind="" if found is None else found.kind)


def asks_judge(state: EvaluationState, axis: AxisPlan) -> bool:
    """Whether a judge is asked: always, unless the rubric asks only where the offline score is uncertain."""
    try:
        return axis.asked_where is None or axis.asked_where.holds(state.namespace)
    except FormulaFault:
        return True


def kind_of(axis: AxisPlan, value: float, namespace: Namespace) -> Reliability | None:
    """The first measured kind that the text is of."""
    namespace[OFFLINE_VALUE] = value
    for spec, when in axis.measured:
        try:
            if when is None or when.holds(namespace):
                return spec
        except FormulaFault:  # what cannot be told of a text does not make it one that was measured
            continue
    return None


def _judged_with_bounds(state: EvaluationState, axis: AxisPlan, outcome: Score) -> Score:
    calibration, bounds = state.plan.rubric.calibration, None
    if calibration is not None and state.plan.judges_bounded:
        from rubrica.judges.judge_reliability import judged_bounds  # here, since few rubrics are calibrated

        bounds = judged_bounds(calibration, axis.name, outcome, axis.ends)
    if bounds is None and outcome.bounds is None:
        return outcome
    return msgspec.structs.replace(outcome, bounds=bounds, kind="" if bounds is None else str(calibration))


def judges_notes(state: EvaluationState, verdict: str) -> tuple[str, ...]:
    """What is known of the judges and did not count: people's scores around theirs, or that nobody measured it."""
    calibration, bounded = state.plan.rubric.calibration, state.plan.judges_bounded
    if calibration is None or not calibration.reliability or verdict == INCONCLUSIVE:
        return ()
    from rubrica.judges.judge_reliability import judged_bounds  # here, as above

    within, unmeasured = [], []
    for axis, score in _scored(state):
        if score.source != "llm":
            continue
        ends = score.bounds or judged_bounds(calibration, axis.name, score, axis.ends)
        if ends is None:
            unmeasured.append(axis.name)
        elif score.bounds is None:
            within.append(f"{axis.name} {ends[0]:.4g} to {ends[1]:.4g}")
    notes = []
    if within and not bounded:
        several = ", ".join(within[:MOST_NAMED]) + (", …" if len(within) > MOST_NAMED else "")
        notes.append(f"judges' scores decided as they are; nine in ten people's lie within: {several} ({calibration})")
    if unmeasured and bounded:
        notes.append(f"how far people's scores lie from the judge's was not measured for {', '.join(unmeasured)}")
    return tuple(notes)


def _scored(state: EvaluationState) -> Iterator[tuple[AxisPlan, Score]]:
    """Every axis and part that has a score."""
    for axis in state.plan.axes:
        for one in axis.every():
            outcome = state.parts.get(axis.name, {}).get(one.name) if one is not axis else state.outcomes.get(one.name)
            if isinstance(outcome, Score):
                yield one, outcome


class VerdictNote(NamedTuple):
    """What a verdict rests on; empty where there is nothing to say."""

    text: str = ""
    right: float | None = None  # how often such a verdict was right when measured


NO_NOTE = VerdictNote()


def verdict_note(state: EvaluationState, verdict: str) -> VerdictNote:
    """What a verdict rests on where offline scores decided as points: how often such a one was right when measured, or
    which scores code can only guess at."""
    if state.plan.bounded:
        return NO_NOTE
    found = False
    for axis, score in _scored(state):
        if not axis.measured or not score.offline:
            continue
        found = True
        spec = next((spec for spec, _ in axis.measured if spec.kind == score.kind), None)
        if spec is not None and verdict in spec.right:
            right = spec.right[verdict]
            return VerdictNote(
                f"offline scores decided: of measured texts of this kind ({spec.kind}) with the verdict {verdict}, "
                f"people agreed on {right:.0%}",
                right,
            )
    if found:
        unknown = "offline scores decided: how often such a verdict is right was not measured on texts like this"
        return VerdictNote("" if verdict == INCONCLUSIVE else unknown)
    return VerdictNote(_guessed_note(state))


def _guessed_note(state: EvaluationState) -> str:
    """Which scores stand in for a reader's, by rules that say of themselves that they can be trusted little."""
    guessed = {
        axis.name: outcome.confidence
        for axis in state.plan.axes
        if isinstance(outcome := state.outcomes.get(axis.name), Score)
        and outcome.offline
        and outcome.confidence < TRUSTED
    }
    if not guessed:
        return ""
    low, high = min(guessed.values()), max(guessed.values())
    between = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return (
        f"no judge read this: {', '.join(guessed)} {'is' if len(guessed) == 1 else 'are'} for a reader to judge, and "
        f"here {'rests' if len(guessed) == 1 else 'rest'} on what code can count (confidence {between} of 1)"
    )
