"""Questions that exist already: records of any usual shape, each a request and a question, or refused with a reason."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from rubrica.errors import InputError

from .curriculum import grade_of
from .questions import Difficulty, GeneratedQuestion, GenerateQuestionsRequest, QuestionType
from .row_files import TableRow, read_rows

_ABOUT = ("instructions", "prompt", "query", "lesson_title", "topic", "skill", "standard")
_SKILL = ("skill", "skill_description", "substandard_description", "lesson_title", "standard")
_OWN = {
    *("id", "grade", "grade_level", "subject", "language", "request", "timestamp", "skill_index", "substandard_id"),
    *("unit_name", "question_index", "question_count", "skill_key", "case", "line", "record_id", "duration", "success"),
    *("error", "question_evaluation", "overall_evaluation", *_ABOUT, *_SKILL),
}
"""Keys of a record that are about the question, not of it."""

_IDS = ("id", "record_id", "case")
"""Keys that name a record: its own id, or what a run called it."""

_LETTERED = re.compile(r"(?:option|choice|answer)?[ _-]?([a-hA-H])")
_BETWEEN = re.compile(r"\s*[|\n]\s*")
_KINDS = {"multiple choice": "mcq", "multiple-choice": "mcq", "multiple_choice": "mcq", "fill in": "fill-in"}


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """One question as a file holds it."""

    line: int
    id: str
    grade: int | None  # None: the record does not say, and nobody else did
    request: GenerateQuestionsRequest
    question: GeneratedQuestion
    place: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RefusedRecord:
    """A record that cannot be judged, and why."""

    line: int
    id: str
    reason: str
    grade: int | None = None


def read_records(path: Path, grade: int | None = None) -> Iterator[QuestionRecord | RefusedRecord]:
    """The records of a file, JSON lines or CSV. `grade` holds for those that name none."""
    for row in read_rows(path):
        yield record_of(row, grade)


def record_of(row: TableRow, grade: int | None = None) -> QuestionRecord | RefusedRecord:
    """A record, or why it is none.

    >>> record_of(TableRow(1, {"question": "2 + 2?", "option_a": "4", "option_b": "5", "answer": "A"})).question.options
    {'A': '4', 'B': '5'}
    """
    data = row.data
    given = next((str(data[name]) for name in _IDS if data.get(name) not in (None, "")), "")
    own_id = given or f"line {row.line}"
    if row.fault:
        return RefusedRecord(row.line, own_id, row.fault, grade)
    said = next((data[name] for name in ("grade", "grade_level") if data.get(name) not in (None, "")), None)
    found = grade_of(said) if said is not None else grade
    if said is not None and found is None:
        return RefusedRecord(row.line, own_id, f"grade {said!r} is no grade (write a number, or K)", grade)
    try:
        question = GeneratedQuestion.of(_question(data))
        request = _request(data, question, found)
    except (InputError, ValueError) as error:
        return RefusedRecord(row.line, own_id, str(error), found)
    own_id = given or content_name(request, question)
    place = {name: data.get(name) for name in ("skill_index", "substandard_id", "lesson_title", "unit_name")}
    return QuestionRecord(row.line, own_id, found, request, question, {**place, "record_id": own_id})


def content_name(request: GenerateQuestionsRequest, question: GeneratedQuestion) -> str:
    """What a question is called that has no id: by what it says, so that it is found again wherever it stands."""
    said = json.dumps([request.model_dump(mode="json"), question.plain], sort_keys=True)
    return f"q-{hashlib.sha256(said.encode()).hexdigest()[:10]}"


def _question(data: Mapping[str, Any]) -> dict[str, Any]:
    """What of a record is the question itself: the object under `question`, or what is not about it."""
    inner = data.get("question")
    if isinstance(inner, Mapping):
        return dict(inner)
    question = {name: value for name, value in data.items() if name not in _OWN}
    options = question.get("options")
    if isinstance(options, str):
        question["options"] = [part for part in _BETWEEN.split(options.strip()) if part]
    elif options is None:
        lettered = {match[1].upper(): name for name in question if (match := _LETTERED.fullmatch(name))}
        if len(lettered) > 1:
            question["options"] = {letter: question.pop(lettered[letter]) for letter in sorted(lettered)}
    return question


def _request(data: Mapping[str, Any], question: GeneratedQuestion, grade: int | None) -> GenerateQuestionsRequest:
    """What the question was written for, as far as the record tells."""
    asked = data["request"] if isinstance(data.get("request"), Mapping) else {}
    told = {**data, **asked}
    kind = _KINDS.get(question.kind, question.kind)
    difficulty = (question.difficulty or "").strip().lower()
    return GenerateQuestionsRequest(
        grade=grade,
        subject=_text(told, ("subject",))[:100],
        language=_text(told, ("language",))[:60] or "english",
        question_type=_one_of(_text(asked, ("question_type",)) or kind, get_args(QuestionType)),
        difficulty=_one_of(_text(asked, ("difficulty",)) or difficulty, get_args(Difficulty)),
        instructions=_text(told, _ABOUT)[:4000],
        skill=_text(told, _SKILL)[:4000],
    )


def _one_of(said: str, known: tuple[Any, ...]) -> Any:
    """A word of a closed set; anything else asks for nothing in particular."""
    return said if said in known else "mixed"


def _text(data: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((str(data[name]).strip() for name in names if isinstance(data.get(name), str | int)), "")
