"""Judges case after case as they are read, keeping running figures and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from rubrica.engine.cases import BadLine, Case
from rubrica.engine.evaluate import aevaluate, evaluate
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation

from .expectation import mismatches
from .rubrics import NoRubricError, RunRubrics
from .summary.tally import RunTally


class CaseWork(NamedTuple):
    """One evaluation to make."""

    case: Case
    plan: Plan
    context: Context
    repeat: int = 0


Judged = tuple[CaseWork, Evaluation | RubricaError]
Evaluator = Callable[[Iterable[CaseWork]], Iterator[Judged]]


@dataclass(frozen=True, slots=True)
class BadCase(BadLine):
    """A case that can be read but not be judged, and why."""

    case: str
    repeat: int = 0


class Batch(msgspec.Struct, frozen=True):
    """One pass over cases."""

    run_rubrics: RunRubrics
    tally: RunTally
    on_broken: Callable[[BadLine], None]
    defaults: Mapping[str, Any] = msgspec.field(default_factory=dict)  # context for cases that do not say
    evaluator: Evaluator | None = None  # None: one after the other, by code alone
    repeat: int = 1  # how often each case is judged
    wanted: Callable[[CaseWork], bool] | None = None  # None: all of them

    def evaluations(self, cases: Iterable[Case | BadLine]) -> Generator[Evaluation, None, None]:
        """Each case's evaluation as it is made; a line that cannot be judged is told, counted and passed over."""
        for work, outcome in (self.evaluator or evaluate_each)(self._work(cases)):
            case = work.case
            if isinstance(outcome, RubricaError):
                self._broken(BadCase(case.line, str(outcome), case.id, work.repeat))
                continue
            self.tally.add(outcome, work.plan.rubric)
            if case.expect is not None:
                self.tally.compare(case.id, mismatches(case.expect, outcome))
            yield outcome

    def _work(self, cases: Iterable[Case | BadLine]) -> Iterator[CaseWork]:
        for found in cases:
            if isinstance(found, Case):
                try:
                    works = self._works(found)
                except NoRubricError:
                    raise
                except RubricaError as error:
                    self._broken(BadCase(found.line, str(error), found.id))
                else:
                    yield from works if self.wanted is None else filter(self.wanted, works)
            else:
                self._broken(found)

    def _works(self, case: Case) -> list[CaseWork]:
        context = merge_context(self.defaults, case.context)
        return [
            CaseWork(case, self.run_rubrics.plan(case.rubric, repeat), context, repeat) for repeat in range(self.repeat)
        ]

    def _broken(self, line: BadLine) -> None:
        self.tally.broken += 1
        self.on_broken(line)


def evaluate_each(work: Iterable[CaseWork]) -> Iterator[Judged]:
    """Evaluate in order, by code alone."""
    for item in work:
        try:
            yield item, evaluate(item.plan, item.context, item.case.id)
        except RubricaError as error:
            yield item, error


async def judge_case(work: CaseWork) -> Judged:
    """Evaluate with the plan's judge."""
    try:
        evaluation = await aevaluate(work.plan, work.context, work.case.id)
    except RubricaError as error:
        return work, error
    return work, msgspec.structs.replace(evaluation, repeat=work.repeat) if work.repeat else evaluation


def merge_context(defaults: Mapping[str, Any], context: Context) -> Context:
    """A case's context with the command line's context where the case says nothing."""
    if not defaults:
        return context
    return Context.of({**defaults, **context.as_given("python")})
