"""The bulk path: a rubric without judges over millions of texts, as figures in columns; explanations on demand.

Files of cases are cut into pieces. Each is judged on its own, by as many processes as there are cores, and stored
as one shard, so a run that was stopped goes on with the pieces that are missing. Shards have the columns of a run's
figures and one more, the line. How a piece is judged quickly, and equal to one evaluation after the other, stands in
`bulk_workings`; whatever is not simple is evaluated as everywhere else.
"""

from __future__ import annotations

import shutil
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from rubrica.engine.cases import BadLine, Case, read_case
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.runs.cores import cores
from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.folder import COLUMNS, ERRORS
from rubrica.runs.files.manifest import Manifest
from rubrica.runs.files.parquet_rows import readable
from rubrica.runs.files.parquet_source import reading_parquet
from rubrica.runs.files.row_source import CSV_ENDINGS, XLSX_ENDINGS
from rubrica.runs.files.rows import GROUP
from rubrica.runs.files.source_files import SourceFile, find_files
from rubrica.runs.objects.ranged_file import RANGE_BYTES

from .case_names import make_names_unique, names_of
from .frames import LINE
from .ledger import ShardLedger, fingerprint_of
from .parquet_records import row_case
from .piece_files import open_pieces
from .pieces import PIECE_BYTES, FilePiece, blocks_of, is_table
from .processes import judge_all
from .progress import BulkProgress
from .shards import Shard, ShardJudge, errors_folder, errors_path, shard_path
from .simple_records import lines_in
from .turns import PieceTurns

LARGE = 20_000_000
"""Bytes of a file of cases from which on this path is the quicker one."""


@dataclass(frozen=True, slots=True)
class BulkRun:
    """A finished bulk run."""

    figures: Path  # a folder of Parquet files with the same columns
    rows: int
    errors: int
    resumed: int  # pieces that were there already
    renamed: int = 0  # cases that had the id of another one


MayRead = Callable[[str], bool]
JudgePieces = Callable[[ShardJudge, PieceTurns, Callable[[Shard], None]], None]
"""Judges pieces and stores their shards; whoever asked is told of each."""


@dataclass(frozen=True, slots=True)
class BulkOptions:
    """How a bulk run is made. Of these, only the group shows in the figures."""

    group: str = GROUP  # the metadata that says which cases belong together
    processes: int = 0  # 0: one per core
    piece_bytes: int = PIECE_BYTES
    range_bytes: int = RANGE_BYTES  # that are fetched at once of a file in an object store
    judge_pieces: JudgePieces | None = None  # who judges them; None: the processes


ALL_CORES = BulkOptions()


def supports(plan: Plan, files: Sequence[SourceFile]) -> bool:
    """Whether the bulk path can be taken: no judge is asked, no case brings criteria for one to answer, and the files
    can be cut, as far as their names tell."""
    by_code = plan.judge is None and plan.criteria is None
    return by_code and all(file.size is not None and _can_be_cut(file) for file in files)


def bulk_rows(
    plan: Plan,
    source: Path | Sequence[SourceFile],
    folder: Path,
    how: BulkOptions = ALL_CORES,
    told: Callable[[BulkProgress], None] | None = None,
) -> BulkRun:
    """Judge every record of JSONL or Parquet files into a folder, or go on with what is there.

    Leaves ``evaluations.parquet``, a folder of shards, and ``errors.jsonl`` where records could not be judged.
    """
    files = find_files([str(source)]) if isinstance(source, Path) else source
    if not supports(plan, files):
        names = ", ".join(file.name for file in files if not _can_be_cut(file)) or files[0].name
        raise RubricaError(f"{names} cannot be judged in bulk: that takes a JSONL or Parquet file, and no judge")
    ledger = ShardLedger.open(folder, plan, files, how.group)
    figures = folder / COLUMNS
    if figures.is_dir():
        with readable(figures):
            rows = pl.scan_parquet(figures).select(pl.len()).collect().item()
        return BulkRun(figures, rows, sum(1 for _ in finished_lines(folder / ERRORS)), len(ledger.pieces))
    count, stored = _judge_pieces(ledger, plan, how, told)
    if changed := next(ledger.changed(), None):
        raise RubricaError(f"{changed.address} changed while it was judged; run the same command again")
    if torn := next((file for number, file in enumerate(files) if not ledger.is_cut(number)), None):
        raise RubricaError(f"{torn.address} was not read to its end; run the same command again")
    renamed = make_names_unique(ledger.shards, [piece.number for piece in ledger.pieces])
    _finish(folder, ledger)
    return BulkRun(figures, count.rows, count.errors, stored, renamed)


def _judge_pieces(
    ledger: ShardLedger, plan: Plan, how: BulkOptions, told: Callable[[BulkProgress], None] | None
) -> tuple[_Count, int]:
    """Judge the pieces that are missing; with how many were there."""
    count = _Count(ledger, how.piece_bytes, told)
    for piece in ledger.pieces:
        if shard_path(ledger.shards, piece.number).exists():
            count.add(_stored_shard(ledger.shards, piece.number))
    stored = count.pieces
    judge = ShardJudge(plan, ledger.shards, how.group)
    with PieceTurns(ledger, how.piece_bytes, how.range_bytes) as turns:

        def done(shard: Shard) -> None:
            turns.done(shard.number)
            count.add(shard)

        if how.judge_pieces is not None:
            how.judge_pieces(judge, turns, done)
        else:
            judge_all(judge, turns, done, how.processes or cores())
    return count, stored


