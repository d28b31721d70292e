"""Rows of tables as people have them: each with its line, a broken one told and passed over."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import msgspec
from pydantic_core import from_json

from rubrica.errors import RubricaError
from rubrica.model.context import LONGEST_TEXT

DELIMITERS = ",;\t|"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
LONGEST_HEADER = 100_000
"""Characters."""


class TableRow(msgspec.Struct, frozen=True):
    """One row; where it could not be read, `data` is empty and `fault` says why."""

    line: int  # 1-based
    data: Mapping[str, Any]
    fault: str = ""
    around: Mapping[str, Any] = msgspec.field(default_factory=dict)  # what a JSON document says of all its records


class NumberedLines(Protocol):
    """Lines of a file, and the number of the one last read."""

    number: int

    def __iter__(self) -> Iterator[bytes]: ...


def json_rows(lines: Iterable[bytes]) -> Iterator[TableRow]:
    """JSON lines; empty ones are left out."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            data = from_json(line, allow_inf_nan=False)
        except ValueError as error:
            yield TableRow(number, {}, f"not JSON: {error}")
            continue
        if isinstance(data, dict):
            yield TableRow(number, data)
        else:
            yield TableRow(number, {}, f"a JSON object is wanted, not {type(data).__name__}")


def csv_header(lines: Iterator[bytes]) -> tuple[list[str], str]:
    """The names of the columns, and what separates them. Empty lines above it are passed over, and so is Excel's
    line ``sep=;``."""
    header = ""
    for line in lines:
        text = line.decode(errors="surrogateescape")
        if text.strip() and not text.lower().startswith("sep="):
            header = text
            break
    while header.count('"') % 2 and len(header) < LONGEST_HEADER and (further := next(lines, b"")):
        header += further.decode(errors="surrogateescape")
    delimiter = max(DELIMITERS, key=header.count)
    try:
        cells = next(csv.reader(_LINE.findall(header), delimiter=delimiter), [])
    except csv.Error as error:
        way_out = "save it as UTF-8, with ordinary line ends"
        raise RubricaError(f"the line of names of the CSV file cannot be read: {error} ({way_out})") from None
    names = [" ".join(name.split()) for name in cells]
    if not any(names):
        raise RubricaError("the CSV file has no line of names, such as id,prompt,response")
    for i, name in enumerate(names):
        if name and name in names[:i]:
            raise RubricaError(f"the CSV file has two columns called {name!r}; rename one")
    return names, delimiter


def csv_rows(lines: NumberedLines) -> Iterator[TableRow]:
    """Rows under a line of names. Cells may hold separators, quotes and newlines between quotes; empty ones are
    absent."""
    waiting = iter(lines)
    names, delimiter = csv_header(waiting)
    csv.field_size_limit(LONGEST_TEXT)
    rows = csv.reader((line.decode(errors="surrogateescape") for line in waiting), delimiter=delimiter, strict=True)
    while True:
        first = lines.number + 1
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            told = "a quote is opened and never closed" if "end of data" in str(error) else str(error)
            yield TableRow(first, {}, f"not CSV: {told}")
            continue
        if any(cells):
            yield _row(names, cells, first)


def count_csv_rows(lines: Iterable[bytes]) -> int | None:
    """How many rows there are; None where that cannot be told."""
    waiting = iter(lines)
    try:
        _, delimiter = csv_header(waiting)
        rows = csv.reader((line.decode(errors="replace") for line in waiting), delimiter=delimiter)
        csv.field_size_limit(LONGEST_TEXT)
        return sum(1 for cells in rows if any(cells))
    except (csv.Error, RubricaError):
        return None


def _row(names: list[str], cells: list[str], line: int) -> TableRow:
    if any(cell for cell in cells[len(names) :]):
        said = f"{len(cells)} cells under {len(names)} names (put quotes around texts that hold a separator)"
        return TableRow(line, {}, said)
    if any("\udc80" <= char <= "\udcff" for cell in cells if not cell.isascii() for char in cell):
        return TableRow(line, {}, "not UTF-8 text (save the file as UTF-8)")
    return TableRow(line, {name: cell for name, cell in zip(names, cells, strict=False) if name and cell})
