"""How many requests and tokens may be sent in a minute, where whoever asks has set that."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

BURST = 5.0
"""Seconds' worth that may be sent at once after a pause."""
MINUTE = 60.0


class CallRate(Protocol):
    """Lets calls to a place through at a rate; shared by all who send there."""

    async def admit(self, place: str, tokens: int) -> None:
        """Wait until a call of so many tokens may be sent."""
        ...


@dataclass(slots=True)
class MinuteAllowance:
    """An allowance of so much a minute: no 60 seconds see more, however they are cut.

    >>> allowance = MinuteAllowance(120)
    >>> [round(allowance.wait(1, now=0.0), 3) for _ in range(12)][8:]
    [0.0, 0.0, 0.545, 1.091]
    """

    per_minute: float
    level: float = field(init=False)
    _seen: float = field(default=float("-inf"), init=False)

    def __post_init__(self) -> None:
        self.level = self._most

    @property
    def _most(self) -> float:
        return max(1.0, self.per_minute * BURST / MINUTE)

    def wait(self, amount: float, now: float) -> float:
        """Claim an amount, and tell how many seconds to wait before it is used.

        What is more than ever gathers is let through when all has gathered, and those behind it wait the longer.
        """
        most = self._most
        refill = max(self.per_minute - most, self.per_minute / 2) / MINUTE
        if self._seen > float("-inf"):
            self.level = min(most, self.level + max(0.0, now - self._seen) * refill)
        self._seen = now
        needed = min(amount, most) - self.level
        self.level -= amount
        return max(0.0, needed / refill)


class RateLimit(msgspec.Struct):
    """Requests and tokens a minute for every place by itself: a model at an address, with one key."""

    requests: float | None = None
    tokens: float | None = None
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    _places: dict[str, tuple[MinuteAllowance | None, MinuteAllowance | None]] = msgspec.field(default_factory=dict)

    def delay(self, place: str, tokens: int) -> float:
        """Claim a call, and tell how many seconds it has to wait."""
        if place not in self._places:
            self._places[place] = (
                MinuteAllowance(self.requests) if self.requests is not None else None,
                MinuteAllowance(self.tokens) if self.tokens is not None else None,
            )
        by_call, by_token = self._places[place]
        now = self.clock()
        return max(
            by_call.wait(1.0, now) if by_call is not None else 0.0,
            by_token.wait(float(tokens), now) if by_token is not None else 0.0,
        )

    async def admit(self, place: str, tokens: int) -> None:
        if (pause := self.delay(place, tokens)) > 0:
            await self.sleep(pause)
