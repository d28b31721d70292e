"""Cases from Parquet files, a batch of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rubrica.engine.cases import BadLine, Case, case_from
from rubrica.errors import RubricaError

from .cells import json_or_text, structured
from .table_rows import TableRow

if TYPE_CHECKING:
    from .ranged_table import RangedTable

BATCH = 10_000
"""Rows in memory at once."""

UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""What polars raises on a file that is damaged; a panic, which is no Exception, on some kinds of damage."""


@contextmanager
def reading_parquet(path: Path) -> Iterator[None]:
    """Around whatever reads a file: what is wrong with it is told as a RubricaError."""
    try:
        yield
    except UNREADABLE as error:
        raise RubricaError(f"{path.name} cannot be read as Parquet: {error}") from None


class ParquetSource:
    """A Parquet file: a column for every key of a case. Progress is counted in rows."""

    def __init__(self, path: Path, ranged: RangedTable | None = None) -> None:
        """With `ranged`, the rows are there; the path tells only what they are."""
        self.read = 0
        self.notes: tuple[str, ...] = ()
        self._path, self._ranged = path, ranged
        with reading_parquet(path):
            self._frame = pl.scan_parquet(path)
            self._frame.collect_schema()
            self.size: int | None = self._frame.select(pl.len()).collect().item()

    def cases(self) -> Iterator[Case | BadLine]:
        for row in self.rows():
            yield case_from(row.data, row.line)

    def rows(self) -> Iterator[TableRow]:
        for start in range(0, self.size or 0, BATCH):  # a query for all of them would read far ahead
            frame = self._frame
            if self._ranged is not None:
                frame = pl.scan_parquet(self._ranged.window(start, min(start + BATCH, self.size or 0)).path)
            with reading_parquet(self._path):
                rows = frame.slice(start, BATCH).collect()
            for row in rows.iter_rows(named=True):
                self.read += 1
                cells = {name: plain_cell(name, cell) for name, cell in row.items() if cell is not None}
                yield TableRow(self.read, cells)

    def columns(self) -> list[str]:
        schema = self._frame.collect_schema()
        inner = [
            f"{name}.{field.name}"
            for name, kind in schema.items()
            if isinstance(kind, pl.Struct)
            for field in kind.fields
        ]
        return [*schema.names(), *inner]


def text_sizes(path: Path, rows: int) -> Iterator[int]:
    """How many bytes the texts of the rows so far have, a batch at a time, without any case being made of them."""
    size = 0
    for start in range(0, rows, BATCH):
        with reading_parquet(path):
            columns = pl.scan_parquet(path).slice(start, BATCH).collect().get_columns()
        size += sum(_text_bytes(column) for column in columns)
        yield size


def _text_bytes(column: pl.Series) -> int:
    """The bytes of all texts of a column. Equal texts share their memory here; as cases, each has its own."""
    kind = column.dtype
    if isinstance(kind, pl.Struct):
        return sum(_text_bytes(field) for field in column.struct.unnest().get_columns())
    if isinstance(kind, pl.List | pl.Array):
        return _text_bytes(column.explode())
    if kind == pl.String:
        return int(column.str.len_bytes().cast(pl.UInt64).sum())
    if kind == pl.Binary:
        return int(column.bin.size().cast(pl.UInt64).sum())
    return 0


def plain_cell(name: str, cell: Any) -> Any:
    """A cell as JSON would have it."""
    if isinstance(cell, str):
        return json_or_text(cell) if structured(name) and cell[:1] in ("{", "[") else cell
    return _values(cell)


def _values(cell: Any) -> Any:
    match cell:
        case dict():
            return {key: _values(value) for key, value in cell.items() if value is not None}
        case list():
            return [_values(value) for value in cell]
        case Decimal():
            return float(cell)
        case _:
            return cell
