"""What was earned: criterion by criterion as steps of the score, and by tag."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rubrica.model.evaluation import DimensionResult, Step, TagResult, every_result
from rubrica.scoring.decision_plan import NOISE_DIGITS

from .plan import Plan


def criterion_steps(plan: Plan, results: Mapping[str, DimensionResult], steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps of a score in points with one for each criterion of the case, in the place of their dimension's."""
    name = plan.axes[plan.criteria or 0].name
    if results[name].status != "scored":  # a value stands in for all of them
        return steps
    criteria = results[name].parts
    earning = [result for other, result in results.items() if other != name and result.earned is not None]
    earning += [result for result in criteria.values() if result.earned is not None]
    possible = sum(max(result.points or 0.0, 0.0) for result in earning)
    if not criteria or not possible:
        return steps
    found: list[Step] = []
    for step in steps:
        if step.kind != "dimension" or step.label != name:
            found.append(step)
            continue
        before = total = step.total - step.amount
        earned = 0.0
        for label, result in criteria.items():
            if result.earned is not None:
                earned += result.earned
                after = round(before + earned / possible * plan.decision.out_of, plan.decision.digits)
                found.append(Step("criterion", label, round(after - total, plan.decision.digits), after))
                total = after
    return tuple(found)


@dataclass(slots=True)
class _Sum:
    earned: float = 0.0
    possible: float = 0.0
    count: int = 0
    met: int = 0
    unscored: int = 0


def tag_results(results: Mapping[str, DimensionResult]) -> dict[str, TagResult]:
    """What was earned by tag, in the order in which tags are met first."""
    sums: dict[str, _Sum] = {}
    for _, result in every_result(results):
        points = 1.0 if result.points is None else result.points
        for tag in dict.fromkeys(result.tags):
            own = sums.setdefault(tag, _Sum())
            if result.status != "scored" or result.share is None:
                own.unscored += 1
                continue
            own.earned += points * result.share
            own.possible += max(points, 0.0)
            own.count += 1
            own.met += result.value == result.high
    return {
        tag: TagResult(
            round(own.earned, NOISE_DIGITS),
            round(own.possible, NOISE_DIGITS),
            round(min(max(own.earned / own.possible, 0.0), 1.0), NOISE_DIGITS) if own.possible else None,
            own.count,
            own.met,
            own.unscored,
        )
        for tag, own in sums.items()
    }
