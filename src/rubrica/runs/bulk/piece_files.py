"""The pieces of a file of cases as files of this machine: of one in an object store, only what is being judged."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

from rubrica.errors import RubricaError
from rubrica.runs.files.ranged_table import RangedTable, RowWindow
from rubrica.runs.files.row_source import is_plain
from rubrica.runs.files.source_files import SourceFile
from rubrica.runs.objects.ranged_file import RANGE_BYTES, RangedFile, RangedStream

from .pieces import FilePiece, is_table, line_pieces, pieces_of, row_pieces


class PieceFiles(Protocol):
    """A file of cases that is cut, and read piece by piece. Pieces are numbered, and their lines, from the beginning of
    this file."""

    def cut(self, size: int, last: FilePiece | None) -> Iterator[tuple[FilePiece, ...]]:
        """All pieces, or those after the last one that is known, some at a time."""

    def place(self, piece: FilePiece) -> Path:
        """A file that has a piece where it stands, until it is let go."""

    def release(self, piece: FilePiece) -> None:
        """A piece is not needed any more."""


class CompleteFile:
    """A file of this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def cut(self, size: int, last: FilePiece | None) -> Iterator[tuple[FilePiece, ...]]:
        if not is_plain(str(self._path)):
            said = "takes JSON lines in UTF-8, or Parquet (--no-bulk reads everything else)"
            raise RubricaError(f"{self._path.name} cannot be judged in bulk: that {said}")
        pieces = pieces_of(self._path, size, last)
        if is_table(self._path):
            yield tuple(pieces)
        else:
            yield from zip(pieces)  # one at a time: others need not wait for the last

    def place(self, piece: FilePiece) -> Path:  # noqa: ARG002 - each is in it
        return self._path

    def release(self, piece: FilePiece) -> None:
        """It stays."""


class RangedLines:
    """Lines in an object store: read once, from the first to the last, and each piece written to a file of its own."""

    def __init__(self, file: RangedFile, stream: RangedStream | None, place: Path) -> None:
        """Without a stream, cutting goes on after the last piece that is known."""
        self._file, self._stream, self._place = file, stream, place

    def cut(self, size: int, last: FilePiece | None) -> Iterator[tuple[FilePiece, ...]]:
        stream = self._stream or RangedStream(self._file, last.end if last is not None else 0)
        with BufferedReader(stream) as lines:
            for piece, blocks in line_pieces(lines, size, last):
                path = self._path(piece)
                path.parent.mkdir()
                with path.open("wb") as output:
                    output.seek(piece.start)
                    output.writelines(blocks)
                yield (piece,)

    def place(self, piece: FilePiece) -> Path:
        path = self._path(piece)
        if not path.exists():
            path.parent.mkdir()
            self._file.write_to(path, piece.start, piece.end)
        return path

    def release(self, piece: FilePiece) -> None:
        path = self._path(piece)
        path.unlink()
        path.parent.rmdir()

    def _path(self, piece: FilePiece) -> Path:
        return self._place.parent / f"from-{piece.start}" / self._place.name


class RangedRows:
    """Rows of a Parquet file in an object store."""

    def __init__(self, table: RangedTable) -> None:
        self._table = table
        self._held: dict[int, RowWindow] = {}  # by the first row of a piece

    def cut(self, size: int, last: FilePiece | None) -> Iterator[tuple[FilePiece, ...]]:
        if last is None:
            yield tuple(row_pieces(self._table.rows, self._table.size, size)) or (FilePiece(0, 0, 0, 1),)

    def place(self, piece: FilePiece) -> Path:
        window = self._held[piece.start] = self._table.window(piece.start, piece.end).hold()
        return window.path

    def release(self, piece: FilePiece) -> None:
        self._held.pop(piece.start).release()


@contextmanager
def open_pieces(file: SourceFile, range_bytes: int = RANGE_BYTES, *, is_begun: bool = False) -> Iterator[PieceFiles]:
    """A file of cases, piece by piece. One that is small, or whose store gives no ranges, is fetched whole.

    `is_begun` says that some pieces of it are known, and so that its beginning need not be looked at.
    """
    with TemporaryDirectory(prefix="rubrica-") as folder:
        place = Path(folder) / (file.name or "cases.jsonl")
        ranged = file.ranged(range_bytes)
        if ranged is not None and (table := file.table(place, range_bytes)) is not None:
            yield RangedRows(table)
            return
        stream = None if is_begun else file.stream(range_bytes)
        if ranged is not None and (stream is not None or (is_begun and ranged.is_given())):
            yield RangedLines(ranged, stream, place)
            return
        with file.local() as path:
            yield CompleteFile(path)
