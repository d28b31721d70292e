"""Measures: what of a row is compared and summed up, by name. A dimension and a section may have the same name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from rubrica.model.rubric import Rubric
from rubrica.report.titles import dimension_title, section_title
from rubrica.runs.files.rows import RunRow

Kind = Literal["score", "section", "dimension", "tag", "passed"]
KINDS: tuple[Kind, ...] = ("score", "passed", "section", "dimension", "tag")


class Measure(NamedTuple):
    """One thing that a run is measured by.

    >>> str(Measure("dimension", "clarity")), str(SCORE)
    ('clarity', 'score')
    """

    kind: Kind
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}" if self.kind in ("section", "tag") else self.name

    @property
    def key(self) -> str:
        """For files: told apart whatever their names are."""
        return self.name if self.kind in ("score", "passed") else f"{self.kind}.{self.name}"


SCORE = Measure("score", "score")
PASSED = Measure("passed", "pass rate")


def measure_title(measure: Measure, *rubrics: Rubric | None) -> str:
    """What a measure is called: a dimension by its title in the first rubric that has it.

    >>> measure_title(Measure("dimension", "query_relevance")), measure_title(Measure("section", "style"))
    ('Query relevance', 'section Style')
    """
    match measure.kind:
        case "dimension":
            return dimension_title(measure.name, *rubrics)
        case "section":
            owner = next((rubric for rubric in rubrics if rubric is not None and measure.name in rubric.sections), None)
            return f"section {section_title(measure.name, owner)}"
        case _:
            return str(measure)


def values_of(row: RunRow) -> Iterator[tuple[Measure, float | None]]:
    """The score of a row, the values of its sections and dimensions, and what was earned by tag."""
    yield SCORE, row.score
    for name, value in row.sections.items():
        yield Measure("section", name), value
    for name, value in row.dimensions.items():
        yield Measure("dimension", name), value
    for name, value in row.tags.items():
        yield Measure("tag", name), value
