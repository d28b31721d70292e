"""Files that teachers have: rows from JSON lines or CSV, each with its line, a broken one told and passed over."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import from_json

from rubrica.errors import RubricaError

LONGEST_CELL = 10_000_000
"""Characters."""

_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row; where it could not be read, `data` is empty and `fault` says why."""

    line: int  # 1-based
    data: Mapping[str, Any]
    fault: str = ""


def read_rows(path: Path) -> Iterator[TableRow]:
    """The rows of a file: CSV by the end of its name (.csv, .tsv), JSON lines otherwise. Empty ones are left out."""
    try:
        stream = path.open("rb")
    except OSError as error:
        raise RubricaError(f"{path} cannot be read: {error.strerror}") from None
    with stream:
        yield from _cells(stream) if path.suffix.lower() in (".csv", ".tsv") else _objects(stream)


def _objects(stream: BinaryIO) -> Iterator[TableRow]:
    for number, line in enumerate(stream, 1):
        line = line.removeprefix(_BOM) if number == 1 else line
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


def _cells(stream: BinaryIO) -> Iterator[TableRow]:
    """Rows under a line of names. A cell that is empty is absent; one that holds a list or an object is read as one."""
    texts = (line.decode("utf-8-sig" if number == 0 else "utf-8", "replace") for number, line in enumerate(stream))
    header = next(texts, "")
    delimiter = max(",;\t", key=header.count)
    names = [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
    if not any(names):
        raise RubricaError("the CSV file has no line of names, such as question,options,answer")
    csv.field_size_limit(LONGEST_CELL)
    rows = csv.reader(texts, delimiter=delimiter, strict=True)
    while True:
        first = rows.line_num + 2
        try:
            cells = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            yield TableRow(first, {}, f"not CSV: {error}")
            continue
        if len(cells) > len(names):
            yield TableRow(first, {}, f"{len(cells)} cells under {len(names)} names (put quotes around commas)")
        elif any(cell.strip() for cell in cells):
            filled = zip(names, cells, strict=False)
            yield TableRow(first, {name: _value(cell) for name, cell in filled if name and cell.strip()})


def _value(cell: str) -> Any:
    text = cell.strip()
    if text[:1] in ("[", "{"):
        try:
            return from_json(text, allow_inf_nan=False)
        except ValueError:
            return text  # a text that begins with a bracket
    return text
