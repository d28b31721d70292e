"""Requests and tokens in a minute of the clock, counted in the database: processes cannot pass a limit together.

A request is counted with the tokens it may take before it is answered, and with those it took after. The check and
the counting are one statement, so that nothing has to be locked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection, and_, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from rubrica.errors import RateLimitError

from .tables import rate_minutes

MINUTE = 60.0
KEPT_MINUTES = 60
_minutes = rate_minutes.c


@dataclass(frozen=True, slots=True)
class RateAccount:
    """Somebody whose requests are counted, and the most there may be in a minute. `title` is how messages name them."""

    name: str  # at most 80 characters
    title: str
    requests: int | None = None  # None: not limited
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class MinuteUse:
    """What an account has used of its minute, a request that was just counted with it."""

    account: RateAccount
    requests: int
    tokens: int


@dataclass(frozen=True, slots=True)
class CountedRequest:
    """A request that was let through, and how its accounts stand."""

    minute: int
    tokens: int  # that it was counted with
    uses: tuple[MinuteUse, ...]


def count_request(conn: Connection, accounts: Sequence[RateAccount], tokens: int, now: datetime) -> CountedRequest:
    """Count a request on every account, or on none: a RateLimitError says whose minute is used up."""
    minute = int(now.timestamp() // MINUTE)
    ordered = sorted(accounts, key=lambda account: account.name)  # one order: no deadlocks
    return CountedRequest(minute, tokens, tuple(_count(conn, one, tokens, minute, now) for one in ordered))


def settle_tokens(conn: Connection, ended: Sequence[tuple[CountedRequest, int]]) -> None:
    """Put the tokens that requests took in place of those they were counted with."""
    changes: Counter[tuple[str, int]] = Counter()
    for counted, tokens in ended:
        for use in counted.uses:
            changes[use.account.name, counted.minute] += tokens - counted.tokens
    for (name, minute), change in sorted(changes.items()):  # one order: no deadlocks
        mine = and_(_minutes.account == name, _minutes.minute == minute)
        conn.execute(update(rate_minutes).where(mine).values(tokens=_minutes.tokens + change))


def forget_minutes(conn: Connection, now: datetime) -> None:
    """Drop minutes that are past."""
    conn.execute(delete(rate_minutes).where(_minutes.minute < int(now.timestamp() // MINUTE) - KEPT_MINUTES))


def until_next_minute(now: datetime) -> float:
    """Seconds until the next minute of the clock.

    >>> from datetime import UTC
    >>> until_next_minute(datetime(2026, 5, 1, 12, 30, 45, tzinfo=UTC))
    15.0
    """
    return MINUTE - now.timestamp() % MINUTE


def _count(conn: Connection, account: RateAccount, tokens: int, minute: int, now: datetime) -> MinuteUse:
    if account.tokens is not None and tokens > account.tokens:
        message = f"this takes about {tokens:,} tokens, and {account.title} may use {account.tokens:,} a minute"
        raise RateLimitError(f"{message} (ask for less at once, or have the limit raised)", "tokens", account.tokens)
    new = {"account": account.name, "minute": minute, "requests": 1, "tokens": tokens}
    fits = []
    if account.requests is not None:
        fits.append(_minutes.requests < account.requests)
    if account.tokens is not None:
        fits.append(_minutes.tokens + tokens <= account.tokens)
    add: Any = (postgresql if conn.dialect.name == "postgresql" else sqlite).insert(rate_minutes).values(new)
    counted = add.on_conflict_do_update(
        index_elements=[_minutes.account, _minutes.minute],
        set_={"requests": _minutes.requests + 1, "tokens": _minutes.tokens + tokens},
        where=and_(*fits) if fits else None,
    ).returning(_minutes.requests, _minutes.tokens)
    row = conn.execute(counted).first()
    if row is None:
        raise _used_up(conn, account, minute, now)
    return MinuteUse(account, *row)


def _used_up(conn: Connection, account: RateAccount, minute: int, now: datetime) -> RateLimitError:
    row = select(_minutes.requests).where(_minutes.account == account.name, _minutes.minute == minute)
    requests = conn.execute(row).scalar_one()
    kind: Literal["requests", "tokens"] = "tokens"
    most = account.tokens or 0
    if account.requests is not None and requests >= account.requests:
        kind, most = "requests", account.requests
    message = f"{account.title} may use {most:,} {kind} a minute, and has (ask again in the next minute)"
    return RateLimitError(message, kind, most, until_next_minute(now))
