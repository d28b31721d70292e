"""Files of cases that others send to a server: bounded by what they unfold to, not by what they weigh."""

from __future__ import annotations

from pathlib import Path

from rubrica.errors import InputError
from rubrica.extras import requires

from .case_source import count_cases
from .parquet_size import ParquetSizeError, parquet_size
from .row_source import (
    CSV_ENDINGS,
    PARQUET_ENDINGS,
    XLSX_ENDINGS,
    DocumentSource,
    open_lines,
    read_document,
)
from .xlsx_rows import sheet_rows

MOST_ROWS = 500_000
MOST_VALUES = 20_000_000
MOST_BYTES = 500_000_000
"""Of the pages of a Parquet file, unpacked, and of its texts, each counted as often as it stands in a row."""
LONGEST_LINE = 10_000_000
"""Bytes of one case."""
LARGEST_DOCUMENT = 50_000_000
"""Bytes of a JSON document, which is held in memory whole."""

_ELSEWHERE = "split the file, or have it put beside the runs"


def check_upload(path: Path, name: str) -> None:
    """Refuse a file that unfolds to more than a server takes from others; an InputError tells the bound.

    Files that are read where they lie, such as those of `rubrica run`, have no such bound: they are read a batch at a
    time.
    """
    if path.suffix.lower() in PARQUET_ENDINGS:
        _check_parquet(path, name)
        return
    if path.suffix.lower() in XLSX_ENDINGS:
        _check_sheet(path, name)
        return
    if (document := _document(path, name)) is not None:
        rows = document.size or 0
    else:
        rows = (count_cases(str(path)) or 0) if path.suffix.lower() in CSV_ENDINGS else _count_lines(path, name)
    _within(rows, MOST_ROWS, f"{name} has {rows:,} rows")


def _document(path: Path, name: str) -> DocumentSource | None:
    if path.suffix.lower() in CSV_ENDINGS:
        return None
    size = path.stat().st_size
    document = read_document(str(path)) if size <= LARGEST_DOCUMENT or path.suffix.lower() == ".json" else None
    if document is not None:
        _within(size, LARGEST_DOCUMENT, f"{name} is one JSON document of {size:,} bytes")
    return document


def _check_sheet(path: Path, name: str) -> None:
    texts = 0
    for rows, row in enumerate(sheet_rows(path), 1):
        texts += sum(len(value) for value in row.data.values() if isinstance(value, str))
        _within(rows, MOST_ROWS, f"{name} has more than {MOST_ROWS:,} rows")
        _within(texts, MOST_BYTES, f"{name} unfolds to texts of more than {MOST_BYTES:,} characters")


def _count_lines(path: Path, name: str) -> int:
    rows = 0
    with open_lines(str(path)) as lines:
        for line in lines:
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


def _within(found: int, most: int, message: str) -> None:
    if found > most:
        raise InputError(f"{message} (at most {most:,}; {_ELSEWHERE})")
