"""What a judge is asked next: the fewest questions that could decide the verdict together."""

from __future__ import annotations

from collections.abc import Sequence

from rubrica.formula import Interval
from rubrica.model.evaluation import Score
from rubrica.scoring.decision_plan import share_name
from rubrica.scoring.weigh import weigh

from .outcomes import Outcome
from .plan import AxisPlan
from .state import EvaluationState, formula_values, open_reach

Leaf = tuple[AxisPlan, AxisPlan]
"""A dimension, and what is scored of it: itself, or one of its parts that has no parts."""


def waiting_leaves(state: EvaluationState) -> list[Leaf]:
    """All that has no outcome yet: the dimensions that can move the score most first, their parts as they stand."""
    return [
        (axis, leaf)
        for axis in state.waiting
        for leaf in axis.leaves
        if axis.name not in state.parts or leaf.name not in state.parts[axis.name]
    ]


def next_wave(state: EvaluationState, waiting: Sequence[Leaf]) -> Sequence[Leaf]:
    """The fewest that could decide the verdict together: asking fewer at once only costs time.

    They could when the verdict is settled with all of them at their worst, or all at their best. What settles it for
    some settles it for more of them, so that the number is found by halving. Those that can move the score most come
    first.
    """
    names, unknown = formula_values(state)
    pulls = {id(leaf): pull for axis in state.waiting for leaf, pull in _pulls(axis, state.influence(axis))}
    waiting = sorted(waiting, key=lambda each: pulls[id(each[1])], reverse=True)

    def settles(count: int, *, best: bool) -> bool:
        trial = unknown | _at_one_end(state, waiting[:count], best=best)
        return weigh(state.plan.decision, state.terms, names, trial).decided is not None

    fewest = len(waiting)
    for best in (False, True):
        low, high = 1, fewest  # fewer than `low` do not settle it
        if fewest == 1 or not settles(fewest - 1, best=best):
            continue
        high = fewest - 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if settles(middle, best=best) else (middle + 1, high)
        fewest = high
    return waiting[:fewest]


def _at_one_end(state: EvaluationState, leaves: Sequence[Leaf], *, best: bool) -> dict[str, Interval]:
    """What formulas would read if some leaves came out at their worst, or at their best."""
    found: dict[str, Interval] = {}
    parts: dict[str, tuple[AxisPlan, dict[str, Outcome]]] = {}
    for axis, leaf in leaves:
        at = axis.scale.max if best == ((leaf.points or 0.0) >= 0) else axis.scale.min
        if leaf is axis:
            found[axis.name] = Interval.point(at)
            found[share_name(axis.name)] = Interval.point(axis.scale.share(at))
        else:
            parts.setdefault(axis.name, (axis, dict(state.parts.get(axis.name, {}))))[1][leaf.name] = Score(at)
    for axis, own in parts.values():
        found |= open_reach(state, axis, own)
    return found


def _pulls(axis: AxisPlan, pull: float) -> list[tuple[AxisPlan, float]]:
    """The leaves of an axis, and how far each can move it."""
    if not axis.parts:
        return [(axis, pull)]
    counts = [abs(part.points) if part.points is not None else part.weight or 0.0 for part in axis.parts]
    total = sum(counts) or 1.0
    return [leaf for part, count in zip(axis.parts, counts, strict=True) for leaf in _pulls(part, pull * count / total)]
