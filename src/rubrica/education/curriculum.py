"""Curricula: the skills that learners of each grade practise. A small one ships; any JSON lines or CSV will do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from rubrica.errors import Problem, RubricaError
from rubrica.runs.files.row_source import open_rows

from .questions import Difficulty, GenerateQuestionsRequest, QuestionType
from .school_grades import HIGHEST_GRADE, grade_of

BUNDLED = "curriculum.jsonl"
MOST_PROBLEMS = 10
LANGUAGE = "english"

_NAMES = {
    "grade": ("grade", "grade_level", "year"),
    "substandard_id": ("substandard_id", "standard_id", "id", "code", "standard"),
    "lesson_title": ("lesson_title", "title", "lesson", "name", "skill"),
    "unit_name": ("unit_name", "unit", "domain", "strand", "topic"),
    "description": ("description", "substandard_description", "skill", "says", "text"),
    "subject": ("subject",),
    "language": ("language",),
}


class Skill(msgspec.Struct, frozen=True):
    """Something learners of one grade practise."""

    grade: int  # kindergarten is 0
    substandard_id: str
    lesson_title: str
    unit_name: str = ""
    description: str = ""
    subject: str = ""  # never assumed
    language: str = LANGUAGE
    index: int = 0  # its place among the skills of its grade, counted from 1

    @property
    def key(self) -> str:
        """Identifies the skill in a run, wherever it stands in the file: change its words, and it is another one."""
        parts = (self.grade, self.substandard_id, self.lesson_title, self.unit_name, self.description, self.subject)
        return hashlib.sha256(json.dumps([*parts, self.language]).encode()).hexdigest()[:12]

    @property
    def place(self) -> dict[str, Any]:
        """Where a question's record says it belongs."""
        return {
            "skill_index": self.index,
            "substandard_id": self.substandard_id,
            "lesson_title": self.lesson_title,
            "unit_name": self.unit_name,
        }

    def request(
        self, count: int = 1, question_type: QuestionType = "mcq", difficulty: Difficulty = "medium"
    ) -> GenerateQuestionsRequest:
        """What a model is asked to write for it."""
        return GenerateQuestionsRequest(
            grade=self.grade,
            count=count,
            subject=self.subject,
            language=self.language,
            question_type=question_type,
            difficulty=difficulty,
            instructions=self.lesson_title,
            skill=self.description or self.lesson_title,
        )


def bundled_curriculum() -> tuple[Skill, ...]:
    """The curriculum that ships: mathematics for grades 3 to 8, and a few skills of science and language."""
    with resources.as_file(resources.files("rubrica.education") / BUNDLED) as path:
        return read_curriculum(path)


def read_curriculum(path: str | Path) -> tuple[Skill, ...]:
    """The skills of a file, in its order. A row that cannot be used refuses the file, before anything is paid for."""
    path = Path(path)
    skills: list[Skill] = []
    problems: list[Problem] = []
    with open_rows(str(path)) as source:
        for row in source.rows():
            found = Problem(row.fault) if row.fault else _skill(row.data)
            if isinstance(found, Problem):
                problems.append(replace(found, line=row.line, file=str(path)))
            else:
                skills.append(found)
    if problems:
        told = [str(problem) for problem in problems[:MOST_PROBLEMS]]
        told += [f"… and {len(problems) - MOST_PROBLEMS} more"] if len(problems) > MOST_PROBLEMS else []
        raise RubricaError("\n".join(told))
    if not skills:
        raise RubricaError(f'{path} has no skills (write lines such as {{"grade": 3, "lesson_title": "Halves"}})')
    return number_skills(skills)


def number_skills(skills: Iterable[Skill]) -> tuple[Skill, ...]:
    """The skills, each with its place in its grade. One that is there twice counts once."""
    counts: dict[int, int] = {}
    found: dict[str, Skill] = {}
    for skill in skills:
        if skill.key not in found:
            counts[skill.grade] = counts.get(skill.grade, 0) + 1
            found[skill.key] = replace(skill, index=counts[skill.grade])
    return tuple(found.values())


def select_skills(skills: Sequence[Skill], grades: Sequence[int], most: int | None = None) -> tuple[Skill, ...]:
    """The skills of some grades, at most so many of each. A grade without skills is an error: it was misspelt."""
    known = sorted({skill.grade for skill in skills})
    for grade in grades:
        if grade not in known:
            raise RubricaError(f"the curriculum has no grade {grade}; it has {', '.join(map(str, known))}")
    return tuple(
        skill for grade in grades for skill in skills if skill.grade == grade and (most is None or skill.index <= most)
    )


def _skill(data: Mapping[str, Any]) -> Skill | Problem:
    grade = grade_of(_first(data, "grade"))
    if grade is None:
        return Problem(f"no grade from 0 to {HIGHEST_GRADE}", fix='write "grade": 3')
    title = str(_first(data, "lesson_title") or _first(data, "description") or "").strip()
    if not title:
        return Problem("no title of the lesson or the skill", fix='write "lesson_title": "…"')
    return Skill(
        grade,
        _text(data, "substandard_id", f"G{grade}")[:200],
        title[:4000],
        _text(data, "unit_name", "")[:400],
        _text(data, "description", "")[:4000],
        _text(data, "subject", "")[:100],
        _text(data, "language", LANGUAGE)[:60],
    )


def _text(data: Mapping[str, Any], name: str, otherwise: str) -> str:
    return str(_first(data, name) or "").strip() or otherwise


def _first(data: Mapping[str, Any], name: str) -> Any:
    return next((data[key] for key in _NAMES[name] if data.get(key) not in (None, "")), None)
