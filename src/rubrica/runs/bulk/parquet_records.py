"""Rows of a Parquet file as records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import polars as pl

from rubrica.engine.cases import BadLine, Case, case_from, id_of
from rubrica.model.context import LONGEST_TEXT
from rubrica.model.evidence import Field
from rubrica.runs.files.parquet_source import plain_cell

from .chunk import Chunk
from .records import Records
from .simple_records import FIELDS, NEVER_NAMED, NOT_SIMPLE


def from_frame(frame: pl.DataFrame, first: int, names: frozenset[str]) -> Records:
    """Read rows of a table; `first` is the number of the first of them, `names` are those to keep of each record."""
    simple = _simple(frame, names)
    if simple.all():
        numbers = range(first, first + frame.height)
        chunk = _chunk(frame, numbers, names) if frame.height else None
        return Records(chunk, [], lambda row: _case(frame, row, first))
    kept = simple.arg_true().to_list()
    odd = [_case(frame, row, first) for row in (~simple).arg_true().to_list()]
    chunk = _chunk(frame.filter(simple), [first + row for row in kept], names) if kept else None
    return Records(chunk, odd, lambda row: _case(frame, kept[row], first))


def row_case(row: dict[str, Any], number: int) -> Case | BadLine:
    """The case that one row holds; `number` is the row's, from 1."""
    return case_from({name: plain_cell(name, cell) for name, cell in row.items() if cell is not None}, number)


def _case(frame: pl.DataFrame, row: int, first: int) -> Case | BadLine:
    return row_case(frame.row(row, named=True), first + row)


def _simple(frame: pl.DataFrame, names: frozenset[str]) -> pl.Series:
    """Which rows are simple."""
    schema = frame.schema
    metrics = schema.get("custom_metrics", pl.Struct([]))
    inside = metrics.to_schema() if isinstance(metrics, pl.Struct) else {}
    types: list[Any] = [schema[name] for name in names - NEVER_NAMED if name in schema]
    types += [inside[name] for name in names if name in inside]
    texts = [name for name in FIELDS if name in schema]
    if (
        not isinstance(metrics, pl.Struct)
        or any(schema[name] != pl.String for name in texts)
        or not all(_is_plain(dtype) for dtype in types)
    ):
        return pl.repeat(False, frame.height, eager=True)
    conditions = [pl.col(name).is_null() for name in schema if name in NOT_SIMPLE]
    conditions += [pl.col(name).str.len_bytes().fill_null(0) <= LONGEST_TEXT for name in texts]
    every = pl.repeat(True, frame.height, dtype=pl.Boolean)
    return frame.select(pl.all_horizontal(every, *conditions)).to_series()


def _is_plain(dtype: pl.DataType) -> bool:
    return dtype.is_integer() or dtype.is_float() or dtype in (pl.String, pl.Boolean, pl.Null)


def _chunk(frame: pl.DataFrame, numbers: Sequence[int], names: frozenset[str]) -> Chunk:
    texts: dict[Field, Callable[[], Sequence[str]]] = {
        name: partial(_texts, frame[name]) for name in FIELDS if name in frame.columns
    }
    inside = frame["custom_metrics"].struct.unnest() if "custom_metrics" in frame.columns else pl.DataFrame()
    given = {}
    for name in names:
        columns = [inside[name]] if name in inside.columns else []
        columns += [frame[name]] if name in frame.columns and name not in NEVER_NAMED else []
        if columns:
            given[name] = _first_given([column.to_list() for column in columns])
    return Chunk(_ids(frame, numbers), numbers, texts, given)


def _texts(column: pl.Series) -> Sequence[str]:
    return (column.fill_null("") if column.null_count() else column).to_list()


def _first_given(columns: list[list[Any]]) -> list[Any]:
    if len(columns) == 1:
        return columns[0]
    return [other if one is None else one for one, other in zip(*columns, strict=True)]


def _ids(frame: pl.DataFrame, numbers: Sequence[int]) -> Any:
    """The names of the cases: their ids as text, or else the number of their row."""
    if "id" not in frame.columns:
        return [str(number) for number in numbers]
    ids = frame["id"]
    if ids.dtype == pl.String and not ids.null_count() and not (ids == "").any():
        return ids
    return [id_of(plain_cell("id", found), number) for found, number in zip(ids.to_list(), numbers, strict=True)]
