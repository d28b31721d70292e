"""Checks how things count: weights that sum to 1, or points of which some can be earned, never both at once."""

from __future__ import annotations

from collections.abc import Mapping

from rubrica.model.criteria import MOST_CRITERIA
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric

from .document import Path
from .vocabulary import Vocabulary, axes_of

WEIGHT_TOLERANCE = 0.001
MOST_LEVELS = 12
"""Of parts within parts, the dimension counted."""
IN_POINTS = "write `score: {points: true}`, or give weights"


def check_points(rubric: Rubric, vocabulary: Vocabulary) -> None:
    """Points on dimensions and a score in points go together; one dimension at most is filled by cases."""
    dimensions, path = rubric.dimensions, ("dimensions",)
    filled = [name for name, spec in dimensions.items() if spec.filled_from]
    for name in filled[1:]:
        message = f"{filled[0]} is filled from the criteria of a case already"
        vocabulary.report(message, (*path, name, "from"), "keep one dimension `from: criteria`; tags tell groups apart")
    own = {
        name: spec
        for name, spec in dimensions.items()
        if not spec.filled_from and (*path, name, "from") not in vocabulary.dropped
    }
    if rubric.score.points:
        for name in filled:
            if dimensions[name].weight is not None:
                message = "has a weight, and the score is in points: its criteria bring their own"
                vocabulary.report(message, (*path, name, "weight"), "remove it")
        _all_points(own, path, vocabulary, earned_elsewhere=bool(filled))
        return
    for name, spec in own.items():
        if spec.points is not None:
            mixed = any(other.weight is not None for other in dimensions.values())
            problem = "has points, and others have weights" if mixed else "has points, which the score does not count"
            vocabulary.report(problem, (*path, name, "points"), IN_POINTS)


def check_tree(rubric: Rubric, vocabulary: Vocabulary) -> None:
    """Parts within parts are bounded in depth, and in number."""
    leaves = 0
    for path, _, axis in axes_of(rubric):
        leaves += not axis.parts
        if len(path) // 2 == MOST_LEVELS and axis.parts:
            fix = f"at most {MOST_LEVELS} levels; is it a part of itself?"
            vocabulary.report("the parts are nested too deeply", (*path, "parts"), fix)
            return
    if leaves > MOST_CRITERIA:
        fix = f"at most {MOST_CRITERIA:,}; split the rubric"
        vocabulary.report(f"{leaves:,} dimensions and parts are scored", ("dimensions",), fix)


def check_parts(parts: Mapping[str, Axis], path: Path, vocabulary: Vocabulary) -> None:
    """The parts of one node have weights that sum to 1, or points each."""
    if not any(spec.points is not None for spec in parts.values()):
        check_sum({part: spec.weight for part, spec in parts.items()}, path, vocabulary)
    else:
        _all_points(parts, path, vocabulary)


def _all_points(
    axes: Mapping[str, Axis], path: Path, vocabulary: Vocabulary, *, earned_elsewhere: bool = False
) -> None:
    if _unread(path, "points", vocabulary):
        return
    for name, spec in axes.items():
        if spec.weight is not None:
            vocabulary.report("has a weight, and others have points", (*path, name, "weight"), "give it points instead")
            return
    if missing := [name for name, spec in axes.items() if spec.points is None]:
        vocabulary.report(f"no points for {', '.join(missing[:10])}", path, "give every one points")
    elif axes and not earned_elsewhere and all(spec.points is not None and spec.points < 0 for spec in axes.values()):
        message = "the points are all negative, so nothing can be earned"
        vocabulary.report(message, path, "give some of them points above zero")


def check_sum(weights: Mapping[str, float | None], path: Path, vocabulary: Vocabulary) -> None:
    """Weights sum to 1, and none is missing."""
    if _unread(path, "weight", vocabulary):
        return
    missing = [name for name, weight in weights.items() if weight is None]
    if missing:
        vocabulary.report(f"no weight for {', '.join(missing[:10])}", path, "give every one a weight; they sum to 1")
        return
    total = sum(weight for weight in weights.values() if weight is not None)
    if abs(total - 1) > WEIGHT_TOLERANCE:
        parts = " + ".join(f"{name} {weight:g}" for name, weight in weights.items())
        vocabulary.report(f"the weights sum to {total:g}, not 1 ({parts})", path, "change them so that they sum to 1")


def _unread(path: Path, key: str, vocabulary: Vocabulary) -> bool:
    """Whether one of those that count together could not be read: that was told already."""
    return any(
        lost[: len(path)] == path and (len(lost) == len(path) + 1 or lost[-1] == key) for lost in vocabulary.dropped
    )
