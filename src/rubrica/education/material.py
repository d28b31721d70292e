"""Questions as the material of a run: read as cases, and concluded with records and summaries by grade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from rubrica.engine.cases import BadLine, Case
from rubrica.errors import ContextError
from rubrica.model.context import Context
from rubrica.runs.batch import BadCase
from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.case_source import CaseSource
from rubrica.runs.files.folder import ERRORS
from rubrica.runs.material import RunMaterial
from rubrica.runs.selection import UniqueNames

from .baseline import BaselineFile
from .outputs import DERIVED, FailedPiece, OutputTerms, write_outputs
from .questions import GenerateQuestionsRequest, context_of
from .records import QuestionRecord, RefusedRecord

FoundRecord = QuestionRecord | RefusedRecord


@dataclass
class QuestionSource:
    """Records that are read as cases; one that cannot be judged is a broken line."""

    records: Sequence[FoundRecord]
    size: int | None = None
    read: int = 0  # records
    notes: tuple[str, ...] = ()

    def cases(self) -> Iterator[Case | BadLine]:
        for record in self.records:
            self.read += 1
            yield case_of(record)


@dataclass
class QuestionMaterial(RunMaterial):
    """Questions that exist already. `summary` is of all grades, once the run is finished."""

    records: Sequence[FoundRecord]
    model: str = "offline"  # whose questions, or whose judgements, these are
    baseline: BaselineFile | None = None  # where the outcome is added when the run is finished
    summary: Mapping[str, Any] | None = None

    derived = DERIVED

    @contextmanager
    def opened(self) -> Iterator[CaseSource]:
        yield QuestionSource(self.records, len(self.records))

    def count(self) -> int | None:
        return sum(isinstance(record, QuestionRecord) for record in self.records)

    def conclude(self, folder: Path, now: datetime) -> Sequence[str]:
        """Write the records of every grade and their summaries, and add the outcome to the baseline file."""
        terms = OutputTerms(self.model, now, self.failures(folder), line_by_case(self.records))
        self.summary, entry = write_outputs(folder, terms)
        whole = not self.summary["overall"]["failed_questions"]  # what a judge left open would pass for a change
        if self.baseline is not None and entry is not None and whole and self.baseline.add_run(entry):
            return [f"added to {self.baseline.path}"]
        return ()

    def failures(self, folder: Path) -> Sequence[FailedPiece]:
        """What came to no evaluation: lines that are no questions, and questions that could not be judged at all."""
        errors = [msgspec.json.decode(line) for line in finished_lines(folder / ERRORS)]
        lines = {told["line"] for told in errors if told["case"] is None}
        cases = {told["case"]: str(told["error"]) for told in errors if told["case"] is not None}
        found = []
        for record in self.records:
            reason = record.reason if isinstance(record, RefusedRecord) else cases.get(record.id)
            if reason is not None and (isinstance(record, QuestionRecord) or record.line in lines):
                place = {"record_id": record.id, "line": record.line}
                found.append(FailedPiece(record.id, record.grade, reason, place))
        return found


def case_of(record: FoundRecord) -> Case | BadLine:
    """A question as a case. Its metadata hold all that the record says of it, but for its line: wherever it stands, it
    is the same case."""
    if isinstance(record, RefusedRecord):
        return BadLine(record.line, record.reason)
    try:
        context = context_of(record.request, record.question)
        told = {name: value for name, value in record.place.items() if value is not None}
        own = context.metadata.model_dump(exclude_defaults=True)
        whole = {
            **context.model_dump(exclude_defaults=True),
            "metadata": {**told, **own, "request": plain_request(record.request)},
        }
        return Case(record.id, record.line, Context.of(whole))
    except ContextError as error:
        return BadCase(record.line, str(error), record.id)


def plain_request(request: GenerateQuestionsRequest) -> dict[str, Any]:
    found: dict[str, Any] = request.model_dump(mode="json", exclude={"evaluate"})
    return found


def line_by_case(records: Iterable[FoundRecord]) -> dict[str, int]:
    """Where in its file each case stands, by the name that it has in a run."""
    names = UniqueNames()
    return {names.own(found.id): found.line for found in records if isinstance(found, QuestionRecord)}
