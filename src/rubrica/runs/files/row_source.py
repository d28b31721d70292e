"""Files of rows, by what they are: JSON lines, a JSON document with a list in it, CSV, XLSX or Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from pydantic_core import from_json

from rubrica.errors import InputError, JsonError, RubricaError
from rubrica.extras import requires
from rubrica.jsontext import decode_json

from .column_names import CASE_NAMES, QUESTION_NAMES, plain_name
from .json_lists import RecordList, record_list
from .layout import columns_of
from .table_rows import TableRow, csv_header, csv_rows, json_rows
from .text_encoding import BOM, UTF8, TextEncoding, decode_text, encoding_of, utf8_lines
from .xlsx_rows import sheet_columns, sheet_note, sheet_rows

if TYPE_CHECKING:
    from .ranged_table import RangedTable

STDIN = "-"
CSV_ENDINGS, PARQUET_ENDINGS, XLSX_ENDINGS = (".csv", ".tsv"), (".parquet", ".pq"), (".xlsx", ".xlsm", ".xls")
LARGEST_DOCUMENT = 200_000_000
"""Bytes of a JSON document, which is held in memory whole. JSON lines, CSV, XLSX and Parquet are not."""
_DEEPEST = 200
_OWN = frozenset({"prompt", "response", "messages", "round_history", "custom_metrics", "question", "stem"})
"""Keys of a record: an object that has one is no wrapping around a list."""
_VAGUE = frozenset({"text", "key", "correct", "summary", "input", "output"})
_USUAL = frozenset(
    plain_name(name)
    for name in (
        *QUESTION_NAMES["question"],
        *QUESTION_NAMES["options"],
        *CASE_NAMES["prompt"],
        *CASE_NAMES["response"],
    )
    if name not in _VAGUE
)
"""Names that tell a list of records from other lists of a document."""


class RowSource(Protocol):
    """A file that is being read."""

    @property
    def size(self) -> int | None: ...  # how much there is to read; None where that cannot be told

    @property
    def read(self) -> int: ...  # how much of it has been read

    @property
    def notes(self) -> tuple[str, ...]: ...  # what is worth telling about how it is read

    def rows(self) -> Iterator[TableRow]: ...

    def columns(self) -> list[str]: ...


class LineSource:
    """The lines of a file as UTF-8, one at a time, and how far reading has come. Each is a row of JSON."""

    def __init__(self, stream: BinaryIO, size: int | None, encoding: TextEncoding = UTF8) -> None:
        self.stream, self.size, self.encoding = stream, size, encoding
        self.read = 0  # bytes
        self.number = 0  # of the line last read

    @property
    def notes(self) -> tuple[str, ...]:
        return (self.encoding.note,) if self.encoding.note else ()

    def __iter__(self) -> Iterator[bytes]:
        for line, length in utf8_lines(self.stream, self.encoding):
            self.number += 1
            self.read += length
            yield line

    def rows(self) -> Iterator[TableRow]:
        return json_rows(self)

    def columns(self) -> list[str]:
        return columns_of(self.rows())


class CsvLines(LineSource):
    """A CSV file: a line of names, then a row each."""

    def rows(self) -> Iterator[TableRow]:
        return csv_rows(self)

    def columns(self) -> list[str]:
        return [name for name in csv_header(iter(self))[0] if name]


class DocumentSource:
    """A JSON document whose records stand in one list of it. Progress is counted in records."""

    def __init__(self, found: RecordList, encoding: TextEncoding = UTF8) -> None:
        self.size: int | None = len(found.records)
        self.read = 0
        self._found = found
        count = f"{len(found.records):,} records are" if len(found.records) != 1 else "1 record is"
        place = f"{count} in {found.path}" if found.path else ""
        self.notes = tuple(note for note in (encoding.note, place) if note)

    def rows(self) -> Iterator[TableRow]:
        for number, record in enumerate(self._found.records, 1):
            self.read = number
            if isinstance(record, Mapping):
                yield TableRow(number, record, around=self._found.around)
            else:
                yield TableRow(number, {}, f"a JSON object is wanted, not {type(record).__name__}")

    def columns(self) -> list[str]:
        return columns_of(TableRow(0, record) for record in self._found.records if isinstance(record, Mapping))


class XlsxSource:
    """A sheet of a workbook. How many rows it has is known when all are read."""

    def __init__(self, path: Path, sheet: str | None) -> None:
        self.size: int | None = None
        self.read = 0
        self._path, self._sheet = path, sheet
        note = sheet_note(path, sheet)
        self.notes = (note,) if note else ()

    def rows(self) -> Iterator[TableRow]:
        for row in sheet_rows(self._path, self._sheet):
            self.read += 1
            yield row

    def columns(self) -> list[str]:
        return sheet_columns(self._path, self._sheet)


@contextmanager
def open_rows(source: str, records: str | None = None, ranged: RangedTable | None = None) -> Iterator[RowSource]:
    """The rows of a file by the end of its name: .csv and .tsv, .xlsx, .parquet; others are JSON, a row a line or one
    document. `records` names the list of a document or the sheet of a workbook; `ranged` has the rows of a Parquet file
    that lies elsewhere."""
    path, ending = Path(source), Path(source).suffix.lower()
    if ending in PARQUET_ENDINGS:
        with requires("tables", source):
            from .parquet_source import ParquetSource  # late: polars takes half a second to load
        yield ParquetSource(path, ranged)
    elif ending in XLSX_ENDINGS:
        yield XlsxSource(path, records)
    elif ending not in CSV_ENDINGS and (document := read_document(source, records)) is not None:
        yield document
    else:
        with open_lines(source) as lines:
            yield CsvLines(lines.stream, lines.size, lines.encoding) if ending in CSV_ENDINGS else lines


@contextmanager
def open_lines(source: str, *, any_encoding: bool = True) -> Iterator[LineSource]:
    """The lines of a file, or of standard input for ``-``. The size is known for regular files only."""
    if source == STDIN:
        yield LineSource(sys.stdin.buffer, None)
        return
    path = Path(source)
    try:
        regular = path.is_file()
        encoding = encoding_of(path) if regular and any_encoding else UTF8
        stream = path.open("rb")
    except OSError as error:
        raise RubricaError(f"{source} cannot be read: {error.strerror}") from None
    with stream:
        yield LineSource(stream, path.stat().st_size if regular else None, encoding)


def read_document(source: str, records: str | None = None) -> DocumentSource | None:
    """The list of records in a file that is one JSON document; None where it is JSON lines."""
    path = Path(source)
    if source == STDIN or not path.is_file():
        return None
    named = path.suffix.lower() == ".json"
    with open_lines(source) as lines:
        filled = (line for line in lines if line.strip())
        first = next(filled, b"").strip()
        alone = next(filled, None) is None
    if not first or (not named and not records and not _may_be_document(first, alone)):
        return None
    size = path.stat().st_size
    if size > LARGEST_DOCUMENT:
        if not named and first not in (b"[", b"{"):
            return None
        message = f"{path.name} is one JSON document of {size:,} bytes (at most {LARGEST_DOCUMENT:,}"
        raise InputError(f"{message}; write it as JSON lines, which are read one at a time)")
    text, encoding = "", UTF8
    try:
        text, encoding = decode_text(path.read_bytes())
        data = decode_json(text, deepest=_DEEPEST)
    except (JsonError, UnicodeDecodeError) as error:
        if not named or _parsed(first) is not None:
            return None  # lines of JSON, some of them broken
        raise InputError(f"{path.name} is not JSON: {error}") from None
    if isinstance(data, dict) and not records and _OWN & data.keys():
        return DocumentSource(RecordList("", [data]), encoding)
    try:
        return DocumentSource(record_list(data, records, _USUAL), encoding)
    except InputError as error:
        raise InputError(f"{path.name}: {error}") from None


def is_plain(source: str) -> bool:
    """Whether a file of JSON lines or Parquet is read as it lies: UTF-8, and no document."""
    path, ending = Path(source), Path(source).suffix.lower()
    if ending in PARQUET_ENDINGS:
        return True
    if ending in (*CSV_ENDINGS, *XLSX_ENDINGS) or not path.is_file():
        return False
    return encoding_of(path).is_utf8 and read_document(source) is None


def is_line_file(head: bytes, ending: str) -> bool:
    """Whether the beginning of a file tells that all of it is lines in UTF-8, and where its columns are named."""
    first, _, rest = head.removeprefix(BOM).lstrip().partition(b"\n")
    if not rest.strip() or not decode_text(head[: head.rfind(b"\n") + 1])[1].is_utf8:
        return False
    return ending in CSV_ENDINGS or isinstance(_parsed(first), dict)


def first_rows(source: RowSource, count: int = 20) -> list[TableRow]:
    """The first rows that can be read."""
    return list(islice((row for row in source.rows() if not row.fault), count))


def _may_be_document(first: bytes, alone: bool) -> bool:
    """Whether a file that is not called .json may be one document, by its first line."""
    if first[:1] not in (b"[", b"{"):
        return False
    data = _parsed(first)
    if data is None:
        return not alone or first[:1] == b"["
    if isinstance(data, list):
        return alone
    return alone and not _OWN & data.keys() and any(_holds_objects(value) for value in data.values())


def _holds_objects(value: object) -> bool:
    if isinstance(value, dict):
        return any(_holds_objects(inner) for inner in value.values())
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _parsed(line: bytes) -> Any:
    try:
        return from_json(line, allow_inf_nan=False)
    except ValueError:
        return None
