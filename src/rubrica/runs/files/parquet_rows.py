"""Rows as columns of a Parquet file, which every table tool reads, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from rubrica.errors import RubricaError

from .atomic import write_atomically
from .rows import RunRow

DIMENSION, SECTION = "dimension.", "section."
CHUNK = 20_000
"""Rows that are held as Python objects at once."""
NAMES = "rubrica.names"
"""Metadata of the file: which columns of dimensions and sections belong to which rubric."""

PLAIN: dict[str, Any] = {
    "case": pl.String,
    "repeat": pl.Int64,
    "rubric": pl.String,
    "verdict": pl.String,
    "score": pl.Float64,
    "out_of": pl.Float64,
    "profile": pl.String,
    "group": pl.String,
    "offline": pl.Boolean,
    "errors": pl.Int64,
    "duration_ms": pl.Float64,
    "usd": pl.Float64,
    "input_tokens": pl.Int64,
    "output_tokens": pl.Int64,
    "reason": pl.String,
    "unscored": pl.List(pl.String),
    "gates": pl.List(pl.String),
    "fired": pl.List(pl.String),
}
"""The columns every file has; those of dimensions and sections come after them."""


def write_columns(rows: Iterable[RunRow], path: Path) -> int:
    """Write rows as a Parquet file, whole or not at all; how many they were."""
    names: dict[str, dict[str, None]] = {}

    def noted() -> Iterator[RunRow]:
        for row in rows:
            names.setdefault(row.rubric, {}).update(dict.fromkeys(_names(row)))
            yield row

    frame = frame_of_rows(noted())
    told = msgspec.json.encode({rubric: list(own) for rubric, own in names.items()}).decode()
    store(frame, path, metadata={NAMES: told})
    return frame.height


def frame_of_rows(rows: Iterable[RunRow]) -> pl.DataFrame:
    """Any number of rows as one frame, made a chunk at a time."""
    waiting = iter(rows)
    chunks = []
    while chunk := list(islice(waiting, CHUNK)):
        chunks.append(frame_of(chunk))
    return pl.concat(chunks, how="diagonal") if chunks else pl.DataFrame(schema=PLAIN)


def store(frame: pl.DataFrame, path: Path, **how: Any) -> None:
    """Write a table, whole or not at all."""
    try:
        with write_atomically(path) as place:
            frame.write_parquet(place, **how)
    except pl.exceptions.PolarsError as error:
        reason = f"{path} cannot be written: {error}"
        raise RubricaError(f"{reason}; what was finished before is safe, and the same command goes on") from None


def read_columns(path: Path) -> Iterator[RunRow]:
    """The rows of such a file, or of a folder of them, a chunk at a time."""
    with readable(path):
        yield from _rows(path)


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """A table that is torn or gone while it is read is told as such."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise RubricaError(f"{path} cannot be read: {error} (--no-resume judges anew)") from None


def _rows(path: Path) -> Iterator[RunRow]:
    frame = pl.scan_parquet(path)
    names = frame.collect_schema().names()
    missing = [name for name in PLAIN if name not in names]
    if missing:
        raise RubricaError(f"{path} holds no evaluations: it has no column {missing[0]} (`rubrica run` writes them)")
    by_rubric = {rubric: set(own) for rubric, own in msgspec.json.decode(_metadata(path)).items()}
    others = {name for name in names if name.startswith((DIMENSION, SECTION))}
    count = frame.select(pl.len()).collect().item()
    for start in range(0, count, CHUNK):  # a query for all of them would read far ahead
        for data in frame.slice(start, CHUNK).collect().iter_rows(named=True):
            yield _row(data, by_rubric.get(data["rubric"], others))


def _metadata(path: Path) -> str:
    file = next(path.glob("*.parquet"), None) if path.is_dir() else path
    return pl.read_parquet_metadata(file).get(NAMES, "{}") if file is not None else "{}"


def _names(row: RunRow) -> list[str]:
    return [*(DIMENSION + name for name in row.dimensions), *(SECTION + name for name in row.sections)]


def frame_of(rows: list[RunRow]) -> pl.DataFrame:
    """Rows as columns."""
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in PLAIN}
    schema = dict(PLAIN)
    for prefix, field in ((DIMENSION, "dimensions"), (SECTION, "sections")):
        found = [getattr(row, field) for row in rows]
        for name in dict.fromkeys(name for values in found for name in values):
            columns[prefix + name] = [values.get(name) for values in found]
            schema[prefix + name] = pl.Float64
    return pl.DataFrame(columns, schema=schema, strict=False)


def _row(data: dict[str, Any], own: set[str]) -> RunRow:
    plain = {name: data[name] for name in PLAIN}
    lists = {name: tuple(plain[name] or ()) for name in ("unscored", "gates", "fired")}
    values = {
        field: {name.removeprefix(prefix): data[name] for name in data if name in own and name.startswith(prefix)}
        for prefix, field in ((DIMENSION, "dimensions"), (SECTION, "sections"))
    }
    return RunRow(**{**plain, **lists, **values})
