"""Judges asked several times: where the repeats alone would come to different verdicts, the verdict hangs on chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubrica.formula import Interval
from rubrica.model.evaluation import INCONCLUSIVE, Score, Vote
from rubrica.scoring.decision_plan import points_names, share_name
from rubrica.scoring.weigh import weigh

from .parts import earned_share, weigh_tree
from .plan import AxisPlan
from .state import EvaluationState, formula_values, open_reach


def split_verdicts(state: EvaluationState) -> dict[int, str]:
    """The verdict of each repeat, where they differ; empty where they agree or nothing was asked twice."""
    found = repeat_verdicts(state)
    return found if len(set(found.values())) > 1 else {}


def repeat_verdicts(state: EvaluationState) -> dict[int, str]:
    """The verdict each repeat gives alone, inconclusive where it is still open; empty where nothing was asked twice."""
    votes = _votes(state)
    if not any(vote.repeat for cast in votes.values() for vote in cast):
        return {}
    from rubrica.judges.panel import Pooling, verdicts  # here, since most judges are asked once

    rubric = state.plan.rubric
    found = verdicts(votes, lambda values: _verdict(state, values), pooling=Pooling.of(rubric))
    return {int(repeat): verdict for repeat, verdict in found.items()}


def _votes(state: EvaluationState) -> dict[str, tuple[Vote, ...]]:
    outcomes = dict(state.outcomes)
    for parts in state.parts.values():
        outcomes |= parts
    return {name: outcome.votes for name, outcome in outcomes.items() if isinstance(outcome, Score) and outcome.votes}


def _verdict(state: EvaluationState, values: Mapping[str, float]) -> str:
    """The verdict with some axes at other values than the pooled ones."""
    names, unknown = formula_values(state)
    changed: dict[str, Any] = {name: value for name, value in values.items() if name not in state.case_criteria}
    for axis in state.plan.axes:
        if axis.parts and any(part.name in values for part in axis.leaves):
            retold, still_open = _revised_outcome(state, axis, values)
            changed |= retold
            unknown |= {name: reach for name, reach in still_open.items() if name in unknown}
    for axis in state.plan.axes:
        if axis.name in changed:
            changed[share_name(axis.name)] = axis.scale.share(changed[axis.name])
        for own in axis.every():
            if (answers := own.spec.answer_set) is not None and own.name in values and not own.of_case:
                changed.update(answers.readings(own.name, answers.label_of(values[own.name])))
    before = {name: names[name] for name in changed if name in names}
    names.update(changed)
    try:
        return weigh(state.plan.decision, state.terms, names, unknown).decided or INCONCLUSIVE
    finally:
        names.update(before)


def _revised_outcome(
    state: EvaluationState, axis: AxisPlan, values: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, Interval]]:
    """What an axis comes to with some of its parts at other values: what is known, and what is open still."""
    own = dict(state.parts.get(axis.name, {}))
    own |= {name: Score(values[name]) for name, found in own.items() if name in values and isinstance(found, Score)}
    if not isinstance(state.outcomes.get(axis.name), Score):
        return {}, open_reach(state, axis, {leaf.name: own[leaf.name] for leaf in axis.leaves if leaf.name in own})
    missing = state.plan.decision.on_unscored
    own[axis.name] = weigh_tree(axis, own, missing)
    told = axis.every() if not axis.criteria else (axis,)
    found = {each.name: outcome.value for each in told if isinstance(outcome := own.get(each.name), Score)}
    if axis.criteria:
        found[points_names(axis.name)[1]] = earned_share(axis, own, missing)
    return found, {}
