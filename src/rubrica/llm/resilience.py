"""The one place of retries: pauses with jitter, a deadline per call, the shared limit and the breaker.

stamina does not fit: a wait that its hook returns is used bare, without jitter; its time limit does not end an attempt
that hangs; and its clock and sleep cannot be passed in.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from rubrica.llm.breaker import Breaker
from rubrica.llm.limits import AdaptiveLimit, Slot
from rubrica.llm.model import Model, ModelError, Reply, Request


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often to try. All in seconds but `attempts`."""

    attempts: int = 4
    call_deadline: float = 60.0  # attempts and pauses together; waiting for a slot of our own does not count
    first_pause: float = 0.5
    longest_pause: float = 20.0
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    clock: Callable[[], float] = time.monotonic
    random: Callable[[], float] = random.random  # in [0, 1)

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Seconds to wait after failed attempt number `attempt`: never less than the provider asked for.

        >>> calm = Patience(random=lambda: 0.5)
        >>> [calm.pause(attempt, None) for attempt in (1, 2, 3)]
        [0.375, 0.75, 1.5]
        >>> calm.pause(1, 7.0)
        7.25
        """
        whole = min(self.longest_pause, self.first_pause * 2.0 ** (attempt - 1))
        if retry_after is not None:
            return max(0.0, retry_after) + whole * self.random()
        return whole * (0.5 + 0.5 * self.random())


class Resilient:
    """A Model that tries again where that can help, and never longer than its deadline.

    A call that was rate limited keeps its slot while it waits, so that the calls behind it do not run into the same
    wall; after any other failure others may use the slot meanwhile.
    """

    __slots__ = ("_model", "breaker", "limit", "patience")

    def __init__(
        self,
        model: Model,
        *,
        limiter: AdaptiveLimit | None = None,
        breaker: Breaker | None = None,
        patience: Patience | None = None,
    ) -> None:
        self._model = model
        self.limit = limiter or AdaptiveLimit()
        self.breaker = breaker or Breaker(model.name)
        self.patience = patience or Patience()

    @property
    def name(self) -> str:
        return self._model.name

    async def __call__(self, request: Request) -> Reply:
        self.breaker.check()
        left = self.patience.call_deadline
        attempt = 1
        async with self.limit.slot() as slot:
            while True:
                began = self.patience.clock()
                try:
                    return await self._attempt(request, slot, left)
                except ModelError as error:
                    left -= self.patience.clock() - began
                    pause = self._pause(attempt, error, left)
                    keep = error.trouble == "rate_limited"
                await self._wait(slot, pause, keep)
                left -= pause
                attempt += 1

    async def close(self) -> None:
        await self._model.close()

    async def _attempt(self, request: Request, slot: Slot, left: float) -> Reply:
        """One attempt within `left` seconds, its outcome told to the limit and the breaker."""
        ticket = self.breaker.admit()
        slot.begin()
        try:
            reply = await self._within(request, left)
        except ModelError as error:
            self.breaker.settle(ticket, error.trouble, str(error))
            if error.trouble == "rate_limited":
                slot.congested()
            elif error.trouble == "overloaded":
                slot.strained()
            raise
        except BaseException:  # cancelled, or a fault of ours: no news about the provider
            self.breaker.abandon(ticket)
            raise
        self.breaker.settle(ticket, None)
        slot.healthy()
        return reply

    async def _within(self, request: Request, left: float) -> Reply:
        try:
            async with asyncio.timeout(left):
                return await self._model(request)
        except TimeoutError as error:
            deadline = self.patience.call_deadline
            raise ModelError("timeout", f"{self.name} gave no answer within {deadline:g} s in all") from error

    def _pause(self, attempt: int, error: ModelError, left: float) -> float:
        """Seconds until the next attempt; raises the error again where there is to be none."""
        if not error.worth_retrying or attempt >= self.patience.attempts:
            raise error
        pause = self.patience.pause(attempt, error.retry_after)
        if pause >= left:  # trying earlier than asked would only be refused again
            raise error
        return pause

    async def _wait(self, slot: Slot, pause: float, keep: bool) -> None:
        if keep:
            await self.patience.sleep(pause)
            return
        slot.step_out()
        await self.patience.sleep(pause)
        await slot.step_in()
