"""The folder of a run over a curriculum: records a grade, full evaluations, figures. A run that was killed goes on.

A piece of work, such as the questions for one skill, is written in one go and counts only when all of it is there:
what a crash left of one, and what failed, is taken out when the folder is opened again, and done anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from rubrica.errors import RubricaError, StoredError
from rubrica.jsontext import UNREADABLE
from rubrica.model.evaluation import Evaluation
from rubrica.runs.files.append_only import AppendOnlyFile, finished_lines
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.evaluation_head import head_of
from rubrica.runs.files.folder import ERRORS, EVALUATIONS, drop_derived, open_run_folder
from rubrica.runs.files.manifest import Manifest

from .summary import GradeFigures, all_grades

UNKNOWN = "unknown"
"""Stands for the grade in the names of files whose questions have none."""

RECORDS, SUMMARY, ALL = "evaluation_grade_{}.jsonl", "summary_grade_{}.json", "summary_all_grades.json"
_DECODER = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True, slots=True)
class FinishedWork:
    """One piece of work that is done: records of its questions, or the one record that says why there are none."""

    key: str
    grade: int | None
    records: Sequence[Mapping[str, Any]]
    evaluations: Sequence[Evaluation] = ()

    @property
    def succeeded(self) -> bool:
        return bool(self.records[0]["success"])


@dataclass
class RunFolder:
    """An open folder. `done` are the keys of finished pieces; `told` is what was found and done on opening it."""

    path: Path
    manifest: Manifest
    done: set[str] = field(default_factory=set)
    told: list[str] = field(default_factory=list)
    _files: dict[str, AppendOnlyFile] = field(default_factory=dict)

    def add(self, piece: FinishedWork) -> None:
        """Append a finished piece: its evaluations first, so that a record never stands without them."""
        if piece.evaluations:
            self._lines(EVALUATIONS).write(b"\n".join(found.to_json().encode() for found in piece.evaluations))
        lines = [msgspec.json.encode({**record, "skill_key": piece.key}) for record in piece.records]
        name = records_name(piece.grade)
        if name not in self._files:  # the figures of before do not hold any more
            (self.path / SUMMARY.format(grade_name(piece.grade))).unlink(missing_ok=True)
            (self.path / ALL).unlink(missing_ok=True)
        self._lines(name).write(b"\n".join(lines))
        if not piece.succeeded:
            first = piece.records[0]
            told = {"line": first.get("line"), "case": first.get("record_id", piece.key), "error": first["error"]}
            self._lines(ERRORS).write(msgspec.json.encode(told))
        self.done.add(piece.key)

    def finish(self, grades: Sequence[int | None], model: str, timestamp: str) -> dict[str, Any]:
        """Write the figures of the grades, and of all of them together; the latter are returned."""
        self.close()
        figures = []
        for grade in grades:
            counted = GradeFigures(grade)
            for record in read_records(self.path, grade):
                counted.add(record)
            figures.append(counted)
        summaries = [grade.summary(timestamp) for grade in figures]
        for grade, summary in zip(grades, summaries, strict=True):
            write_json(self.path / SUMMARY.format(grade_name(grade)), summary)
        together = all_grades(figures, summaries, model, timestamp)
        write_json(self.path / ALL, together)
        return together

    def close(self) -> None:
        """Hand everything to the disk."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def _lines(self, name: str) -> AppendOnlyFile:
        if name not in self._files:
            self._files[name] = AppendOnlyFile(self.path / name)
        return self._files[name]


def grade_name(grade: int | None) -> str:
    return UNKNOWN if grade is None else str(grade)


def records_name(grade: int | None) -> str:
    return RECORDS.format(grade_name(grade))


def read_records(folder: Path, grade: int | None) -> Iterator[dict[str, Any]]:
    """The records of a grade, as they were finished."""
    path = folder / records_name(grade)
    for number, line in enumerate(finished_lines(path), 1):
        try:
            yield _DECODER.decode(line)
        except UNREADABLE as error:
            raise RubricaError(f"{path}:{number}: not a record of a run: {error} (move the file away)") from None


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Plain data as a file that is there whole or not at all."""
    with write_atomically(path) as unfinished:
        unfinished.write_bytes(msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n")


@contextmanager
def open_folder(path: Path, manifest: Manifest, *, resume: bool = True) -> Iterator[RunFolder]:
    """The folder of a run, for this process alone. What was made on other terms is moved aside, never mixed in."""
    with open_run_folder(path, manifest, resume=resume) as opening:
        folder = RunFolder(path, opening.manifest)
        if opening.earlier is not None:
            why = "; ".join(opening.changes) or "a new run is wanted"
            folder.told.append(f"what was here is now in {opening.earlier}: {why}")
        _repair(folder)
        drop_derived(path)
        try:
            yield folder
        finally:
            folder.close()


def _repair(folder: RunFolder) -> None:
    """Take out what is there in part only, and what failed; note what is done."""
    kept_cases: set[str] = set()
    (folder.path / ERRORS).unlink(missing_ok=True)  # what failed is done again
    for file in sorted(folder.path.glob(RECORDS.format("*"))):
        grade = file.stem.removeprefix(RECORDS.partition("{")[0])
        pieces: dict[str, list[dict[str, Any]]] = {}
        found = list(read_records(folder.path, None if grade == UNKNOWN else int(grade)))
        for record in found:
            pieces.setdefault(str(record.get("skill_key")), []).append(record)
        whole = {key for key, records in pieces.items() if _is_whole(records)}
        folder.done |= whole
        kept = [record for record in found if str(record.get("skill_key")) in whole]
        kept_cases |= {str(record.get("case")) for record in kept}
        if len(kept) < len(found):
            again = sum(key not in whole for key in pieces)
            folder.told.append(f"{file.name}: {again} of {len(pieces)} failed or were cut short, and are done again")
            _rewrite(file, [msgspec.json.encode(record) for record in kept])
    _mend_evaluations(folder.path / EVALUATIONS, kept_cases)


def _mend_evaluations(path: Path, cases: set[str]) -> None:
    lines = list(finished_lines(path))
    kept = [line for line in lines if _case(line) in cases]
    if len(kept) < len(lines):
        _rewrite(path, kept)


def _rewrite(path: Path, lines: Sequence[bytes]) -> None:
    with write_atomically(path) as unfinished:
        unfinished.write_bytes(b"".join(line + b"\n" for line in lines))


def _case(line: bytes) -> str | None:
    try:
        return head_of(line).case
    except StoredError:
        return None


def _is_whole(records: Sequence[Mapping[str, Any]]) -> bool:
    if not all(record.get("success") for record in records):
        return False
    places = [record.get("question_index") for record in records]
    return sorted(places, key=str) == sorted(range(int(records[0].get("question_count") or 0)), key=str)
