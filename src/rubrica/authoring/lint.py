"""Lint: every rule, over one rubric."""

from __future__ import annotations

from collections.abc import Iterator

from rubrica.engine.scale_ends import unreached_ends
from rubrica.model.rubric import Rubric

from .lint_warning import LintWarning


def lint(rubric: Rubric) -> list[LintWarning]:
    """What an author may want to change in a rubric, in the order of its criteria. Nothing is asked of a model."""
    return list(_warnings(rubric))


def _warnings(rubric: Rubric) -> Iterator[LintWarning]:
    for problem in unreached_ends(rubric):
        yield LintWarning("scale-end", problem)
