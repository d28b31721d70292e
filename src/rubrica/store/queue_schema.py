"""The tables of procrastinate, which hands jobs to workers: made in our database, and brought up to date."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rubrica.errors import StoreError
from rubrica.extras import requires

from .address import DatabaseAddress, address
from .upgrade import LOCK, PATIENCE

_THERE = "SELECT to_regclass('procrastinate_jobs') IS NOT NULL"
_APPLIED = "CREATE TABLE IF NOT EXISTS rubrica_queue_revision (name varchar(200) PRIMARY KEY)"


def queue_dsn(place: DatabaseAddress) -> str:
    """How psycopg is told where a database is."""
    return place.url.set(drivername="postgresql").render_as_string(hide_password=False)


async def upgrade_queue(url: str) -> None:
    """Make the tables of the queue, or apply what a newer procrastinate brings. Only on PostgreSQL, and only where the
    extra is installed: a MissingExtraError says so."""
    place = address(url)
    if place.file is None:
        await asyncio.to_thread(_upgraded, place)


def _upgraded(place: DatabaseAddress) -> None:
    with requires("queue", "a queue of runs"):
        import psycopg
        from procrastinate.schema import SchemaManager
    folder = Path(SchemaManager.get_migrations_path())
    scripts = {path.name: path for path in sorted(folder.glob("*.sql"))}
    try:
        with psycopg.connect(queue_dsn(place), connect_timeout=int(PATIENCE)) as conn:  # one transaction
            conn.execute("SELECT set_config('lock_timeout', '10min', true), pg_advisory_xact_lock(%s)", (LOCK,))
            conn.execute(_APPLIED)
            done = {row[0] for row in conn.execute("SELECT name FROM rubrica_queue_revision")}
            pending = sorted(scripts.keys() - done)
            found = conn.execute(_THERE).fetchone()
            if found is None or not found[0]:
                conn.execute(SchemaManager.get_schema())
            elif done:
                for name in pending:
                    conn.execute(scripts[name].read_bytes())
            else:
                raise StoreError(
                    f"{place.shown}: it has tables of procrastinate that Rubrica did not make (give Rubrica a "
                    "database of its own)"
                )
            for name in pending:
                conn.execute("INSERT INTO rubrica_queue_revision VALUES (%s)", (name,))
    except psycopg.Error as error:
        raise StoreError(f"{place.shown}: the tables of the queue cannot be made: {error}") from error
