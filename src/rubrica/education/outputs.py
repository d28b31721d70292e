"""The files of a finished run over questions: a record a question by grade, summaries, tables for the page.

All of them are made of the run's evaluations, which stay the one truth; they can be thrown away and made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from rubrica.errors import JsonError
from rubrica.jsontext import decode_json
from rubrica.model.evaluation import Evaluation
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.manifest import Manifest
from rubrica.runs.stored import StoredRun
from rubrica.runs.summary.page_tables import write_tables

from .baseline import run_entry
from .compliance import dimension_means, mean, section_scores
from .results import QuestionEvaluation
from .sections import failure_of, question_evaluation
from .summary import GradeFigures, all_grades
from .summary_tables import page_tables

UNKNOWN = "unknown"
"""Stands for the grade in the names of files whose questions have none."""

RECORDS, SUMMARY, ALL = "evaluation_grade_{}.jsonl", "summary_grade_{}.json", "summary_all_grades.json"
DERIVED = (RECORDS.format("*"), SUMMARY.format("*"), ALL)
_PLACE = ("skill_index", "substandard_id", "lesson_title", "unit_name", "record_id")
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FailedPiece:
    """A skill or a record that came to no question, and why."""

    key: str
    grade: int | None
    reason: str
    place: Data = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OutputTerms:
    """What the files say besides the evaluations."""

    model: str
    now: datetime
    failures: Sequence[FailedPiece] = ()
    lines: Mapping[str, int] = field(default_factory=dict)  # of the cases' file


@dataclass
class _GradeFiles:
    """The records of each grade, written and counted as they come; whole or not at all."""

    folder: Path
    stack: ExitStack
    figures: dict[int | None, GradeFigures] = field(default_factory=dict)
    streams: dict[int | None, BinaryIO] = field(default_factory=dict)

    def add(self, record: Data) -> None:
        grade = record["grade"]
        if grade not in self.figures:
            self.figures[grade] = GradeFigures(grade)
            place = self.stack.enter_context(write_atomically(self.folder / RECORDS.format(grade_name(grade))))
            self.streams[grade] = self.stack.enter_context(place.open("wb"))
        self.figures[grade].add(record)
        self.streams[grade].write(msgspec.json.encode(record) + b"\n")


def write_outputs(folder: Path, terms: OutputTerms) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Write records, summaries and tables of a finished run: the summary of all grades, and what a baseline file keeps
    of the run; None where no question was judged."""
    run = StoredRun.open(folder)
    with ExitStack() as stack:
        files = _GradeFiles(folder, stack)
        for group in by_response(run.evaluations()):
            for record in response_records(group, run.manifest, terms.lines):
                files.add(record)
        for failure in terms.failures:
            files.add(failure_record(failure, terms.now))
    figures = [files.figures[grade] for grade in sorted(files.figures, key=lambda grade: (grade is None, grade))]
    for pattern in DERIVED:
        kept = {pattern.replace("*", grade_name(found.grade)) for found in figures}
        for path in folder.glob(pattern):
            if path.name not in kept:
                path.unlink(missing_ok=True)
    moment = terms.now.isoformat()
    summaries = [found.summary(moment) for found in figures]
    for found, summary in zip(figures, summaries, strict=True):
        write_json(folder / SUMMARY.format(grade_name(found.grade)), summary)
    together = all_grades(figures, summaries, terms.model, moment)
    write_json(folder / ALL, together)
    write_tables(folder, page_tables(together))
    entry = run_entry(figures, run.manifest, moment) if any(found.questions for found in figures) else None
    return together, entry


def by_response(evaluations: Iterable[Evaluation]) -> Iterator[list[Evaluation]]:
    """Evaluations of questions that were written together, once all of them are there; a question alone is one too."""
    waiting: dict[str, list[Evaluation]] = {}
    for evaluation in evaluations:
        told = metadata_of(evaluation)
        key, count = told.get("skill_key"), int(told.get("question_count") or 1)
        if key is None or count == 1:
            yield [evaluation]
            continue
        group = waiting.setdefault(str(key), [])
        group.append(evaluation)
        if len(group) == count:
            yield sorted(waiting.pop(str(key)), key=_question_index)
    for group in waiting.values():  # one of them could not be judged
        yield sorted(group, key=_question_index)


def response_records(
    group: Sequence[Evaluation], manifest: Manifest | None, lines: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    """A record for each question of one response. Its duration is the writing of them all and its own judging."""
    judged = [question_evaluation(evaluation, _question_index(evaluation)) for evaluation in group]
    overall = overall_of(judged)
    for evaluation, found in zip(group, judged, strict=True):
        told, case = metadata_of(evaluation), evaluation.case or ""
        error = failure_of(evaluation)
        record: dict[str, Any] = {
            "timestamp": told.get("timestamp") or (manifest.started if manifest is not None else None),
            "grade": told.get("grade"),
            **{name: told.get(name) for name in _PLACE if name != "record_id" or name in told},
            **({"line": lines[case]} if case in lines and "skill_key" not in told else {}),
            "question_index": found.question_id,
            "question_count": int(told.get("question_count") or 1),
            "case": case,
            "skill_key": told.get("skill_key") or case,
            "request": told.get("request"),
            "question": _plain_question(evaluation),
            "question_evaluation": found.model_dump(mode="json"),
            "overall_evaluation": overall,
            "duration": round(float(told.get("response_time") or 0.0) + found.duration, 3),
            "success": not error,
        }
        yield {**record, "error": error} if error else record


def failure_record(failure: FailedPiece, now: datetime) -> dict[str, Any]:
    """The record of a skill or a line that came to no question."""
    return {
        "timestamp": now.isoformat(),
        "grade": failure.grade,
        **{name: value for name, value in failure.place.items() if name != "request"},
        "question_index": None,
        "question_count": 0,
        "skill_key": failure.key,
        "request": failure.place.get("request"),
        "question": None,
        "question_evaluation": None,
        "overall_evaluation": None,
        "duration": 0.0,
        "success": False,
        "error": failure.reason,
    }


def overall_of(judged: Sequence[QuestionEvaluation]) -> dict[str, Any]:
    """The figures of a whole response, as each record of it holds them."""
    sections = {name: section.model_dump() for name, section in section_scores(judged).items()}
    overall = mean(item.overall_score for item in judged)
    return {"overall_score": overall, "scores": dimension_means(judged), "section_scores": sections}


def metadata_of(evaluation: Evaluation) -> dict[str, Any]:
    """What a run's record says of its question besides the text."""
    context = evaluation.context
    return context.metadata.model_dump(mode="json", exclude_defaults=True) if context is not None else {}


def grade_name(grade: int | None) -> str:
    return UNKNOWN if grade is None else str(grade)


def write_json(path: Path, data: Data) -> None:
    """Plain data as a file that is there whole or not at all."""
    with write_atomically(path) as unfinished:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")


def _question_index(evaluation: Evaluation) -> int:
    return int(metadata_of(evaluation).get("question_index") or 0)


def _plain_question(evaluation: Evaluation) -> Any:
    text = evaluation.context.response if evaluation.context is not None else ""
    try:
        return decode_json(text)
    except JsonError:
        return text
