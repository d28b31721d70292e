"""What may be spent in a day: by a key and by all, over restarts, and by several processes."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta, timezone
from uuid import UUID

import pytest

from databases import Opened
from gateway_samples import record
from rubrica.gateway.controls import Allowance
from rubrica.gateway.spending import Spending, SpentError
from rubrica.gateway.writer import RecordWriter
from rubrica.store import gateway
from rubrica.store.database import Database
from rubrica.store.gateway import Comparison

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ANN, BOB = UUID(int=1), UUID(int=2)
ONE = Allowance(usd_per_day=1.0)


class Clock:
    """Stands still until it is set."""

    def __init__(self, now: datetime = NOON) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def spending(usd_per_day: float | None = None, clock: Clock | None = None) -> Spending:
    return Spending(usd_per_day, clock or Clock())


def test_a_key_that_has_spent_its_allowance_is_refused_and_others_are_not() -> None:
    books = spending()
    books.add(record(NOON, key_id=ANN, total_usd=0.75))
    books.check(ANN, ONE)
    books.add(record(NOON, key_id=ANN, total_usd=0.25))
    with pytest.raises(SpentError, match=r"this key has spent its 1 US dollars for today \(UTC\)") as told:
        books.check(ANN, ONE)
    assert told.value.retry_after == 12 * 3600
    books.check(BOB, ONE)
    books.check(ANN, Allowance())


def test_all_keys_together_have_a_limit_too_and_comparisons_count_for_it() -> None:
    books = spending(2.0)
    books.add(record(NOON, key_id=ANN, total_usd=1.0))
    books.add(Comparison(UUID(int=9), 1.0, 1.0, False, "", 0.5))
    books.check(BOB, ONE)
    assert books.of_key(ANN) == 1.0
    books.add(Comparison(UUID(int=9), 1.0, 1.0, False, "", 0.5))
    with pytest.raises(SpentError, match="the gateway has spent its 2 US dollars"):
        books.check(BOB, ONE)


def test_a_new_day_begins_at_midnight_of_utc() -> None:
    clock = Clock(datetime(2026, 5, 1, 23, 59, 59, tzinfo=UTC))
    books = spending(1.0, clock)
    late = record(clock.now, key_id=ANN, total_usd=5.0)
    books.add(late)
    with pytest.raises(SpentError) as told:
        books.check(ANN, ONE)
    assert told.value.retry_after == 1.0
    clock.now = datetime(2026, 5, 2, 2, tzinfo=timezone(timedelta(hours=2)))  # the same day begins
    books.check(ANN, ONE)
    books.add(late)  # it came yesterday
    assert books.total == 0.0
    books.written([late])
    assert books.total == 0.0


def test_an_unknown_price_counts_as_nothing_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    books = spending(1.0)
    with caplog.at_level(logging.WARNING, "rubrica.gateway"):
        for _ in range(3):
            books.add(record(NOON, key_id=ANN, total_usd=None, model="unheard:of"))
    books.check(ANN, ONE)
    assert [line.getMessage() for line in caplog.records] == [
        "some price behind answers of unheard:of is not known: they count as 0 in what may be spent"
    ]


def test_what_was_spent_today_is_remembered_over_a_restart(database: Opened) -> None:
    spent = [record(NOON, key_id=ANN, total_usd=0.75), record(NOON, total_usd=0.5)]
    old = record(NOON - timedelta(days=1), key_id=ANN, total_usd=50.0)
    shadow = Comparison(spent[0].trace, 1.0, 1.0, False, "", 0.25)
    database.write(gateway.keep, [*spent, old, shadow])
    books = spending()
    database.run(books.refresh)
    assert (books.of_key(ANN), books.of_key(None), books.total) == (0.75, 0.5, 1.5)


def test_what_waits_to_be_written_counts_once_before_and_after(database: Opened) -> None:
    books = spending()
    made = [record(NOON, key_id=ANN, total_usd=0.25) for _ in range(4)]

    async def scenario(opened: Database) -> None:
        writer = RecordWriter(opened, written=books.written)
        for one in made:
            books.add(one)
            writer.put(one)
        assert books.of_key(ANN) == 1.0
        await books.refresh(opened)
        assert books.of_key(ANN) == pytest.approx(1.0)
        assert await writer.drained(30)
        assert books.of_key(ANN) == pytest.approx(1.0)
        await books.refresh(opened)
        assert books.of_key(ANN) == pytest.approx(1.0)
        await writer.close()

    database.run(scenario)


def test_what_another_process_spent_is_learnt(database: Opened) -> None:
    books = spending()
    books.add(record(NOON, key_id=ANN, total_usd=0.5))
    database.write(gateway.keep, [record(NOON, key_id=ANN, total_usd=0.75)])
    books.check(ANN, ONE)
    database.run(books.refresh)
    with pytest.raises(SpentError):
        books.check(ANN, ONE)