class _Count:
    """Running figures."""

    def __init__(self, ledger: ShardLedger, size: int, told: Callable[[BulkProgress], None] | None) -> None:
        self.rows = self.errors = self.pieces = 0
        self._ledger, self._size, self._told = ledger, size, told

    def add(self, shard: Shard) -> None:
        self.rows += shard.rows
        self.errors += shard.errors
        self.pieces += 1
        if self._told is not None:
            self._told(BulkProgress(self.rows, self.errors, self.pieces, self._ledger.expected(self._size)))


def explain(plan: Plan, folder: Path, case: str) -> Evaluation:
    """The full evaluation of one case of a bulk run, judged again."""
    for evaluation in records(plan, folder, [case]):
        return evaluation
    raise RubricaError(f"{folder} has no evaluation of a case {case!r}")


def records(plan: Plan, folder: Path, cases: Collection[str], may_read: MayRead | None = None) -> Iterator[Evaluation]:
    """The full evaluations of some cases, judged again by line; only the pieces they are in are read."""
    for name, context in contexts(plan, folder, cases, may_read):
        yield evaluate(plan, context, name)


def evaluations(folder: Path, manifest: Manifest, may_read: MayRead | None = None) -> Iterator[Evaluation]:
    """Every evaluation of a bulk run in full, judged again one after the other."""
    plan = compile_rubric(manifest.rubrics[0].rubric())
    for name, context in contexts(plan, folder, may_read=may_read):
        yield evaluate(plan, context, name)


def contexts(
    plan: Plan, folder: Path, cases: Collection[str] | None = None, may_read: MayRead | None = None
) -> Iterator[tuple[str, Context]]:
    """What was judged, by the names of the cases: of some cases only the pieces they are in are read.

    Whoever made the folder says which files it was made of; `may_read` says which of them may be opened, all if None.
    """
    ledger = _ledger_of(plan, folder)
    wanted = None if cases is None else _lines_of(folder, cases)
    pieces = ledger.pieces if wanted is None else _pieces_with(ledger, wanted)
    for number, several in groupby(pieces, key=lambda piece: piece.file):
        file = ledger.files[number]
        if may_read is not None and not may_read(file.address):
            raise RubricaError(f"{file.name} is not opened from here (`rubrica explain` opens it where it may be)")
        if file.now().stamp != file.stamp:
            raise RubricaError(f"{file.address} changed since {folder} was made: judge it again")
        with open_pieces(file, is_begun=True) as source:
            for piece in several:
                names = names_of(folder / COLUMNS, piece.number) if wanted is None else wanted
                for case in _cases(source.place(piece), piece):
                    if isinstance(case, Case) and case.line in names:
                        yield names[case.line], case.context
                source.release(piece)


def _lines_of(folder: Path, cases: Collection[str]) -> dict[int, str]:
    """The names of some cases by their lines."""
    asked = pl.scan_parquet(folder / COLUMNS).filter(pl.col("case").is_in(list(cases))).select(LINE, "case")
    with readable(folder / COLUMNS):
        return dict(asked.collect().iter_rows())


def _pieces_with(ledger: ShardLedger, lines: Collection[int]) -> list[FilePiece]:
    firsts = [piece.first for piece in ledger.pieces]
    return [ledger.pieces[number] for number in sorted({bisect_right(firsts, line) - 1 for line in lines})]


def _cases(source: Path, piece: FilePiece) -> Iterator[Case | BadLine]:
    """The cases of a piece, one at a time."""
    if is_table(source):
        with reading_parquet(source):
            frame = pl.scan_parquet(source).slice(piece.start, piece.end - piece.start).collect()
        for number, row in enumerate(frame.iter_rows(named=True), piece.first):
            yield row_case(row, number)
        return
    lines = (line for block in blocks_of(source, piece) for line in lines_in(block))
    for number, line in enumerate(lines, piece.first):
        if line.strip():
            yield read_case(line, number)


def _stored_shard(shards: Path, number: int) -> Shard:
    """What an earlier process made of a piece."""
    rows = pl.scan_parquet(shard_path(shards, number)).select(pl.len()).collect().item()
    return Shard(number, rows, sum(1 for _ in finished_lines(errors_path(shards, number))))


def _finish(folder: Path, ledger: ShardLedger) -> None:
    """Gather the errors, and give the shards their name: from now on they are the run's figures."""
    told = [piece for piece in ledger.pieces if errors_path(ledger.shards, piece.number).exists()]
    (folder / ERRORS).unlink(missing_ok=True)
    if told:
        with write_atomically(folder / ERRORS) as place, place.open("wb") as stream:
            for piece in told:
                stream.writelines(_placed_errors(ledger, piece))
    ledger.shards.rename(folder / COLUMNS)
    shutil.rmtree(errors_folder(ledger.shards))


def _placed_errors(ledger: ShardLedger, piece: FilePiece) -> Iterator[bytes]:
    """The errors of a piece, with the file they are in where there are several."""
    for line in finished_lines(errors_path(ledger.shards, piece.number)):
        if len(ledger.files) > 1:
            told = msgspec.json.decode(line, type=dict[str, Any])
            own = told["line"] - ledger.before(piece.file)
            place = {"line": told["line"], "place": f"{ledger.files[piece.file].name}, line {own}"}
            line = msgspec.json.encode({**place, **told})
        yield line + b"\n"


def _ledger_of(plan: Plan, folder: Path) -> ShardLedger:
    """The ledger of a finished run, where its cases can still be judged again with the same result."""
    ledger = ShardLedger.read(folder)
    if ledger is None or not (folder / COLUMNS).is_dir():
        raise RubricaError(f"{folder} holds no finished bulk run")
    if ledger.head.fingerprint != fingerprint_of(plan, ledger.files, ledger.head.group):
        raise RubricaError(f"the rubric or the program changed since {folder} was made: judge it again")
    return ledger


def _can_be_cut(file: SourceFile) -> bool:
    return file.ending not in (*CSV_ENDINGS, *XLSX_ENDINGS)
