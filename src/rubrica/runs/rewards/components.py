"""From an Evaluation to one number, and to the numbers it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rubrica.engine.outline import Outline, outline_of
from rubrica.model.evaluation import DimensionResult, Evaluation
from rubrica.model.rubric import Rubric

TOTAL = "reward"
"""The name of the reward itself among its components."""
TAG = "tag."
Veto = float | Mapping[str, float] | None
"""The reward where a gate forces the verdict: of any verdict, or by verdict; None leaves it to the score."""


def reward_of(found: Outline, veto: Veto) -> float | None:
    """The score as a share of what it is out of; None where it was not scored.

    A gate that forces the verdict gives the veto's reward. Where it is open whether one does, there is no reward, and
    none where a neutral value stands in for a score that is missing: it would be paid for nothing.
    """
    if veto is not None:
        for verdict, fired in found.forced:
            forced = veto.get(verdict) if isinstance(veto, Mapping) else veto
            if forced is not None:
                return forced if fired else None
    return None if found.score is None or found.is_neutral else found.score / found.out_of


def components_of(evaluation: Evaluation, veto: Veto) -> dict[str, float | None]:
    """The reward, each dimension's and part's share of its scale, and each tag's share of its points.

    What costs points is counted below zero: −1 where it is met in full, so that nobody is paid for it.
    """
    found = {TOTAL: reward_of(outline_of(evaluation), veto)}
    for name, result in _results(evaluation.dimensions):
        found[name] = _share(result)
    for tag, figures in evaluation.tags.items():
        found[TAG + tag] = figures.share
    return found


def _share(result: DimensionResult) -> float | None:
    if result.share is None or result.status != "scored":
        return None
    return -result.share if (result.points or 0.0) < 0 else result.share


def component_names(rubric: Rubric) -> list[str]:
    """The components that every evaluation by a rubric has: criteria and tags of a case come on top."""
    paths = [path for name, dimension in rubric.dimensions.items() for path, _ in dimension.every(name)]
    return [TOTAL, *map(".".join, paths)]


def _results(results: Mapping[str, DimensionResult], above: str = "") -> Iterator[tuple[str, DimensionResult]]:
    for name, result in results.items():
        yield above + name, result
        yield from _results(result.parts, f"{above}{name}.")
