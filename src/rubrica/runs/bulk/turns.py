"""The pieces that are still to be judged, file after file: a file is cut, and fetched if need be, in its turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from rubrica.runs.objects.ranged_file import RANGE_BYTES

from .ledger import ShardLedger
from .piece_files import PieceFiles, open_pieces
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
    """Hands out pieces, one thread at a time. What was fetched for a piece goes when it is done."""

    def __init__(self, ledger: ShardLedger, piece_bytes: int, range_bytes: int = RANGE_BYTES) -> None:
        self._ledger, self._size, self._each = ledger, piece_bytes, range_bytes
        self._open: dict[int, ExitStack] = {}  # files that are read
        self._left: Counter[int] = Counter()  # pieces of them that are not done
        self._handed: dict[int, tuple[FilePiece, PieceFiles]] = {}  # by their numbers
        self.missing = ledger.expected(piece_bytes) - sum(
            shard_path(ledger.shards, piece.number).exists() for piece in ledger.pieces
        )
        """About how many there are."""

    def __iter__(self) -> Iterator[PlacedPiece]:
        ledger = self._ledger
        for number, file in enumerate(ledger.files):
            known = ledger.pieces_of(number)
            left = self._missing(known)
            if not left and ledger.is_cut(number):
                continue
            stack = self._open[number] = ExitStack()
            source = stack.enter_context(open_pieces(file, self._each, is_begun=bool(known)))
            self._left[number] = 1  # until all of them are handed out
            for piece in chain(left, ledger.cut(number, source, self._size)):
                self._left[number] += 1
                self._handed[piece.number] = piece, source
                yield PlacedPiece(piece, str(source.place(piece)))
            self._let_go(number)

    def done(self, number: int) -> None:
        """A piece was stored, by its number."""
        piece, source = self._handed.pop(number)
        source.release(piece)
        self._let_go(piece.file)

    def _missing(self, pieces: Iterable[FilePiece]) -> list[FilePiece]:
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
