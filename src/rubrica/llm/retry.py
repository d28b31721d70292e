"""The one place of retries: pauses with jitter, a deadline per call, the shared limit and the breaker.

stamina does not fit: a wait that its hook returns is used bare, without jitter; its time limit does not end an attempt
that hangs; and its clock and sleep cannot be passed in.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import msgspec

from rubrica.llm.breaker import BreakerTicket, CircuitBreaker
from rubrica.llm.deadlines import Deadlines
from rubrica.llm.limits import AdaptiveLimit, CallSlot
from rubrica.llm.model import Model, ModelError, Reply, Request

Admission = Callable[[Request], Awaitable[None]]
"""Waits until a request may be sent; waiting is no part of a call's deadline."""

A = TypeVar("A")
T = TypeVar("T")


class RetryPolicy(msgspec.Struct, frozen=True):
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

        >>> calm = RetryPolicy(random=lambda: 0.5)
        >>> [calm.pause(attempt, None) for attempt in (1, 2, 3)]
        [0.375, 0.75, 1.5]
        >>> calm.pause(1, 7.0)
        7.25
        """
        longest = min(self.longest_pause, self.first_pause * 2.0 ** (attempt - 1))
        if retry_after is not None:
            return max(0.0, retry_after) + longest * self.random()
        return longest * (0.5 + 0.5 * self.random())


class Retrying:
    """Runs an operation of one provider: again where that can help, and never longer than the deadline.

    An operation that was rate limited keeps its slot while it waits, so that those behind it do not run into the same
    wall; after any other failure others may use the slot meanwhile.

    >>> async def double(number: int) -> int:
    ...     return 2 * number
    >>> asyncio.run(Retrying("the provider").run(double, 21))
    42
    """

    __slots__ = ("_admission", "_deadlines", "breaker", "limit", "name", "patience")

    def __init__(
        self,
        name: str,
        *,
        limiter: AdaptiveLimit | None = None,
        breaker: CircuitBreaker | None = None,
        patience: RetryPolicy | None = None,
        admission: Callable[[Any], Awaitable[None]] | None = None,
    ) -> None:
        self.name = name
        self._admission = admission
        self._deadlines = Deadlines()
        self.limit = limiter or AdaptiveLimit()
        self.breaker = breaker or CircuitBreaker(name)
        self.patience = patience or RetryPolicy()

    async def run(self, ask: Callable[[A], Awaitable[T]], about: A) -> T:
        """What ``ask(about)`` gives, after as many attempts as it takes."""
        self.breaker.check()
        async with self.limit.slot() as slot:
            return await self._persist(ask, about, slot)

    async def hold(self, ask: Callable[[A], Awaitable[T]], about: A) -> tuple[T, CallSlot]:
        """As `run`, for what only begins: its slot stays taken until whoever ends it steps out."""
        self.breaker.check()
        slot = await self.limit.slot().__aenter__()
        try:
            return await self._persist(ask, about, slot), slot
        except BaseException:
            slot.step_out()
            raise

    async def _persist(self, ask: Callable[[A], Awaitable[T]], about: A, slot: CallSlot) -> T:
        left = self.patience.call_deadline
        attempt = 1
        while True:
            if self._admission is not None:
                await self._admission(about)
            began = self.patience.clock()
            try:
                return await self._attempt(ask, about, slot, left)
            except ModelError as error:
                left -= self.patience.clock() - began
                pause = self._pause(attempt, error, left)
                keep = error.trouble == "rate_limited"
            await self._wait(slot, pause, keep)
            left -= pause
            attempt += 1

    async def _attempt(self, ask: Callable[[A], Awaitable[T]], about: A, slot: CallSlot, left: float) -> T:
        """One attempt within `left` seconds, its outcome told to the limit and the breaker."""
        ticket = self.breaker.admit()
        slot.begin()
        try:
            with self._deadlines.within(left):
                answer = await ask(about)
        except ModelError as error:
            self._failed(error, ticket, slot)
            raise
        except TimeoutError as late:
            deadline = self.patience.call_deadline
            hung = ModelError("timeout", f"{self.name} gave no answer within {deadline:g} s in all")
            self._failed(hung, ticket, slot)
            raise hung from late
        except BaseException:  # cancelled, or a fault of ours: no news about the provider
            self.breaker.abandon(ticket)
            raise
        self.breaker.settle(ticket, None)
        slot.healthy()
        return answer

    def _failed(self, error: ModelError, ticket: BreakerTicket, slot: CallSlot) -> None:
        self.breaker.settle(ticket, error.trouble, str(error))
        self.breaker.notice(error)
        if error.trouble == "rate_limited":
            slot.congested()
        elif error.trouble == "overloaded":
            slot.overloaded()

    def _pause(self, attempt: int, error: ModelError, left: float) -> float:
        """Seconds until the next attempt; raises the error again where there is to be none."""
        if not error.worth_retrying or attempt >= self.patience.attempts:
            raise error
        pause = self.patience.pause(attempt, error.retry_after)
        if pause >= left:  # trying earlier than asked would only be refused again
            raise error
        return pause

    async def _wait(self, slot: CallSlot, pause: float, keep: bool) -> None:
        if keep:
            await self.patience.sleep(pause)
            return
        slot.step_out()
        await self.patience.sleep(pause)
        await slot.step_in()


class RetryingModel(Retrying):
    """A Model that tries again where that can help, and never longer than its deadline."""

    __slots__ = ("_model",)

    def __init__(
        self,
        model: Model,
        *,
        limiter: AdaptiveLimit | None = None,
        breaker: CircuitBreaker | None = None,
        patience: RetryPolicy | None = None,
        admission: Admission | None = None,
    ) -> None:
        super().__init__(model.name, limiter=limiter, breaker=breaker, patience=patience, admission=admission)
        self._model = model

    def __call__(self, request: Request) -> Coroutine[Any, Any, Reply]:
        return self.run(self._model, request)

    async def close(self) -> None:
        await self._model.close()
