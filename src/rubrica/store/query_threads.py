"""Runs queries in threads, and hands their results back to the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from rubrica.errors import StoreError

Query = Callable[[Connection], Any]


@dataclass(slots=True, eq=False)
class QueryJob:
    """One query, who waits for it, and what became of it."""

    query: Query
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None

    @property
    def is_abandoned(self) -> bool:
        """Whether nobody waits any more."""
        return self.future.cancelled()

    def settle(self) -> None:
        """Tell whoever waits; runs on the event loop's own thread."""
        if self.future.done():  # given up, or told before
            return
        if self.error is None:
            self.future.set_result(self.result)
        elif isinstance(self.error, StopIteration):  # no future takes one
            self.future.set_exception(RuntimeError("a query raised StopIteration"))
        else:
            self.future.set_exception(self.error)


class QueryThreads:
    """Threads that take jobs from one line until it is closed.

    `work` is given what waits, at most `most` jobs, and leaves in each what became of it. What it raises goes to all of
    them, and the thread goes on. Should a thread end all the same, the line is closed and everybody in it is told, so
    that nobody waits for ever.
    """

    def __init__(
        self, name: str, work: Callable[[Sequence[QueryJob]], None], *, threads: int = 1, most: int = 1
    ) -> None:
        self._work, self._most = work, most
        self._line: queue.SimpleQueue[QueryJob | None] = queue.SimpleQueue()  # None: the line is closed, for one thread
        self._open = True
        self._door = threading.Lock()  # so that nobody joins the line once it is closed
        self._threads = [threading.Thread(target=self._run, name=name, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    async def do(self, query: Query) -> Any:
        """Have a query run, and wait for what it gives."""
        loop = asyncio.get_running_loop()
        job = QueryJob(query, loop, loop.create_future())
        with self._door:
            if not self._open:
                raise StoreError("the database is closed: open it again")
            self._line.put(job)
        return await job.future

    def close(self) -> None:
        """Finish what is in the line, then end the threads."""
        self._shut()
        for thread in self._threads:
            thread.join()

    def _shut(self) -> None:
        with self._door:
            if self._open:
                self._open = False
                for _ in self._threads:
                    self._line.put(None)

    def _run(self) -> None:
        jobs: list[QueryJob] = []
        try:
            while jobs := self._next():
                self._attend(jobs)
        except BaseException:
            self._shut()
            abandon([*jobs, *self._rest()], StoreError("the database was closed by a fault: open it again"))
            raise

    def _attend(self, jobs: Sequence[QueryJob]) -> None:
        try:
            self._work(jobs)
        except BaseException as error:  # noqa: BLE001 - the boundary of a thread: whoever waits is told
            abandon(jobs, error)
        else:
            notify_waiting(jobs)

    def _next(self) -> list[QueryJob]:
        """What waits, at least one job; nothing once the line is closed."""
        jobs: list[QueryJob] = []
        while len(jobs) < self._most and not (jobs and self._line.empty()):
            job = self._line.get()
            if job is None:
                if jobs:
                    self._line.put(None)  # these first
                break
            jobs.append(job)
        return jobs

    def _rest(self) -> list[QueryJob]:
        """Take out whoever is still in the line."""
        found: list[QueryJob | None] = []
        with contextlib.suppress(queue.Empty):
            while True:
                found.append(self._line.get_nowait())
        for _ in range(found.count(None)):
            self._line.put(None)
        return [job for job in found if job is not None]


def abandon(jobs: Sequence[QueryJob], error: BaseException) -> None:
    """Tell everybody that nothing came of it."""
    for job in jobs:
        job.error = job.error or error
    notify_waiting(jobs)


def notify_waiting(jobs: Sequence[QueryJob]) -> None:
    """Settle the jobs of each event loop in one call: waking a loop costs more than a small query."""
    for loop in {job.loop for job in jobs}:
        with contextlib.suppress(RuntimeError):  # the loop is gone, and with it whoever waited
            loop.call_soon_threadsafe(_settle, [job for job in jobs if job.loop is loop])


def _settle(jobs: Iterable[QueryJob]) -> None:
    for job in jobs:
        job.settle()
