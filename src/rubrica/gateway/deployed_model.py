"""One of several deployments of a tier: how it fares, and what it streams."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from rubrica.llm.shared_breakers import BreakerNews

from .upstream import HedgedCall, Stream, Upstream

PROBED = 20.0
"""Seconds within which a deployment that is back has answered the small request."""


@dataclass(slots=True)
class Deployment:
    """One model at one address with one key, and how it fares."""

    name: str  # as clients and operators see it
    upstream: Upstream
    weight: float = 1.0
    order: int = 0
    place: str = ""  # a digest of model, address and key: how other processes know it
    in_flight: int = 0
    failed: int = 0  # in a row
    resting_until: float = 0.0  # on the pool's clock
    turn: float = 0.0  # whose it is among equals: the highest
    clock: Callable[[], float] = time.monotonic
    well_at: float = -math.inf  # when it last answered
    tell: Callable[[BreakerNews], None] | None = None  # the other processes, if any
    told: bool = False  # whether it rests because another process said so

    @property
    def load(self) -> float:
        return self.in_flight / self.weight

    def rest(self, seconds: float, trouble: str) -> None:
        """Leave it alone for so long."""
        self.resting_until, self.told = self.clock() + seconds, False
        if self.tell is not None:
            self.tell(BreakerNews("", self.name, seconds, 0.0, self.failed, trouble))

    def answered(self) -> None:
        """It is well, as an answer shows."""
        rested, self.well_at = self.resting_until > 0, self.clock()
        self.failed, self.resting_until, self.told = 0, 0.0, False
        if rested and self.tell is not None:
            self.tell(BreakerNews("", self.name))

    def adopt(self, news: BreakerNews) -> bool:
        """Rest, or come back, as another process found out. Whoever found out asks whether it is back, so this one
        waits a while longer to be told."""
        now = self.clock()
        if not news.rest:
            changed = self.resting_until > now
            self.failed, self.resting_until, self.told = 0, 0.0, False
            return changed
        until = now - news.age + news.rest
        if until <= now or self.well_at >= now - news.age or self.resting_until >= until:
            return False
        changed = self.resting_until <= now
        self.resting_until, self.told = until + PROBED + 1, True
        return changed


class DeployedStream:
    """A stream that knows who gives it. It counts as a request under way until it has ended."""

    def __init__(self, one: Deployment, stream: Stream, hedged: tuple[HedgedCall, ...] = ()) -> None:
        self.asked, self.deployment, self.hedged = one.upstream.name, one.name, hedged
        self._one, self._stream, self._under_way = one, stream, True
        self._copy()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for block in self._stream:
                yield block
        finally:
            self._end()

    async def aclose(self) -> None:
        await self._stream.aclose()
        self._end()

    def _end(self) -> None:
        self._copy()
        if self._under_way:
            self._under_way = False
            self._one.in_flight -= 1

    def _copy(self) -> None:
        stream = self._stream
        self.model, self.text, self.usage, self.finish = stream.model, stream.text, stream.usage, stream.finish
