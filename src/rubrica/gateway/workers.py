"""A few threads for work that would block the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from rubrica.errors import RubricaError

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 2
"""They share one interpreter: more would only take turns more often, and the event loop would wait for its own."""

MOST_JOBS = 32
"""Jobs that wait or run, those included whose result nobody waits for any more."""


class GradingBusyError(RubricaError):
    """So much work is under way that no more is taken."""


class Workers:
    """Threads that are started when first needed. A job cannot be interrupted, so each has to be bounded by itself."""

    def __init__(self, threads: int = THREADS, most: int = MOST_JOBS) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="gateway-work")
        self._most = most
        self._jobs = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many jobs wait or run."""
        return self._jobs

    async def run(self, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
        """Do something in a thread. Where whoever waits is cancelled, work that has begun goes on, and still counts.

        A BusyError says that too many jobs wait or run.
        """
        with self._lock:
            if self._jobs >= self._most:
                raise GradingBusyError(f"{self._most} answers are being graded already")
            self._jobs += 1
        job = self._pool.submit(work, *args, **options)
        job.add_done_callback(self._ended)
        return await asyncio.wrap_future(job)

    def close(self) -> None:
        """Begin nothing more; what has begun ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, _: Future[T]) -> None:
        with self._lock:
            self._jobs -= 1
