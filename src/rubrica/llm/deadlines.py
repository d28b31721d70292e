"""Time limits of many calls with one timer between them.

An event loop's timer per call, as `asyncio.timeout` sets and HTTP clients set, takes 7 µs: as much as all the rest that
is done about a call here. Nearly no call is late, so one timer for whichever is due first does the same for 1 µs.
"""

from __future__ import annotations

import asyncio
import math
from types import TracebackType


class Deadlines:
    """The time limits of calls under way. May be used on one event loop after another.

    >>> deadlines = Deadlines()
    >>> async def late() -> None:
    ...     with deadlines.within(0.01):
    ...         await asyncio.sleep(5)
    >>> asyncio.run(late())
    Traceback (most recent call last):
    TimeoutError
    """

    __slots__ = ("_loop", "_next", "_timer", "under_way")

    def __init__(self) -> None:
        self.under_way: set[CallDeadline] = set()
        self._next = math.inf  # when the timer goes off
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def within(self, seconds: float) -> CallDeadline:
        """``with deadlines.within(60)``: what is awaited inside is cancelled when late, and TimeoutError raised."""
        return CallDeadline(self, seconds)

    def watch(self, limit: CallDeadline, loop: asyncio.AbstractEventLoop) -> None:
        """See to it that a call is ended when it is due, if it is still under way then."""
        if loop is not self._loop:  # timers and calls of an earlier loop ended with it
            self._loop, self._timer, self._next = loop, None, math.inf
            self.under_way.clear()
        self.under_way.add(limit)
        if limit.due < self._next:
            self._set_timer(loop, limit.due)

    def _set_timer(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._next = loop.call_at(due, self._end_late_calls, loop), due

    def _end_late_calls(self, loop: asyncio.AbstractEventLoop) -> None:
        # No later than asked for: a loop wakes up to one tick of its clock early.
        now = max(loop.time(), self._next)
        for limit in [limit for limit in self.under_way if limit.due <= now]:
            limit.expire()
        self._timer, self._next = None, math.inf
        if self.under_way:
            self._set_timer(loop, min(limit.due for limit in self.under_way))


class CallDeadline:
    """The time limit of one call. Being late counts as a cancellation of its own, as `asyncio.timeout` has it."""

    __slots__ = ("_cancelling", "_deadlines", "_expired", "_seconds", "_task", "due")

    def __init__(self, deadlines: Deadlines, seconds: float) -> None:
        self._deadlines = deadlines
        self._seconds = seconds
        self._expired = False

    def expire(self) -> None:
        self._expired = True
        self._deadlines.under_way.discard(self)
        self._task.cancel()

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("a time limit needs a task")
        self._task = task
        self._cancelling = task.cancelling()
        self.due = loop.time() + self._seconds
        self._deadlines.watch(self, loop)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._deadlines.under_way.discard(self)  # the timer stays: when it goes off and nothing is late, so be it
        # Whoever else cancelled the task must see it cancelled.
        if self._expired and self._task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise TimeoutError from error
