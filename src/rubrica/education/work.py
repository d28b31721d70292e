"""A run over a curriculum: questions are written for every skill and judged, or judged alone where they exist."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import msgspec

from rubrica.errors import RubricaError
from rubrica.model.evaluation import Evaluation

from .curriculum import Skill
from .evaluator import ResponseEvaluator, utc_now
from .folder import FinishedWork
from .questions import Difficulty, GeneratedQuestion, GenerateQuestionResponse, GenerateQuestionsRequest, QuestionType
from .records import QuestionRecord, RefusedRecord
from .results import ResponseEvaluation
from .writing import Writer


class CurriculumWork(Protocol):
    """A piece of work: it has a key, and comes to records of questions or to the reason why there are none."""

    @property
    def key(self) -> str: ...

    @property
    def grade(self) -> int | None: ...

    async def done(self) -> FinishedWork: ...


@dataclass(frozen=True, slots=True)
class CurriculumTerms:
    """What all questions of a run are asked to be."""

    count: int = 1  # questions a skill
    question_type: QuestionType = "mcq"
    difficulty: Difficulty = "medium"


@dataclass(frozen=True, slots=True)
class SkillWork:
    """The questions for one skill: written by a model, then judged."""

    skill: Skill
    writer: Writer
    evaluator: ResponseEvaluator
    terms: CurriculumTerms = CurriculumTerms()
    clock: Callable[[], datetime] = utc_now

    @property
    def key(self) -> str:
        return self.skill.key

    @property
    def grade(self) -> int | None:
        return self.skill.grade

    async def done(self) -> FinishedWork:
        """Write and judge. Whatever goes wrong with one skill is its record, and the run goes on."""
        started = time.perf_counter()
        request = self.skill.request(self.terms.count, self.terms.question_type, self.terms.difficulty)
        about = {**_about(self.skill.grade, self.clock()), **self.skill.place}
        try:
            written = await self.writer.write(request)
            response = GenerateQuestionResponse(
                data=written.questions, request_id=self.key, total_questions=len(written.questions), grade=request.grade
            )
            evaluations = await self.evaluator.aevaluations(request, response)
        except RubricaError as error:
            failed = _failure(about, request, str(error), time.perf_counter() - started)
            return FinishedWork(self.key, self.skill.grade, [failed])
        found = self.evaluator.conclude(request, response, evaluations)
        cases = [f"{self.skill.substandard_id}/{self.key}/{place}" for place in range(len(evaluations))]
        records = _records(about, request, response.data, found, cases, written.seconds)
        return FinishedWork(self.key, self.skill.grade, records, with_case_names(evaluations, cases))


@dataclass(frozen=True, slots=True)
class RecordWork:
    """A question that exists already, judged; or a record that is none."""

    record: QuestionRecord | RefusedRecord
    evaluator: ResponseEvaluator
    clock: Callable[[], datetime] = utc_now

    @property
    def key(self) -> str:
        return f"{self.record.line}:{self.record.id}"

    @property
    def grade(self) -> int | None:
        return self.record.grade

    async def done(self) -> FinishedWork:
        """Judge the question. A record that cannot be judged says why."""
        record = self.record
        about = _about(record.grade, self.clock())
        if isinstance(record, RefusedRecord):
            about |= {"record_id": record.id, "line": record.line}
            return FinishedWork(self.key, record.grade, [_failure(about, None, record.reason, 0.0)])
        about |= {**record.place, "line": record.line}
        response = GenerateQuestionResponse(
            data=(record.question,), request_id=self.key, total_questions=1, grade=record.request.grade
        )
        started = time.perf_counter()
        try:
            evaluations = await self.evaluator.aevaluations(record.request, response)
        except RubricaError as error:
            failed = _failure(about, record.request, str(error), time.perf_counter() - started)
            return FinishedWork(self.key, record.grade, [failed])
        found = self.evaluator.conclude(record.request, response, evaluations)
        records = _records(about, record.request, response.data, found, [self.key], 0.0)
        return FinishedWork(self.key, record.grade, records, with_case_names(evaluations, [self.key]))


def with_case_names(evaluations: Sequence[Evaluation], cases: Sequence[str]) -> list[Evaluation]:
    """The evaluations under the names their cases have in a run."""
    return [msgspec.structs.replace(found, case=case) for found, case in zip(evaluations, cases, strict=True)]


def remaining_work(work: Iterable[CurriculumWork], done: set[str]) -> list[CurriculumWork]:
    """What is still to be done, each piece once."""
    seen = set(done)
    found = []
    for piece in work:
        if piece.key not in seen:
            seen.add(piece.key)
            found.append(piece)
    return found


def _about(grade: int | None, now: datetime) -> dict[str, Any]:
    return {"timestamp": now.isoformat(), "grade": grade}


def _request_data(request: GenerateQuestionsRequest) -> dict[str, Any]:
    return request.model_dump(mode="json", exclude={"evaluate"})


def _failure(
    about: dict[str, Any], request: GenerateQuestionsRequest | None, reason: str, seconds: float
) -> dict[str, Any]:
    return {
        **about,
        "question_index": None,
        "question_count": 0,
        "request": None if request is None else _request_data(request),
        "question": None,
        "question_evaluation": None,
        "overall_evaluation": None,
        "duration": round(seconds, 3),
        "success": False,
        "error": reason,
    }


def _records(
    about: dict[str, Any],
    request: GenerateQuestionsRequest,
    questions: Sequence[GeneratedQuestion],
    found: ResponseEvaluation,
    cases: Sequence[str],
    written: float,
) -> list[dict[str, Any]]:
    """A record a question. Its duration is the writing of its skill's questions and its own judging."""
    return [
        {
            **about,
            "question_index": judged.question_id,
            "question_count": len(questions),
            "case": case,
            "request": _request_data(request),
            "question": question.plain,
            "question_evaluation": judged.model_dump(mode="json"),
            "overall_evaluation": found.overall,
            "duration": round(written + judged.duration, 3),
            "success": True,
        }
        for question, judged, case in zip(questions, found.question_evaluations, cases, strict=True)
    ]
