"""Bounds of offline scores: the kind of text that was judged, and how far people's scores of such texts lie apart."""

from __future__ import annotations

import msgspec

from rubrica.errors import FormulaFault
from rubrica.model.evaluation import INCONCLUSIVE, Score, Unscored
from rubrica.model.reliability import Reliability
from rubrica.scorers.namespace import Namespace

from .plan import AxisPlan
from .state import EvaluationState
from .vocabulary import OFFLINE_VALUE

TRUSTED = 0.5
"""The confidence from which on an offline score needs no word about what it rests on."""


def with_bounds(state: EvaluationState, axis: AxisPlan, outcome: Score | Unscored) -> Score | Unscored:
    """An offline score with the kind of text it was given and, where the rubric wants them, its bounds.

    They follow from the rubric and the context alone, so that stored scores get those of the rubric they are judged
    under. Scores of judges and of people stay as they are.
    """
    if not isinstance(outcome, Score) or not outcome.offline:
        return outcome
    if not (axis.measured or state.plan.bounded or outcome.bounds):
        return outcome
    found = kind_of(axis, outcome.value, state.namespace)
    bounds = None
    if state.plan.bounded:
        bounds = axis.ends if found is None else found.bounds(outcome.value, axis.ends)
    return msgspec.structs.replace(outcome, bounds=bounds, kind="" if found is None else found.kind)


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


def verdict_note(state: EvaluationState, verdict: str) -> str:
    """What a verdict rests on where offline scores decided as points: how often such a one was right when measured, or
    which scores code can only guess at; empty where neither is so."""
    if state.plan.bounded:
        return ""
    found = False
    for axis in state.plan.axes:
        for one in (axis, *axis.parts):
            outcome = state.parts.get(axis.name, {}).get(one.name) if one is not axis else state.outcomes.get(one.name)
            if not one.measured or not isinstance(outcome, Score) or not outcome.offline:
                continue
            found = True
            spec = next((spec for spec, _ in one.measured if spec.kind == outcome.kind), None)
            if spec is not None and verdict in spec.right:
                return (
                    f"offline scores decided: of measured texts of this kind ({spec.kind}) with the verdict {verdict}, "
                    f"people agreed on {spec.right[verdict]:.0%}"
                )
    if found:
        unknown = "offline scores decided: how often such a verdict is right was not measured on texts like this"
        return "" if verdict == INCONCLUSIVE else unknown
    return _guessed_note(state)


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
