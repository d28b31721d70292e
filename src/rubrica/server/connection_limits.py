"""How many connections a server holds, in total and from one address, and who makes room when there are too many."""

from __future__ import annotations

import asyncio
import resource
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

MOST_FILES = 65_536
"""Files that this process asks to be allowed; more are never needed."""

KEPT_FILES = 256
"""Files for all else than connections: the database, logs, programs that are started."""

MOST_CONNECTIONS = 4_096
CHECK_SECONDS = 1.0
"""Seconds between two looks at clients that send or read too slowly."""


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Bounds on the connections of one server."""

    total: int = MOST_CONNECTIONS
    per_address: int = MOST_CONNECTIONS // 2  # one address alone cannot take every place
    check_seconds: float = CHECK_SECONDS

    @classmethod
    def for_files(cls, files: int) -> ConnectionLimits:
        """As many as so many open files allow: each client may need a connection to a provider, too.

        >>> ConnectionLimits.for_files(1024).total, ConnectionLimits.for_files(1_000_000).total
        (384, 4096)
        """
        total = max(16, min(MOST_CONNECTIONS, (files - KEPT_FILES) // 2))
        return cls(total, max(8, total // 2))


class LimitedConnection(Protocol):
    """A connection as the registry sees it."""

    def make_room(self) -> None:
        """Close at once: somebody else needs the place."""
        ...

    def check(self, now: float) -> bool:
        """Close it if its client is too slow; False: it has been closed already, and nobody told."""
        ...


class ConnectionRegistry:
    """The open connections of one server.

    When there are too many, the one that has waited longest for its client makes room. Only where none waits, and all
    are being answered, a new one is refused.
    """

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open: dict[LimitedConnection, str] = {}  # with its address
        self._by_address: Counter[str] = Counter()
        self._waiting: dict[LimitedConnection, None] = {}  # for their clients, the longest wait first
        self._checking: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    def add(self, connection: LimitedConnection, address: str, loop: asyncio.AbstractEventLoop) -> bool:
        """Take a new connection, which waits for its first request; False: there is no place for it."""
        if self._by_address[address] >= self.limits.per_address:
            placed = self._displace(address)
        else:
            placed = len(self._open) < self.limits.total or self._displace(None)
        if not placed:
            return False
        self._open[connection] = address
        self._by_address[address] += 1
        self._waiting[connection] = None
        if self._checking is None:
            self._checking = loop.call_later(self.limits.check_seconds, self._check, loop)
        return True

    def remove(self, connection: LimitedConnection) -> None:
        """Forget a connection that was closed."""
        address = self._open.pop(connection, None)
        self._waiting.pop(connection, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def wait(self, connection: LimitedConnection) -> None:
        """Note that a connection waits for its client again."""
        if connection in self._open:
            self._waiting[connection] = None

    def answer(self, connection: LimitedConnection) -> None:
        """Note that the client of a connection waits for an answer."""
        self._waiting.pop(connection, None)

    def _displace(self, address: str | None) -> bool:
        """Close the connection that has waited longest for its client, of one address or of all; whether there is."""
        for connection in self._waiting:
            if address is None or self._open[connection] == address:
                self.remove(connection)
                connection.make_room()
                return True
        return False

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [one for one in self._open if not one.check(now)]:
            self.remove(connection)
        self._checking = loop.call_later(self.limits.check_seconds, self._check, loop) if self._open else None


def raise_file_limit() -> int:
    """Let this process have as many files open as the system allows it to; how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft
