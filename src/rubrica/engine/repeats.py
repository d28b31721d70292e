"""Judges asked several times: where the repeats alone would come to different verdicts, the verdict hangs on chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubrica.judges.panel import Pooling, verdicts
from rubrica.model.evaluation import INCONCLUSIVE, Score, Vote
from rubrica.scoring.decision_plan import share_name
from rubrica.scoring.weigh import weigh

from .state import EvaluationState, weighable


def split_verdicts(state: EvaluationState) -> dict[int, str]:
    """The verdict of each repeat, where they differ; empty where they agree or nothing was asked twice."""
    found = repeat_verdicts(state)
    return found if len(set(found.values())) > 1 else {}


def repeat_verdicts(state: EvaluationState) -> dict[int, str]:
    """The verdict each repeat gives alone, inconclusive where it is still open; empty where nothing was asked twice."""
    votes = _votes(state)
    if not any(vote.repeat for cast in votes.values() for vote in cast):
        return {}
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
    names, unknown = weighable(state)
    changed: dict[str, Any] = dict(values)
    for axis in state.plan.axes:
        if axis.parts and any(part.name in values for part in axis.parts):
            weights = [(part.spec.weight or 0.0, values.get(part.name, names.get(part.name))) for part in axis.parts]
            known = [(weight, value) for weight, value in weights if isinstance(value, float | int)]
            changed[axis.name] = sum(w * v for w, v in known) / (sum(w for w, _ in known) or 1.0)
    for axis in state.plan.axes:
        if axis.name in changed:
            changed[share_name(axis.name)] = axis.scale.share(changed[axis.name])
        for own in (axis, *axis.parts):
            if (answers := own.spec.answer_set) is not None and own.name in values:
                changed.update(answers.readings(own.name, answers.label_of(values[own.name])))
    before = {name: names[name] for name in changed if name in names}
    names.update(changed)
    try:
        return weigh(state.plan.decision, state.terms, names, unknown).decided or INCONCLUSIVE
    finally:
        names.update(before)
