"""A score in points: what is earned over what can be earned, by the rubric's own points and by those of a case."""

from __future__ import annotations

from collections.abc import Iterable

from rubrica.model.criteria import MOST_POINTS
from rubrica.model.rubric import Rubric
from rubrica.scoring.decision_plan import DimensionReading, points_names, share_name


def points_formula(rubric: Rubric) -> str:
    """The score formula: each dimension by its points, the criteria of a case by what they can earn together."""
    pairs: list[str] = []
    for name, spec in rubric.dimensions.items():
        if spec.filled_from is not None:
            pairs += points_names(name)
        elif spec.points is not None:
            pairs += [repr(spec.points), share_name(name)]
    return f"share_of_points({', '.join(pairs)})" if pairs else "0"


def points_read(rubric: Rubric) -> tuple[DimensionReading, ...]:
    """How that formula reads each dimension. Where nothing is earned, nothing is lost either."""
    return tuple(
        DimensionReading(name, points_names(name)[1] if spec.filled_from is not None else share_name(name), 0.0)
        for name, spec in rubric.dimensions.items()
    )


def lowest_score(rubric: Rubric, criteria: Iterable[float]) -> float:
    """The least that a score in points can be where it is not clipped, with the points of a case's criteria.

    A dimension that does not apply, or that is skipped, earns nothing and can earn nothing: so only what must be there
    is counted on.
    """
    given = list(criteria)
    if not given and any(spec.filled_from is not None for spec in rubric.dimensions.values()):
        return -MOST_POINTS * rubric.score.out_of
    every = given + [spec.points for spec in rubric.dimensions.values() if spec.points is not None]
    earned = [points for points in every if points > 0]
    if not earned:  # told as a problem of the rubric
        return 0.0
    gaps = rubric.on_unscored.policy == "skip" or any(spec.applies is not None for spec in rubric.dimensions.values())
    lost = sum(points for points in every if points < 0)
    return lost / (min(earned) if gaps else sum(earned)) * rubric.score.out_of
