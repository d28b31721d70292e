"""A process that judges pieces of a file: ``python -m rubrica.runs.bulk.worker``.

It is a program of its own rather than a fork: polars has threads, and a fork of a process with threads may hang. The
first line it reads says what to judge by, every further one names a piece, and for each it writes a line. It ends
when there is nothing more to read, so also when the process that started it is gone.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from rubrica.engine.compile import compile_rubric
from rubrica.engine.load import rubric_from_data
from rubrica.errors import RubricaError

from .shards import Shard, ShardJudge
from .turns import PlacedPiece


class WorkerJob(msgspec.Struct, frozen=True):
    """What a process needs to know before its first piece."""

    rubric: Mapping[str, Any]  # the document
    hash: str
    folder: str
    group: str


class WorkerAnswer(msgspec.Struct, frozen=True):
    """What became of a piece, or why it could not be judged."""

    shard: Shard | None = None
    problem: str = ""


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Judge what is asked for until there is no more."""
    job = msgspec.json.decode(requests.readline(), type=WorkerJob)
    plan = compile_rubric(rubric_from_data(job.rubric))
    if plan.rubric.hash != job.hash:
        raise RubricaError(f"the rubric {plan.rubric.name} changed on its way to another process")
    shards = ShardJudge(plan, Path(job.folder), job.group)
    for line in requests:
        placed = msgspec.json.decode(line, type=PlacedPiece)
        try:
            answer = WorkerAnswer(shards.judge(placed.path, placed.piece))
        except RubricaError as error:
            answer = WorkerAnswer(problem=str(error))
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()


if __name__ == "__main__":
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(1)
