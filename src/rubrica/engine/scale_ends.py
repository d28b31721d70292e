"""Formulas that can never reach an end of their scale, whatever the text: most often one was written for another."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rubrica.errors import FormulaError, Problem
from rubrica.formula import Interval, parse
from rubrica.model.dimensions import Axis
from rubrica.model.rubric import Rubric
from rubrica.model.scale import Scale
from rubrica.scorers.namespace import CONTEXT_COUNTS
from rubrica.scorers.reference_checks import REFERENCE_CHECKS
from rubrica.text import text_features

from .document import Path
from .vocabulary import axes_of

FEWEST_COVERED = 0.5  # of a scale
_ANYTHING = Interval.of(-math.inf, math.inf)


def unreached_ends(rubric: Rubric) -> list[Problem]:
    """A warning for every dimension and part whose formula stays away from an end of its scale.

    A floor is often meant, and what stands in for a judge may keep to the middle: both are told of only where less than
    half of the scale is covered.

    >>> from rubrica.engine.load import rubric_from_data
    >>> found = rubric_from_data({"name": "long", "scale": {"max": 10}, "verdicts": [{"label": "done"}],
    ...                           "dimensions": {"length": {"formula": "min(word_count / 50, 1)"}}})
    >>> [(problem.where, problem.message) for problem in unreached_ends(found)]
    [('dimensions.length.formula', 'the formula can never give more than 1, and its scale goes to 10')]
    """
    names = known_ranges(rubric)
    found: list[Problem] = []
    for path, name, axis in axes_of(rubric):
        found += _of_axis(axis, rubric.axis_scales[name], path, names)
    return found


def _of_axis(axis: Axis, scale: Scale, path: Path, names: dict[str, Interval]) -> Iterator[Problem]:
    yield from _of_formula(axis.formula, scale, (*path, "formula"), names, stand_in=False)
    if axis.offline is not None:
        yield from _of_formula(axis.offline.formula, scale, (*path, "offline", "formula"), names, stand_in=True)


def _of_formula(
    text: str | None, scale: Scale, path: Path, names: dict[str, Interval], *, stand_in: bool
) -> Iterator[Problem]:
    found = formula_range(text, names)
    narrow = (scale.clamp(found.hi) - scale.clamp(found.lo)) / (scale.max - scale.min) < FEWEST_COVERED
    if found.hi < scale.max and (narrow or not stand_in):
        message = f"the formula can never give more than {found.hi:g}, and its scale goes to {scale.max:g}"
        yield Problem(message, path, fix="multiply it, or change the scale")
    if found.lo > scale.min and narrow:
        message = f"the formula can never give less than {found.lo:g}, and its scale begins at {scale.min:g}"
        yield Problem(message, path, fix="spread it over the scale, or change the scale")


def formula_range(text: str | None, names: dict[str, Interval]) -> Interval:
    """All that a formula can give, by what its names can be; anything where there is none, or where the rubric has a
    problem there."""
    try:
        formula = parse(text) if text is not None else None
    except FormulaError:
        formula = None
    if formula is None:
        return _ANYTHING
    return formula.interval({name: names.get(name, _ANYTHING) for name in formula.names})


def known_ranges(rubric: Rubric) -> dict[str, Interval]:
    """What is known of the names that formulas of dimensions read, before there is a text."""
    known = {name: Interval.of(feature.low, feature.high) for name, feature in text_features().items()}
    known |= dict.fromkeys([*rubric.patterns, *CONTEXT_COUNTS], Interval.of(0.0, math.inf))
    known |= dict.fromkeys(REFERENCE_CHECKS, Interval.of(0.0, 1.0))
    known |= {name: Interval.point(value) for name, value in rubric.settings.items() if isinstance(value, int | float)}
    return known
