"""Lint: every rule, over one rubric."""

from __future__ import annotations

from collections.abc import Iterator

from rubrica.engine.scale_ends import unreached_ends
from rubrica.model.rubric import Rubric

from .check_rules import check_warnings
from .criterion_pairs import pair_warnings
from .criterion_text import CriterionText, criteria_of
from .lint_warning import LintWarning
from .wording import wording_warnings


def lint_rubric(rubric: Rubric) -> list[LintWarning]:
    """What an author may want to change in a rubric, by rules alone."""
    return [*lint_criteria(criteria_of(rubric)), *check_warnings(rubric), *_scale_ends(rubric)]


def lint_criteria(criteria: list[CriterionText]) -> Iterator[LintWarning]:
    """What an author may want to change in criteria that are used together: each by itself, then pairs of them."""
    for criterion in criteria:
        yield from wording_warnings(criterion)
    yield from pair_warnings(criteria)


def _scale_ends(rubric: Rubric) -> Iterator[LintWarning]:
    for problem in unreached_ends(rubric):
        yield LintWarning("scale-end", problem, problem.fix)
