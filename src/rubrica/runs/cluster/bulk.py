"""A bulk run on a cluster: pieces of the file go to the nodes, figures come back, and the driver stores them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import polars as pl

from rubrica import __version__
from rubrica.engine.compile import compile_rubric
from rubrica.engine.load import rubric_from_data
from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.runs.bulk.pieces import FilePiece, is_table
from rubrica.runs.bulk.shards import Shard, ShardJudge, errors_folder, errors_path, shard_path
from rubrica.runs.bulk.turns import PlacedPiece
from rubrica.runs.cores import cores
from rubrica.runs.files.atomic import write_atomically
from rubrica.runs.files.manifest import UsedRubric
from rubrica.runs.files.parquet_source import reading_parquet

from .connection import ClusterError, connected

PIECE_BYTES = 8_000_000
"""Of a file of lines; what a message to a node may well weigh."""
UNDER_WAY = 2
"""Pieces for each CPU of the cluster: one is judged while the next one arrives."""
RETRIES = 10
"""How often a piece is given to another node when one is lost."""


class PieceJob(NamedTuple):
    """What a node needs to know to judge pieces."""

    rubric: Mapping[str, Any]
    hash: str
    group: str
    version: str


class PieceFigures(NamedTuple):
    """What became of a piece: its shard and its errors as files, or why it could not be judged."""

    shard: Shard | None
    table: bytes = b""
    errors: bytes = b""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ClusterPieces:
    """Judges pieces on every node of a cluster."""

    address: str

    def __call__(self, shards: ShardJudge, pieces: Iterable[PlacedPiece], told: Callable[[Shard], None]) -> None:
        with connected(self.address, cores()) as ray:
            judge_pieces(ray, shards, pieces, told)


def judge_pieces(ray: Any, shards: ShardJudge, pieces: Iterable[PlacedPiece], told: Callable[[Shard], None]) -> None:
    """Judge every piece on an open cluster; `told` hears of each as it is stored."""
    rubric = UsedRubric.of(shards.plan.rubric)
    job = PieceJob(rubric.document, rubric.hash, shards.group, __version__)
    judge = ray.remote(judge_piece).options(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD")
    described = ray.put(job)
    most = UNDER_WAY * int(max(1, ray.cluster_resources().get("CPU", 1)))
    waiting = iter(pieces)
    asked: list[Any] = []
    while True:
        while len(asked) < most and (placed := next(waiting, None)) is not None:
            asked.append(judge.remote(described, placed, piece_bytes(placed.path, placed.piece)))
        if not asked:
            return
        ready, asked = ray.wait(asked, num_returns=1)
        for answer in ready:
            told(_stored(shards.folder, _result(ray, answer)))


def judge_piece(job: PieceJob, placed: PlacedPiece, data: bytes) -> PieceFigures:
    """Judge one piece, on whichever node this runs."""
    if job.version != __version__:
        said = f"a node has Rubrica {__version__}, the driver {job.version}: install the same on both"
        return PieceFigures(None, problem=said)
    try:
        with TemporaryDirectory() as place:
            return _judged(_plan(job), job, placed, data, Path(place))
    except RubricaError as error:
        return PieceFigures(None, problem=str(error))


def piece_bytes(source: Path, piece: FilePiece) -> bytes:
    """A piece as a small file of its own. Lines stand behind an empty byte, so that it has no beginning of a file."""
    if is_table(source):
        with reading_parquet(source):
            frame = pl.scan_parquet(source).slice(piece.start, piece.end - piece.start).collect()
        with TemporaryDirectory() as place:
            path = Path(place) / "piece.parquet"
            frame.write_parquet(path, compression="lz4")
            return path.read_bytes()
    with source.open("rb") as stream:
        stream.seek(piece.start)
        data = stream.read(piece.end - piece.start)
    return data if piece.start == 0 else b"\n" + data


def _judged(plan: Plan, job: PieceJob, placed: PlacedPiece, data: bytes, place: Path) -> PieceFigures:
    piece, source, folder = placed.piece, place / f"piece{placed.path.suffix.lower()}", place / "shards"
    source.write_bytes(data)
    folder.mkdir()
    errors_folder(folder).mkdir()
    if is_table(source):
        alone = FilePiece(piece.number, 0, piece.end - piece.start, piece.first)
    else:
        alone = FilePiece(piece.number, int(piece.start > 0), len(data), piece.first)
    shard = ShardJudge(plan, folder, job.group).judge(source, alone)
    told = errors_path(folder, piece.number)
    errors = told.read_bytes() if told.exists() else b""
    return PieceFigures(shard, shard_path(folder, piece.number).read_bytes(), errors)


_PLANS: dict[str, Plan] = {}


def _plan(job: PieceJob) -> Plan:
    """The plan, compiled once in a process of a node."""
    if job.hash not in _PLANS:
        plan = compile_rubric(rubric_from_data(job.rubric))
        if plan.rubric.hash != job.hash:
            raise RubricaError(f"the rubric {plan.rubric.name} changed on its way to another machine")
        _PLANS.clear()
        _PLANS[job.hash] = plan
    return _PLANS[job.hash]


def _result(ray: Any, answer: Any) -> PieceFigures:
    try:
        figures: PieceFigures = ray.get(answer)
    except ray.exceptions.RayError as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise ClusterError(f"a piece could not be judged on the cluster: {said}; the same command goes on") from error
    if figures.problem:
        raise RubricaError(figures.problem)
    return figures


def _stored(folder: Path, figures: PieceFigures) -> Shard:
    """Keep what a node found. The errors come first, so that no shard is without them."""
    shard = figures.shard
    if shard is None:
        raise RubricaError("a node gave no figures")
    if figures.errors:
        with write_atomically(errors_path(folder, shard.number)) as place:
            place.write_bytes(figures.errors)
    with write_atomically(shard_path(folder, shard.number)) as place:
        place.write_bytes(figures.table)
    return shard
