"""A pool of threads for heavy work, shared fairly between users."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, ParamSpec, Protocol, TypeVar, cast

from rubrica.errors import BusyError

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 4
"""Heavy jobs at once."""
EACH = 1
"""Heavy jobs of one user at once."""
MOST_WAITING = 256
"""Heavy jobs of one user that may wait."""
DEADLINE = 30.0
"""Seconds until whoever asked for a job is told to try again."""


class RunInThread(Protocol):
    """Runs work in a thread, as `asyncio.to_thread` does."""

    def __call__(self, work: Callable[P, T], /, *args: P.args, **options: P.kwargs) -> Awaitable[T]: ...


@dataclass(frozen=True, slots=True)
class _Job:
    user: Hashable
    work: Callable[[], object]
    done: Future[Any]


class WorkPool:
    """A bounded pool of threads that takes the jobs of different users in turn. Safe to use from several threads."""

    def __init__(
        self, threads: int = THREADS, each: int = EACH, most_waiting: int = MOST_WAITING, deadline: float = DEADLINE
    ) -> None:
        self._threads, self._each, self._most_waiting, self._deadline = threads, each, most_waiting, deadline
        self._executor = ThreadPoolExecutor(threads, "rubrica-work")
        self._lock = Lock()
        self._waiting: OrderedDict[Hashable, deque[_Job]] = OrderedDict()  # by user; the first is next
        self._running: Counter[Hashable] = Counter()

    def of(self, user: Hashable) -> RunInThread:
        """What runs the work of one user."""
        return cast("RunInThread", partial(self.run, user))

    async def run(self, user: Hashable, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """The result of some work; a BusyError where there is no room for it, or none before the deadline."""
        job = _Job(user, partial(copy_context().run, partial(work, *args, **options)), Future())
        self._enter(job)
        result = asyncio.wrap_future(job.done)
        try:
            await asyncio.wait({result}, timeout=self._deadline)
        finally:
            if not job.done.done():  # too late, or whoever asked has gone
                self._leave(job)
        if result.done() and not result.cancelled():
            return cast("T", result.result())
        result.add_done_callback(_ignored)
        raise self._too_late(user)

    def _enter(self, job: _Job) -> None:
        with self._lock:
            own = self._waiting.setdefault(job.user, deque())
            if len(own) >= self._most_waiting:
                raise BusyError(
                    f"{len(own)} of your requests are waiting already (send them one after the other)", own=True
                )
            own.append(job)
            self._start()

    def _leave(self, job: _Job) -> None:
        """Forget a job unless it has begun: a thread cannot be stopped."""
        if job.done.cancel():
            with self._lock:
                own = self._waiting.get(job.user)
                if own is not None and job in own:
                    own.remove(job)
                    if not own:
                        del self._waiting[job.user]

    def _start(self) -> None:
        """Begin as many jobs as there is room for, of each user in turn. The lock is held."""
        while self._running.total() < self._threads:
            user = next((user for user in self._waiting if self._running[user] < self._each), None)
            if user is None:
                return
            own = self._waiting.pop(user)
            job = own.popleft()
            if own:
                self._waiting[user] = own  # at the end
            if job.done.set_running_or_notify_cancel():
                self._running[user] += 1
                self._executor.submit(self._do, job)

    def _do(self, job: _Job) -> None:
        try:
            result = job.work()
        except BaseException as error:  # noqa: BLE001 - told to whoever asked
            job.done.set_exception(error)
        else:
            job.done.set_result(result)
        finally:
            with self._lock:
                self._running[job.user] -= 1
                if not self._running[job.user]:
                    del self._running[job.user]
                self._start()

    def _too_late(self, user: Hashable) -> BusyError:
        with self._lock:
            own = self._running[user] > 0
        if own:
            return BusyError(f"your work is not done after {self._deadline:g} s (ask for less at once)", own=True)
        return BusyError(f"there was no room for this work within {self._deadline:g} s (try again)", own=False)


def _ignored(result: asyncio.Future[Any]) -> None:
    """Nobody is there any more to be told how it ended."""
    if not result.cancelled():
        result.exception()
