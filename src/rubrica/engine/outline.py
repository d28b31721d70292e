"""An evaluation by code in outline: its score and what gates force, without a word of explanation.

Explaining takes half the time of an evaluation by code. Who wants one number of each of many texts can do without.
"""

from __future__ import annotations

from typing import NamedTuple

from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation, Unscored
from rubrica.scoring.conclude import CERTAIN
from rubrica.scoring.weigh import weigh

from .evaluate import score_by_code
from .plan import Plan
from .state import EvaluationState, doubts_of, formula_values


class Outline(NamedTuple):
    """What an Evaluation says in numbers."""

    score: float | None
    out_of: float
    forced: tuple[tuple[str, bool], ...]  # verdicts that gates force; False: it is open whether one does
    is_neutral: bool  # a neutral value stands in for some score


def outline_of(evaluation: Evaluation) -> Outline:
    """The outline of an evaluation."""
    forced = tuple((gate.verdict, bool(gate.fired)) for gate in evaluation.gates if gate.verdict is not None)
    is_neutral = any(found.status == "neutral" for found in evaluation.dimensions.values())
    return Outline(evaluation.score, evaluation.out_of, forced, is_neutral)


def outline(plan: Plan, context: Context) -> Outline:
    """The outline of what `evaluate` gives for the same context."""
    state = score_by_code(plan, context)
    decision = state.plan.decision
    names, unknown = formula_values(state)
    weighing = at = weigh(decision, state.terms, names, unknown)
    doubts = doubts_of(state) if unknown else CERTAIN
    if doubts.estimated:
        missing = {name: interval for name, interval in unknown.items() if name not in doubts.estimated}
        at = weigh(decision, state.terms, names, missing)
    low, high = at.bounds
    readings = ((reading.rule.gate.verdict, reading.truth == "yes") for reading in weighing.gates)
    forced = tuple((verdict, fired) for verdict, fired in readings if verdict is not None)
    return Outline(low if low == high else None, decision.out_of, forced, _is_neutral(state))


def _is_neutral(state: EvaluationState) -> bool:
    if state.plan.decision.on_unscored.policy != "neutral":
        return False
    return any(isinstance(found, Unscored) and found.between is None for found in state.outcomes.values())
