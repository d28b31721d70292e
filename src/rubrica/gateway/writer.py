"""Writes records in the background, so that no request waits for the database or fails with it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from rubrica.errors import StoreError
from rubrica.store.database import Database
from rubrica.store.gateway import RequestRecord, TierComparison, add_requests

from .record import ExchangeTexts, masked

LOG = logging.getLogger("rubrica.gateway")
TOGETHER = 100
"""Entries in one transaction: on PostgreSQL they are made ready on the event loop, some 20 µs each."""

PILE, MOST_TOGETHER = 1_000, 500
"""Where so many wait, more go into one transaction: that many records a second are better late than lost."""

LINGER = 0.1
"""Seconds to wait for more to write along with the first."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before a database that failed is tried again; twice as long each time."""

HURRIED = 0.05
"""The same, once the gateway stops."""

QUIET = 60.0
"""Seconds between two log lines about the same trouble."""

MOST_CHARACTERS = 32_000_000
"""Of texts that wait, whatever the number of records: some 100 MB at worst."""

GRACE = 5.0
Entry = RequestRecord | TierComparison


@dataclass(frozen=True, slots=True)
class _Waiting:
    entry: Entry
    texts: ExchangeTexts | None

    @property
    def size(self) -> int:
        return 0 if self.texts is None else self.texts.size


def _ignore(_: Sequence[Entry]) -> None:
    pass


class RecordWriter:
    """Takes entries at once and writes them later, in order.

    What waits is bounded in number and in characters; beyond that, entries are dropped and counted. While the
    database fails, what waits stays. Use it on one event loop.
    """

    def __init__(
        self,
        database: Database,
        *,
        waiting: int = 10_000,  # entries
        characters: int = MOST_CHARACTERS,  # of their texts, together
        written: Callable[[Sequence[Entry]], None] = _ignore,  # told what was committed
        dropped: Callable[[Sequence[Entry]], None] = _ignore,  # told what never will be
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.drops = 0
        self.trouble = ""  # why nothing is written at the moment
        self._database = database
        self._most, self._most_characters = waiting, characters
        self._written, self._dropped, self._clock = written, dropped, clock
        self._waiting: deque[_Waiting] = deque()
        self._characters = 0
        self._taken = 0  # ever
        self._settled = 0  # of these, written or given up
        self._watchers: list[tuple[int, asyncio.Future[None]]] = []  # each waits until so many are settled
        self._more = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._told: dict[str, float] = {}  # when a trouble was last logged

    def __len__(self) -> int:
        """How many entries wait."""
        return len(self._waiting)

    def put(self, entry: Entry, texts: ExchangeTexts | None = None) -> bool:
        """Take an entry to be written. It never waits and never raises; False: there was no room, and it is lost."""
        waiting = _Waiting(entry, texts)
        full = len(self._waiting) >= self._most or self._characters + waiting.size > self._most_characters
        if full or self._closing.is_set():
            self._drop([entry], "too many wait to be written" if full else "the gateway is stopping")
            return False
        self._waiting.append(waiting)
        self._characters += waiting.size
        self._taken += 1
        self._more.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._write(), name="gateway-records")
        return True

    async def drained(self, seconds: float) -> bool:
        """Wait until everything that was put so far is settled; False: that took longer than so many seconds."""
        if self._settled >= self._taken:
            return True
        settled = asyncio.get_running_loop().create_future()
        self._watchers.append((self._taken, settled))
        done, _ = await asyncio.wait([settled], timeout=seconds)
        settled.cancel()
        self._watchers = [watcher for watcher in self._watchers if not watcher[1].done()]
        return bool(done)

    async def close(self, grace: float = GRACE) -> None:
        """Write what waits, for `grace` seconds at most; what is left is lost, and counted."""
        self._closing.set()
        await self.drained(grace)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if left := [waiting.entry for waiting in self._waiting]:
            self._settle(len(left))
            self._drop(left, "the gateway stopped before they were written")

    async def _write(self) -> None:
        pause = FIRST_PAUSE
        while True:
            await self._more.wait()
            if len(self._waiting) < TOGETHER:
                await self._rest(LINGER)
            together = TOGETHER if len(self._waiting) < PILE else MOST_TOGETHER
            batch = list(islice(self._waiting, together))
            try:
                await self._keep(batch)
            except StoreError as error:
                self.trouble = "the database fails"
                self._tell("database", "records cannot be written; %d wait (%s)", len(self._waiting), error)
                await self._rest(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                pause = FIRST_PAUSE

    async def _rest(self, seconds: float) -> None:
        """Wait a while; once the gateway stops, hardly at all."""
        if self._closing.is_set():
            await asyncio.sleep(min(seconds, HURRIED))
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._closing.wait()

    def _settle(self, count: int) -> None:
        """Let go of the first entries."""
        for _ in range(count):
            self._characters -= self._waiting.popleft().size
        self._settled += count
        if not self._waiting:
            self._more.clear()
        for target, settled in self._watchers:
            if target <= self._settled and not settled.done():
                settled.set_result(None)
        self._watchers = [watcher for watcher in self._watchers if not watcher[1].done()]

    async def _keep(self, batch: Sequence[_Waiting]) -> None:
        """Write a batch whole; or, where something in it cannot be kept at all, one by one."""
        try:
            entries = await self._store(batch)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever is wrong with one entry shall not hold up the others
            if len(batch) > 1:
                for waiting in batch:
                    await self._keep([waiting])
                return
            self._settle(1)
            self._drop([batch[0].entry], f"it cannot be kept ({type(error).__name__})")  # its message may quote the row
        else:
            self.trouble = ""
            self._settle(len(entries))
            self._written(entries)

    async def _store(self, batch: Sequence[_Waiting]) -> list[Entry]:
        if any(waiting.texts is not None for waiting in batch):
            entries = await asyncio.to_thread(_all_masked, batch)
        else:
            entries = [waiting.entry for waiting in batch]
        await self._database.write(add_requests, entries)
        return entries

    def _drop(self, entries: Sequence[Entry], why: str) -> None:
        self.drops += len(entries)
        self._dropped(entries)
        self._tell("dropped", "%d records were dropped since the start; the last because %s", self.drops, why)

    def _tell(self, trouble: str, message: str, *args: object) -> None:
        """Log a line, unless there was one about the same trouble a short while ago."""
        now = self._clock()
        if now - self._told.get(trouble, float("-inf")) >= QUIET:
            self._told[trouble] = now
            LOG.warning(message, *args)


def _all_masked(batch: Sequence[_Waiting]) -> list[Entry]:
    return [
        masked(waiting.entry, waiting.texts) if isinstance(waiting.entry, RequestRecord) else waiting.entry
        for waiting in batch
    ]
