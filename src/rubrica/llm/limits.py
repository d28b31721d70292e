"""How many calls may be under way at once: found by trying, per provider and key.

The limit doubles every round trip until the first sign of congestion, then adds one per round trip. It drops to a share
of itself when the provider says that it is too much, or when more than a fifth of the recent calls met an overloaded
server; a stray 500 now and then has nothing to do with how many calls are under way. Calls are let in first come, first
served.
"""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType

from rubrica.errors import RubricaError

_RECENT = 1 / 32  # the weight of one call in the share of overloaded ones
_STRAINED = 0.2  # the share that is too much


class AdaptiveLimit:
    """A limit on calls under way that grows while the provider is well and shrinks when it is not.

    Not shared between threads: one limit belongs to one event loop at a time.

    >>> limit = AdaptiveLimit(start=8, most=64)
    >>> async def call() -> int:
    ...     async with limit.slot() as slot:
    ...         slot.congested()  # the provider answered 429
    ...         return limit.in_flight
    >>> asyncio.run(call()), limit.limit, limit.in_flight
    (1, 5, 0)
    """

    __slots__ = ("_doubling", "_level", "_strain", "_waiting", "epoch", "in_flight", "least", "most", "shrink")

    def __init__(self, start: int = 8, *, least: int = 1, most: int = 64, shrink: float = 0.7) -> None:
        if not (1 <= least <= most and 0 < shrink < 1):
            raise RubricaError(f"a limit needs 1 <= least <= most and 0 < shrink < 1, not {least}, {most}, {shrink}")
        self.least = least
        self.most = most
        self.shrink = shrink
        self.in_flight = 0  # calls that hold a slot
        self.epoch = 0  # how often the limit has shrunk
        self._level = float(min(max(start, least), most))
        self._doubling = True
        self._strain = 0.0  # share of recent calls that met an overloaded server
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def limit(self) -> int:
        """How many calls may be under way now."""
        return int(self._level)

    @property
    def waiting(self) -> int:
        """How many calls wait for a slot."""
        return sum(not future.done() for future in self._waiting)

    def slot(self) -> CallSlot:
        """A place for one call: ``async with limit.slot() as slot``."""
        return CallSlot(self)

    def take(self, *, first: bool = False) -> bool:
        """Take a slot if there is one now; with `first`, ahead of everyone who has not had one yet."""
        if self.in_flight < int(self._level) and (first or not self._waiting):
            self.in_flight += 1
            return True
        return False

    async def enter(self, *, first: bool = False) -> None:
        """Take a slot, as soon as there is one."""
        if self.take(first=first):
            return
        future = asyncio.get_running_loop().create_future()
        if first:
            self._waiting.appendleft(future)
        else:
            self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if not future.cancelled():  # the slot was handed over just before: pass it on
                self.leave()
            raise

    def leave(self) -> None:
        """Give a slot back."""
        self.in_flight -= 1
        self._admit()

    def grow(self) -> None:
        """A call went well. The limit grows only while it is what holds calls back."""
        self._strain -= _RECENT * self._strain
        if self._level >= self.most or self.in_flight < int(self._level):
            return
        self._level = min(self.most, self._level + (1.0 if self._doubling else 1.0 / self._level))
        self._admit()

    def contract(self, seen: int) -> None:
        """A call that began in epoch `seen` was too much. Calls of one round trip shrink the limit once."""
        if seen == self.epoch:
            self.epoch += 1
            self._doubling = False
            self._level = max(self.least, self._level * self.shrink)

    def overload(self, seen: int) -> None:
        """A call that began in epoch `seen` met an overloaded server: too much only if many do."""
        self._strain += _RECENT * (1.0 - self._strain)
        if self._strain > _STRAINED:
            self.contract(seen)

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self._level):
            future = self._waiting.popleft()
            if not future.done():  # done here means cancelled while waiting
                self.in_flight += 1
                future.set_result(None)


class CallSlot:
    """One call's place under an AdaptiveLimit, through which it reports how the provider fared."""

    __slots__ = ("_epoch", "_held", "_limit")

    def __init__(self, limit: AdaptiveLimit) -> None:
        self._limit = limit
        self._epoch = 0
        self._held = False

    def begin(self) -> None:
        """An attempt starts now; what it reports is about the limit as it is now."""
        self._epoch = self._limit.epoch

    def healthy(self) -> None:
        """The provider answered."""
        self._limit.grow()

    def congested(self) -> None:
        """The provider said that it is asked too often."""
        self._limit.contract(self._epoch)

    def overloaded(self) -> None:
        """The provider was overloaded, for whatever reason."""
        self._limit.overload(self._epoch)

    def step_out(self) -> None:
        """Give the slot up, perhaps for a while, so that others can use it."""
        if self._held:
            self._held = False
            self._limit.leave()

    async def step_in(self) -> None:
        """Take a slot again, ahead of calls that have not started yet."""
        if not self._held:
            await self._limit.enter(first=True)
            self._held = True

    async def __aenter__(self) -> CallSlot:
        if not self._limit.take():  # most often there is one: nothing to wait for
            await self._limit.enter()
        self._held = True
        self._epoch = self._limit.epoch
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.step_out()
