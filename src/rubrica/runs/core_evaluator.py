"""Evaluates by code alone on every core: in this process, and in one more for each further core.

Evaluations come in the order of their cases, as they do from one process. A run has to go on for a moment before
other processes are started, which costs each of them half a second. This one goes on meanwhile: another process is
handed cases from when it is ready on.
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
WINDOW = 16
"""Chunks for each process that may be out or done while the first of them is still wanted: nobody waits for a chunk
that takes longer than others, and no more than these are held."""


_RESULTS = msgspec.msgpack.Decoder(list[ResultMessage])


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

    __slots__ = ("answer", "is_lost", "results", "works")

    def __init__(self, works: list[CaseWork]) -> None:
        self.works = works
        self.results: list[Judged] = []  # where they were evaluated here
        self.answer = b""  # of another process
        self.is_lost = False  # with the process that had it

    @property
    def is_done(self) -> bool:
        return bool(self.results or self.answer)

    def judged(self) -> list[Judged]:
        """What came back. Reading it is left to whoever wants it: the thread that listens would only be in the way."""
        if self.results:
            return self.results
        return [
            (work, outcome_of(result)) for work, result in zip(self.works, _RESULTS.decode(self.answer), strict=True)
        ]


class _CoreProcess:
    """Another process, the chunks it has, and the threads that see to it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            # looking for cycles in what is being loaded takes an eighth of the time for it
            [sys.executable, "-c", "import gc; gc.disable(); from rubrica.runs.core_worker import main; main()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=worker_environment(),
        )
        self.requests, self.answers = cast("BinaryIO", self.process.stdin), cast("BinaryIO", self.process.stdout)
        self.chunks: deque[_Chunk] = deque()
        self.is_ready = False  # to be handed cases: it has started, and was not lost since
        self._given: SimpleQueue[_Chunk | None] = SimpleQueue()
        self._sent: set[str] = set()  # hashes of rubrics

    def submit(self, chunk: _Chunk | None) -> None:
        """A chunk to hand over; None: there are no more."""
        self._given.put(chunk)

    def send(self) -> None:
        """Hand over what is given, as fast as the process reads it. One that is gone is noticed where it answers."""
        with suppress(OSError, ValueError):
            while (chunk := self._given.get()) is not None:
                write_message(self.requests, self._message(chunk))
        with suppress(OSError):
            self.requests.close()

    def _message(self, chunk: _Chunk) -> bytes:
        rubrics = {}
        for work in chunk.works:
            if (wanted := work.plan.identity[2]) not in self._sent:
                self._sent.add(wanted)
                rubrics[wanted] = rubric_message(work.plan.rubric)
        cases = [case_message(ticket, work) for ticket, work in enumerate(chunk.works)]
        return msgspec.msgpack.encode(CaseChunk(cases, rubrics))

    def end(self) -> None:
        """It holds nothing that is wanted, so it need not end by itself."""
        self.submit(None)
        self.process.kill()
        self.process.wait()


class _CorePool:
    """This process and the others at work on one run."""

    def __init__(self, others: int) -> None:
        self._news = Condition()
        self._processes = [_CoreProcess() for _ in range(others)]
        self._order: deque[_Chunk] = deque()  # as they are wanted back
        self._most = WINDOW * (others + 1)

    def evaluated(self, waiting: Iterator[CaseWork]) -> Iterator[Judged]:
        threads = [Thread(target=self._listen, args=(process,), daemon=True) for process in self._processes]
        threads += [Thread(target=process.send, daemon=True) for process in self._processes]
        for thread in threads:
            thread.start()
        try:
            yield from self._drawn(waiting)
        finally:
            for process in self._processes:
                process.end()
            for thread in threads:
                thread.join()
            for process in self._processes:
                process.answers.close()

    def _drawn(self, waiting: Iterator[CaseWork]) -> Iterator[Judged]:
        while True:
            self._hand_out(waiting)
            if not self._order or not self._order[0].is_done:
                own = self._own_chunk(waiting)
                if own is not None:
                    own.results = list(evaluate_each(own.works))
                elif not self._order:
                    return
                else:
                    self._wait_for(self._order[0])
            while self._order and self._order[0].is_done:
                yield from self._order.popleft().judged()

    def _wait_for(self, chunk: _Chunk) -> None:
        with self._news:
            self._news.wait_for(lambda: chunk.is_done or chunk.is_lost)

    def _hand_out(self, waiting: Iterator[CaseWork]) -> None:
        """Fill up every process that is ready."""
        for process in self._processes:
            while process.is_ready and len(process.chunks) < AHEAD and (chunk := self._next_chunk(waiting)) is not None:
                with self._news:
                    chunk.is_lost = not process.is_ready
                    process.chunks.append(chunk)
                process.submit(chunk)

    def _own_chunk(self, waiting: Iterator[CaseWork]) -> _Chunk | None:
        """A chunk for this process: one that was lost with another, or else the next one."""
        lost = next((chunk for chunk in self._order if chunk.is_lost and not chunk.is_done), None)
        return lost or self._next_chunk(waiting)

    def _next_chunk(self, waiting: Iterator[CaseWork]) -> _Chunk | None:
        if len(self._order) >= self._most or not (works := list(islice(waiting, CHUNK))):
            return None
        chunk = _Chunk(works)
        self._order.append(chunk)
        return chunk

    def _listen(self, process: _CoreProcess) -> None:
        """Take in what a process says: that it is ready, then what it has evaluated. What a lost one had is lost."""
        process.is_ready = read_message(process.answers) is not None
        while (body := read_message(process.answers)) is not None:
            with self._news:
                process.chunks.popleft().answer = body
                self._news.notify()
        with self._news:
            process.is_ready = False
            for chunk in process.chunks:
                chunk.is_lost = True
            self._news.notify()
