"""Spending of a day: reserved before it is spent, by all processes on one database, and never past the limit."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from databases import Opened
from rubrica.errors import SpendingLimitError
from rubrica.store.database import Database
from rubrica.store.spending import (
    LEASE,
    DaySpending,
    SpendingAccount,
    day_spending,
    forget_spending,
    renew_spending,
    reserve_spending,
    settle_spending,
)

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
KEY = SpendingAccount("key:1", "this key", 1.0)
USER = SpendingAccount("user:1", "ann", 1.5)


def spent(database: Opened, name: str, now: datetime = NOW) -> DaySpending:
    return database.read(day_spending, [name], now)[name]


def test_what_is_reserved_is_settled_with_what_was_paid(database: Opened) -> None:
    reservation = database.write(reserve_spending, [KEY, USER], 0.75, NOW)
    assert spent(database, "key:1") == DaySpending(0.0, 0.75)
    database.write(settle_spending, reservation, 0.25)
    assert spent(database, "key:1") == spent(database, "user:1") == DaySpending(0.25, 0.0)


def test_every_account_must_have_room_and_none_is_charged_otherwise(database: Opened) -> None:
    other = SpendingAccount("key:2", "this key", 1.0)
    database.write(settle_spending, database.write(reserve_spending, [KEY, USER], 0.9, NOW), 0.9)
    with pytest.raises(SpendingLimitError, match=r"ann may spend \$1.5 a day .*\$0.9000 is spent .*tomorrow") as caught:
        database.write(reserve_spending, [other, USER], 0.7, NOW)
    assert caught.value.retry_after == 12 * 3600
    assert spent(database, "key:2") == DaySpending()


def test_a_request_that_costs_more_than_a_day_allows_is_told_that_waiting_does_not_help(database: Opened) -> None:
    with pytest.raises(SpendingLimitError, match="ask for less at once") as caught:
        database.write(reserve_spending, [KEY], 1.01, NOW)
    assert caught.value.retry_after is None


def test_concurrent_requests_of_several_processes_cannot_pass_a_limit(database: Opened) -> None:
    async def work() -> int:
        async with Database.open(database.url) as one, Database.open(database.url) as other:
            wanted = [
                (one, other)[i % 2].write(reserve_spending, [KEY, USER] if i % 3 else [USER, KEY], 0.1, NOW)
                for i in range(50)
            ]
            results = await asyncio.gather(*wanted, return_exceptions=True)
        faults = [result for result in results if isinstance(result, BaseException)]
        assert all(isinstance(fault, SpendingLimitError) for fault in faults), faults
        assert {fault.retry_after for fault in faults if isinstance(fault, SpendingLimitError)} == {5.0}
        return len(results) - len(faults)

    assert asyncio.run(work()) == 10
    assert spent(database, "key:1").reserved == pytest.approx(1.0)


def test_what_a_crash_left_reserved_is_free_after_a_while_and_what_is_renewed_is_not(database: Opened) -> None:
    database.write(reserve_spending, [KEY], 0.5, NOW)
    alive = database.write(reserve_spending, [KEY], 0.5, NOW)
    with pytest.raises(SpendingLimitError):
        database.write(reserve_spending, [KEY], 0.4, NOW)
    later = NOW + LEASE
    database.write(renew_spending, alive, later - timedelta(seconds=30))
    third = database.write(reserve_spending, [KEY], 0.4, later)
    database.write(forget_spending, later)
    for one in (alive, third):
        database.write(settle_spending, one, 0.4)
    assert spent(database, "key:1", later) == DaySpending(pytest.approx(0.8), 0.0)  # type: ignore[arg-type]  # approx stands for a float


def test_work_that_outlives_its_reservation_is_still_paid(database: Opened) -> None:
    slow = database.write(reserve_spending, [KEY], 0.5, NOW)
    database.write(forget_spending, NOW + 2 * LEASE)
    database.write(settle_spending, slow, 0.3)
    assert spent(database, "key:1") == DaySpending(0.3, 0.0)


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)])
def test_a_clock_that_jumps_neither_loses_nor_doubles_what_is_spent(database: Opened, jump: timedelta) -> None:
    reservation = database.write(reserve_spending, [KEY], 0.6, NOW)
    database.write(renew_spending, reservation, NOW + jump)
    with pytest.raises(SpendingLimitError):
        database.write(reserve_spending, [KEY], 0.6, NOW + jump)
    database.write(settle_spending, reservation, 0.6)
    assert spent(database, "key:1", NOW + jump) == DaySpending(0.6, 0.0)


def test_a_new_day_begins_anew_and_work_counts_for_the_day_it_began(database: Opened) -> None:
    late = datetime(2026, 5, 1, 23, 59, 59, tzinfo=UTC)
    reservation = database.write(reserve_spending, [KEY], 1.0, late)
    tomorrow = late + timedelta(seconds=2)
    database.write(reserve_spending, [KEY], 1.0, tomorrow)
    database.write(settle_spending, reservation, 0.8)
    assert spent(database, "key:1", late).spent == 0.8
    assert spent(database, "key:1", tomorrow) == DaySpending(0.0, 1.0)
