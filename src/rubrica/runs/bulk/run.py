"""The bulk path: a rubric without judges over millions of texts, as figures in columns; explanations on demand.

The file of cases is cut into pieces. Each is judged on its own, by as many processes as there are cores, and stored
as one shard, so a run that was stopped goes on with the pieces that are missing. Shards have the columns of a run's
figures and one more, the line. How a piece is judged quickly, and equal to one evaluation after the other, stands in
`bulk_workings`; whatever is not simple is evaluated as everywhere else.
"""

from __future__ import annotations

import hashlib
import shutil
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import polars as pl

from rubrica import __version__
from rubrica.engine.cases import BadLine, Case, read_case
from rubrica.engine.compile import compile_rubric
from rubrica.engine.evaluate import evaluate
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.files import make_private_folder
from rubrica.jsontext import UNREADABLE
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.runs.cores import cores
from rubrica.runs.files.append_only import finished_lines
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.folder import COLUMNS, ERRORS
from rubrica.runs.files.manifest import Manifest
from rubrica.runs.files.parquet_rows import readable
from rubrica.runs.files.parquet_source import reading_parquet
from rubrica.runs.files.rows import GROUP

from .case_names import make_names_unique, names_of
from .frames import LINE
from .parquet_records import row_case
from .pieces import PIECE_BYTES, FilePiece, blocks_of, is_table, pieces_of
from .processes import judge_all
from .progress import BulkProgress
from .shards import Shard, ShardJudge, errors_folder, errors_path, shard_path
from .simple_records import lines_in

LEDGER, SHARDS = "bulk.json", "shards"
FORMAT = 1
LARGE = 20_000_000
"""Bytes of a file of cases from which on this path is the quicker one."""


class ShardLedger(msgspec.Struct, frozen=True):
    """What the shards in a folder were made of."""

    fingerprint: str
    source: str
    hash: str  # of the rubric
    group: str
    pieces: tuple[FilePiece, ...]


@dataclass(frozen=True, slots=True)
class BulkRun:
    """A finished bulk run."""

    figures: Path  # a folder of Parquet files with the same columns
    rows: int
    errors: int
    resumed: int  # pieces that were there already
    renamed: int = 0  # cases that had the id of another one


JudgePieces = Callable[[ShardJudge, Sequence[FilePiece], Callable[[Shard], None]], None]
"""Judges pieces and stores their shards; whoever asked is told of each."""


@dataclass(frozen=True, slots=True)
class BulkOptions:
    """How a bulk run is made. Of these, only the group shows in the figures."""

    group: str = GROUP  # the metadata that says which cases belong together
    processes: int = 0  # 0: one per core
    piece_bytes: int = PIECE_BYTES
    judge_pieces: JudgePieces | None = None  # who judges them; None: the processes


ALL_CORES = BulkOptions()


def serves(plan: Plan, source: Path) -> bool:
    """Whether the bulk path can be taken: no judge is asked, and the file can be cut."""
    return plan.judge is None and source.is_file() and source.suffix.lower() not in (".csv", ".tsv")


def bulk_rows(
    plan: Plan,
    source: Path,
    folder: Path,
    how: BulkOptions = ALL_CORES,
    told: Callable[[BulkProgress], None] | None = None,
) -> BulkRun:
    """Judge every record of a JSONL or Parquet file into a folder, or go on with what is there.

    Leaves ``evaluations.parquet``, a folder of shards, and ``errors.jsonl`` where records could not be judged.
    """
    if not serves(plan, source):
        raise RubricaError(f"{source} cannot be judged in bulk: that takes a JSONL or Parquet file, and no judge")
    ledger = _open_ledger(folder, plan, source, how)
    figures, shards = folder / COLUMNS, _shards(folder, ledger.fingerprint)
    count = _Count(len(ledger.pieces), told)
    if figures.is_dir():
        with readable(figures):
            rows = pl.scan_parquet(figures).select(pl.len()).collect().item()
        return BulkRun(figures, rows, sum(1 for _ in finished_lines(folder / ERRORS)), len(ledger.pieces))
    missing = [piece for piece in ledger.pieces if not shard_path(shards, piece.number).exists()]
    for piece in ledger.pieces:
        if piece not in missing:
            count.add(_stored_shard(shards, piece.number))
    resumed = count.pieces
    judge = ShardJudge(plan, source, shards, how.group)
    if how.judge_pieces is not None:
        how.judge_pieces(judge, missing, count.add)
    else:
        judge_all(judge, missing, count.add, how.processes or cores())
    if _fingerprint(plan, source, how.group) != ledger.fingerprint:
        raise RubricaError(f"{source} changed while it was judged; run the same command again")
    renamed = make_names_unique(shards, [piece.number for piece in ledger.pieces])
    _finish(folder, shards, ledger)
    return BulkRun(figures, count.rows, count.errors, resumed, renamed)


class _Count:
    """Running figures."""

    def __init__(self, pieces: int, told: Callable[[BulkProgress], None] | None) -> None:
        self.rows = self.errors = self.pieces = 0
        self._all, self._told = pieces, told

    def add(self, shard: Shard) -> None:
        self.rows += shard.rows
        self.errors += shard.errors
        self.pieces += 1
        if self._told is not None:
            self._told(BulkProgress(self.rows, self.errors, self.pieces, self._all))


def explain(plan: Plan, folder: Path, case: str) -> Evaluation:
    """The full evaluation of one case of a bulk run, judged again."""
    for evaluation in records(plan, folder, [case]):
        return evaluation
    raise RubricaError(f"{folder} has no evaluation of a case {case!r}")


