"""Where cases come from: JSON, CSV, XLSX or Parquet, read one at a time so that memory stays flat."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

import msgspec

from rubrica.engine.cases import BadLine, Case, case_from, read_case
from rubrica.errors import InputError
from rubrica.model.context import Context

from .cells import TEXT_KEYS, case_from_cells
from .column_names import CASE_NAMES, QUESTION_NAMES, guess_columns
from .layout import AS_IT_IS, FileLayout, UnmappedError
from .question_cells import QuestionCells
from .row_source import (
    STDIN,
    CsvLines,
    LineSource,
    RowSource,
    XlsxSource,
    first_rows,
    open_lines,
    open_rows,
)
from .table_rows import TableRow, count_csv_rows
from .text_encoding import BOM

if TYPE_CHECKING:
    from .ranged_table import RangedTable

__all__ = ["BOM", "STDIN", "CaseSource", "LineSource", "cases_of", "count_cases", "lines_of"]

_JUDGED = frozenset({"response", "messages"})
_ENOUGH = _JUDGED | set(Context.model_fields) - {"prompt"}
"""Keys one of which a line of JSON has to have, to be a case as it is."""
_RESPONSE = "response."


def lines_of(source: str) -> AbstractContextManager[LineSource]:
    """The lines of a file that Rubrica or its users wrote, in UTF-8."""
    return open_lines(source, any_encoding=False)


class CaseSource(Protocol):
    """A file of cases that is being read."""

    @property
    def size(self) -> int | None: ...  # how much there is to read; None where that cannot be told

    @property
    def read(self) -> int: ...  # how much of it has been read

    @property
    def notes(self) -> tuple[str, ...]: ...  # what is worth telling about how it is read

    def cases(self) -> Iterator[Case | BadLine]: ...


class FileCases(CaseSource, Protocol):
    """The cases of one file. Lines are numbered from `before` on, which is how many the files before it have."""

    @property
    def lines(self) -> int: ...  # how many there are, where all were read


class JsonCases(LineSource):
    """JSON lines, each a case."""

    before = 0

    def cases(self) -> Iterator[Case | BadLine]:
        for line in self:
            if line.strip():
                yield read_case(line, self.before + self.number)

    @property
    def lines(self) -> int:
        return self.number


class TableCases:
    """The rows of a table, each a case; its columns may have other names."""

    def __init__(self, source: RowSource, layout: FileLayout, questions: QuestionCells | None) -> None:
        self._source, self._layout, self._questions = source, layout, questions
        self.before = 0
        self._last = 0  # the line of the last row

    @property
    def size(self) -> int | None:
        return self._source.size

    @property
    def read(self) -> int:
        return self._source.read

    @property
    def notes(self) -> tuple[str, ...]:
        return self._source.notes

    def cases(self) -> Iterator[Case | BadLine]:
        for number, row in enumerate(self._source.rows(), 1):
            self._last, line = row.line, self.before + row.line
            yield BadLine(line, row.fault) if row.fault else self._case(row, line, self.before + number)

    @property
    def lines(self) -> int:
        return self._source.number if isinstance(self._source, LineSource) else self._last

    def _case(self, row: TableRow, line: int, number: int) -> Case | BadLine:
        cells = self._layout.apply(row.data)
        inside = {name.removeprefix(_RESPONSE): cells.pop(name) for name in list(cells) if name.startswith(_RESPONSE)}
        if inside and "response" not in cells:
            try:
                cells["response"] = inside if self._questions is None else self._questions.question(inside)
            except InputError as error:
                return BadLine(line, str(error))
        for name in TEXT_KEYS & cells.keys():
            if isinstance(cells[name], int | float):
                cells[name] = str(cells[name])
        as_cells = isinstance(self._source, CsvLines | XlsxSource)  # others have more than texts of their own
        found = (case_from_cells if as_cells else case_from)(cells, number)
        return msgspec.structs.replace(found, line=line) if isinstance(found, Case) else replace(found, line=line)


class StreamedFile(NamedTuple):
    """All bytes of a file that lies elsewhere, from its first on."""

    stream: BinaryIO
    size: int


@contextmanager
def cases_of(
    source: str,
    layout: FileLayout = AS_IT_IS,
    before: int = 0,
    streamed: StreamedFile | RangedTable | None = None,
) -> Iterator[FileCases]:
    """The cases of a file, by the end of its name and what is in it; so many lines stand before it in other files.
    With `streamed`, the source has only the first lines, or the footer, which tell how all of it is read.

    An UnmappedError names the columns of a file that has none for what is judged.
    """
    ranged = None if isinstance(streamed, StreamedFile) else streamed
    with open_rows(source, layout.records, ranged) as rows:
        if isinstance(streamed, StreamedFile) and isinstance(rows, LineSource):
            rows.stream, rows.size = streamed
        if type(rows) is LineSource and not layout.columns:
            _refuse_unmapped_lines(source)
            lines = JsonCases(rows.stream, rows.size, rows.encoding)
            lines.before = before
            yield lines
            return
        if source != STDIN:
            columns = _columns(source, rows)
            layout.check(columns)
            names = {*columns, *layout.columns, *(name.partition(".")[0] for name in layout.columns)}
            if not _JUDGED & names:
                raise UnmappedError(Path(source).name, columns)
        table = TableCases(rows, layout, _questions(source, layout))
        table.before = before
        yield table


def count_cases(source: str, layout: FileLayout = AS_IT_IS) -> int | None:
    """How many rows a file has, told without reading what is in them; None for standard input and pipes."""
    if source == STDIN or not Path(source).is_file():
        return None
    with open_rows(source, layout.records) as opened:
        if isinstance(opened, CsvLines):
            return count_csv_rows(opened)
        if isinstance(opened, LineSource):
            return sum(1 for line in opened if not line.isspace())
        return opened.size


def suggested_map(columns: Collection[str], *, question: bool) -> dict[str, str]:
    """What a file without usable names could be mapped by: to a question that is judged, or to prompt and response.

    >>> suggested_map(["Question", "Choices", "Key"], question=True)
    {'response.question': 'Question', 'response.options': 'Choices', 'response.answer': 'Key'}
    >>> suggested_map(["Input", "Output"], question=False)
    {'prompt': 'Input', 'response': 'Output'}
    """
    names = [name for name in columns if "." not in name]
    if not question:
        return dict(guess_columns(names, CASE_NAMES).columns)
    return QuestionCells.suggested(guess_columns(names, QUESTION_NAMES), names)


def _columns(source: str, rows: RowSource) -> list[str]:
    """The columns of a file. Lines are read once only, so their names are looked up in a file that is opened anew."""
    if not isinstance(rows, LineSource):
        return rows.columns()
    with open_rows(source) as again:
        return again.columns()


def _questions(source: str, layout: FileLayout) -> QuestionCells | None:
    """How questions are read from cells, where the response is mapped from the parts of one."""
    if not any(name.startswith(_RESPONSE) for name in layout.columns):
        return None
    if source == STDIN:
        return QuestionCells(layout.key_base)
    with open_rows(source, layout.records) as rows:
        applied = (layout.apply(row.data) for row in rows.rows() if not row.fault)
        found = (
            {name.removeprefix(_RESPONSE): cell for name, cell in cells.items() if name.startswith(_RESPONSE)}
            for cells in applied
        )
        return QuestionCells.of(found, layout.key_base)


def _refuse_unmapped_lines(source: str) -> None:
    """Refuse JSON lines none of which says anything that is judged, but under names that others use for it."""
    if source == STDIN or not Path(source).is_file():
        return
    with open_rows(source) as rows:
        first = first_rows(rows)
    columns = list(dict.fromkeys(name for row in first for name in row.data))
    if first and not any(_ENOUGH & row.data.keys() for row in first):
        guess = guess_columns(columns, CASE_NAMES).columns
        if "response" in guess or "question" in guess_columns(columns, QUESTION_NAMES).columns:
            raise UnmappedError(Path(source).name, columns)
