"""SQLite: some threads that read, one that writes, and one commit for all the writes that wait together."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from rubrica.errors import StoreError
from rubrica.files import make_private_file

from .columns import from_json, to_json
from .errors import translate_error
from .query_threads import QueryJob, QueryThreads

T = TypeVar("T")
READERS = 4
SAFE = ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON")
"""What was told as done survives a power cut."""

MIGRATION_PATIENCE = 60.0
"""Seconds to wait for another process that migrates."""

PAUSE = 0.05
MOST_TOGETHER = 128
"""Writes in one transaction: enough to share a commit among, few enough that the first does not wait long."""


class Sqlite:
    """A SQLite file in WAL mode: readers never wait for the writer."""

    def __init__(self, file: Path, patience: float) -> None:
        self._place = str(file)
        self._process = os.getpid()
        self._writing = _engine(file, patience, *SAFE)
        self._reading = _engine(file, patience, *SAFE, "query_only = ON")
        self._glancing = _engine(file, patience, *SAFE, "query_only = ON", "busy_timeout = 0")
        # A file that cannot be used is told now, not at the first request.
        self._pen: _Held | None = _hold(self._writing, self._place)
        self._glass: _Held | None = _hold(self._glancing, self._place)
        self._idle: list[_Held] = []
        self._open = True
        self._readers = QueryThreads("rubrica-read", self._read, threads=READERS)
        self._writer = QueryThreads("rubrica-write", self._write, most=MOST_TOGETHER)

    async def read(self, query: Callable[[Connection], T]) -> T:
        self._check()
        result: T = await self._readers.do(query)
        return result

    async def lookup(self, query: Callable[[Connection], T]) -> T:
        """Read on the event loop's own thread; where that would mean to wait, in another one."""
        self._check()
        try:
            held = self._glass = self._glass or _hold(self._glancing, self._place)
            return held.read(query)
        except Exception as error:  # noqa: BLE001 - the boundary of a query: what is not ours goes on unchanged
            self._glass = self._glass and self._glass.reusable()
            translated = translate_error(error, self._place)
            if translated is error or not isinstance(translated, StoreError):
                raise translated from translated.__cause__
        return await self.read(query)

    async def write(self, query: Callable[[Connection], T]) -> T:
        self._check()
        result: T = await self._writer.do(query)
        return result

    async def close(self) -> None:
        """Finish what was accepted, then let go of the file."""
        self._open = False
        await asyncio.to_thread(self._let_go)

    def _let_go(self) -> None:
        self._readers.close()
        self._writer.close()
        for held in (*self._idle, self._glass, self._pen):
            if held is not None:
                held.close()

    def _check(self) -> None:
        if not self._open:
            raise StoreError(f"{self._place}: the database is closed: open it again")
        if os.getpid() != self._process:  # the threads stayed behind, and SQLite's locks with them
            raise StoreError(f"{self._place}: it was opened before this process was forked: open it again")

    def _read(self, jobs: Sequence[QueryJob]) -> None:
        for job in jobs:
            try:
                held = self._free()
                try:
                    job.result = held.read(job.query)
                finally:
                    if kept := held.reusable():
                        self._idle.append(kept)
            except Exception as error:  # noqa: BLE001 - the boundary of a query: its error goes to whoever asked
                job.error = translate_error(error, self._place)

    def _free(self) -> _Held:
        """A connection nobody reads from just now."""
        try:
            return self._idle.pop()
        except IndexError:
            return _hold(self._reading, self._place)

    def _write(self, jobs: Sequence[QueryJob]) -> None:
        wanted = [job for job in jobs if not job.is_abandoned]
        if not self._commit(wanted):
            for job in wanted:
                if job.error is None:
                    self._commit([job])

    def _commit(self, jobs: Sequence[QueryJob]) -> bool:
        """Run all jobs in one transaction; each that fails is undone alone.

        False if everything had to be taken back on account of one of them, which then has its error.
        """
        try:
            held = self._pen = self._pen or _hold(self._writing, self._place)
            with held.transaction("BEGIN IMMEDIATE"):
                for job in jobs:
                    held.driver.execute("SAVEPOINT job")
                    self._attempt(held, job)
                    if job.error is not None:
                        if not (held.sound and held.driver.in_transaction):
                            return False
                        held.driver.execute("ROLLBACK TO job")
                    held.driver.execute("RELEASE job")
                held.driver.execute("COMMIT")
        except (sqlite3.Error, StoreError) as error:
            for job in jobs:
                job.error = job.error or translate_error(error, self._place)
        finally:
            self._pen = self._pen and self._pen.reusable()
        return True

    def _attempt(self, held: _Held, job: QueryJob) -> None:
        try:
            job.result = job.query(held.conn)
        except Exception as error:  # noqa: BLE001 - the boundary of a query: its error goes to whoever asked
            job.error = translate_error(error, self._place)
        except BaseException as error:  # noqa: BLE001 - one that would end this thread ends the caller
            job.error = error
        else:
            if not held.driver.in_transaction:
                job.error = RuntimeError("a query must not end the transaction it runs in")