def records(plan: Plan, folder: Path, cases: Collection[str]) -> Iterator[Evaluation]:
    """The full evaluations of some cases, judged again by line; only the pieces they are in are read."""
    ledger = _ledger_of(plan, folder)
    names = _lines_of(folder, cases)
    for piece in _pieces_with(ledger, names):
        yield from _judge_again(plan, ledger, piece, names)


def contexts(folder: Path, manifest: Manifest, cases: Collection[str] | None = None) -> Iterator[tuple[str, Context]]:
    """What was judged, by the names of the cases: of some cases only the pieces they are in are read."""
    ledger = _ledger_of(compile_rubric(manifest.rubrics[0].rubric()), folder)
    wanted = None if cases is None else _lines_of(folder, cases)
    for piece in ledger.pieces if wanted is None else _pieces_with(ledger, wanted):
        names = names_of(folder / COLUMNS, piece.number) if wanted is None else wanted
        for case in _cases(Path(ledger.source), piece):
            if isinstance(case, Case) and case.line in names:
                yield names[case.line], case.context


def _lines_of(folder: Path, cases: Collection[str]) -> dict[int, str]:
    """The names of some cases by their lines."""
    asked = pl.scan_parquet(folder / COLUMNS).filter(pl.col("case").is_in(list(cases))).select(LINE, "case")
    with readable(folder / COLUMNS):
        return dict(asked.collect().iter_rows())


def _pieces_with(ledger: ShardLedger, lines: Collection[int]) -> list[FilePiece]:
    firsts = [piece.first for piece in ledger.pieces]
    return [ledger.pieces[number] for number in sorted({bisect_right(firsts, line) - 1 for line in lines})]


def evaluations(folder: Path, manifest: Manifest) -> Iterator[Evaluation]:
    """Every evaluation of a bulk run in full, judged again one after the other."""
    plan = compile_rubric(manifest.rubrics[0].rubric())
    ledger = _ledger_of(plan, folder)
    for piece in ledger.pieces:
        yield from _judge_again(plan, ledger, piece, names_of(folder / COLUMNS, piece.number))


def _judge_again(plan: Plan, ledger: ShardLedger, piece: FilePiece, names: Mapping[int, str]) -> Iterator[Evaluation]:
    """Judge some cases of a piece again, by their lines, under the names they have in the run."""
    for case in _cases(Path(ledger.source), piece):
        if isinstance(case, Case) and case.line in names:
            yield evaluate(plan, case.context, names[case.line])


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


def _open_ledger(folder: Path, plan: Plan, source: Path, how: BulkOptions) -> ShardLedger:
    """The ledger of a folder; where it is of something else, or there is none, a new one."""
    fingerprint = _fingerprint(plan, source, how.group)
    shards = _shards(folder, fingerprint)
    try:
        known = _read(folder)
        if known is None or known.fingerprint != fingerprint:
            for other in (folder / COLUMNS, *folder.glob(f"{SHARDS}-*")):
                shutil.rmtree(other, ignore_errors=True)
            pieces = tuple(pieces_of(source, how.piece_bytes))
            known = ShardLedger(fingerprint, str(source.absolute()), plan.rubric.hash, how.group, pieces)
            make_private_folder(folder)
            with write_atomically(folder / LEDGER) as place:
                place.write_bytes(msgspec.json.encode(known))
        for place in (shards, errors_folder(shards)) if not (folder / COLUMNS).is_dir() else ():
            place.mkdir(exist_ok=True)
            for torn in place.glob(".*"):
                torn.unlink(missing_ok=True)
    except OSError as error:
        raise RubricaError(f"{folder} cannot be used: {error.strerror or error}") from None
    return known


def _shards(folder: Path, fingerprint: str) -> Path:
    """Where shards are until all are there. A process that outlived a killed run cannot put its own among others."""
    return folder / f"{SHARDS}-{fingerprint}"


def _stored_shard(shards: Path, number: int) -> Shard:
    """What an earlier process made of a piece."""
    rows = pl.scan_parquet(shard_path(shards, number)).select(pl.len()).collect().item()
    return Shard(number, rows, sum(1 for _ in finished_lines(errors_path(shards, number))))


def _finish(folder: Path, shards: Path, ledger: ShardLedger) -> None:
    """Gather the errors, and give the shards their name: from now on they are the run's figures."""
    told = [path for piece in ledger.pieces if (path := errors_path(shards, piece.number)).exists()]
    (folder / ERRORS).unlink(missing_ok=True)
    if told:
        with write_atomically(folder / ERRORS) as place, place.open("wb") as stream:
            for path in told:
                stream.write(path.read_bytes())
    shards.rename(folder / COLUMNS)
    shutil.rmtree(errors_folder(shards))


def _ledger_of(plan: Plan, folder: Path) -> ShardLedger:
    """The ledger of a finished run, where its cases can still be judged again with the same result."""
    ledger = _read(folder)
    if ledger is None or not (folder / COLUMNS).is_dir():
        raise RubricaError(f"{folder} holds no finished bulk run")
    if ledger.fingerprint != _fingerprint(plan, Path(ledger.source), ledger.group):
        raise RubricaError(f"{ledger.source} or the rubric changed since {folder} was made: judge it again")
    return ledger


def _read(folder: Path) -> ShardLedger | None:
    try:
        return msgspec.json.decode((folder / LEDGER).read_bytes(), type=ShardLedger)
    except (FileNotFoundError, NotADirectoryError, *UNREADABLE):
        return None


def _fingerprint(plan: Plan, source: Path, group: str) -> str:
    """Identifies what figures depend on: rubric, program, and the file as far as its size and time tell."""
    try:
        now = source.stat()
    except OSError as error:
        raise RubricaError(f"{source} cannot be read: {error.strerror}") from None
    parts = [FORMAT, __version__, plan.rubric.hash, group, str(source.absolute()), now.st_size, now.st_mtime_ns]
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:16]
