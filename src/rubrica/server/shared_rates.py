"""Requests of keys, counted in the database for servers side by side.

A key that asks seldom is counted with each request. For one that asks often a server takes as many requests at once as
came in the last second, so that counting them costs little.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import UUID

from rubrica.lru_cache import LruCache
from rubrica.store.database import Database
from rubrica.store.rate_buckets import take_requests

SECOND = 1.0
"""For so long a server uses what it took; what is left then is given up."""
SHARE = 20
"""No more than this part of a minute's requests is taken at once."""
MOST_KEYS = 10_000


@dataclass(slots=True)
class _Lease:
    left: int = 0
    until: float = float("-inf")  # for so long what is left may be used
    second: float = float("-inf")  # when the second began that is being counted
    asked: int = 0  # in this second
    before: int = 0  # in the one before
    refused_until: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def count(self, now: float) -> None:
        """Count a request that came."""
        if now - self.second >= SECOND:
            self.before = self.asked if now - self.second < 2 * SECOND else 0
            self.second, self.asked = now, 0
        self.asked += 1


class SharedRates:
    """How often keys ask all servers on one database together."""

    def __init__(self, database: Database, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._database, self._monotonic = database, monotonic
        self._leases = LruCache[UUID, _Lease](MOST_KEYS)

    async def take(self, key_id: UUID, per_minute: int) -> float:
        """Count a request. 0: there was one left; otherwise the seconds until there will be."""
        lease = self._leases.get(key_id)
        if lease is None:
            lease = _Lease()
            self._leases.put(key_id, lease)
        lease.count(self._monotonic())
        async with lease.lock:
            now = self._monotonic()
            if now < lease.refused_until:
                return lease.refused_until - now
            if lease.left and now <= lease.until:
                lease.left -= 1
                return 0.0
            return await self._renewed(lease, key_id, per_minute, now)

    async def _renewed(self, lease: _Lease, key_id: UUID, per_minute: int, now: float) -> float:
        wanted = max(1, min(max(lease.asked, lease.before), per_minute // SHARE))
        wait = await self._database.write(take_requests, key_id, per_minute, wanted)
        if wait and wanted > 1:
            wanted = 1
            wait = await self._database.write(take_requests, key_id, per_minute, wanted)
        lease.left, lease.until = 0 if wait else wanted - 1, now + SECOND
        lease.refused_until = now + wait if wait else float("-inf")
        return wait
