"""Questions that a model writes for skills: kept in the run's folder as they come, and judged from there.

The questions for one skill are written in one go and count only when all of them are there: what a crash left of some
is taken out when the run goes on, and written anew. Skills for which the model failed are asked for again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any

import msgspec

from rubrica.errors import RubricaError
from rubrica.jsontext import UNREADABLE
from rubrica.llm.connect import connect
from rubrica.llm.model import ModelError
from rubrica.llm.price import price
from rubrica.llm.settings import load_settings
from rubrica.model.evaluation import Cost
from rubrica.runs.concurrency import run_concurrently
from rubrica.runs.events import EventCallback, RunAdvanced, RunNote
from rubrica.runs.files.append_only import AppendOnlyFile, finished_lines
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.loop import draw_results
from rubrica.runs.run_writer import AskOutcome, stop_when_unanswered

from .curriculum import Skill
from .evaluator import utc_now
from .material import QuestionMaterial, plain_request
from .outputs import FailedPiece
from .questions import Difficulty, GeneratedQuestion, GenerateQuestionsRequest, QuestionType
from .records import QuestionRecord
from .writing import Writer, WrittenQuestions

QUESTIONS = "questions.jsonl"
_DECODER = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, slots=True)
class WritingTerms:
    """What all questions of a run are asked to be, and who writes them."""

    model: str
    count: int = 1  # questions a skill
    question_type: QuestionType = "mcq"
    difficulty: Difficulty = "medium"
    options: int = 4  # of a multiple-choice question
    jobs: int = 4  # skills under way at once
    max_failures: int = 20  # stop after so many skills in a row that the model does not answer; 0: never

    def request(self, skill: Skill) -> GenerateQuestionsRequest:
        return skill.request(self.count, self.question_type, self.difficulty)


@dataclass(frozen=True, slots=True)
class SkillQuestions:
    """What came of asking for the questions of one skill."""

    skill: Skill
    outcome: WrittenQuestions | RubricaError


@dataclass
class WrittenMaterial(QuestionMaterial):
    """The questions of a curriculum run: those that are written, and those that `prepare` has written."""

    skills: Sequence[Skill] = ()
    writing: WritingTerms = WritingTerms("")
    clock: Callable[[], datetime] = utc_now
    unwritten: list[FailedPiece] = field(default_factory=list)
    usd: float | None = None  # what writing has cost this time; None where nothing was paid, or the price is not known

    def prepare(self, folder: Path, on_event: EventCallback, stop: Event | None) -> bool:
        """Have questions written for the skills that have none; False where that was stopped."""
        path = folder / QUESTIONS
        done = _take_out_parts(path)
        todo = [skill for skill in self.skills if skill.key not in done]
        if len(todo) < len(self.skills):
            on_event(RunNote(f"going on: {len(self.skills) - len(todo)} of {len(self.skills)} skills are written"))
        if todo:
            with AppendOnlyFile(path) as file, asyncio.Runner() as runner:
                meter = _WritingMeter(len(self.skills), len(self.skills) - len(todo))
                if not draw_results(self._written(todo, file, runner, meter), meter.read, on_event, stop):
                    return False
                self.usd = meter.usd
        self.records = list(written_records(path))
        for failed in self.unwritten:
            on_event(
                RunNote(f"skill {failed.place['substandard_id']} ({failed.place['lesson_title']}): {failed.reason}")
            )
        return True

    def failures(self, folder: Path) -> Sequence[FailedPiece]:
        return [*self.unwritten, *super().failures(folder)]

    def _written(
        self, todo: Iterable[Skill], file: AppendOnlyFile, runner: asyncio.Runner, meter: _WritingMeter
    ) -> Generator[SkillQuestions, None, None]:
        """Skills as their questions are written and kept; stopped, none is left under way."""
        model = connect(self.writing.model, load_settings())
        writer = Writer(model, self.writing.options)
        try:
            with closing(run_concurrently(runner, todo, self._one(writer), self.writing.jobs)) as finished:
                for piece, _ in stop_when_unanswered(finished, _asked, self.writing.max_failures):
                    self._keep(piece, file)
                    meter.add(piece, self.writing.model)
                    yield piece
        finally:
            runner.run(model.close())

    def _one(self, writer: Writer) -> Callable[[Skill], Any]:
        async def write(skill: Skill) -> SkillQuestions:
            try:
                return SkillQuestions(skill, await writer.write(self.writing.request(skill)))
            except RubricaError as error:
                return SkillQuestions(skill, error)

        return write

    def _keep(self, piece: SkillQuestions, file: AppendOnlyFile) -> None:
        skill, found = piece.skill, piece.outcome
        request = plain_request(self.writing.request(skill))
        if isinstance(found, RubricaError):
            place = {**skill.place, "request": request}
            self.unwritten.append(FailedPiece(skill.key, skill.grade, str(found), place))
            return
        shared = {
            "grade": skill.grade,
            **skill.place,
            "skill_key": skill.key,
            "question_count": len(found.questions),
            "model_used": self.writing.model,
            "timestamp": self.clock().isoformat(),
            "response_time": round(found.seconds, 3),
            "request": request,
        }
        lines = [
            {
                "id": f"{skill.substandard_id}/{skill.key}/{place}",
                "question_index": place,
                **shared,
                "question": one.plain,
            }
            for place, one in enumerate(found.questions)
        ]
        file.write(b"\n".join(map(msgspec.json.encode, lines)))


@dataclass
class _WritingMeter:
    """How far writing has come, and what it has cost."""

    total: int
    before: int
    done: int = 0
    usd: float | None = None
    tokens: list[int] = field(default_factory=lambda: [0, 0])
    started: float = field(default_factory=time.monotonic)

    def add(self, piece: SkillQuestions, model: str) -> None:
        self.done += 1
        if isinstance(piece.outcome, WrittenQuestions):
            usage = piece.outcome.usage
            paid = price(model, usage)
            self.usd = (self.usd or 0.0) + paid if paid is not None else self.usd
            self.tokens[0] += usage.input_tokens
            self.tokens[1] += usage.output_tokens

    def read(self) -> RunAdvanced:
        cost = Cost(self.usd, *self.tokens) if self.tokens[0] else None
        seconds = time.monotonic() - self.started
        return RunAdvanced(self.before + self.done, self.done, seconds, self.total, cost=cost)


def _asked(piece: SkillQuestions) -> AskOutcome:
    """A model that replied anything was reached, however little its reply is of use."""
    if isinstance(piece.outcome, ModelError):
        return AskOutcome(reached=False, failed=True, reason=str(piece.outcome))
    return AskOutcome(reached=True, failed=isinstance(piece.outcome, RubricaError))


def written_records(path: Path) -> Iterator[QuestionRecord]:
    """The questions that a run's folder holds."""
    for number, line in enumerate(finished_lines(path), 1):
        yield _record(_decoded(path, number, line), number)


