"""Questions that exist already: records of any usual shape, each a request and a question, or refused with a reason."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from rubrica.errors import InputError
from rubrica.runs.files.question_cells import QuestionCells
from rubrica.runs.files.table_rows import TableRow

from .questions import OTHER_NAMES, Difficulty, GeneratedQuestion, GenerateQuestionsRequest, QuestionType
from .school_grades import read_grade

_ABOUT = ("instructions", "prompt", "query", "lesson_title", "topic", "skill", "standard")
_SKILL = ("skill", "skill_description", "substandard_description", "lesson_title", "standard")
ABOUT_NAMES = frozenset(
    {
        *("id", "grade", "grade_level", "subject", "language", "request", "timestamp", "skill_index", "substandard_id"),
        *(
            "unit_name",
            "question_index",
            "question_count",
            "skill_key",
            "case",
            "line",
            "record_id",
            "duration",
            "success",
        ),
        *("error", "question_evaluation", "overall_evaluation", *_ABOUT, *_SKILL),
    }
)
"""Keys of a record that are about the question, not of it."""

_IDS = ("id", "record_id", "case")
"""Keys that name a record: its own id, or what a run called it."""

KNOWN_NAMES = frozenset({*ABOUT_NAMES, *OTHER_NAMES, *(name for names in OTHER_NAMES.values() for name in names)})
"""Keys that are read by their own names."""
PLAIN_CELLS = QuestionCells()
"""Keys are letters or texts."""
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


def record_of(
    row: TableRow, grade: int | None = None, cells: QuestionCells = PLAIN_CELLS
) -> QuestionRecord | RefusedRecord:
    """A record, or why it is none.

    >>> record_of(TableRow(1, {"question": "2 + 2?", "option_a": "4", "option_b": "5", "answer": "A"})).question.options
    {'A': '4', 'B': '5'}
    """
    data = row.data
    given = next((str(data[name]) for name in _IDS if data.get(name) not in (None, "")), "")
    own_id = given or f"line {row.line}"
    if row.fault:
        return RefusedRecord(row.line, own_id, row.fault, grade)
    found = grade
    try:
        asked = data["request"] if isinstance(data.get("request"), Mapping) else {}
        told = (data.get("grade"), data.get("grade_level"), asked.get("grade"))
        said = next((value for value in told if value not in (None, "")), None)
        found = grade if (read := read_grade(said)) is None else read
        question = GeneratedQuestion.of(cells.question(question_cells(data)))
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


def question_cells(data: Mapping[str, Any]) -> dict[str, Any]:
    """What of a record is the question itself: the object under `question`, or what is not about it; under the names
    that we use."""
    inner = data.get("question")
    if isinstance(inner, Mapping):
        data, found = inner, dict(inner)
    else:
        found = {name: value for name, value in data.items() if name not in ABOUT_NAMES}
    for name in ("options", "answer"):
        if found.get(name) is None:
            other = next((other for other in OTHER_NAMES[name] if found.get(other) is not None), None)
            if other is not None:
                found[name] = found.pop(other)
    return found


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
