"""Judges asked several times: where the repeats alone would come to different verdicts, the verdict hangs on chance."""

from __future__ import annotations

from collections.abc import Mapping

from rubrica.judges.panel import Pooling, verdicts
from rubrica.model.evaluation import INCONCLUSIVE, Score, Vote
from rubrica.scoring.ruling import share_name
from rubrica.scoring.weigh import weigh

from .sitting import Sitting, weighable


def split_verdicts(sitting: Sitting) -> dict[int, str]:
    """The verdict of each repeat, where they differ; empty where they agree or nothing was asked twice."""
    found = repeat_verdicts(sitting)
    return found if len(set(found.values())) > 1 else {}


def repeat_verdicts(sitting: Sitting) -> dict[int, str]:
    """The verdict each repeat gives alone, inconclusive where it is still open; empty where nothing was asked twice."""
    votes = _votes(sitting)
    if not any(vote.repeat for cast in votes.values() for vote in cast):
        return {}
    rubric = sitting.plan.rubric
    weights = rubric.calibration.weights if rubric.calibration is not None else {}
    pooling = Pooling(rubric.judging.pool, weights)
    found = verdicts(votes, lambda values: _verdict(sitting, values), pooling=pooling)
    return {int(repeat): verdict for repeat, verdict in found.items()}


def _votes(sitting: Sitting) -> dict[str, tuple[Vote, ...]]:
    outcomes = dict(sitting.outcomes)
    for parts in sitting.parts.values():
        outcomes |= parts
    return {name: outcome.votes for name, outcome in outcomes.items() if isinstance(outcome, Score) and outcome.votes}


def _verdict(sitting: Sitting, values: Mapping[str, float]) -> str:
    """The verdict with some axes at other values than the pooled ones."""
    names, unknown = weighable(sitting)
    changed = dict(values)
    for axis in sitting.plan.axes:
        if axis.parts and any(part.name in values for part in axis.parts):
            weights = [(part.spec.weight or 0.0, values.get(part.name, names.get(part.name))) for part in axis.parts]
            known = [(weight, value) for weight, value in weights if isinstance(value, float | int)]
            changed[axis.name] = sum(w * v for w, v in known) / (sum(w for w, _ in known) or 1.0)
    for axis in sitting.plan.axes:
        if axis.name in changed:
            changed[share_name(axis.name)] = axis.scale.share(changed[axis.name])
    before = {name: names[name] for name in changed if name in names}
    names.update(changed)
    try:
        return weigh(sitting.plan.ruling, sitting.terms, names, unknown).decided or INCONCLUSIVE
    finally:
        names.update(before)
