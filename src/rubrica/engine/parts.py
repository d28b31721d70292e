"""What the parts of a node come to: their mean by weights, or the points they earned; and what it can still be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from rubrica.formula import Interval
from rubrica.formula.arithmetic import share_of_points
from rubrica.formula.bounds import points_bounds, weighted_bounds
from rubrica.model.evaluation import Cost, Score, Unscored, total_cost
from rubrica.model.scale import Scale

from .outcomes import NotNeeded, Outcome
from .plan import AxisPlan

Policy = Literal["neutral", "skip", "inconclusive"]
Outcomes = Mapping[str, Outcome]
DIGITS = 9
MOST_TOLD = 10
"""Parts that a reason names; the result has them all."""


def weigh_parts(axis: AxisPlan, outcomes: Outcomes, policy: Policy) -> Score | Unscored:
    """The outcome of a node from those of its parts, each of which has one.

    With the skip policy a missing part counts for nothing; where nothing may be assumed, what the node can be is told.
    """
    given = [outcomes[part.name] for part in axis.parts]
    unscored = [(part, found) for part in axis.parts if isinstance(found := outcomes[part.name], Unscored)]
    missing = [f"{part.name}: {found.reason}" for part, found in unscored]
    cost, slowest = spent(given)
    scored = [(part, found) for part in axis.parts if isinstance(found := outcomes[part.name], Score)]
    open_ = any(found.between is not None for _, found in unscored)
    if open_ or (missing and scored and policy == "inconclusive"):
        reach = reach_of(axis, outcomes, policy)
        between = axis.ends if reach is None else (reach.lo, reach.hi)
        return Unscored(_told(missing, "; "), cost=cost, duration_ms=slowest, between=between)
    if not scored or (missing and policy != "skip"):
        return Unscored(_told(missing, "; "), cost=cost, duration_ms=slowest)
    counts = [_count(part) for part, _ in scored]
    if not any(count > 0 for count in counts):
        lack = "can earn points" if in_points(axis) else "have a weight"
        return Unscored(f"none of the parts with a score {lack}", cost=cost, duration_ms=slowest)
    scores = [score for _, score in scored]
    bounds = None
    if any(score.bounds is not None for score in scores):
        reach = reach_of(axis, outcomes, policy)
        bounds = None if reach is None else (reach.lo, reach.hi)
    return Score(
        value=_mean(axis, counts, [score.value for score in scores]),
        reason=_reason(axis, scored) + (f"; without {_told(missing, '; ')}" if missing else ""),
        confidence=sum(score.confidence for score in scores) / len(scores),
        source=scores[0].source,
        offline=any(score.offline for score in scores),
        cost=cost,
        duration_ms=slowest,
        judge=scores[0].judge,
        bounds=bounds,
        kind=", ".join(dict.fromkeys(score.kind for score in scores if score.kind)),
    )


def weigh_tree(axis: AxisPlan, outcomes: dict[str, Outcome], policy: Policy) -> Score | Unscored:
    """The outcome of a node from those of its leaves; the nodes between get theirs on the way."""
    for part in axis.parts:
        if part.parts and any(leaf.name in outcomes for leaf in part.leaves):
            outcomes[part.name] = weigh_tree(part, outcomes, policy)
    return weigh_parts(axis, outcomes, policy)


def in_points(axis: AxisPlan) -> bool:
    """Whether the parts of a node count by points."""
    return axis.criteria or any(part.points is not None for part in axis.parts)


def reach_of(axis: AxisPlan, outcomes: Outcomes, policy: Policy) -> Interval | None:
    """What an axis can be, on its scale, while some of its parts have no score; None where it counts for nothing."""
    if not axis.parts:
        return _reach_of_leaf(axis, outcomes.get(axis.name), policy)
    found = points_reach(axis, outcomes, policy) if in_points(axis) else _weighted_reach(axis, outcomes, policy)
    if found is None:
        return None
    low, high = found.lo, found.hi
    if in_points(axis):
        low, high = (value_of(axis.scale, min(max(end, 0.0), 1.0)) for end in (low, high))
    low, high = (axis.scale.clamp(round(end, DIGITS)) for end in (low, high))
    return Interval(low, high, optional=found.optional)


def points_reach(axis: AxisPlan, outcomes: Outcomes, policy: Policy) -> Interval | None:
    """Which share of its points a node can earn: below 0 where more is lost than earned."""
    kept = _kept(axis, outcomes, policy)
    earning = [reach for part, reach in kept if _count(part) > 0]
    if not earning:
        return None
    share = axis.scale.share
    counts = [_count(part) for part, _ in kept]
    optional = all(reach.optional for reach in earning)
    if all(reach.lo == reach.hi and not reach.optional for _, reach in kept):
        pairs = [number for count, (_, reach) in zip(counts, kept, strict=True) for number in (count, share(reach.lo))]
        return Interval.point(share_of_points(*pairs))
    shares = [Interval(share(reach.lo), share(reach.hi), optional=reach.optional) for _, reach in kept]
    found = points_bounds(counts, shares)
    return Interval(found.lo, found.hi, optional=optional)


def earned_share(axis: AxisPlan, outcomes: Outcomes) -> float:
    """Which share of its points a node earned, by the parts that have a score."""
    scored = ((part, outcomes.get(part.name)) for part in axis.parts)
    pairs = [
        number
        for part, found in scored
        if isinstance(found, Score)
        for number in (_count(part), axis.scale.share(found.value))
    ]
    return share_of_points(*pairs)


def points_possible(axis: AxisPlan, outcomes: Outcomes, policy: Policy) -> float | None:
    """What the parts of a node can earn together; None where that is open still."""
    kept = _kept(axis, outcomes, policy)
    if any(reach.optional for _, reach in kept):
        return None
    return sum(max(_count(part), 0.0) for part, _ in kept)


def value_of(scale: Scale, share: float) -> float:
    """The value that is such a share of full marks, kept on the scale.

    >>> value_of(Scale(min=1, max=10), 0.5), value_of(Scale(min=-1, max=1), 0.5), value_of(Scale(min=1, max=10), 0)
    (5.0, 0.0, 1.0)
    """
    return scale.clamp(share * scale.max if scale.min >= 0 else scale.min + share * (scale.max - scale.min))


def spent(outcomes: Iterable[Outcome]) -> tuple[Cost | None, float]:
    """What several outcomes cost together, and how long the slowest took."""
    given = [outcome for outcome in outcomes if isinstance(outcome, Score | Unscored)]
    costs = [outcome.cost for outcome in given if outcome.cost is not None]
    return total_cost(costs) if costs else None, max((outcome.duration_ms for outcome in given), default=0.0)


def _count(part: AxisPlan) -> float:
    return part.points if part.points is not None else part.weight or 0.0


def _kept(axis: AxisPlan, outcomes: Outcomes, policy: Policy) -> list[tuple[AxisPlan, Interval]]:
    """The parts that count, with what each can be."""
    every = ((part, _reach_of_part(part, outcomes, policy)) for part in axis.parts)
    return [(part, reach) for part, reach in every if reach is not None]


def _reach_of_part(part: AxisPlan, outcomes: Outcomes, policy: Policy) -> Interval | None:
    settled = isinstance(outcomes.get(part.name), Score | Unscored)
    return _reach_of_leaf(part, outcomes[part.name], policy) if settled else reach_of(part, outcomes, policy)


def _reach_of_leaf(axis: AxisPlan, outcome: Outcome | None, policy: Policy) -> Interval | None:
    match outcome:
        case Score():
            return Interval.of(*(outcome.bounds or (outcome.value, outcome.value)))
        case Unscored(between=(low, high)):
            return Interval.of(low, high)
        case Unscored() if policy == "skip":
            return None
        case None | NotNeeded():  # it may yet turn out to have no score
            return Interval(*axis.ends, optional=policy == "skip")
        case _:
            return Interval.of(*axis.ends)


def _weighted_reach(axis: AxisPlan, outcomes: Outcomes, policy: Policy) -> Interval | None:
    kept = [(part, reach) for part, reach in _kept(axis, outcomes, policy) if _count(part) > 0]
    if not kept:
        return None
    found = weighted_bounds([_count(part) for part, _ in kept], [reach for _, reach in kept])
    return Interval(found.lo, found.hi, optional=all(reach.optional for _, reach in kept))


def _mean(axis: AxisPlan, counts: Sequence[float], values: Sequence[float]) -> float:
    if in_points(axis):
        pairs = [n for count, value in zip(counts, values, strict=True) for n in (count, axis.scale.share(value))]
        found = value_of(axis.scale, min(max(share_of_points(*pairs), 0.0), 1.0))
    else:
        found = sum(count * value for count, value in zip(counts, values, strict=True)) / sum(counts)
    return axis.scale.clamp(round(found, DIGITS))


def _reason(axis: AxisPlan, scored: Sequence[tuple[AxisPlan, Score]]) -> str:
    if not in_points(axis):
        return _told([f"{part.name} {score.value:g} × {part.weight or 0:g}" for part, score in scored], ", ")
    earned = sum(_count(part) * part.scale.share(score.value) for part, score in scored)
    possible = sum(max(_count(part), 0.0) for part, _ in scored)
    return f"{round(earned, 6):g} of {possible:g} points"


def _told(several: Sequence[str], joint: str) -> str:
    more = f"{joint}and {len(several) - MOST_TOLD:,} more" if len(several) > MOST_TOLD else ""
    return joint.join(several[:MOST_TOLD]) + more