def in_file(file: Path, work: Callable[[Connection], T], *, change: bool) -> T:
    """See the shape of the tables, or change it in one transaction. Foreign keys are looked at once, at its end."""
    begin = "BEGIN IMMEDIATE" if change else "BEGIN"
    held = _hold(_engine(file, MIGRATION_PATIENCE, "synchronous = FULL", "foreign_keys = OFF"), str(file))
    try:
        with held.transaction(begin):
            result = work(held.conn)
            if lost := held.driver.execute("PRAGMA foreign_key_check").fetchone():
                raise StoreError(f"{file}: a row of {lost[0]} points at a row of {lost[2]} that is not there")
            held.driver.execute("COMMIT")
            return result
    except (DBAPIError, sqlite3.Error) as error:
        translated = translate_error(error, str(file))
        raise translated from translated.__cause__
    finally:
        held.close()


class _Held:
    """A connection kept open. We begin and end its transactions ourselves: SQLAlchemy takes as long as for a query."""

    def __init__(self, engine: Engine) -> None:
        self.conn = engine.connect()
        driver: Any = self.conn.connection.driver_connection
        self.driver: sqlite3.Connection = driver

    def read(self, query: Callable[[Connection], T]) -> T:
        """Run a query that sees one state of the database throughout."""
        with self.transaction("BEGIN"):
            return query(self.conn)

    @contextlib.contextmanager
    def transaction(self, begin: str) -> Iterator[None]:
        """One that is taken back unless it is committed."""
        self.driver.execute(begin)
        try:
            yield
        finally:
            if self.driver.in_transaction:
                self.driver.execute("ROLLBACK")

    @property
    def sound(self) -> bool:
        """Whether SQLAlchemy sees nothing left over from the query before."""
        transaction = self.conn.get_transaction()
        is_intact = not (self.conn.closed or self.conn.invalidated or self.conn.in_nested_transaction())
        return is_intact and (transaction is None or transaction.is_active)

    def reusable(self) -> _Held | None:
        """Itself; or nothing, after closing it, if it is not sound."""
        if self.sound:
            return self
        self.close()
        return None

    def close(self) -> None:
        with contextlib.suppress(DBAPIError):
            self.conn.close()


def _hold(engine: Engine, place: str) -> _Held:
    try:
        return _Held(engine)
    except DBAPIError as error:
        translated = translate_error(error, place)
        raise translated from translated.__cause__


def _engine(file: Path, patience: float, *pragmas: str) -> Engine:
    def connect() -> sqlite3.Connection:
        with contextlib.suppress(OSError):  # SQLite says better what is wrong with a place
            make_private_file(file)
        conn = sqlite3.connect(place, uri=True, timeout=patience, check_same_thread=False, isolation_level=None)
        give_up = time.monotonic() + patience
        try:
            for pragma in pragmas:
                while not _set(conn, pragma, last=time.monotonic() > give_up):
                    time.sleep(PAUSE)
        except sqlite3.Error:
            conn.close()
            raise
        return conn

    place = file.resolve().as_uri()
    engine = create_engine(
        "sqlite://", creator=connect, poolclass=NullPool, json_serializer=to_json, json_deserializer=from_json
    )
    event.listen(engine, "commit", _refuse)
    return engine


def _set(conn: sqlite3.Connection, pragma: str, *, last: bool) -> bool:
    """Set it, unless somebody keeps the file locked: SQLite does not wait by itself when it changes to WAL."""
    try:
        conn.execute(f"PRAGMA {pragma}")
    except sqlite3.OperationalError as error:
        if last or error.sqlite_errorcode != sqlite3.SQLITE_BUSY:
            raise
        return False
    return True


def _refuse(_: Connection) -> NoReturn:
    raise RuntimeError("a query must not commit: Database.write does, once for several queries")
