"""The pieces that are still to be judged, file after file: a file is fetched and cut when its turn comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from .ledger import ShardLedger
from .pieces import FilePiece
from .shards import shard_path


class PlacedPiece(msgspec.Struct, frozen=True):
    """A piece, and where its file lies for now."""

    piece: FilePiece
    source: str

    @property
    def path(self) -> Path:
        return Path(self.source)


class PieceTurns:
    """Hands out pieces, one thread at a time. A copy of a file goes when its last piece is done."""

    def __init__(self, ledger: ShardLedger, piece_bytes: int) -> None:
        self._ledger, self._size = ledger, piece_bytes
        self._open: dict[int, ExitStack] = {}  # files that lie here
        self._left: Counter[int] = Counter()  # pieces of them that are not done
        self._files: dict[int, int] = {}  # of pieces that are handed out
        self.missing = ledger.expected(piece_bytes) - sum(
            shard_path(ledger.shards, piece.number).exists() for piece in ledger.pieces
        )
        """About how many there are."""

    def __iter__(self) -> Iterator[PlacedPiece]:
        ledger = self._ledger
        for number, file in enumerate(ledger.files):
            cut = ledger.cuts[number] if number < len(ledger.cuts) else None
            if cut is not None and not (left := self._missing(cut)):
                continue
            stack = self._open[number] = ExitStack()
            path = stack.enter_context(file.local())
            left = self._missing(cut if cut is not None else ledger.cut_next(path, self._size))
            self._left[number] = len(left) + 1  # until all of them are handed out
            for piece in left:
                self._files[piece.number] = number
                yield PlacedPiece(piece, str(path))
            self._let_go(number)

    def done(self, piece: int) -> None:
        """A piece was stored, by its number."""
        self._let_go(self._files.pop(piece))

    def _missing(self, pieces: tuple[FilePiece, ...]) -> list[FilePiece]:
        return [piece for piece in pieces if not shard_path(self._ledger.shards, piece.number).exists()]

    def _let_go(self, number: int) -> None:
        self._left[number] -= 1
        if not self._left[number]:
            self._open.pop(number).close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for stack in self._open.values():
            stack.close()
