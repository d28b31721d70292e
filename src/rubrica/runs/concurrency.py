"""Runs many coroutines at once with a limit, for a caller that is not asynchronous."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


YOUNG = 20_000
"""New objects that may gather before they are scanned for cycles. At Python's 700, with calls under way that point at
one another, scanning took a fifth of a judge call's time."""


@contextmanager
def reduced_garbage_collection() -> Iterator[None]:
    """What is loaded now is not scanned for cycles any more, and what is made for a while only now and then."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(YOUNG, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def run_concurrently(
    runner: asyncio.Runner, items: Iterable[Item], start: Callable[[Item], Coroutine[Any, Any, Result]], most: int
) -> Generator[Result, None, None]:
    """Results as they finish, at most `most` under way. Stopped early, none is left running.

    >>> async def double(number: int) -> int:
    ...     return 2 * number
    >>> with asyncio.Runner() as runner:
    ...     sorted(run_concurrently(runner, range(4), double, most=2))
    [0, 2, 4, 6]
    """
    waiting = iter(items)
    running: set[asyncio.Task[Result]] = set()
    loop = runner.get_loop()
    arrivals: _Arrivals[Result] = _Arrivals(loop)
    try:
        with _interruptible(arrivals.interrupt):
            while True:
                for item in islice(waiting, most - len(running)):
                    task = loop.create_task(start(item))
                    task.add_done_callback(arrivals)
                    running.add(task)
                if not running:
                    return
                for task in arrivals.draw():
                    running.discard(task)
                    yield task.result()
    finally:
        runner.run(_cancelled(running))


class _Arrivals(Generic[Result]):
    """Tasks as they finish. `Runner.run` and `asyncio.wait` for each of them took longer than a judge's call."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._finished: deque[asyncio.Task[Result]] = deque()
        self._awaited: asyncio.Future[None] = loop.create_future()
        self._interrupted = False

    def __call__(self, task: asyncio.Task[Result]) -> None:
        self._finished.append(task)
        self._leave()

    def draw(self) -> Iterator[asyncio.Task[Result]]:
        """Run the loop until something is finished, then all that is."""
        if not self._finished:
            self._awaited = self._loop.create_future()
            self._loop.run_until_complete(self._awaited)
        while self._finished and not self._interrupted:
            yield self._finished.popleft()
        if self._interrupted:
            raise KeyboardInterrupt

    def interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """What Ctrl-C does: a running loop is left in good order, other code is stopped where it is."""
        if not self._loop.is_running():
            raise KeyboardInterrupt
        self._interrupted = True
        self._loop.call_soon_threadsafe(self._leave)

    def _leave(self) -> None:
        if not self._awaited.done():
            self._awaited.set_result(None)


@contextmanager
def _interruptible(interrupt: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Ctrl-C for a while, where nobody else has claimed it."""
    own = threading.current_thread() is threading.main_thread()
    if not own or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


async def _cancelled(tasks: Iterable[asyncio.Task[Any]]) -> None:
    left = list(tasks)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
