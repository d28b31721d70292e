"""What a run earned by tag, and by the position of a criterion in its case.

The share of a tag is over all its criteria in the run: ``accuracy 0.71 over 412 criteria``. A case with many of them
counts by all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from rubrica.runs.files.rows import RunRow


class TagFigures(NamedTuple):
    """What all criteria with one tag earned."""

    earned: float
    possible: float
    criteria: int  # that have a score
    cases: int

    @property
    def share(self) -> float | None:
        """0 to 1; None where nothing could be earned."""
        return min(max(self.earned / self.possible, 0.0), 1.0) if self.possible > 0 else None

    def to_dict(self) -> dict[str, Any]:
        return {"share": self.share, **self._asdict()}


class PositionFigures(NamedTuple):
    """How the criteria in one place of their cases came out."""

    mean: float | None  # share of full marks, whether they earn points or cost them
    criteria: int

    def to_dict(self) -> dict[str, Any]:
        return dict(self._asdict())


@dataclass(slots=True)
class CriteriaCounts:
    """Criteria counted as rows go by."""

    _tags: dict[str, list[float]] = field(default_factory=dict)
    _positions: list[list[float]] = field(default_factory=list)

    def add(self, rows: Iterable[RunRow]) -> None:
        for row in rows:
            for tag, count in row.counted.items():
                sums = self._tags.setdefault(tag, [0.0, 0.0, 0.0, 0.0])
                for place, value in enumerate((row.earned.get(tag), row.possible.get(tag), count, 1.0)):
                    sums[place] += value or 0.0
            while len(self._positions) < len(row.positions):
                self._positions.append([0.0, 0.0])
            for own, share in zip(self._positions, row.positions, strict=False):
                if share is not None:
                    own[0] += share
                    own[1] += 1

    @property
    def tags(self) -> dict[str, TagFigures]:
        """By tag, those with the most criteria first."""
        found = {
            tag: TagFigures(round(earned, 9), round(possible, 9), int(criteria), int(cases))
            for tag, (earned, possible, criteria, cases) in self._tags.items()
        }
        return dict(sorted(found.items(), key=lambda item: (-item[1].criteria, item[0])))

    @property
    def positions(self) -> tuple[PositionFigures, ...]:
        """By position, the first criterion of a case first."""
        return tuple(PositionFigures(total / count if count else None, int(count)) for total, count in self._positions)
