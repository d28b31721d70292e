"""Writes tables for people and programs, by the end of the file's name: .csv, .tsv, .xlsx, .parquet or .jsonl."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from rubrica.errors import InputError, RubricaError
from rubrica.extras import requires

from .atomic import write_atomically
from .xlsx_writer import XlsxWriter

ENDINGS = (".csv", ".tsv", ".xlsx", ".parquet", ".jsonl")
CHUNK = 20_000
"""Rows of a Parquet file that are held as Python objects at once."""
_STEERS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d[\d.,]*(?:[eE][+-]?\d+)?%?")

Row = Mapping[str, Any]


def write_table(path: Path, names: Sequence[str], rows: Iterable[Row]) -> int:
    """Write rows, whole or not at all; how many they were. Numbers stay numbers, and no text becomes a formula."""
    ending = check_ending(path)
    counted = _Counted(rows)
    with write_atomically(path) as place:
        match ending:
            case ".csv" | ".tsv":
                _write_csv(place, names, counted, "\t" if ending == ".tsv" else ",")
            case ".xlsx":
                with XlsxWriter(place, names) as book:
                    for row in counted:
                        book.write([_plain(row.get(name)) for name in names])
            case ".jsonl":
                with place.open("wb") as stream:
                    for row in counted:
                        stream.write(msgspec.json.encode({name: row.get(name) for name in names}) + b"\n")
            case _:
                _write_parquet(place, names, counted)
    return counted.count


def check_ending(path: Path) -> str:
    """The end of a file's name, where a table can be written so."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InputError(f"{path}: tables are written as {', '.join(ENDINGS)}")
    return ending


def spreadsheet_text(text: str) -> str:
    """A text that no spreadsheet takes for a formula when it opens a CSV file; numbers are left as they are.

    >>> spreadsheet_text("=1+1"), spreadsheet_text("-5"), spreadsheet_text("@home"), spreadsheet_text("a = b")
    ("'=1+1", '-5', "'@home", 'a = b')
    """
    return f"'{text}" if text.startswith(_STEERS) and not _NUMBER.fullmatch(text) else text


class _Counted:
    def __init__(self, rows: Iterable[Row]) -> None:
        self.count = 0
        self._rows = rows

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.count += 1
            yield row


def _write_csv(place: Path, names: Sequence[str], rows: Iterable[Row], delimiter: str) -> None:
    with place.open("w", encoding="utf-8-sig", errors="replace", newline="") as stream:  # spreadsheets want the mark
        writer = csv.writer(stream, delimiter=delimiter)
        writer.writerow([spreadsheet_text(name) for name in names])
        for row in rows:
            cells = (_plain(row.get(name)) for name in names)
            writer.writerow([spreadsheet_text(cell) if isinstance(cell, str) else cell for cell in cells])


def _write_parquet(place: Path, names: Sequence[str], rows: Iterable[Row]) -> None:
    with requires("tables", ".parquet"):
        import polars as pl  # late: it takes half a second to load

        from .parquet_rows import store
    waiting = iter(rows)
    chunks = []
    while chunk := list(islice(waiting, CHUNK)):
        columns = {name: [row.get(name) for row in chunk] for name in names}
        chunks.append(pl.DataFrame(columns, strict=False))
    try:
        store(
            pl.concat(chunks, how="vertical_relaxed") if chunks else pl.DataFrame({name: [] for name in names}), place
        )
    except pl.exceptions.PolarsError as error:
        raise RubricaError(f"{place} cannot be written: {error}") from None


def _plain(value: Any) -> Any:
    """A value as one cell: lists with semicolons, objects as JSON."""
    match value:
        case None:
            return ""
        case list() | tuple():
            return "; ".join(str(item) for item in value)
        case dict():
            return msgspec.json.encode(value).decode()
    return value
