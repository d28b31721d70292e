"""Judges the pieces of a file on all cores: in this process, and in one more for each further core."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread
from typing import IO

import msgspec

from rubrica.engine.plan import Plan
from rubrica.errors import RubricaError
from rubrica.runs.cores import worker_environment
from rubrica.runs.files.manifest import UsedRubric

from .shards import Shard, ShardJudge
from .turns import PieceTurns, PlacedPiece
from .worker import WorkerAnswer, WorkerJob

PATIENCE = 5.0
"""Seconds that another process may take to end."""


class PieceQueue:
    """What is left to judge, and what was judged; shared by the threads that see to the other processes."""

    def __init__(self, pieces: Iterable[PlacedPiece], told: Callable[[Shard], None]) -> None:
        self._left = iter(pieces)
        self._back: deque[PlacedPiece] = deque()
        self._told = told
        self._lock = Lock()
        self.problem = ""

    def next(self) -> PlacedPiece | None:
        """A piece to judge; None where there is none, or where something cannot be mended."""
        with self._lock:
            if self.problem:
                return None
            if self._back:
                return self._back.popleft()
            try:
                return next(self._left, None)
            except (RubricaError, OSError) as error:  # of reading a file: the thread that asked for it cannot tell
                self.problem = str(error)
                return None

    def give_back(self, piece: PlacedPiece) -> None:
        with self._lock:
            self._back.append(piece)

    def stop(self, problem: str) -> None:
        self.problem = self.problem or problem

    def done(self, shard: Shard) -> None:
        with self._lock:
            try:
                self._told(shard)
            except RubricaError as error:  # the run has to stop, which the thread that told of it cannot say
                self.problem = self.problem or str(error)


def judge_all(shards: ShardJudge, pieces: PieceTurns, told: Callable[[Shard], None], processes: int) -> None:
    """Judge every piece; `told` hears of each as it is stored, by one thread at a time."""
    queue = PieceQueue(pieces, told)
    others = max(0, min(processes, pieces.missing) - 1)
    with _workers(shards, queue, others):
        while (piece := queue.next()) is not None:
            queue.done(shards.judge(piece.path, piece.piece))
    while (piece := queue.next()) is not None:  # given back by a process that died
        queue.done(shards.judge(piece.path, piece.piece))
    if queue.problem:
        raise RubricaError(queue.problem)


@contextmanager
def _workers(shards: ShardJudge, queue: PieceQueue, count: int) -> Iterator[None]:
    """Other processes at work, each seen to by a thread of its own; at the end they have ended."""
    workers = [_started(shards.plan, shards) for _ in range(count)]
    threads = [Thread(target=_feed_worker, args=(worker, queue), daemon=True) for worker in workers]
    for thread in threads:
        thread.start()
    try:
        yield
        for thread in threads:
            thread.join()
    finally:
        for worker in workers:
            _end(worker)


def _started(plan: Plan, shards: ShardJudge) -> subprocess.Popen[bytes]:
    rubric = plan.rubric
    worker = subprocess.Popen(
        [sys.executable, "-m", "rubrica.runs.bulk.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=worker_environment(),
    )
    job = WorkerJob(UsedRubric.of(rubric).document, rubric.hash, str(shards.folder), shards.group)
    _write(worker, msgspec.json.encode(job))
    return worker


def _feed_worker(worker: subprocess.Popen[bytes], queue: PieceQueue) -> None:
    """Hand pieces to a process until there are no more. What a dead one had is given back."""
    while (piece := queue.next()) is not None:
        _write(worker, msgspec.json.encode(piece))
        line = _pipe(worker.stdout).readline()
        if not line.endswith(b"\n"):
            queue.give_back(piece)
            return
        answer = msgspec.json.decode(line, type=WorkerAnswer)
        if answer.shard is None:
            queue.stop(answer.problem)
            return
        queue.done(answer.shard)


def _write(worker: subprocess.Popen[bytes], line: bytes) -> None:
    try:
        pipe = _pipe(worker.stdin)
        pipe.write(line + b"\n")
        pipe.flush()
    except OSError:  # it is gone, which reading its answer shows
        return


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RubricaError("a process was started without its pipes")
    return pipe


def _end(worker: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):  # it is gone already
        _pipe(worker.stdin).close()
    try:
        worker.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        worker.kill()
        worker.wait()
    _pipe(worker.stdout).close()
