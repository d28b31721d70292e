"""A file of cases cut into pieces that are read, judged and stored on their own."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import msgspec
import polars as pl

from rubrica.errors import RubricaError
from rubrica.model.context import LONGEST_TEXT
from rubrica.runs.files.case_source import BOM
from rubrica.runs.files.parquet_source import reading_parquet

from .parquet_records import from_frame
from .records import Records, from_lines, read_as_cases

PIECE_BYTES = 24_000_000
"""Of a file of lines; of a Parquet file, about as much text in memory."""
PIECE_ROWS = (20_000, 250_000)
"""The fewest and the most rows of a piece of a Parquet file."""
CHUNK_BYTES = 8_000_000
CHUNK_ROWS = 50_000
PARQUET = (".parquet", ".pq")


class FilePiece(msgspec.Struct, frozen=True, array_like=True):
    """A stretch of a file: from byte to byte of one of lines, from row to row of a Parquet file."""

    number: int
    start: int
    end: int
    first: int  # the number of its first line or row, from 1, over all files
    lines: int = 0  # or rows: how many it has
    file: int = 0  # which of the files it is of


def is_table(source: Path) -> bool:
    return source.suffix.lower() in PARQUET


def pieces_of(source: Path, size: int = PIECE_BYTES, last: FilePiece | None = None) -> Iterator[FilePiece]:
    """How a file is cut, each piece when it is known: all pieces, or those after the last one that is. There is one at
    least, so that an empty file has figures too, of nothing."""
    nothing = last is None
    try:
        for piece in _table_pieces(source, size) if is_table(source) else _file_pieces(source, size, last):
            nothing = False
            yield piece
    except OSError as error:
        raise RubricaError(f"{source} cannot be read: {error.strerror or error}") from None
    if nothing:
        yield FilePiece(0, 0, 0, 1)


def _table_pieces(source: Path, size: int) -> Iterator[FilePiece]:
    with reading_parquet(source):
        rows = pl.scan_parquet(source).select(pl.len()).collect().item()
    yield from row_pieces(rows, source.stat().st_size, size)


def _file_pieces(source: Path, size: int, last: FilePiece | None) -> Iterator[FilePiece]:
    with source.open("rb") as stream:
        stream.seek(last.end if last is not None else 0)
        for piece, _ in line_pieces(stream, size, last):
            yield piece


def line_pieces(
    stream: BinaryIO, size: int, last: FilePiece | None = None
) -> Iterator[tuple[FilePiece, tuple[bytes, bytes]]]:
    """The pieces of a file of lines, and what is in each, as it is read; from the beginning, or after a piece."""
    start, first, number = (0, 1, 0) if last is None else (last.end, last.first + last.lines, last.number + 1)
    while block := stream.read(size):
        rest = stream.readline() if not block.endswith(b"\n") else b""
        end = start + len(block) + len(rest)
        lines = sum(1 for _ in BytesIO(block))  # half the time of counting their ends
        yield FilePiece(number, start, end, first, lines), (block, rest)
        start, first, number = end, first + lines, number + 1


def row_pieces(rows: int, file_bytes: int, size: int) -> Iterator[FilePiece]:
    """The pieces of a Parquet file."""
    fewest, most = PIECE_ROWS
    by_size = rows * size // (3 * file_bytes + 1)  # texts take about a third of their room in such a file
    each = max(1, min(max(by_size, 1), max(fewest, rows // 20), most))
    for number, start in enumerate(range(0, rows, each)):
        end = min(start + each, rows)
        yield FilePiece(number, start, end, start + 1, end - start)


def records_of(source: Path, piece: FilePiece, names: frozenset[str]) -> Iterator[Records]:
    """The records of a piece, some thousand at a time; `names` are those to keep of each."""
    if is_table(source):
        with reading_parquet(source):
            frame = pl.scan_parquet(source).slice(piece.start, piece.end - piece.start).collect()
        for start in range(0, frame.height, CHUNK_ROWS):
            yield from_frame(frame.slice(start, CHUNK_ROWS), piece.first + start, names)
        return
    first = piece.first
    for data in blocks_of(source, piece):
        # in a longer one, a line is longer than all texts that are judged
        records = read_as_cases(data, first) if len(data) > LONGEST_TEXT else from_lines(data, first, names)
        yield records
        first += records.lines


def blocks_of(source: Path, piece: FilePiece) -> Iterator[bytes]:
    """The lines of a piece, some thousand at a time."""
    at = piece.start
    with source.open("rb") as stream:
        stream.seek(at)
        while data := stream.read(min(CHUNK_BYTES, piece.end - at)):
            data += stream.readline() if not data.endswith(b"\n") else b""
            yield data.removeprefix(BOM) if at == 0 else data
            at += len(data)
