"""What travels between a run and the processes that evaluate its cases, here or on other machines: cases out,
evaluations back."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from rubrica.engine.compile import compile_rubric
from rubrica.engine.load import rubric_from_data
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric

from .batch import CaseWork
from .files.manifest import UsedRubric
from .rubrics import JudgeOf
from .run_writer import encoded


class CaseMessage(NamedTuple):
    """A case to judge. The ticket is new each time a case is handed out."""

    ticket: int
    rubric: str  # its hash
    case: str
    context: bytes  # as a stored evaluation has it
    repeat: int


class ResultMessage(NamedTuple):
    """What became of a case: a stored evaluation, or why it cannot be judged."""

    ticket: int
    evaluation: bytes
    problem: str = ""


def case_message(ticket: int, work: CaseWork) -> CaseMessage:
    return CaseMessage(ticket, work.plan.identity[2], work.case.id, encoded(work.context), work.repeat)


def outcome_of(result: ResultMessage) -> Evaluation | RubricaError:
    return RubricaError(result.problem) if result.problem else Evaluation.from_json(result.evaluation)


def rubric_message(rubric: Rubric) -> bytes:
    """A rubric as it is sent to a worker, once."""
    return msgspec.json.encode(UsedRubric.of(rubric).document)


class SentRubrics:
    """The rubrics that a worker was sent, compiled once for each repeat. Without judges, code alone scores."""

    def __init__(self, judge_of: JudgeOf | None = None) -> None:
        self._judge_of = judge_of
        self._rubrics: dict[str, Rubric] = {}
        self._plans: dict[tuple[str, int], Plan] = {}

    def add(self, wanted: str, document: bytes) -> None:
        """Take a rubric in; it has to be what the driver meant, to the letter."""
        rubric = rubric_from_data(msgspec.json.decode(document))
        if rubric.hash != wanted:
            raise RubricaError(f"the rubric {rubric.name} changed on its way to another machine")
        self._rubrics[wanted] = rubric

    def work(self, message: CaseMessage) -> tuple[Plan, Context]:
        """What a case is judged by, and its context."""
        key = message.rubric, message.repeat
        if key not in self._plans:
            rubric = self._rubrics[message.rubric]
            judge = self._judge_of(rubric, message.repeat) if self._judge_of is not None else None
            self._plans[key] = compile_rubric(rubric, judge)
        return self._plans[key], Context.of(msgspec.json.decode(message.context))
