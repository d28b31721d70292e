"""One budget, one rate and one view of which models are down, for all workers of a cluster: an actor that keeps them,
and the workers' side of it.

What a lost worker had reserved counts as spent, since whether its calls were billed cannot be known.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from rubrica.llm.budget import Budget, Price
from rubrica.llm.model import Usage
from rubrica.llm.rate import RateLimit
from rubrica.llm.settings import Settings
from rubrica.llm.shared_breakers import BreakerNews


def _no_price(_model: str, _usage: Usage) -> float | None:
    return None


@dataclass(frozen=True, slots=True)
class BudgetState:
    """How a budget stands."""

    spent: float
    reserved: float


class SharedLimits:
    """What all workers of a run share. It runs as an actor, and never on a machine that may vanish before the head."""

    def __init__(self, settings: Settings) -> None:
        self._budget = Budget(settings.budget, _no_price) if settings.budget is not None else None
        self._rate = RateLimit(settings.requests_per_minute, settings.tokens_per_minute)
        self._held: dict[str, float] = {}  # reserved, by worker
        self._news: dict[str, tuple[BreakerNews, float]] = {}  # by place, and when it was told
        self._stamps = 0
        self._clock = time.monotonic

    async def acquire(self, worker: str, usd: float) -> tuple[bool, BudgetState]:
        """Reserve an amount for a worker, once others have settled if need be; False where that cannot help."""
        if self._budget is None:
            return True, BudgetState(0.0, 0.0)
        granted = await self._budget.acquire(usd)
        if granted:
            self._held[worker] = self._held.get(worker, 0.0) + usd
        return granted, BudgetState(self._budget.spent, self._budget.reserved)

    async def settle(self, worker: str, reserved: float, usd: float) -> None:
        if self._budget is None or worker not in self._held:  # it was given up as lost: all it had reserved is spent
            return
        self._held[worker] -= reserved
        self._budget.settle(reserved, usd)

    async def lost(self, worker: str) -> None:
        """Count what a worker had reserved as spent."""
        held = self._held.pop(worker, 0.0)
        if self._budget is not None and held > 0:
            self._budget.settle(held, held)

    async def delay(self, place: str, tokens: int) -> float:
        """Claim a call to a place, and tell how many seconds it has to wait."""
        return self._rate.delay(place, tokens)

    async def publish(self, news: Sequence[BreakerNews]) -> None:
        """What a worker found out about models."""
        for one in news:
            self._stamps += 1
            self._news[one.place] = (msgspec.structs.replace(one, stamp=float(self._stamps)), self._clock())

    async def poll(self) -> list[BreakerNews]:
        """What was found out last about each model."""
        now = self._clock()
        return [msgspec.structs.replace(one, age=one.age + now - told) for one, told in self._news.values()]


@dataclass(slots=True)
class SharedBudget(Budget):
    """A worker's side of the budget: amounts are reserved with the actor, and given back without waiting."""

    actor: Any = None
    worker: str = ""

    async def acquire(self, usd: float) -> bool:
        granted, state = await self.actor.acquire.remote(self.worker, usd)
        self.spent, self.reserved = state.spent, state.reserved
        return bool(granted)

    def settle(self, reserved: float, usd: float) -> None:
        self.actor.settle.remote(self.worker, reserved, usd)


@dataclass(frozen=True, slots=True)
class ActorBoard:
    """A worker's side of what is known about models."""

    actor: Any = field(repr=False)

    async def publish(self, news: Sequence[BreakerNews]) -> None:
        await self.actor.publish.remote(list(news))

    async def poll(self) -> Sequence[BreakerNews]:
        found: list[BreakerNews] = await self.actor.poll.remote()
        return found


@dataclass(frozen=True, slots=True)
class SharedRate:
    """A worker's side of the rate."""

    actor: Any = field(repr=False)

    async def admit(self, place: str, tokens: int) -> None:
        if (pause := await self.actor.delay.remote(place, tokens)) > 0:
            await asyncio.sleep(pause)


def shared_budget(settings: Settings, price: Price, actor: Any, worker: str) -> SharedBudget | None:
    """The worker's side of the budget that the settings name, if they do."""
    if settings.budget is None:
        return None
    return SharedBudget(settings.budget, price, actor=actor, worker=worker)
