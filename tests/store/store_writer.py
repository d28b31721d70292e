"""A process that writes pairs of rows as fast as it can, and says on stdout which were accepted, until it is killed.

    python store_writer.py URL [ROOM]

With ROOM, no file may grow by more than so many bytes until the first write is refused; then it goes on for a while.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import sys
from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Connection, insert, select

from rubrica.errors import StoreError
from rubrica.store.columns import new_id
from rubrica.store.database import Database
from rubrica.store.tables import games

CLIENTS = 6
NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def add_pair(conn: Connection, name: str) -> None:
    for half in "ab":
        row = {"id": new_id(NOW), "name": f"{name}/{half}", "config": {"filling": "x" * 500}, "is_public": True}
        conn.execute(insert(games), row | {"created_at": NOW})


def pairs(conn: Connection) -> dict[str, str]:
    """What is there, and which halves of it."""
    found: dict[str, str] = {}
    for name in conn.execute(select(games.c.name).order_by(games.c.name)).scalars():
        whole, _, half = name.partition("/")
        found[whole] = found.get(whole, "") + half
    return found


def say(word: str, name: str) -> None:
    os.write(1, f"{word} {name}\n".encode())  # at once and in one piece


async def write_pairs(database: Database, client: int, most: int | None = None) -> bool:
    """Write until something is refused, or `most` times; whether everything was accepted."""
    for number in itertools.count() if most is None else range(most):
        name = f"{os.getpid()}-{client}-{number}-{'free' if most is None else 'after'}"
        try:
            await database.write(add_pair, name)
        except StoreError:
            say("refused", name)
            return False
        say("accepted", name)
    return True


async def main(url: str, room: int | None) -> None:
    async with Database.open(url) as database:
        if room is not None:
            files = Path(url.removeprefix("sqlite:///")).parent.glob("rubrica.db*")
            _limit(max(file.stat().st_size for file in files) + room)
        await asyncio.gather(*(write_pairs(database, client) for client in range(CLIENTS)))
        _limit(resource.RLIM_INFINITY)
        done = await asyncio.gather(*(write_pairs(database, client, most=5) for client in range(CLIENTS)))
        assert all(done)


def _limit(size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None))
