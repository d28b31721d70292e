"""PostgreSQL on asyncpg. A transaction that the server broke off before its commit is tried again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, TypeVar

import asyncpg
from sqlalchemy import URL, Connection
from sqlalchemy.dialects.postgresql.asyncpg import AsyncAdapt_asyncpg_dbapi
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.util import greenlet_spawn

from rubrica.errors import StoreError

from .columns import from_json, to_json
from .errors import state, translate_error

T = TypeVar("T")
CONNECTIONS = 10
PAUSE = 0.1
SETTINGS = {
    "application_name": "rubrica",
    "lock_timeout": "10s",  # a transaction that hangs elsewhere does not hang everybody
    "idle_in_transaction_session_timeout": "60s",
}
CLASHES = frozenset({"40001", "40P01"})
"""SQLSTATE of a failed serialization and of a deadlock: the server has undone it and asks for another try."""

PASSING = ("08", "57P", "53300")
"""SQLSTATE of a broken connection, a server that stops or starts, and one that has no connection left."""


class Postgres:
    """A PostgreSQL database. It belongs to the event loop that first uses it."""

    def __init__(self, url: URL, patience: float) -> None:
        self._place = url.render_as_string(hide_password=True)
        self._dsn = url.set(drivername="postgresql").render_as_string(hide_password=False)
        self._patience = patience
        self._open = True
        self._under_way = 0
        self._all_done = asyncio.Event()
        self._engine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=self._connect,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=patience,
            json_serializer=to_json,
            json_deserializer=from_json,
        )
        self._writing = self._engine.sync_engine
        self._reading = self._writing.execution_options(isolation_level="AUTOCOMMIT")  # spares BEGIN and ROLLBACK

    async def read(self, query: Callable[[Connection], T]) -> T:
        return await self._patiently(self._read, query)

    async def lookup(self, query: Callable[[Connection], T]) -> T:
        return await self._patiently(self._read, query)

    async def write(self, query: Callable[[Connection], T]) -> T:
        return await self._patiently(self._write, query)

    async def close(self) -> None:
        """Finish what was accepted, then let go of the connections."""
        self._open = False
        if self._under_way:
            await self._all_done.wait()
        with contextlib.suppress(TimeoutError):  # a server that has gone silent cannot be taken leave of
            await asyncio.wait_for(self._engine.dispose(), self._patience)

    async def _connect(self) -> Any:
        try:
            return await asyncpg.connect(self._dsn, timeout=self._patience, server_settings=SETTINGS)
        except asyncpg.exceptions.ClientConfigurationError as error:
            raise StoreError(f"{self._place}: it cannot be used as a URL: {error}") from error

    async def _patiently(self, work: Callable[[Callable[[Connection], T]], T], query: Callable[[Connection], T]) -> T:
        if not self._open:
            raise StoreError(f"{self._place}: the database is closed: open it again")
        self._under_way += 1
        try:
            return await self._repeatedly(work, query)
        finally:
            self._under_way -= 1
            if not (self._open or self._under_way):
                self._all_done.set()

    async def _repeatedly(self, work: Callable[[Callable[[Connection], T]], T], query: Callable[[Connection], T]) -> T:
        give_up = time.monotonic() + self._patience
        while True:
            try:
                return await greenlet_spawn(work, query)
            except Exception as error:  # noqa: BLE001 - the boundary of a query: what is not ours goes on unchanged
                if not _is_passing(error) or time.monotonic() > give_up:
                    translated = translate_error(error, self._place)
                    raise translated from translated.__cause__
            await asyncio.sleep(PAUSE)

    def _read(self, query: Callable[[Connection], T]) -> T:
        with self._reading.connect() as conn:
            return query(conn)

    def _write(self, query: Callable[[Connection], T]) -> T:
        with self._writing.connect() as conn:
            result = query(conn)
            self._commit(conn)
            return result

    def _commit(self, conn: Connection) -> None:
        try:
            conn.commit()
        except (DBAPIError, OSError) as error:
            if state(error) in CLASHES:
                raise
            raise StoreError(
                f"{self._place}: the connection broke while committing, so it cannot be told whether the change was "
                "kept (repeat the request with its Idempotency-Key)"
            ) from error


def _is_passing(error: Exception) -> bool:
    """Whether trying again can help."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    if isinstance(error, DBAPIError) and isinstance(error.orig, AsyncAdapt_asyncpg_dbapi.InvalidCachedStatementError):
        return True  # another server has migrated the tables meanwhile
    if isinstance(error, PoolTimeout):
        return False  # it has waited already
    return isinstance(error, OSError) or state(error) in CLASHES or state(error).startswith(PASSING)
