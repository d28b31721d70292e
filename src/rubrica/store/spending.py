"""What accounts spend in a day and a month: an amount is reserved before it is spent, and settled with what was paid.

An account is whoever pays: a key, a user, a whole server. Days and months are those of UTC. Reserving locks the
accounts, so that requests of several processes on one database cannot pass a limit together. A reservation that nobody
renews, for its process is gone, ends by itself.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from uuid import UUID, uuid4

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from rubrica.errors import SpendingLimitError

from .tables import spending_days, spending_reservations

LEASE = timedelta(minutes=3)
"""How long a reservation lasts without being renewed."""

KEPT_DAYS = 400
SOON = 5.0
"""Seconds after which to ask again, where what is under way may turn out to cost less than was reserved for it."""

ROUNDING = 1e-9
"""US dollars by which sums of floats may miss a limit."""


@dataclass(frozen=True, slots=True)
class SpendingAccount:
    """Somebody who pays, and the most they may in a day and in a month. `title` is how messages name them."""

    name: str  # such as key:0198…, at most 80 characters
    title: str
    usd_per_day: float | None = None  # None: what is spent is counted, and not limited
    usd_per_month: float | None = None


@dataclass(frozen=True, slots=True)
class SpendingReservation:
    """An amount that is set aside on several accounts at once."""

    id: UUID
    accounts: tuple[str, ...]
    day: date
    usd: float


@dataclass(frozen=True, slots=True)
class DaySpending:
    """What one account has spent in a day, and what is reserved for work under way; in US dollars."""

    spent: float = 0.0
    reserved: float = 0.0


def reserve_spending(
    conn: Connection, accounts: Sequence[SpendingAccount], usd: float, now: datetime
) -> SpendingReservation:
    """Set an amount aside on every account, or on none: a SpendingLimitError says which would pass its limit."""
    day, ordered = _day(now), sorted(accounts, key=lambda account: account.name)  # one order: no deadlocks
    for account in ordered:
        so_far = _lock_account(conn, account.name, day, now)
        if account.usd_per_day is not None and so_far.spent + so_far.reserved + usd > account.usd_per_day + ROUNDING:
            raise _over(account, account.usd_per_day, so_far, usd, now)
        if account.usd_per_month is not None:
            this_month = _lock_month(conn, account.name, day, now)
            if this_month.spent + this_month.reserved + usd > account.usd_per_month + ROUNDING:
                raise _over(account, account.usd_per_month, this_month, usd, now, "month")
    reservation = SpendingReservation(uuid4(), tuple(account.name for account in ordered), day, usd)
    rows = [
        {"id": reservation.id, "account": name, "day": day.isoformat(), "usd": usd, "expires_at": now + LEASE}
        for name in reservation.accounts
    ]
    if rows:
        conn.execute(insert(spending_reservations), rows)
    return reservation


def begin_spending(conn: Connection, account: str, usd: float, now: datetime) -> None:
    """Begin an account's day with what is known to have been spent; one that has begun stays as it is."""
    _ensure(conn, account, _day(now), usd)


def begin_month(conn: Connection, account: str, usd: float, now: datetime) -> None:
    """Begin an account's month with what is known to have been spent in it before today; days that are kept count."""
    day = _day(now)
    if conn.execute(select(spending_days.c.account).where(*_of(account, _whole_month(day)))).first() is not None:
        return
    kept = select(func.coalesce(func.sum(spending_days.c.spent_usd), 0.0)).where(
        spending_days.c.account == account,
        spending_days.c.day.startswith(f"{day:%Y-%m}-"),
        spending_days.c.day < day.isoformat(),
    )
    _ensure(conn, account, _whole_month(day), max(0.0, usd - float(conn.execute(kept).scalar_one())))


def renew_spending(conn: Connection, reservation: SpendingReservation, now: datetime) -> None:
    """Say that the work is still going on."""
    mine = spending_reservations.c.id == reservation.id
    conn.execute(update(spending_reservations).where(mine).values(expires_at=now + LEASE))


def settle_spending(conn: Connection, reservation: SpendingReservation, usd: float) -> None:
    """Replace a reservation, whether it still lasts or not, by what was spent."""
    for name in reservation.accounts:
        _ensure(conn, name, reservation.day)
        row = _of(name, reservation.day)
        conn.execute(update(spending_days).where(*row).values(spent_usd=spending_days.c.spent_usd + usd))
    conn.execute(delete(spending_reservations).where(spending_reservations.c.id == reservation.id))


