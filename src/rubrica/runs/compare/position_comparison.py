"""Two runs by the position of a criterion in its case: how the answers to the first, the second and so on moved.

A criterion may give points or cost them, from case to case, so a higher mean is neither better nor worse: it says that
answers changed, and where. These tests are a family of their own, and decide nothing about the runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from rubrica.scoring.holm import holm
from rubrica.scoring.paired import sign_flips, signed_rank

from .pairing import CasePairs


@dataclass(frozen=True, slots=True)
class PositionComparison:
    """The criteria at one position in two runs, over the cases that have an answer to theirs in both."""

    rubric: str  # empty where only one is compared
    position: int  # from 1
    before: float  # the mean answer, as a share of its scale
    after: float
    cases: int
    p: float  # corrected for the other positions

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self)


def compare_positions(
    pairs: CasePairs, clusters: Sequence[Sequence[int]], seed: int = 0
) -> Iterator[PositionComparison]:
    """Every position that has answers in both runs, the first criterion first."""
    found = [(number, values) for number, values in enumerate(pairs.position_values(), 1) if values]
    ps = []
    for number, values in found:
        differences = {place: after - before for place, before, after in values}
        if pairs.clustered:
            totals = [sum(differences.get(place, 0.0) for place in places) for places in clusters]
            ps.append(sign_flips(totals, Random(f"{seed} position {number}")).p)  # noqa: S311
        else:
            ps.append(signed_rank(list(differences.values())).p)
    for (number, values), p in zip(found, holm(ps), strict=True):
        count = len(values)
        before, after = (sum(value[side] for value in values) / count for side in (1, 2))
        yield PositionComparison(pairs.by_rubric, number, before, after, count, p)
