"""Lint as a function of the Python interface."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubrica.authoring.criterion_text import criteria_of
from rubrica.authoring.lint import LintReport, lint_rubric
from rubrica.extras import requires
from rubrica.model.rubric import Rubric
from rubrica.packs.library import load
from rubrica.text.sentence_model import sentence_model

from .stored import StoredRun

if TYPE_CHECKING:
    from rubrica.authoring.criterion_review import CriteriaReview


def lint(
    rubric: str | Path | Mapping[str, Any] | Rubric, *, run: str | Path | None = None, judge: str | None = None
) -> LintReport:
    """What an author may want to change in the criteria of a rubric, by rules.

    With a `run` that it judged, also which criteria are always or never met, or get other answers when asked again.
    With a `judge`, such as ``"anthropic:claude-haiku-4-5"``, also what a model says that reads each of them.

    >>> data = {"name": "x", "dimensions": {"tone": {"asks": "Is it nice?"}}, "verdicts": [{"label": "done"}]}
    >>> [(warning.rule, warning.problem.where) for warning in lint(data).warnings]
    [('vague', 'dimensions.tone.asks')]
    """
    found = load(rubric)
    report = lint_rubric(found, None if run is None else StoredRun.open(run), sentence_model())
    return report if judge is None else report.with_review(asyncio.run(_reviewed(found, judge)))


async def _reviewed(rubric: Rubric, judge: str) -> CriteriaReview:
    with requires("judges", judge):
        from rubrica.authoring.criterion_review import review_criteria  # late: rules need no models
        from rubrica.judges.jury import Jury
    async with Jury([judge]) as jury:
        return await review_criteria(criteria_of(rubric), jury)
