"""Files of cases that others send to a server: bounded by what they unfold to, not by what they weigh."""

from __future__ import annotations

import io
from pathlib import Path

from rubrica.errors import InputError
from rubrica.extras import requires

from .case_source import CsvSource, cases_of, count_cases
from .parquet_size import ParquetSizeError, parquet_size

MOST_ROWS = 500_000
MOST_VALUES = 20_000_000
MOST_BYTES = 500_000_000
"""Of the pages of a Parquet file, unpacked, and of its texts, each counted as often as it stands in a row."""
LONGEST_LINE = 10_000_000
"""Bytes of one case."""

_ELSEWHERE = "split the file, or have it put beside the runs"


def check_upload(path: Path, name: str) -> None:
    """Refuse a file that unfolds to more than a server takes from others; an InputError tells the bound.

    Files that are read where they lie, such as those of `rubrica run`, have no such bound: they are read a batch at a
    time.
    """
    if path.suffix.lower() in (".parquet", ".pq"):
        _check_parquet(path, name)
        return
    with cases_of(str(path)) as file:
        is_table = isinstance(file, CsvSource)
    rows = (count_cases(str(path)) or 0) if is_table else _count_lines(path, name)
    _within(rows, MOST_ROWS, f"{name} has {rows:,} rows")


def _count_lines(path: Path, name: str) -> int:
    rows = 0
    for line in io.BytesIO(path.read_bytes()):
        rows += not line.isspace()
        _within(len(line), LONGEST_LINE, f"{name} has a line of {len(line):,} bytes")
    return rows


def _check_parquet(path: Path, name: str) -> None:
    try:
        size = parquet_size(path.read_bytes())
    except ParquetSizeError as error:
        raise InputError(f"{name} cannot be read as Parquet: {error}") from None
    _within(size.rows, MOST_ROWS, f"{name} unfolds to {size.rows:,} rows")
    _within(size.values, MOST_VALUES, f"{name} unfolds to {size.values:,} values")
    _within(size.page_bytes, MOST_BYTES, f"{name} unfolds to {size.page_bytes:,} bytes")
    with requires("tables", name):
        from .parquet_source import text_sizes  # late: polars takes half a second to load
    for texts in text_sizes(path, size.rows):
        _within(texts, MOST_BYTES, f"{name} unfolds to texts of more than {MOST_BYTES:,} bytes")


def _within(found: int, most: int, said: str) -> None:
    if found > most:
        raise InputError(f"{said} (at most {most:,}; {_ELSEWHERE})")
