"""Files of questions as teachers have them: which column is what is guessed and told, and keys are read alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec.structs import replace
from pydantic_core import from_json

from rubrica.errors import InputError
from rubrica.runs.files.column_names import QUESTION_NAMES, guess_columns, option_columns
from rubrica.runs.files.json_lists import record_list
from rubrica.runs.files.layout import AS_IT_IS, LOOKED_AT, FileLayout, column_words, columns_of
from rubrica.runs.files.question_cells import QuestionCells
from rubrica.runs.files.row_source import CsvLines, XlsxSource, open_rows
from rubrica.runs.files.table_rows import TableRow

from .question_records import (
    ABOUT_NAMES,
    KNOWN_NAMES,
    PLAIN_CELLS,
    QuestionRecord,
    RefusedRecord,
    question_cells,
    record_of,
)
from .questions import GeneratedQuestion

__all__ = ["QuestionRecord", "RecordFile", "RefusedRecord", "open_records", "read_records", "record_of"]

_AROUND = ("grade", "grade_level", "subject", "language", "skill", "topic", "instructions", "request")
"""What a document says of all its questions."""
_NEEDED = ("question", "options", "answer")


@dataclass(frozen=True, slots=True)
class RecordFile:
    """A file of questions, and how it is read."""

    path: Path
    layout: FileLayout = AS_IT_IS  # as it was given, and what was guessed
    cells: QuestionCells = PLAIN_CELLS
    notes: tuple[str, ...] = ()  # what is worth telling before the work begins
    grade: int | None = None  # of records that name none

    def records(self) -> Iterator[QuestionRecord | RefusedRecord]:
        """The records, one after the other."""
        for row in _rows(self.path, self.layout):
            yield record_of(row, self.grade, self.cells)


def open_records(path: Path, grade: int | None = None, layout: FileLayout = AS_IT_IS) -> RecordFile:
    """Look at a file: which columns there are, what each of them is, and how keys count.

    An InputError says what cannot be told, and the way out.
    """
    with open_rows(str(path), layout.records) as source:
        notes, named = list(source.notes), source.columns()
    inside = [name for name in columns_of(_first(path, layout)) if name not in named]
    columns = [*named, *inside]
    layout.check(columns)
    columns_read, told = _guessed(path, columns, layout)
    settled = replace(layout, columns={**columns_read, **layout.columns})
    cells = QuestionCells.of(
        (question_cells(row.data) for row in _rows(path, settled) if not row.fault), layout.key_base
    )
    if cells.base is not None and layout.key_base is None:
        told.append(f"keys are numbers, and the first option is {cells.base}; change with --key-base")
    return RecordFile(path, settled, cells, (*notes, *told), grade)


def read_records(
    path: Path, grade: int | None = None, layout: FileLayout = AS_IT_IS
) -> Iterator[QuestionRecord | RefusedRecord]:
    """The records of a file. `grade` holds for those that name none."""
    return open_records(path, grade, layout).records()


def _guessed(path: Path, columns: list[str], layout: FileLayout) -> tuple[dict[str, str], list[str]]:
    """The columns of fields that are not mapped, and what to tell of them."""
    guess = guess_columns(columns, QUESTION_NAMES, layout.columns)
    told = []
    for name, fitting in guess.unsure.items():
        if any(column in KNOWN_NAMES for column in fitting):
            continue  # they are read by their own names
        said = f"{name} may be {' or '.join(fitting)} (say which: --map {name}={_quoted(fitting[0])})"
        if name in _NEEDED:
            raise InputError(f"{path.name}: {said}")
        told.append(f"{said}; it is left out")
    found = dict(guess.columns)
    options = option_columns(columns)
    if "options" not in layout.columns and "options" not in found and options:
        found["options"] = ",".join(options.values())
    if columns and "question" not in layout.columns and not _has_question(columns, found, guess.unsure):
        raise InputError(
            f"{path.name} has no column that looks like a question; it has {column_words(columns)} "
            "(say which: --map question=COLUMN --map answer=COLUMN)"
        )
    renamed = {name: column for name, column in found.items() if name != column and column not in ABOUT_NAMES}
    if renamed:
        said = ", ".join(f"{name} ← {column}" for name, column in renamed.items())
        told.append(f"{said}; change with --map")
    return renamed, told


def _has_question(columns: list[str], found: Mapping[str, str], unsure: Mapping[str, Any]) -> bool:
    return "question" in found or "question" in unsure or any(name.startswith("question.") for name in columns)


def _first(path: Path, layout: FileLayout) -> list[TableRow]:
    rows = _rows(path, FileLayout(records=layout.records))
    return [row for row, _ in zip(rows, range(LOOKED_AT), strict=False) if not row.fault]


def _rows(path: Path, layout: FileLayout) -> Iterator[TableRow]:
    """The rows of a file under the names of fields. One that holds a response becomes a row for each question of it."""
    with open_rows(str(path), layout.records) as source:
        value: Callable[[Any], Any] = _cell_value if isinstance(source, CsvLines | XlsxSource) else lambda cell: cell
        for row in source.rows():
            if row.fault:
                yield row
                continue
            for one in _questions_of(row):
                data = {name: value(cell) for name, cell in layout.apply(one.data).items()}
                kept = {name: found for name, found in data.items() if found not in (None, "")}
                around = {name: one.around[name] for name in _AROUND if name in one.around}
                yield replace(one, data={**around, **kept})


def _questions_of(row: TableRow) -> list[TableRow]:
    """The row itself, or those of the questions in a response that it holds."""
    asks = any(isinstance(row.data.get(name), str) for name in ("question", "stem", "question_text"))
    if asks or not any(isinstance(value, dict | list) for value in row.data.values()) or _is_question(row.data):
        return [row]
    try:
        found = record_list(row.data)
    except InputError:
        return [row]
    if not found.path or not all(isinstance(one, Mapping) and _is_question(one) for one in found.records):
        return [row]
    around = {**row.around, **found.around}
    own = row.data.get("id") or row.data.get("request_id")  # without either, questions go by what they say
    return [
        TableRow(row.line, {**({"id": f"{own}/{place}"} if own else {}), **one}, around=around)
        for place, one in enumerate(found.records)
    ]


def _is_question(data: Mapping[str, Any]) -> bool:
    try:
        GeneratedQuestion.of(question_cells(data))
    except InputError:
        return False
    return True


def _cell_value(cell: Any) -> Any:
    """A cell without space around it; one that holds a list or an object is read as one."""
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    if text[:1] in ("[", "{"):
        try:
            return from_json(text, allow_inf_nan=False)
        except ValueError:
            return text  # a text that begins with a bracket
    return text


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name
