"""Evaluates by code alone on every core: in this process, and in one more for each further core.

Evaluations come in the order of their cases, as they do from one process. A run has to go on for a moment before
other processes are started, which costs each of them most of a second.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from threading import Condition, Thread
from typing import BinaryIO, cast

import msgspec

from .batch import CaseWork, Judged, evaluate_each
from .case_messages import ResultMessage, case_message, outcome_of, rubric_message
from .core_worker import CaseChunk, read_message, write_message
from .cores import worker_environment

ALONE = 1.5
"""Seconds that this process evaluates alone before others are started."""
CHUNK = 16
"""Cases that are handed over together."""
AHEAD = 3
"""Chunks that a process has: one under way, the others waiting for it."""
PATIENCE = 5.0
"""Seconds that another process may take to end."""


class CoreEvaluator:
    """An Evaluator that takes on more processes where a run is long enough to gain by them."""

    def __init__(self, processes: int, alone: float = ALONE) -> None:
        self._others = max(0, processes - 1)
        self._alone = alone

    def __call__(self, work: Iterable[CaseWork]) -> Generator[Judged, None, None]:
        waiting = iter(work)
        until = time.monotonic() + self._alone
        if not self._others:
            yield from evaluate_each(waiting)
            return
        while time.monotonic() < until:
            if (first := next(waiting, None)) is None:
                return
            yield from evaluate_each((first,))
        yield from _CorePool(self._others).evaluated(waiting)


class _Chunk:
    """Some cases on their way, in the order in which they are wanted back."""

    __slots__ = ("results", "works")

    def __init__(self, works: list[CaseWork]) -> None:
        self.works = works
        self.results: list[Judged] | None = None


class _CoreProcess:
    """Another process, the chunks it has, and the thread that sees to it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rubrica.runs.core_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=worker_environment(),
        )
        self.orders, self.answers = cast("BinaryIO", self.process.stdin), cast("BinaryIO", self.process.stdout)
        self.chunks: deque[_Chunk] = deque()
        self.is_lost = False
        self._given: SimpleQueue[_Chunk | None] = SimpleQueue()
        self._sent: set[str] = set()  # hashes of rubrics

    def give(self, chunk: _Chunk | None) -> None:
        """A chunk to hand over; None: there are no more."""
        self._given.put(chunk)

    def send(self) -> None:
        """Hand over what is given, as fast as the process reads it. One that is gone is noticed where it answers."""
        with suppress(OSError, ValueError):
            while (chunk := self._given.get()) is not None:
                write_message(self.orders, self._message(chunk))
        with suppress(OSError):
            self.orders.close()

    def _message(self, chunk: _Chunk) -> bytes:
        rubrics = {}
        for work in chunk.works:
            if (wanted := work.plan.identity[2]) not in self._sent:
                self._sent.add(wanted)
                rubrics[wanted] = rubric_message(work.plan.rubric)
        cases = [case_message(ticket, work) for ticket, work in enumerate(chunk.works)]
        return msgspec.msgpack.encode(CaseChunk(cases, rubrics))

    def end(self, *, early: bool) -> None:
        self.give(None)
        if early:
            self.process.kill()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class _CorePool:
    """This process and the others at work on one run."""

    def __init__(self, others: int) -> None:
        self._news = Condition()
        self._processes = [_CoreProcess() for _ in range(others)]
        self._order: deque[_Chunk] = deque()  # as they are wanted back
        self._most = AHEAD * others + 2
        self._is_over = False

    def evaluated(self, waiting: Iterator[CaseWork]) -> Iterator[Judged]:
        threads = [Thread(target=self._listen, args=(process,), daemon=True) for process in self._processes]
        threads += [Thread(target=process.send, daemon=True) for process in self._processes]
        for thread in threads:
            thread.start()
        try:
            yield from self._drawn(waiting)
        finally:
            self._is_over = True
            for process in self._processes:
                process.end(early=bool(process.chunks))
            for thread in threads:
                thread.join()
            for process in self._processes:
                process.answers.close()

    def _drawn(self, waiting: Iterator[CaseWork]) -> Iterator[Judged]:
        while True:
            self._hand_out(waiting)
            own = None
            with self._news:
                if not self._order:
                    return
                first = self._order[0]
                if first.results is None and len(self._order) < self._most:
                    own = _next_chunk(waiting)
                    if own is not None:
                        self._order.append(own)
                if first.results is None and own is None:
                    self._news.wait()
                    continue
            if own is not None:
                own.results = list(evaluate_each(own.works))
            while self._order and (results := self._order[0].results) is not None:
                self._order.popleft()
                yield from results

    def _hand_out(self, waiting: Iterator[CaseWork]) -> None:
        """Fill up every process that is there; where none is left, this one goes on alone."""
        for process in self._processes:
            while not process.is_lost and len(process.chunks) < AHEAD and len(self._order) < self._most:
                chunk = _next_chunk(waiting)
                if chunk is None:
                    return
                with self._news:
                    self._order.append(chunk)
                    process.chunks.append(chunk)
                process.give(chunk)
        if not self._order and (chunk := _next_chunk(waiting)) is not None:
            chunk.results = list(evaluate_each(chunk.works))
            self._order.append(chunk)

    def _listen(self, process: _CoreProcess) -> None:
        """Take in what a process has evaluated. What a lost one had is evaluated here."""
        decoder = msgspec.msgpack.Decoder(list[ResultMessage])
        while True:
            body = read_message(process.answers)
            if body is None:
                break
            results = decoder.decode(body)
            with self._news:
                chunk = process.chunks.popleft()
                chunk.results = [(work, outcome_of(result)) for work, result in zip(chunk.works, results, strict=True)]
                self._news.notify()
        with self._news:
            process.is_lost = True
            left = list(process.chunks)
            process.chunks.clear()
        for chunk in left if not self._is_over else ():
            chunk.results = list(evaluate_each(chunk.works))
            with self._news:
                self._news.notify()


def _next_chunk(waiting: Iterator[CaseWork]) -> _Chunk | None:
    works = list(islice(waiting, CHUNK))
    return _Chunk(works) if works else None
