"""What callers may have the server spend: every paid piece of work is priced, reserved, done, and then settled.

Calls to models are counted and priced before the first is made. The most they can cost is reserved for the key, for its
user and for the whole server; what the calls did cost replaces it afterwards, also when the caller goes away.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from rubrica.engine.plan import Plan
from rubrica.errors import SpendingLimitError, StoreError
from rubrica.llm.budget import Budget, load_price, spending_from
from rubrica.model.context import Context
from rubrica.store.database import Database
from rubrica.store.spending import (
    LEASE,
    DaySpending,
    SpendingAccount,
    SpendingReservation,
    day_spending,
    renew_spending,
    reserve_spending,
    settle_spending,
)

from .access import Caller
from .score_records import LONG_TEXT, length

if TYPE_CHECKING:  # a server without judges needs no model client and no price list
    from rubrica.judges.jury import Jury
    from rubrica.judges.quote import Quote

LOG = logging.getLogger("rubrica.server")
MAX_CALLS = 500
"""Calls to models that one request may take, where the server is not told otherwise."""

RENEWED = LEASE.total_seconds() / 3
"""Seconds between two renewals of a reservation whose work takes long."""

WATCHED = 0.5
"""Seconds between two looks whether a batch is still running."""

SERVER = "server"
T = TypeVar("T")
Work = Sequence[tuple[Plan, Context]]
"""Evaluations to be made."""


@dataclass(frozen=True, slots=True)
class SpendingPolicy:
    """What one request, one user and everybody together may cost."""

    max_calls: int = MAX_CALLS
    usd_per_day: float | None = None  # for each user; None: no limit
    usd_per_day_total: float | None = None  # for everybody together


@dataclass(frozen=True, slots=True)
class SpendingStatus:
    """What somebody has spent today (UTC) and may; in US dollars."""

    spent: float
    reserved: float
    limit: float | None
    left: float | None  # None: there is no limit


class SpendingLimits:
    """Prices and pays what callers ask models for."""

    def __init__(
        self, database: Database, clock: Callable[[], datetime], policy: SpendingPolicy, jury: Jury | None = None
    ) -> None:
        self.policy = policy
        self._database, self._clock, self._jury = database, clock, jury
        self._settling: set[asyncio.Task[None]] = set()
        self._batches: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def judging(self, caller: Caller, work: Work) -> AsyncIterator[None]:
        """Inside, the evaluations of some work may be made: those that ask a judge are priced and reserved first."""
        asked = [(plan, context) for plan, context in work if plan.judge is not None and plan.judged]
        if not asked or self._jury is None:
            yield
            return
        jury = self._jury
        self.check_calls(sum(jury.calls(plan.rubric, context) for plan, context in asked))
        quotes = [await _quote(jury, plan, context) for plan, context in asked]
        async with self.paying(caller, sum(quotes[1:], quotes[0])):
            yield

    def check_calls(self, calls: int) -> None:
        """Refuse a request that takes too many calls."""
        if calls > self.policy.max_calls:
            raise SpendingLimitError(
                f"this takes up to {calls:,} calls to models, and one request may take {self.policy.max_calls:,} "
                "(ask for fewer rounds, dimensions or repeats at once; rubrica serve --max-calls allows more)"
            )

    @asynccontextmanager
    async def paying(
        self, caller: Caller, quote: Quote, *, batch: bool = False, budget: float | None = None
    ) -> AsyncIterator[None]:
        """Inside, models may be called for a caller, for no more than was quoted and than their own budget for it, in
        US dollars. A batch takes as many calls as it needs."""
        if not batch:
            self.check_calls(quote.calls)
        accounts = self._accounts(caller)
        limited = budget is not None or any(account.usd_per_day is not None for account in accounts)
        if quote.usd is None and limited:
            raise SpendingLimitError(
                f"this takes {quote}, so a spending limit cannot be kept (name models whose price is known to "
                "rubrica serve, or leave out the budget and use a key and a server without --usd-per-day)"
            )
        if quote.usd == 0.0:
            yield
            return
        most = quote.usd if quote.usd is None or budget is None else min(quote.usd, budget)
        paid_from = Budget(most if limited and most is not None else math.inf, load_price("spending"))
        reservation = await self._database.write(reserve_spending, accounts, most or 0.0, self._clock())
        renewing = asyncio.get_running_loop().create_task(self._renew(reservation))
        try:
            with spending_from(paid_from):
                yield
        finally:
            renewing.cancel()
            await self._finish(self._settle(reservation, paid_from))

    async def begin(
        self,
        caller: Caller,
        quote: Quote,
        start: Callable[[], Awaitable[T]],
        running: Callable[[T], bool],
        budget: float | None = None,
    ) -> T:
        """Start a batch that goes on by itself, and hold what is reserved for it for as long as it is running."""
        begun: asyncio.Future[T] = asyncio.get_running_loop().create_future()

        async def held() -> None:
            try:
                async with self.paying(caller, quote, batch=True, budget=budget):
                    work = await start()
                    begun.set_result(work)
                    while running(work):
                        await asyncio.sleep(WATCHED)
            except Exception as error:  # whoever waits for the start is told
                if begun.done():
                    raise
                begun.set_exception(error)

        task = asyncio.get_running_loop().create_task(held())
        self._batches.add(task)
        task.add_done_callback(self._batches.discard)
        return await begun

    async def shown(self, caller: Caller) -> dict[str, SpendingStatus]:
        """What a caller has spent today and has left: by key and user, and for an admin of the whole server."""
        accounts = {account.name.partition(":")[0]: account for account in self._accounts(caller)}
        if not caller.is_admin:
            del accounts[SERVER]
        names = [account.name for account in accounts.values()]
        found = await self._database.read(day_spending, names, self._clock())
        return {kind: _status_of(account, found[account.name]) for kind, account in accounts.items()}

    async def close(self) -> None:
        """Wait until everything is settled."""
        for batch in self._batches:
            batch.cancel()
        await asyncio.gather(*self._batches, return_exceptions=True)
        await asyncio.gather(*self._settling, return_exceptions=True)

    def _accounts(self, caller: Caller) -> list[SpendingAccount]:
        policy = self.policy
        accounts = [
            SpendingAccount(f"user:{caller.user_id}", caller.name, policy.usd_per_day),
            SpendingAccount(SERVER, "this server", policy.usd_per_day_total),
        ]
        if caller.key_id is not None:
            accounts.append(SpendingAccount(f"key:{caller.key_id}", "this key", caller.usd_per_day))
        return accounts

    async def _renew(self, reservation: SpendingReservation) -> None:
        while True:
            await asyncio.sleep(RENEWED)
            with suppress(StoreError):  # the next renewal may come through
                await self._database.write(renew_spending, reservation, self._clock())

    async def _settle(self, reservation: SpendingReservation, budget: Budget) -> None:
        try:
            await self._database.write(settle_spending, reservation, budget.spent)
        except StoreError as error:
            LOG.error("$%.4f that were spent for %s are not counted: %s", budget.spent, reservation.accounts, error)

    async def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something to its end, even if whoever asked for it goes away meanwhile."""
        task = asyncio.get_running_loop().create_task(work)
        self._settling.add(task)
        task.add_done_callback(self._settling.discard)
        await asyncio.shield(task)


def _status_of(account: SpendingAccount, found: DaySpending) -> SpendingStatus:
    limit = account.usd_per_day
    left = None if limit is None else max(limit - found.spent - found.reserved, 0.0)
    return SpendingStatus(found.spent, found.reserved, limit, left)


async def _quote(jury: Jury, plan: Plan, context: Context) -> Quote:
    if length(context) <= LONG_TEXT:
        return await jury.quote(plan.rubric, context)
    return await asyncio.to_thread(lambda: asyncio.run(jury.quote(plan.rubric, context)))
