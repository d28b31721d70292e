"""Checks of a checklist: conditions that always hold or never do, and conditions that stand there twice."""

from __future__ import annotations

from collections.abc import Iterator

from rubrica.engine.document import Path
from rubrica.engine.scale_ends import formula_range, known_ranges
from rubrica.errors import Problem
from rubrica.formula import Interval
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric

from .lint_warning import LintWarning


def check_warnings(rubric: Rubric) -> Iterator[LintWarning]:
    """What is wrong with the checks of a rubric, by what its formulas can ever give."""
    ranges = known_ranges(rubric)
    for name, dimension in rubric.dimensions.items():
        yield from _of_axis(dimension, ("dimensions", name), ranges)


def _of_axis(axis: Axis, path: Path, ranges: dict[str, Interval]) -> Iterator[LintWarning]:
    earlier: dict[str, str] = {}
    for at, check in enumerate(axis.checks):
        place = (*path, "checks", at, "that")
        truth = formula_range(check.that, ranges).truth
        if truth is not None:
            why = f"{check.that!r} {'always holds' if truth else 'never holds'}, whatever the text"
            yield LintWarning("cannot-fail", Problem(why, place), "a condition that some texts meet and others do not")
        same = earlier.setdefault(" ".join(check.that.split()), check.name)
        if same != check.name:
            why = f"is the same condition as the check {same!r}, so it counts twice"
            yield LintWarning("overlap", Problem(why, place), f"only {same!r}, with the weight of both")
    for name, part in axis.parts.items():
        yield from _of_axis(part, (*path, "parts", name), ranges)
