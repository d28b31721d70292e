"""What the parts of a node come to: their mean by weights, or the points they earned; and what it can still be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rubrica.formula import Interval
from rubrica.formula.arithmetic import share_of_points
from rubrica.formula.bounds import points_bounds, weighted_bounds
from rubrica.model.decisions import OnUnscored
from rubrica.model.evaluation import Cost, Score, Unscored, total_cost
from rubrica.model.scale import Scale, share_of

from .outcomes import Outcome
from .plan import AxisPlan

Outcomes = Mapping[str, Outcome]
DIGITS = 9
MOST_TOLD = 10
"""Parts that a reason names; the result has them all."""


def weigh_parts(axis: AxisPlan, outcomes: Outcomes, missing: OnUnscored) -> Score | Unscored:
    """The outcome of a node from those of its parts, each of which has one.

    A part without a score counts for nothing, or as the neutral value, as the rubric says. Where nothing may be
    assumed, what the node can be is told.
    """
    given = [outcomes[part.name] for part in axis.parts]
    unscored = [(part, found) for part in axis.parts if isinstance(found := outcomes[part.name], Unscored)]
    lacks = [f"{part.name}: {found.reason}" for part, found in unscored]
    cost, slowest = spent(given)
    scored = [found for found in given if isinstance(found, Score)]
    if any(found.between is not None for _, found in unscored) or (
        lacks and scored and missing.policy == "inconclusive"
    ):
        reach = _reach_of_parts(axis, outcomes, missing)
        between = axis.ends if reach is None else reach[:2]
        return Unscored(_told(lacks, "; "), cost=cost, duration_ms=slowest, between=between)
    if not scored:
        return Unscored(_told(lacks, "; "), cost=cost, duration_ms=slowest)
    counted = _counted(axis, outcomes, missing)
    if not any(_count(part) > 0 for part, _ in counted):
        lack = "can earn points" if in_points(axis) else "has a weight"
        return Unscored(f"none of the parts with a score {lack}", cost=cost, duration_ms=slowest)
    bounds = None
    if any(score.bounds is not None for score in scored):
        reach = _reach_of_parts(axis, outcomes, missing)
        bounds = None if reach is None else reach[:2]
    return Score(
        value=_mean(axis, counted),
        reason=_reason(axis, counted) + (f"; without {_told(lacks, '; ')}" if lacks else ""),
        confidence=sum(score.confidence for score in scored) / len(counted),
        source=scored[0].source,
        offline=any(score.offline for score in scored),
        cost=cost,
        duration_ms=slowest,
        judge=scored[0].judge,
        bounds=bounds,
        kind=", ".join(dict.fromkeys(score.kind for score in scored if score.kind)),
    )


def weigh_tree(axis: AxisPlan, outcomes: dict[str, Outcome], missing: OnUnscored) -> Score | Unscored:
    """The outcome of a node from those of its leaves; the nodes between get theirs on the way."""
    for part in axis.parts:
        if part.parts and any(leaf.name in outcomes for leaf in part.leaves):
            outcomes[part.name] = weigh_tree(part, outcomes, missing)
    return weigh_parts(axis, outcomes, missing)


def in_points(axis: AxisPlan) -> bool:
    """Whether the parts of a node count by points."""
    return axis.criteria or axis.parts[0].points is not None


class PointsReach(NamedTuple):
    """Which share of its points a node can earn, below 0 where more is lost than earned; and how many there are."""

    low: float
    high: float
    optional: bool  # it may count for nothing
    possible: float | None  # None: open still


def reach_of(axis: AxisPlan, outcomes: Outcomes, missing: OnUnscored) -> Interval | None:
    """What an axis can be, on its scale, while some of its parts have no score; None where it counts for nothing."""
    found = _reach(axis, outcomes, missing)
    return None if found is None else Interval(found[0], found[1], optional=found[2])


def points_reach(axis: AxisPlan, outcomes: Outcomes, missing: OnUnscored) -> PointsReach | None:
    """What the parts of a node can earn; None where it counts for nothing."""
    lowest, highest = axis.ends
    low = high = possible = 0.0
    kept: list[tuple[float, float, float, bool]] = []
    gaps, certain = False, False
    for part in axis.parts:
        reach = _reach(part, outcomes, missing)
        if reach is None:
            continue
        count = _count(part)
        worst, best = share_of(reach[0], lowest, highest), share_of(reach[1], lowest, highest)
        if count > 0:
            possible += count
            certain = certain or not reach[2]
            low, high = low + count * worst, high + count * best
        else:
            low, high = low + count * best, high + count * worst
        gaps = gaps or reach[2]
        kept.append((count, worst, best, reach[2]))
    if possible == 0:
        return None
    if not gaps:
        return PointsReach(low / possible, high / possible, False, possible)
    shares = [Interval(worst, best, optional=optional) for _, worst, best, optional in kept]
    found = points_bounds([count for count, *_ in kept], shares)
    return PointsReach(found.lo, found.hi, not certain, None)


def point_ends(axis: AxisPlan, reach: PointsReach | None) -> tuple[float, float, bool] | None:
    """What a node in points can be, on its scale."""
    if reach is None:
        return None
    low, high = (round(value_of(axis.scale, min(max(end, 0.0), 1.0)), DIGITS) for end in (reach.low, reach.high))
    return axis.scale.clamp(low), axis.scale.clamp(high), reach.optional


def earned_share(axis: AxisPlan, outcomes: Outcomes, missing: OnUnscored) -> float:
    """Which share of its points a node earned."""
    return _share_of(axis, _counted(axis, outcomes, missing))


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


def _reach(axis: AxisPlan, outcomes: Outcomes, missing: OnUnscored) -> tuple[float, float, bool] | None:
    """From where to where an axis can be, and whether it may count for nothing; None where it does."""
    outcome = outcomes.get(axis.name)
    if isinstance(outcome, Score):
        low, high = outcome.bounds or (outcome.value, outcome.value)
        return low, high, False
    if isinstance(outcome, Unscored):
        if outcome.between is None and missing.policy == "skip":
            return None
        low, high = outcome.between or axis.ends
        return low, high, False
    if not axis.parts:  # it may yet turn out to have no score
        low, high = axis.ends
        return low, high, missing.policy == "skip"
    return _reach_of_parts(axis, outcomes, missing)


def _reach_of_parts(axis: AxisPlan, outcomes: Outcomes, missing: OnUnscored) -> tuple[float, float, bool] | None:
    if in_points(axis):
        return point_ends(axis, points_reach(axis, outcomes, missing))
    return _weighted_ends(axis, outcomes, missing)


def _weighted_ends(axis: AxisPlan, outcomes: Outcomes, missing: OnUnscored) -> tuple[float, float, bool] | None:
    low = high = total = 0.0
    kept: list[tuple[float, tuple[float, float, bool]]] = []
    for part in axis.parts:
        reach, weight = _reach(part, outcomes, missing), _count(part)
        if reach is not None and weight > 0:
            low, high, total = low + weight * reach[0], high + weight * reach[1], total + weight
            kept.append((weight, reach))
    if not kept:
        return None
    ends = low / total, high / total
    if any(optional for _, (_, _, optional) in kept):
        given = [Interval(lo, hi, optional=optional) for _, (lo, hi, optional) in kept]
        found = weighted_bounds([weight for weight, _ in kept], given)
        ends = found.lo, found.hi
    low, high = (axis.scale.clamp(round(end, DIGITS)) for end in ends)
    return low, high, all(optional for _, (_, _, optional) in kept)


def _counted(axis: AxisPlan, outcomes: Outcomes, missing: OnUnscored) -> list[tuple[AxisPlan, float]]:
    """The parts of a node that count, each with its value, or with the neutral one where the rubric says so."""
    found = []
    for part in axis.parts:
        outcome = outcomes.get(part.name)
        if isinstance(outcome, Score):
            found.append((part, outcome.value))
        elif isinstance(outcome, Unscored) and missing.policy == "neutral" and outcome.between is None:
            found.append((part, missing.value_on(axis.scale)))
    return found


def _mean(axis: AxisPlan, counted: Sequence[tuple[AxisPlan, float]]) -> float:
    if in_points(axis):
        found = value_of(axis.scale, min(max(_share_of(axis, counted), 0.0), 1.0))
    else:
        found = sum(_count(part) * value for part, value in counted) / sum(_count(part) for part, _ in counted)
    return axis.scale.clamp(round(found, DIGITS))


def _share_of(axis: AxisPlan, counted: Sequence[tuple[AxisPlan, float]]) -> float:
    ends = axis.ends
    return share_of_points(*(n for part, value in counted for n in (_count(part), share_of(value, *ends))))


def _reason(axis: AxisPlan, counted: Sequence[tuple[AxisPlan, float]]) -> str:
    if not in_points(axis):
        return _told([f"{part.name} {value:g} × {part.weight or 0:g}" for part, value in counted], ", ")
    earned = sum(_count(part) * share_of(value, *axis.ends) for part, value in counted)
    possible = sum(max(_count(part), 0.0) for part, _ in counted)
    return f"{round(earned, 6):g} of {possible:g} points"


def _told(several: Sequence[str], joint: str) -> str:
    more = f"{joint}and {len(several) - MOST_TOLD:,} more" if len(several) > MOST_TOLD else ""
    return joint.join(several[:MOST_TOLD]) + more
