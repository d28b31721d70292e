"""Lint: every rule over one rubric, what a run says of it, and what a model does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from rubrica.engine.cases import Case
from rubrica.engine.scale_ends import unreached_ends
from rubrica.model.evaluation import Cost
from rubrica.model.rubric import Rubric
from rubrica.text.sentence_model import SentenceModel

from .check_rules import check_warnings
from .criterion_pairs import pair_warnings
from .criterion_text import CriterionText, criteria_of, criteria_of_case
from .lint_warning import LintWarning
from .run_rules import JudgedRun, run_warnings
from .wording import wording_warnings

if TYPE_CHECKING:
    from .criterion_review import CriteriaReview


@dataclass(frozen=True, slots=True)
class LintReport:
    """What an author may want to change. Where a model was asked, what it could not be asked, and what that cost."""

    warnings: tuple[LintWarning, ...]
    unread: tuple[str, ...] = ()
    cost: Cost | None = None

    def with_review(self, review: CriteriaReview) -> LintReport:
        """Together with what a model says: where a rule and it warn of the same, its words count."""
        asked = {(warning.rule, warning.problem.path, warning.problem.line) for warning in review.warnings}
        kept = (own for own in self.warnings if (own.rule, own.problem.path, own.problem.line) not in asked)
        return LintReport((*kept, *review.warnings), review.unread, review.cost)


def lint_rubric(rubric: Rubric, run: JudgedRun | None = None, model: SentenceModel | None = None) -> LintReport:
    """What an author may want to change in a rubric, by rules, and by a run that it judged.

    Criteria that mean the same are told by the words they share, and in other words where there is a sentence model.
    """
    found = [*lint_criteria(criteria_of(rubric), model), *check_warnings(rubric), *_scale_ends(rubric)]
    return LintReport((*found, *(run_warnings(rubric, run) if run is not None else ())))


def lint_criteria(criteria: Iterable[CriterionText], model: SentenceModel | None = None) -> Iterator[LintWarning]:
    """What an author may want to change in criteria that are used together: each by itself, then pairs of them."""
    together = list(criteria)
    for criterion in together:
        yield from wording_warnings(criterion)
    yield from pair_warnings(together, model)


def lint_cases(cases: Iterable[Case], file: str) -> LintReport:
    """What an author may want to change in the criteria that cases bring, by rules. The same is told once."""
    found: dict[tuple[str, str, str], LintWarning] = {}
    for case in cases:
        for warning in lint_criteria(criteria_of_case(case.context.criteria)):
            problem = replace(warning.problem, file=file, line=case.line)
            found.setdefault((warning.rule, problem.message, warning.wording), replace(warning, problem=problem))
    return LintReport(tuple(found.values()))


def _scale_ends(rubric: Rubric) -> Iterator[LintWarning]:
    for problem in unreached_ends(rubric):
        yield LintWarning("scale-end", problem)
