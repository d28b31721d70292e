"""What was spent today, by each key and by all together, and whether more may be.

A day is one of UTC. What a request costs is known when it ends, so a limit can be overrun by what is under way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from uuid import UUID

from rubrica.errors import RubricaError
from rubrica.store.database import Database
from rubrica.store.gateway import Comparison, Record, Spent, spent

from .controls import Allowance

LOG = logging.getLogger("rubrica.gateway")
ATTEMPTS = 3
MOST_TOLD = 100
"""Models of unknown price that are named in the log."""


class SpentError(RubricaError):
    """What may be spent today is spent. `retry_after` is in seconds: until the day ends."""

    def __init__(self, message: str, retry_after: float) -> None:
        self.retry_after = retry_after
        super().__init__(message)


class _Sums:
    """US dollars of one day."""

    def __init__(self, found: Mapping[UUID | None, Spent] | None = None) -> None:
        known = found or {}
        self.by_key = {key_id: one.usd for key_id, one in known.items()}
        self.total = sum(one.usd + one.shadow_usd for one in known.values())

    def add(self, entry: Record | Comparison, sign: int = 1) -> None:
        """Count one more, or with -1 one less. Comparisons are no key's doing."""
        usd = sign * ((entry.total_usd if isinstance(entry, Record) else entry.usd) or 0.0)
        self.total += usd
        if isinstance(entry, Record):
            self.by_key[entry.key_id] = self.of_key(entry.key_id) + usd

    def of_key(self, key_id: UUID | None) -> float:
        return self.by_key.get(key_id, 0.0)


class Spending:
    """Today's sums: what the database has, and what this process has yet to write.

    `add` what happens, tell `written` what has reached the database, and `refresh` at the start and now and then, to
    learn what other processes spent.
    """

    def __init__(self, usd_per_day: float | None, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._most = usd_per_day
        self._clock = clock
        self._day = clock().astimezone(UTC).date()
        self._stored, self._waiting = _Sums(), _Sums()
        self._writes = 0
        self._told: set[str] = set()

    def check(self, key_id: UUID | None, allowance: Allowance) -> None:
        """Raise a SpentError if this key, or all keys together, have spent what they may today."""
        self._today()
        most = allowance.usd_per_day
        if most is not None and self.of_key(key_id) >= most:
            raise SpentError(f"this key has spent its {most:g} US dollars for today (UTC)", self._left())
        if self._most is not None and self.total >= self._most:
            raise SpentError(f"the gateway has spent its {self._most:g} US dollars for today (UTC)", self._left())

    def of_key(self, key_id: UUID | None) -> float:
        """US dollars that a key has spent today, as far as prices are known."""
        return self._stored.of_key(key_id) + self._waiting.of_key(key_id)

    @property
    def total(self) -> float:
        """US dollars that all keys and comparisons have spent today, as far as prices are known."""
        return self._stored.total + self._waiting.total

    def add(self, entry: Record | Comparison) -> None:
        """Count what a request or a comparison cost. An unknown price counts as nothing, and is told once a model."""
        if self._counts(entry):
            self._waiting.add(entry)
        if isinstance(entry, Record) and entry.total_usd is None:
            self._tell(entry.model or "no model")

    def written(self, entries: Sequence[Record | Comparison]) -> None:
        """Note that what was added before is in the database now."""
        self._writes += 1
        for entry in entries:
            if self._counts(entry):
                self._waiting.add(entry, -1)
                self._stored.add(entry)

    async def refresh(self, database: Database) -> None:
        """Read today's sums from the database."""
        for _ in range(ATTEMPTS):
            day = self._today()
            since = datetime.combine(day, time(), UTC)
            writes = self._writes
            found = await database.read(spent, since, since + timedelta(days=1))
            if self._writes != writes or self._day != day:
                continue  # what was read may or may not hold what was written meanwhile
            self._stored = _Sums(found)
            return

    def _counts(self, entry: Record | Comparison) -> bool:
        """Whether it is of today: a request that came yesterday counts for yesterday."""
        today = self._today()
        return not isinstance(entry, Record) or entry.at.astimezone(UTC).date() == today

    def _today(self) -> date:
        """The day it is; with a new one, all sums begin anew."""
        today = self._clock().astimezone(UTC).date()
        if today != self._day:
            self._day = today
            self._stored, self._waiting = _Sums(), _Sums()
        return today

    def _left(self) -> float:
        now = self._clock().astimezone(UTC)
        return (datetime.combine(now.date() + timedelta(days=1), time(), UTC) - now).total_seconds()

    def _tell(self, model: str) -> None:
        if model not in self._told and len(self._told) < MOST_TOLD:
            self._told.add(model)
            LOG.warning("some price behind answers of %s is not known: they count as 0 in what may be spent", model)
