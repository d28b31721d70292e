"""Whether a gateway can do its work now: the database takes reads and writes, records are written, a tier answers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Mapping

import msgspec

from rubrica.errors import StoreError
from rubrica.llm.breaker import CircuitBreaker, State
from rubrica.store.database import Database

from .deployments import models_of
from .names import public_name
from .parts import GatewayParts
from .writer import RecordWriter

LOG = logging.getLogger("rubrica.gateway")
FRESH = 1.0
"""Seconds for which what was found is told again: anybody may ask, and shall not keep the database busy."""

PATIENCE = 3.0
"""Seconds for the database to answer."""


class ReadinessReport(msgspec.Struct, frozen=True):
    """What stands in the way, if anything. It says nothing that only an operator may know: the log does."""

    ready: bool
    reasons: tuple[str, ...]
    breakers: Mapping[str, State]  # of each model that was connected
    records_waiting: int


class Readiness:
    """Finds out, at most once a second."""

    def __init__(
        self,
        database: Database,
        parts: GatewayParts,
        writer: RecordWriter,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database, self._parts, self._writer, self._clock = database, parts, writer, clock
        self._told: tuple[float, ReadinessReport] | None = None
        self._asking = asyncio.Lock()

    async def report(self) -> ReadinessReport:
        async with self._asking:
            if self._told is None or self._clock() - self._told[0] > FRESH:
                self._told = (self._clock(), await self._look())
            return self._told[1]

    async def _look(self) -> ReadinessReport:
        states = breaker_states(self._parts.models.breakers)
        reasons = [*await self._database_troubles(), *self._tier_troubles(states)]
        if self._writer.trouble:
            reasons.append(f"records are not written: {self._writer.trouble}")
        before = self._told[1].reasons if self._told is not None else ()
        if reasons and tuple(reasons) != before:
            LOG.warning("not ready: %s", "; ".join(reasons))
        return ReadinessReport(not reasons, tuple(reasons), states, len(self._writer))

    async def _database_troubles(self) -> list[str]:
        for what, reach in (("read", self._database.reach), ("written to", self._database.reach_to_write)):
            try:
                async with asyncio.timeout(PATIENCE):
                    await reach()
            except StoreError as error:
                LOG.warning("the database cannot be %s: %s", what, error)
                return [f"the database cannot be {what}"]
            except TimeoutError:
                return [f"the database cannot be {what} within {PATIENCE:g} s"]
        return []

    def _tier_troubles(self, states: Mapping[str, State]) -> list[str]:
        route = self._parts.main
        models = models_of(route.tier0, *route.middle.upstreams, route.tier1)
        if all(states.get(public_name(model)) == "open" for model in models):
            return ["no tier can be asked: the breaker of each is open"]
        return []


def breaker_states(breakers: Iterable[CircuitBreaker]) -> dict[str, State]:
    """The state by model: of several breakers of one model (other keys, other uses), the most hopeful."""
    order: tuple[State, ...] = ("open", "half-open", "closed")
    found: dict[str, State] = {}
    for breaker in breakers:
        name, state = public_name(breaker.name), breaker.state
        found[name] = max(found.get(name, state), state, key=order.index)
    return found
