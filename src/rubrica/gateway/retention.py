"""How long records and their texts are kept: what is older is deleted every day, or by a command."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

from rubrica.errors import InputError, StoreError
from rubrica.store.database import Database
from rubrica.store.gateway_retention import TOGETHER, count_prunable, prune_requests, prune_texts
from rubrica.store.gateway_sharing import count_answers, prune_answers

LOG = logging.getLogger("rubrica.gateway")
DAY = 86_400.0
FIRST = 60.0
"""Seconds after its start that a gateway looks for the first time."""

EXPIRED = 300.0
"""Seconds between two times that expired answers are deleted."""

BREATH = 0.05
"""Seconds between two transactions, in which others may write."""

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


class RetentionPeriods(msgspec.Struct, frozen=True):
    """How long to keep what. None: until somebody deletes it."""

    records: timedelta | None = None
    texts: timedelta | None = None

    @classmethod
    def of_days(cls, records: float | None, texts: float | None) -> RetentionPeriods:
        return cls(*(None if days is None else timedelta(days=days) for days in (records, texts)))

    def __bool__(self) -> bool:
        return self.records is not None or self.texts is not None


class PrunedRecords(msgspec.Struct, frozen=True):
    """How many were deleted, or would be."""

    records: int = 0
    texts: int = 0
    answers: int = 0  # that were shared between processes, those that had expired among them


def read_period(text: str) -> timedelta:
    """A length of time: hours, days or weeks.

    >>> read_period("90d"), read_period("12h")
    (datetime.timedelta(days=90), datetime.timedelta(seconds=43200))
    """
    number, unit = text[:-1], text[-1:]
    if unit not in _UNITS or not number.isdecimal() or not 0 < int(number) <= 100_000:
        raise InputError(f"{text!r} is no length of time, such as 12h, 90d or 4w")
    return int(number) * _UNITS[unit]


async def prune(database: Database, periods: RetentionPeriods, now: datetime) -> PrunedRecords:
    """Delete what is older, in many small transactions. Records go with their texts."""
    texts = await _in_steps(database, prune_texts, periods.texts, now)
    records = await _in_steps(database, prune_requests, periods.records, now)
    return PrunedRecords(records, texts, await forget_answers(database, _oldest_answer(periods, now), now))


async def forget_answers(database: Database, before: datetime, now: datetime) -> int:
    """Delete shared answers that were given before a time, or may not be given any more; how many."""
    total = 0
    while found := await database.write(prune_answers, before, now):
        total += found
        await asyncio.sleep(BREATH)
    return total


def _oldest_answer(periods: RetentionPeriods, now: datetime) -> datetime:
    """From when on shared answers may stay: they are texts, too."""
    known = [period for period in (periods.records, periods.texts) if period is not None]
    return now - min(known) if known else datetime.min.replace(tzinfo=now.tzinfo)


async def prunable(database: Database, periods: RetentionPeriods, now: datetime) -> PrunedRecords:
    """What `prune` would delete, without deleting any of it."""
    never = datetime.min.replace(tzinfo=now.tzinfo)
    before, texts_before = (never if period is None else now - period for period in (periods.records, periods.texts))
    answers = await database.read(count_answers, _oldest_answer(periods, now), now)
    return PrunedRecords(*await database.read(count_prunable, before, texts_before), answers)


async def _in_steps(database: Database, step: Callable[..., int], period: timedelta | None, now: datetime) -> int:
    total = 0
    while period is not None:
        found = await database.write(step, now - period)
        total += found
        if found < TOGETHER:
            break
        await asyncio.sleep(BREATH)
    return total


async def forget_expired(database: Database, clock: Callable[[], datetime]) -> None:
    """Delete shared answers that have expired, again and again, until cancelled."""
    while True:
        await asyncio.sleep(EXPIRED)
        try:
            await forget_answers(database, datetime.min.replace(tzinfo=UTC), clock())
        except StoreError as error:
            LOG.warning("shared answers that have expired could not be deleted: %s", error)


async def prune_daily(database: Database, periods: RetentionPeriods, clock: Callable[[], datetime]) -> None:
    """Delete what is older, soon and then every day, until cancelled. A database that fails is tried again tomorrow."""
    await asyncio.sleep(FIRST)
    while periods:
        try:
            found = await prune(database, periods, clock())
        except StoreError as error:
            LOG.warning("old records could not be deleted: %s", error)
        else:
            if found.records or found.texts:
                LOG.info("deleted %d old records, and the texts of %d", found.records, found.texts)
        await asyncio.sleep(DAY)
