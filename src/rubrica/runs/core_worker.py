"""A process that evaluates cases by code alone.

It is a program of its own rather than a fork, since a fork of a process with threads may hang. It says that it is
ready, then reads messages, each behind its length, and answers each with the results of its cases; it ends when there
is nothing more to read.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping
from typing import BinaryIO

import msgspec

from rubrica.engine.evaluate import evaluate
from rubrica.errors import RubricaError

from .case_messages import CaseMessage, ResultMessage, SentRubrics
from .concurrency import YOUNG

LENGTH = 8
"""Bytes of the length before every message."""
READY = b"ready"


class CaseChunk(msgspec.Struct, frozen=True, array_like=True):
    """Some cases, and the rubrics among theirs that were not sent before, by hash."""

    cases: list[CaseMessage]
    rubrics: Mapping[str, bytes] = {}


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message; None where there is none, or where it is cut off."""
    head = stream.read(LENGTH)
    if len(head) < LENGTH:
        return None
    size = int.from_bytes(head)
    body = stream.read(size)
    return body if len(body) == size else None


def write_message(stream: BinaryIO, body: bytes) -> None:
    stream.write(len(body).to_bytes(LENGTH) + body)
    stream.flush()


def evaluated(sent: SentRubrics, message: CaseMessage) -> ResultMessage:
    """A case as its evaluation, or why it cannot be judged."""
    try:
        plan, context = sent.work(message)
        return ResultMessage(message.ticket, evaluate(plan, context, message.case).to_json().encode())
    except RubricaError as error:
        return ResultMessage(message.ticket, b"", str(error))


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Evaluate what is asked for until there is no more."""
    decoder, sent = msgspec.msgpack.Decoder(CaseChunk), SentRubrics()
    gc.freeze()
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    gc.enable()
    write_message(answers, READY)
    while (body := read_message(requests)) is not None:
        chunk = decoder.decode(body)
        for wanted, document in chunk.rubrics.items():
            sent.add(wanted, document)
        write_message(answers, msgspec.msgpack.encode([evaluated(sent, case) for case in chunk.cases]))


def main() -> None:
    try:
        serve(sys.stdin.buffer, sys.stdout.buffer)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(1)
