"""Bringing a database to the tables this Rubrica needs, and saying how far it is.

The whole way is one transaction under a lock of the database, so that servers that start together migrate once, and a
migration that fails leaves everything as it was.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect
from sqlalchemy.exc import OperationalError, ProgrammingError

from rubrica.errors import StoreError

from . import queue_tables, session_tables, sharing_tables  # noqa: F401 - their tables are among those of `metadata`
from .address import DatabaseAddress, address
from .game_tables import standings
from .postgres import Postgres
from .sqlite import in_file

METADATA = standings.metadata
"""Of all tables: those of a game's life are the last that are made."""

VERSION_TABLE = "rubrica_revision"
LOCK = 0x5275_6272_6963_61
"""The number under which PostgreSQL keeps our lock; "Rubrica" in ASCII, so that nobody else takes it by accident."""

PATIENCE = 10.0
"""Seconds to wait for a server that is away."""

_one_at_a_time = threading.Lock()  # alembic's migrations find their connection in a global


@dataclass(frozen=True, slots=True)
class Status:
    """How far a database is."""

    current: str | None  # None: no table of ours yet
    head: str
    pending: tuple[str, ...]  # revisions still to be applied, in order


Work = Callable[[Connection], Status]


async def upgrade(url: str) -> Status:
    """Apply whatever is pending. What is returned is how far the database was before."""
    return await asyncio.to_thread(_upgrade_at, address(url))


async def status(url: str) -> Status:
    """How far the database is. It changes nothing: a SQLite file that is not there is not made."""
    return await asyncio.to_thread(_status_at, address(url))


def _upgrade_at(place: DatabaseAddress) -> Status:
    before = _status_at(place)
    if not before.pending:
        return before

    def work(conn: Connection) -> Status:
        if place.file is None:
            conn.exec_driver_sql("SET LOCAL lock_timeout = '10min'")  # long enough for another server's migration
            conn.exec_driver_sql(f"SELECT pg_advisory_xact_lock({LOCK})")
        return _upgrade(conn, place.shown)

    with _one_at_a_time:
        if place.file is not None:
            return in_file(place.file, work, change=True)
        return asyncio.run(_on_server(place, Postgres.write, work))


def _status_at(place: DatabaseAddress) -> Status:
    if place.file is None:
        return asyncio.run(_on_server(place, Postgres.read, lambda conn: _status(conn, place.shown)))
    if not place.file.exists():
        known = _revisions()
        return Status(None, known[-1], tuple(known))
    return in_file(place.file, lambda conn: _status(conn, place.shown), change=False)


async def _on_server(place: DatabaseAddress, how: Callable[[Postgres, Work], Awaitable[Status]], work: Work) -> Status:
    server = Postgres(place.url, PATIENCE)
    try:
        return await how(server, work)
    finally:
        await server.close()


def _upgrade(conn: Connection, shown: str) -> Status:
    before = _status(conn, shown)
    if before.pending:
        config = _config()
        config.attributes.update(connection=conn, version_table=VERSION_TABLE)
        try:
            command.upgrade(config, "head")
        except (OperationalError, ProgrammingError) as error:
            raise StoreError(f"{shown}: it could not be upgraded, and nothing was changed ({error.orig})") from error
    return before


def _status(conn: Connection, shown: str) -> Status:
    current = MigrationContext.configure(conn, opts={"version_table": VERSION_TABLE}).get_current_revision()
    known = _revisions()
    if current is None and (strange := set(inspect(conn).get_table_names()) & set(METADATA.tables)):
        raise StoreError(
            f"{shown}: it has tables that are not Rubrica's ({', '.join(sorted(strange))}): give Rubrica a database "
            "of its own"
        )
    if current is not None and current not in known:
        raise StoreError(
            f"{shown}: its tables are those of a later Rubrica (revision {current}; this one knows {known[-1]}): "
            "install that one, or use another database"
        )
    return Status(current, known[-1], tuple(known[known.index(current) + 1 if current else 0 :]))


def _revisions() -> list[str]:
    """All that this Rubrica knows, in order."""
    return [script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions()][::-1]


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config
