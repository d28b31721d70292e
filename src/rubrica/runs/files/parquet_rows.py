"""Rows as columns of a Parquet file, which every table tool reads, and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

import msgspec
import polars as pl
from polars.io.plugins import register_io_source

from rubrica.errors import RubricaError

from .atomic import write_atomically
from .rows import RunRow

DIMENSION, SECTION = "dimension.", "section."
BY_NAME = {
    DIMENSION: "dimensions",
    SECTION: "sections",
    "earned.": "earned",
    "possible.": "possible",
    "criteria.": "counted",
}
"""Columns of values by name: how they begin, and where a row has them."""
POSITIONS = "positions"
CHUNK = 5_000
"""Rows that are held as Python objects at once."""
ROW_GROUP = 10_000
"""Rows of a file that stand together: fewer, and what is told of each group grows with the file; more, and they are
held at once."""
NAMES = "rubrica.names"
"""Metadata of the file: which columns of dimensions and sections belong to which rubric."""

LISTS = ("unscored", "gates", "fired")
LIST = pl.List(pl.String)
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
    **dict.fromkeys(LISTS, LIST),
}
"""The columns every file has; those of dimensions and sections come after them."""
LATER: dict[str, Any] = dict.fromkeys(("profile_confidence", "right", "score_low", "score_high"), pl.Float64)
"""Columns that a file of an earlier version lacks."""


class ColumnsWriter:
    """Writes rows as a Parquet file, whole or not at all. Those of a long run wait in files beside it, not in memory.

    Used in a `with`, what was given is in the file when that ends without an error; else store and close it.
    """

    def __init__(self, path: Path) -> None:
        self.count = 0
        self._path = path
        self._names: dict[str, dict[str, None]] = {}
        self._waiting: list[RunRow] = []
        self._parts: list[Path] = []
        self._place: TemporaryDirectory[str] | None = None

    def add(self, rows: Sequence[RunRow]) -> None:
        self.count += len(rows)
        for row in rows:
            self._names.setdefault(row.rubric, {}).update(dict.fromkeys(_names(row)))
        self._waiting += rows
        if len(self._waiting) >= CHUNK:
            self._set_aside()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self.store()
        finally:
            self.close()

    def close(self) -> None:
        """Leave nothing but what was stored."""
        if self._place is not None:
            self._place.cleanup()

    def _set_aside(self) -> None:
        try:
            if self._place is None:
                self._place = TemporaryDirectory(prefix=f".{self._path.name}.", dir=self._path.parent)
            part = Path(self._place.name) / f"{len(self._parts)}.parquet"
            frame_of(self._waiting).write_parquet(part, compression="lz4")
        except (OSError, pl.exceptions.PolarsError) as error:
            raise _unwritten(self._path, error) from None
        self._parts.append(part)
        self._waiting = []

    def store(self) -> None:
        """Write the file."""
        told = msgspec.json.encode({rubric: list(own) for rubric, own in self._names.items()}).decode()
        if not self._parts:
            store(frame_of(self._waiting), self._path, metadata={NAMES: told})
            return
        if self._waiting:
            self._set_aside()
        try:
            with write_atomically(self._path) as place:
                _joined(self._parts).sink_parquet(place, metadata={NAMES: told}, row_group_size=ROW_GROUP)
        except pl.exceptions.PolarsError as error:
            raise _unwritten(self._path, error) from None


def _joined(parts: Sequence[Path]) -> pl.LazyFrame:
    """Files one after the other, each read when it is wanted: a scan of all of them reads far ahead."""
    empty = pl.concat([pl.DataFrame(schema=pl.read_parquet_schema(part)) for part in parts], how="diagonal")

    def read(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        for part in parts:
            frame = pl.concat([empty, pl.read_parquet(part)], how="diagonal")
            yield frame if columns is None else frame.select(columns)

    return register_io_source(read, schema=empty.schema)


def write_columns(rows: Iterable[RunRow], path: Path) -> int:
    """Write rows as a Parquet file, whole or not at all; how many they were."""
    waiting = iter(rows)
    with ColumnsWriter(path) as columns:
        while chunk := list(islice(waiting, CHUNK)):
            columns.add(chunk)
    return columns.count


def frame_of_rows(rows: Iterable[RunRow]) -> pl.DataFrame:
    """Any number of rows as one frame, made a chunk at a time."""
    waiting = iter(rows)
    chunks = []
    while chunk := list(islice(waiting, CHUNK)):
        chunks.append(frame_of(chunk))
    return pl.concat(chunks, how="diagonal") if chunks else pl.DataFrame(schema=PLAIN | LATER)


def store(frame: pl.DataFrame, path: Path, **how: Any) -> None:
    """Write a table, whole or not at all."""
    try:
        with write_atomically(path) as place:
            frame.write_parquet(place, **how)
    except pl.exceptions.PolarsError as error:
        raise _unwritten(path, error) from None


def _unwritten(path: Path, error: Exception) -> RubricaError:
    reason = f"{path} cannot be written: {error}"
    return RubricaError(f"{reason}; what was finished before is safe, and the same command goes on")


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
    others = {name for name in names if name.startswith(tuple(BY_NAME))}
    count = frame.select(pl.len()).collect().item()
    for start in range(0, count, CHUNK):  # a query for all of them would read far ahead
        for data in frame.slice(start, CHUNK).collect().iter_rows(named=True):
            yield _row(data, by_rubric.get(data["rubric"], others))


def _metadata(path: Path) -> str:
    file = next(path.glob("*.parquet"), None) if path.is_dir() else path
    return pl.read_parquet_metadata(file).get(NAMES, "{}") if file is not None else "{}"


def _names(row: RunRow) -> list[str]:
    return [prefix + name for prefix, field in BY_NAME.items() for name in getattr(row, field)]


def frame_of(rows: list[RunRow]) -> pl.DataFrame:
    """Rows as columns."""
    columns: dict[str, Any] = {name: [getattr(row, name) for row in rows] for name in (*PLAIN, *LATER)}
    columns |= {name: _lists(columns[name]) for name in LISTS}
    schema = PLAIN | LATER
    if any(row.positions for row in rows):
        columns[POSITIONS] = [list(row.positions) for row in rows]
        schema[POSITIONS] = pl.List(pl.Float64)
    for prefix, field in BY_NAME.items():
        found = [getattr(row, field) for row in rows]
        for name in dict.fromkeys(name for values in found for name in values):
            columns[prefix + name] = [values.get(name) for values in found]
            schema[prefix + name] = pl.Float64
    return pl.DataFrame(columns, schema=schema, strict=False)


def _lists(values: list[tuple[str, ...]]) -> pl.Series:
    """Lists as a column. polars makes each of them a column first, so each one that occurs is made once."""
    places: dict[tuple[str, ...], int] = {}
    found = [places.setdefault(value, len(places)) for value in values]
    return pl.Series([list(value) for value in places], dtype=LIST).gather(found)


def _row(data: dict[str, Any], own: set[str]) -> RunRow:
    plain = {name: data[name] for name in PLAIN} | {name: data.get(name) for name in LATER}
    lists = {name: tuple(plain[name] or ()) for name in LISTS}
    values = {
        field: {name.removeprefix(prefix): data[name] for name in data if name in own and name.startswith(prefix)}
        for prefix, field in BY_NAME.items()
    }
    return RunRow(**{**plain, **lists, **values, POSITIONS: tuple(data.get(POSITIONS) or ())})
