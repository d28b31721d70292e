"""What the shards in a folder were made of: by which rubric, of which files, and how each was cut."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Self

import msgspec

from rubrica import __version__
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.files import make_private_folder
from rubrica.jsontext import UNREADABLE
from rubrica.runs.files.append_only import AppendOnlyFile, finished_lines
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.folder import COLUMNS
from rubrica.runs.files.source_files import SourceFile

from .piece_files import PieceFiles
from .pieces import FilePiece, is_table
from .shards import errors_folder

LEDGER, CUTS, SHARDS = "bulk.json", "pieces.jsonl", "shards"
FORMAT = 2


class LedgerHead(msgspec.Struct, frozen=True):
    """What is known before any file is read."""

    fingerprint: str
    hash: str  # of the rubric
    group: str
    files: tuple[tuple[str, int, str], ...]  # address, bytes, stamp


class ShardLedger:
    """The files of a bulk run in their order, and the pieces of those that were cut. A file is cut when its turn
    comes, since where it is far away it has to be fetched for that, and then as it is fetched."""

    def __init__(self, folder: Path, head: LedgerHead, pieces: Sequence[FilePiece] = ()) -> None:
        self.folder, self.head = folder, head
        self.files = tuple(SourceFile(*known) for known in head.files)
        self._cuts: dict[int, list[FilePiece]] = {}  # by the number of their file
        for piece in pieces:
            self._cuts.setdefault(piece.file, []).append(piece)

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The ledger of a folder; None where there is none that can be read."""
        try:
            head = msgspec.json.decode((folder / LEDGER).read_bytes(), type=LedgerHead)
            cuts = [msgspec.json.decode(line, type=tuple[FilePiece, ...]) for line in finished_lines(folder / CUTS)]
        except (FileNotFoundError, NotADirectoryError, *UNREADABLE):
            return None
        return cls(folder, head, list(chain.from_iterable(cuts)))

    @classmethod
    def open(cls, folder: Path, plan: Plan, files: Sequence[SourceFile], group: str) -> Self:
        """The ledger of a folder; where it is of something else, or there is none, a new one."""
        known, fingerprint = cls.read(folder), fingerprint_of(plan, files, group)
        try:
            if known is None or known.head.fingerprint != fingerprint:
                for other in (folder / COLUMNS, *folder.glob(f"{SHARDS}-*")):
                    shutil.rmtree(other, ignore_errors=True)
                make_private_folder(folder)
                (folder / LEDGER).unlink(missing_ok=True)
                (folder / CUTS).unlink(missing_ok=True)
                listed = tuple((file.address, file.size or 0, file.stamp) for file in files)
                known = cls(folder, LedgerHead(fingerprint, plan.rubric.hash, group, listed))
                with write_atomically(folder / LEDGER) as place:
                    place.write_bytes(msgspec.json.encode(known.head))
            for place in (known.shards, errors_folder(known.shards)) if not (folder / COLUMNS).is_dir() else ():
                place.mkdir(exist_ok=True)
                for torn in place.glob(".*"):
                    torn.unlink(missing_ok=True)
        except OSError as error:
            raise RubricaError(f"{folder} cannot be used: {error.strerror or error}") from None
        return known

    @property
    def shards(self) -> Path:
        """Where shards are until all are there; no process that outlived a killed run can put its own among others."""
        return self.folder / f"{SHARDS}-{self.head.fingerprint}"

    @property
    def pieces(self) -> list[FilePiece]:
        """Those that are known, in their order: files are cut one after the other."""
        return list(chain.from_iterable(self._cuts.values()))

    def pieces_of(self, number: int) -> list[FilePiece]:
        """Those of one file that are known."""
        return self._cuts.get(number, [])

    def is_cut(self, number: int) -> bool:
        """Whether all pieces of a file are known. Lines of a store are cut as they are fetched; a table is at once."""
        file, known = self.files[number], self.pieces_of(number)
        return bool(known) and (is_table(Path(file.name)) or known[-1].end >= (file.size or 0))

    def before(self, number: int) -> int:
        """How many lines stand before a file in the others."""
        last = self._cuts[number - 1][-1] if number else None
        return last.first + last.lines - 1 if last is not None else 0

    def cut(self, number: int, source: PieceFiles, size: int) -> Iterator[FilePiece]:
        """Cut the file whose turn it is, as far as it is not; each piece when it is known."""
        if self.is_cut(number):
            return
        known, before = self._cuts.setdefault(number, []), self.before(number)
        start = known[0].number if known else len(self.pieces)
        last = known[-1] if known else None
        if last is not None:
            last = msgspec.structs.replace(last, number=last.number - start, first=last.first - before)
        for several in source.cut(size, last):
            pieces = tuple(
                msgspec.structs.replace(piece, number=start + piece.number, first=before + piece.first, file=number)
                for piece in several
            )
            with AppendOnlyFile(self.folder / CUTS) as cuts:
                cuts.write(msgspec.json.encode(pieces))
            known += pieces
            yield from pieces

    def expected(self, size: int) -> int:
        """About how many pieces there will be."""
        known = sum(map(len, self._cuts.values()))
        rest = (number for number in range(len(self.files)) if not self.is_cut(number))
        return known + sum(_expected(self.files[number], size, self.pieces_of(number)) for number in rest)

    def changed(self) -> Iterator[SourceFile]:
        """The files of this machine that are not what they were. Those of stores are held against what they were
        when they are fetched."""
        return (file for file in self.files if not file.is_remote and file.now().stamp != file.stamp)


def fingerprint_of(plan: Plan, files: Sequence[SourceFile], group: str) -> str:
    """Identifies what figures depend on: rubric, program, and the files as far as their stamps tell."""
    listed = [(file.address, file.stamp) for file in files]
    parts = [FORMAT, __version__, plan.rubric.hash, group, listed]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]


def _expected(file: SourceFile, size: int, known: Sequence[FilePiece]) -> int:
    weight = 3 if is_table(Path(file.name)) else 1  # texts take about a third of their room in a table
    left = (file.size or 0) - (known[-1].end if known else 0)
    return max(1, -(-weight * left // size))
