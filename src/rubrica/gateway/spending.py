"""What may be spent by each key, each team and all together: reserved before a request is answered, settled after.

Days and months are those of UTC. The most that a request may cost is set aside in the database before any model is
asked, so that requests under way cannot pass a limit together, in one process or in several on the same database.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import StoreError
from rubrica.store.database import Database
from rubrica.store.gateway import spent, spent_by_team
from rubrica.store.spending import (
    SpendingAccount,
    SpendingReservation,
    begin_month,
    begin_spending,
    renew_spending,
    reserve_spending,
    settle_spending,
)

from .controls import Allowance
from .limits import DollarLimits

LOG = logging.getLogger("rubrica.gateway")
RENEWED = 60.0
"""Seconds between two signs of life of what is reserved."""

LINGER = 0.1
"""Seconds to wait for more to settle along with the first."""

GRACE = 5.0
EVERYBODY = "gateway"
MOST_TOLD = 100
"""Models of unknown price that are named in the log."""


class Spending:
    """Reserves and settles what requests cost. Where nothing is limited, it does nothing."""

    def __init__(
        self,
        database: Database,
        most: DollarLimits,
        teams: Mapping[str, DollarLimits],
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database, self._most, self._teams, self._clock = database, most, teams, clock
        self._held: dict[UUID, SpendingReservation] = {}  # work is under way
        self._ended: list[tuple[SpendingReservation, float]] = []  # with what was spent, not settled yet
        self._settling, self._more = asyncio.Lock(), asyncio.Event()
        self._begun: set[tuple[str, date]] = set()  # accounts whose day is in the database
        self._told: set[str] = set()

    def limited(self, allowance: Allowance) -> bool:
        """Whether there is a limit for requests with this allowance."""
        team = self._teams.get(allowance.team or "")
        return any(one.limits_spending for one in (self._most, allowance, team) if one is not None)

    async def reserve(self, key_id: UUID | None, allowance: Allowance, usd: float) -> SpendingReservation | None:
        """Set aside what a request may cost; None where nothing limits it. A SpendingLimitError says what would."""
        accounts = self._accounts(key_id, allowance)
        if not accounts:
            return None
        await self._settle()  # what requests before it cost less than was reserved is there for this one
        await self._begin(accounts)
        reservation = await self._database.write(reserve_spending, list(accounts), usd, self._clock())
        self._held[reservation.id] = reservation
        return reservation

    def settle(self, reservation: SpendingReservation | None, usd: float | None) -> None:
        """Note what was spent of what was reserved. None, where nobody knows, counts as all of it."""
        if reservation is not None:
            self._ended.append((reservation, reservation.usd if usd is None else usd))
            self._more.set()

    def note_unknown(self, model: str) -> None:
        """Say once a model that its price is not known."""
        if model not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(model)
            LOG.warning("some price behind answers of %s is not known: they count as 0 in what may be spent", model)

    async def keep_up(self) -> None:
        """Settle what has ended, soon after it has, and renew what is reserved; again and again."""
        renewed = asyncio.get_running_loop().time()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(RENEWED):
                    await self._more.wait()
            await asyncio.sleep(LINGER)
            self._more.clear()
            now = asyncio.get_running_loop().time()
            try:
                await self._settle()
                if self._held and now - renewed >= RENEWED:
                    await self._database.write(_renew_all, tuple(self._held.values()), self._clock())
                    renewed = now
            except StoreError as error:
                LOG.warning("what was spent and reserved could not be written, and is tried again: %s", error)

    async def close(self) -> None:
        """Settle what has ended."""
        try:
            async with asyncio.timeout(GRACE):
                await self._settle()
        except (StoreError, TimeoutError) as error:
            LOG.warning("what %d requests cost was not settled: %s", len(self._ended), error or "it took too long")

    def _accounts(self, key_id: UUID | None, allowance: Allowance) -> Sequence[SpendingAccount]:
        """Whoever pays and is limited."""
        named: list[tuple[str, str, DollarLimits]] = [
            (key_account(key_id), "this key", allowance),
            (EVERYBODY, "the gateway", self._most),
        ]
        if allowance.team is not None:
            limits = self._teams.get(allowance.team, DollarLimits())
            named.append((team_account(allowance.team), f"the team {allowance.team}", limits))
        return [
            SpendingAccount(name, title, one.usd_per_day, one.usd_per_month)
            for name, title, one in named
            if one.limits_spending
        ]

    async def _settle(self) -> None:
        async with self._settling:
            ended = tuple(self._ended)
            if not ended:
                return
            await self._database.write(_settle_all, ended)
            del self._ended[: len(ended)]
            for reservation, _ in ended:
                self._held.pop(reservation.id, None)

    async def _begin(self, accounts: Sequence[SpendingAccount]) -> None:
        """Begin the day of accounts with what records of it say: there may have been no limit until now."""
        day = self._clock().astimezone(UTC).date()
        new = [account for account in accounts if (account.name, day) not in self._begun]
        if not new:
            return
        since = datetime.combine(day, time(), UTC)
        today = await self._recorded(since, since + timedelta(days=1))
        monthly = [account.name for account in new if account.usd_per_month is not None]
        earlier = await self._recorded(since.replace(day=1), since) if monthly and day.day > 1 else {}
        amounts = {account.name: today.get(account.name, 0.0) for account in new}
        before = {name: earlier.get(name, 0.0) for name in monthly}
        await self._database.write(_begin_all, amounts, before, self._clock())
        names = {(account.name, day) for account in new}
        self._begun = {one for one in self._begun if one[1] == day} | names

    async def _recorded(self, since: datetime, until: datetime) -> dict[str, float]:
        """What records say that accounts spent, by name."""
        found = await self._database.read(spent, since, until)
        teams = await self._database.read(spent_by_team, since, until)
        by_name = {key_account(key_id): one.usd for key_id, one in found.items()}
        by_name |= {team_account(team): usd for team, usd in teams.items()}
        return by_name | {EVERYBODY: sum(one.usd + one.shadow_usd for one in found.values())}


def key_account(key_id: UUID | None) -> str:
    """How the books name a key; None is whoever needs none."""
    return f"{EVERYBODY}:{key_id or 'local'}"


def team_account(team: str) -> str:
    """How the books name a team."""
    return f"{EVERYBODY}:team:{team}"


def _settle_all(conn: Connection, ended: Sequence[tuple[SpendingReservation, float]]) -> None:
    for reservation, usd in ended:
        settle_spending(conn, reservation, usd)


def _renew_all(conn: Connection, held: Sequence[SpendingReservation], now: datetime) -> None:
    for reservation in held:
        renew_spending(conn, reservation, now)


def _begin_all(conn: Connection, amounts: Mapping[str, float], before: Mapping[str, float], now: datetime) -> None:
    for name, usd in sorted(amounts.items()):
        begin_spending(conn, name, usd, now)
        if name in before:
            begin_month(conn, name, before[name], now)
