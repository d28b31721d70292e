"""Where cases come from: JSON lines, CSV or Parquet, read one at a time so that memory stays flat."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Protocol

from rubrica.engine.cases import BadLine, Case, read_cases
from rubrica.errors import RubricaError
from rubrica.extras import requires
from rubrica.model.context import LONGEST_TEXT

from .cells import case_from_cells

STDIN = "-"
BOM = b"\xef\xbb\xbf"
_DELIMITERS = ",;\t"


class CaseSource(Protocol):
    """A file of cases that is being read."""

    size: int | None  # how much there is to read; None where that cannot be told
    read: int  # how much of it has been read

    def cases(self) -> Iterator[Case | BadLine]: ...


class LineSource:
    """The lines of a file, one at a time, and how far reading has come. As cases, each is a JSON object."""

    def __init__(self, stream: BinaryIO, size: int | None) -> None:
        self.stream, self.size = stream, size
        self.read = 0  # bytes
        self.number = 0  # of the line last read

    def __iter__(self) -> Iterator[bytes]:
        for line in self.stream:
            first = self.number == 0
            self.number += 1
            self.read += len(line)
            yield line.removeprefix(BOM) if first else line

    def cases(self) -> Iterator[Case | BadLine]:
        return read_cases(self)


class CsvSource(LineSource):
    """A CSV file: a line of names, then a case a row. Cells may hold commas, quotes and newlines between quotes."""

    def cases(self) -> Iterator[Case | BadLine]:
        texts = (line.decode(errors="surrogateescape") for line in self)
        header = next(texts, "")
        names = _names(header)
        rows = csv.reader(texts, delimiter=_delimiter(header), strict=True)
        csv.field_size_limit(LONGEST_TEXT)
        number = 0
        while True:
            first = self.number + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                told = "a quote is opened and never closed" if "end of data" in str(error) else str(error)
                yield BadLine(first, f"not CSV: {told}")
                continue
            if any(cells):
                number += 1
                yield _row(names, cells, number, first)


def _delimiter(header: str) -> str:
    return max(_DELIMITERS, key=header.count)


def _names(header: str) -> list[str]:
    try:
        names = [name.strip() for name in next(csv.reader([header], delimiter=_delimiter(header)), [])]
    except csv.Error as error:
        raise RubricaError(f"the line of names of the CSV file cannot be read: {error} (save it as UTF-8)") from None
    if not any(names):
        raise RubricaError("the CSV file has no line of names, such as id,prompt,response")
    for i, name in enumerate(names):
        if name and name in names[:i]:
            raise RubricaError(f"the CSV file has two columns called {name!r}; rename one")
    if not {"response", "messages"} & set(names):
        raise RubricaError(f"the CSV file has no column `response` or `messages`; it has {', '.join(names)}")
    return names


def _row(names: list[str], cells: list[str], number: int, line: int) -> Case | BadLine:
    if len(cells) > len(names):
        return BadLine(
            line, f"{len(cells)} cells under {len(names)} names (put quotes around texts that hold a separator)"
        )
    if any("\udc80" <= char <= "\udcff" for cell in cells if not cell.isascii() for char in cell):
        return BadLine(line, "not UTF-8 text (save the file as UTF-8)")
    filled = {name: cell for name, cell in zip(names, cells, strict=False) if name and cell}
    return replace(case_from_cells(filled, number), line=line)


@contextmanager
def lines_of(source: str) -> Iterator[LineSource]:
    """The lines of a file, or of standard input for ``-``. The size is known for regular files only."""
    with _open_source(source) as (stream, size):
        yield LineSource(stream, size)


@contextmanager
def cases_of(source: str) -> Iterator[CaseSource]:
    """The cases of a file, by the end of its name: .csv and .tsv, .parquet, and JSON lines for all others."""
    suffix = Path(source).suffix.lower()
    if suffix in (".parquet", ".pq"):
        with requires("tables", source):
            from .parquet_source import ParquetSource  # late: polars takes half a second to load
        yield ParquetSource(Path(source))
        return
    with _open_source(source) as (stream, size):
        yield CsvSource(stream, size) if suffix in (".csv", ".tsv") else LineSource(stream, size)


def count_cases(source: str) -> int | None:
    """How many rows a file has, told without reading what is in them; None for standard input and pipes."""
    if source == STDIN or not Path(source).is_file():
        return None
    with cases_of(source) as opened:
        if isinstance(opened, CsvSource):
            texts = (line.decode(errors="replace") for line in opened)
            rows = csv.reader(texts, delimiter=_delimiter(next(texts, "")))
            csv.field_size_limit(LONGEST_TEXT)
            try:
                return sum(1 for cells in rows if any(cells))
            except csv.Error:
                return None
        if isinstance(opened, LineSource):
            return sum(1 for line in opened if not line.isspace())
        return opened.size


@contextmanager
def _open_source(source: str) -> Iterator[tuple[BinaryIO, int | None]]:
    if source == STDIN:
        yield sys.stdin.buffer, None
        return
    path = Path(source)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise RubricaError(f"{source} cannot be read: {error.strerror}") from None
    with stream:
        yield stream, path.stat().st_size if path.is_file() else None