def day_spending(conn: Connection, accounts: Collection[str], now: datetime) -> dict[str, DaySpending]:
    """What accounts have spent today and reserved, by name."""
    day, reservations = _day(now).isoformat(), spending_reservations.c
    spent = select(spending_days.c.account, spending_days.c.spent_usd).where(
        spending_days.c.day == day, spending_days.c.account.in_(accounts)
    )
    held = (
        select(reservations.account, func.sum(reservations.usd))
        .where(reservations.day == day, reservations.account.in_(accounts), reservations.expires_at > now)
        .group_by(reservations.account)
    )
    by_name = {row[0]: float(row[1]) for row in conn.execute(spent)}
    reserved = {row[0]: float(row[1]) for row in conn.execute(held)}
    return {name: DaySpending(by_name.get(name, 0.0), reserved.get(name, 0.0)) for name in accounts}


def forget_spending(conn: Connection, now: datetime) -> None:
    """Drop reservations that have ended, and days that are long past."""
    conn.execute(delete(spending_reservations).where(spending_reservations.c.expires_at <= now))
    old = (_day(now) - timedelta(days=KEPT_DAYS)).isoformat()
    conn.execute(delete(spending_days).where(spending_days.c.day < old))


def until_tomorrow(now: datetime) -> float:
    """Seconds until the next day of UTC.

    >>> until_tomorrow(datetime(2026, 5, 1, 23, 59, tzinfo=UTC))
    60.0
    """
    return (datetime.combine(_day(now) + timedelta(days=1), time(), UTC) - now).total_seconds()


def until_next_month(now: datetime) -> float:
    """Seconds until the next month of UTC.

    >>> until_next_month(datetime(2026, 12, 31, 23, 59, tzinfo=UTC))
    60.0
    """
    first = (_day(now).replace(day=1) + timedelta(days=31)).replace(day=1)
    return (datetime.combine(first, time(), UTC) - now).total_seconds()


def _lock_account(conn: Connection, name: str, day: date, now: datetime) -> DaySpending:
    """What an account has spent and reserved. Nobody else reserves on it until the transaction ends."""
    _ensure(conn, name, day)
    spent = conn.execute(select(spending_days.c.spent_usd).where(*_of(name, day)).with_for_update()).scalar_one()
    found = spending_reservations.c
    held = select(func.coalesce(func.sum(found.usd), 0.0)).where(
        found.account == name, found.day == day.isoformat(), found.expires_at > now
    )
    return DaySpending(float(spent), float(conn.execute(held).scalar_one()))


def _lock_month(conn: Connection, name: str, day: date, now: datetime) -> DaySpending:
    """What an account has spent and reserved in the month so far. Nobody else reserves on it meanwhile."""
    month, days, found = _whole_month(day), spending_days.c, spending_reservations.c
    _ensure(conn, name, month)
    conn.execute(select(days.spent_usd).where(*_of(name, month)).with_for_update()).scalar_one()
    within = f"{day:%Y-%m}-"
    spent = select(func.sum(days.spent_usd)).where(days.account == name, days.day.startswith(within))
    held = select(func.coalesce(func.sum(found.usd), 0.0)).where(
        found.account == name, found.day.startswith(within), found.expires_at > now
    )
    return DaySpending(float(conn.execute(spent).scalar_one()), float(conn.execute(held).scalar_one()))


def _whole_month(day: date) -> str:
    """The row that stands for a month: what was spent in it and belongs to no day that is kept.

    >>> _whole_month(date(2026, 5, 17))
    '2026-05-00'
    """
    return f"{day:%Y-%m}-00"


def _ensure(conn: Connection, name: str, day: date | str, usd: float = 0.0) -> None:
    if conn.execute(select(spending_days.c.account).where(*_of(name, day))).first() is not None:
        return
    try:
        with conn.begin_nested():
            conn.execute(insert(spending_days).values(account=name, day=str(day), spent_usd=usd))
    except IntegrityError:  # another process was quicker by a moment
        return


def _of(name: str, day: date | str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return spending_days.c.account == name, spending_days.c.day == str(day)


def _over(
    account: SpendingAccount,
    most: float,
    so_far: DaySpending,
    usd: float,
    now: datetime,
    period: Literal["day", "month"] = "day",
) -> SpendingLimitError:
    message = f"this can cost ${usd:.4f}, and {account.title} may spend ${most:g} a {period} (UTC)"
    if usd > most + ROUNDING:
        return SpendingLimitError(f"{message} (ask for less at once, or have the limit raised)")
    message += f": ${so_far.spent:.4f} is spent" + (f", ${so_far.reserved:.4f} reserved" if so_far.reserved else "")
    soon = so_far.spent + usd <= most + ROUNDING
    later = "tomorrow" if period == "day" else "next month"
    way = "ask again when what is under way has ended" if soon else f"ask again {later}, or have the limit raised"
    wait = until_tomorrow(now) if period == "day" else until_next_month(now)
    return SpendingLimitError(f"{message} ({way})", SOON if soon else wait)


def _day(now: datetime) -> date:
    return now.astimezone(UTC).date()
