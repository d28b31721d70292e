"""The criteria of a rubric as texts: what judges are asked, where each stands, and which way it counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rubrica.engine.document import Path
from rubrica.model.criteria import Criterion
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric

LONGEST = 2_000
"""Characters of a criterion that are looked at."""

_YES = frozenset({"yes", "met", "true", "present", "pass", "passes", "fulfilled", "satisfied"})


@dataclass(frozen=True, slots=True)
class CriterionText:
    """What one criterion asks."""

    path: Path
    text: str
    anchors: tuple[str, ...] = ()  # what each range of the scale looks like, the range first
    binary: bool = False  # answered by yes or no, in whatever words
    wanted: bool = True  # a yes earns; False: it costs

    def within(self, other: CriterionText) -> bool:
        """Whether this is a part of another: they may ask about the same."""
        home = other.path[:-1]
        return bool(home) and other.path[-1] == "asks" and self.path[: len(home)] == home


def criteria_of(rubric: Rubric) -> list[CriterionText]:
    """Every criterion of a rubric that a judge is asked about, in the order of the document."""
    return [found for name, one in rubric.dimensions.items() for found in _of_axis(one, ("dimensions", name))]


def _of_axis(axis: Axis, path: Path) -> Iterator[CriterionText]:
    if axis.kind in ("judge", "parts") and axis.asks.strip():
        yield CriterionText(
            (*path, "asks"),
            " ".join(axis.asks[:LONGEST].split()),
            anchors=tuple(f"{span}: {' '.join(said.split())}" for span, said in axis.anchors.items()),
            binary=bool(axis.answers),
            wanted=_is_wanted(axis.answers, axis.points),
        )
    for name, part in axis.parts.items():
        yield from _of_axis(part, (*path, "parts", name))


def criteria_of_case(criteria: Sequence[Criterion]) -> list[CriterionText]:
    """The criteria that a case brings."""
    return [
        CriterionText(
            ("criteria", at),
            " ".join(one.criterion.split()),
            binary=True,
            wanted=_is_wanted(one.answers, one.points),
        )
        for at, one in enumerate(criteria)
    ]


def _is_wanted(answers: Mapping[str, float | None], points: float | None) -> bool:
    """Whether a yes is good: it costs where its points are negative, or where no is worth more."""
    values = {label: value for label, value in answers.items() if value is not None}
    yes = [value for label, value in values.items() if label.lower() in _YES]
    worth = not yes or max(yes) >= max(values.values())
    return worth == (points is None or points > 0)
