"""Holds the learned gate that is in force, and learns it anew as records come in."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from .learn import GateSample, GateTerms, LearnedGate, learn_gate

LOG = logging.getLogger("rubrica.gateway")
GROWTH = 1.1
"""So many times the comparisons that it rests on make it worth learning anew."""

SampleReader = Callable[[], Awaitable[Sequence[dict[str, Any]]]]


class GateHolder:
    """The gate in force; None until the records were looked at for the first time."""

    def __init__(self, terms: GateTerms, every: float) -> None:
        self.terms = terms
        self.current: LearnedGate | None = None
        self._every = every  # seconds
        self._looked_at = 0
        self._task: asyncio.Task[None] | None = None

    def start(self, read: SampleReader) -> None:
        """Begin to learn, now and every so many seconds."""
        self._task = asyncio.create_task(self._keep_learning(read), name="gateway-learned-gate")

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def learn(self, read: SampleReader) -> LearnedGate:
        """Learn from what is recorded, where that has grown enough."""
        rows = await read()
        if self.current is not None and len(rows) < GROWTH * max(1, self._looked_at):
            return self.current
        self._looked_at = len(rows)
        found = await asyncio.to_thread(learn_gate, read_samples(rows), self.terms)
        if self.current is None or self.current.state != found.state:
            LOG.info("learned gate: %s: %s", found.state, found.why)
        self.current = found
        return found

    async def _keep_learning(self, read: SampleReader) -> None:
        while True:
            try:
                await self.learn(read)
            except Exception:
                LOG.exception("the learned gate could not be learnt; the one in force stays")
            await asyncio.sleep(self._every)


def read_samples(rows: Sequence[dict[str, Any]]) -> list[GateSample]:
    """Samples as they were kept; what cannot be read any more is left out."""
    found = []
    for row in rows:
        with suppress(msgspec.ValidationError):
            found.append(msgspec.convert(row, GateSample))
    return found
