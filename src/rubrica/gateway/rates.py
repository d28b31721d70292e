"""Requests and tokens by the minute, of each key and each team: counted before a request is answered, settled after."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from rubrica.errors import StoreError
from rubrica.store.database import Database
from rubrica.store.rates import (
    CountedRequest,
    RateAccount,
    count_request,
    forget_minutes,
    settle_tokens,
    until_next_minute,
)

from .controls import Allowance
from .limits import UsageLimits
from .spending import key_account, team_account

LOG = logging.getLogger("rubrica.gateway")
FORGOTTEN = timedelta(hours=1)
"""Between two times that minutes are dropped which are past."""

LINGER = 0.1
"""Seconds to wait for more to settle along with the first."""


class RateLimits:
    """Counts requests. Where nothing is limited, it does nothing."""

    def __init__(
        self,
        database: Database,
        teams: Mapping[str, UsageLimits],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database, self._teams, self._clock = database, teams, clock
        self._ended: list[tuple[CountedRequest, int]] = []  # with what was used, not settled yet
        self._settling: asyncio.Task[None] | None = None
        self._forgotten = clock()  # when minutes that are past were dropped

    def limited(self, allowance: Allowance) -> bool:
        """Whether there is a limit for requests with this allowance."""
        team = self._teams.get(allowance.team or "")
        return allowance.limits_rates or (team is not None and team.limits_rates)

    async def count(self, key_id: UUID | None, allowance: Allowance, prompt: int, answer: int) -> CountedRequest:
        """Count a request with the most tokens that it may take; a RateLimitError says that the minute has no room.

        An answer counts with no more than the limits leave room for beside its prompt: one that sets no limit of its
        own could not be asked for at all otherwise.
        """
        accounts = self._accounts(key_id, allowance)
        room = min((one.tokens - prompt for one in accounts if one.tokens is not None), default=answer)
        tokens = prompt + max(0, min(answer, room))
        await self._settle()  # what requests before it took less than they were counted with is there for this one
        return await self._database.write(count_request, accounts, tokens, self._clock())

    def settle(self, counted: CountedRequest | None, tokens: int) -> None:
        """Note how many tokens a request took."""
        if counted is None or tokens == counted.tokens:
            return
        self._ended.append((counted, tokens))
        if self._settling is None or self._settling.done():
            self._settling = asyncio.get_running_loop().create_task(self._settle_soon())

    async def close(self) -> None:
        """Settle what has ended, and forget what is long past."""
        try:
            await self._settle()
            await self._database.write(forget_minutes, self._clock())
        except StoreError as error:
            LOG.warning("what %d requests used of their minute was not settled: %s", len(self._ended), error)

    async def _settle_soon(self) -> None:
        await asyncio.sleep(LINGER)
        try:
            await self._settle()
            if self._clock() - self._forgotten >= FORGOTTEN:
                self._forgotten = self._clock()
                await self._database.write(forget_minutes, self._forgotten)
        except StoreError as error:
            LOG.warning("what requests used of their minute could not be written, and is tried again: %s", error)

    async def _settle(self) -> None:
        ended, self._ended = self._ended, []
        if not ended:
            return
        try:
            await self._database.write(settle_tokens, ended)
        except BaseException:
            self._ended = ended + self._ended
            raise

    def _accounts(self, key_id: UUID | None, allowance: Allowance) -> Sequence[RateAccount]:
        named: list[tuple[str, str, UsageLimits]] = [(key_account(key_id), "this key", allowance)]
        if allowance.team in self._teams:
            team = allowance.team or ""
            named.append((team_account(team), f"the team {team}", self._teams[team]))
        return [
            RateAccount(name, title, one.requests_per_minute, one.tokens_per_minute)
            for name, title, one in named
            if one.limits_rates
        ]


def rate_headers(counted: CountedRequest, now: datetime) -> dict[str, str]:
    """How the minute stands, in OpenAI's headers; of several limits that which leaves the least room.

    >>> from rubrica.store.rates import MinuteUse
    >>> use = MinuteUse(RateAccount("gateway:local", "this key", requests=60), 1, 20)
    >>> told = rate_headers(CountedRequest(0, 20, (use,)), datetime(2026, 5, 1, 12, 30, 45, tzinfo=UTC))
    >>> told["x-ratelimit-remaining-requests"], told["x-ratelimit-reset-requests"]
    ('59', '15s')
    """
    found: dict[str, list[tuple[int, int]]] = {"requests": [], "tokens": []}
    for use in counted.uses:
        account = use.account
        for name, most, used in (("requests", account.requests, use.requests), ("tokens", account.tokens, use.tokens)):
            if most is not None:
                found[name].append((max(0, most - used), most))
    told: dict[str, str] = {}
    for name, rooms in found.items():
        if rooms:
            told |= limit_headers(name, *min(rooms), until_next_minute(now))
    return told


def limit_headers(name: str, left: int, most: int, seconds: float) -> dict[str, str]:
    """The three headers of one limit."""
    return {
        f"x-ratelimit-limit-{name}": str(most),
        f"x-ratelimit-remaining-{name}": str(left),
        f"x-ratelimit-reset-{name}": f"{math.ceil(seconds)}s",
    }