_PLACE = (
    *("skill_index", "substandard_id", "lesson_title", "unit_name", "skill_key", "question_index", "question_count"),
    *("model_used", "timestamp", "response_time"),
)


def _record(data: dict[str, Any], number: int) -> QuestionRecord:
    return QuestionRecord(
        number,
        data["id"],
        data["grade"],
        GenerateQuestionsRequest.model_validate(data["request"]),
        GeneratedQuestion.of(data["question"]),
        {name: data.get(name) for name in _PLACE},
    )


def complete_skills(path: Path) -> set[str]:
    """The skills all of whose questions are there."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    for number, line in enumerate(finished_lines(path), 1):
        data = _decoded(path, number, line)
        key = data["skill_key"]
        lines[key] = lines.get(key, 0) + 1
        counts[key] = data["question_count"]
    return {key for key, found in lines.items() if found == counts[key]}


def _take_out_parts(path: Path) -> set[str]:
    """Leave the questions of skills out that are not all there; those of the others are told by their skills."""
    whole = complete_skills(path)
    lines = list(finished_lines(path))
    kept = [line for line in lines if _DECODER.decode(line)["skill_key"] in whole]
    if len(kept) < len(lines):
        with write_atomically(path) as unfinished:
            unfinished.write_bytes(b"".join(line + b"\n" for line in kept))
    return whole


def _decoded(path: Path, number: int, line: bytes) -> dict[str, Any]:
    try:
        data = _DECODER.decode(line)
        if not {"id", "grade", "skill_key", "question_count", "request", "question"} <= data.keys():
            raise ValueError("fields are missing")
    except (*UNREADABLE, ValueError) as error:
        raise RubricaError(f"{path}:{number}: not a question of a run: {error} (move the file away)") from None
    return data
