"""Migrations: they end in the tables the queries expect, run once, and refuse what they do not know."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import CheckConstraint, Connection, inspect, select

from databases import Opened
from rubrica.errors import StoreError
from rubrica.store.database import Database
from rubrica.store.sharing_tables import gateway_answers, gateway_breakers
from rubrica.store.tables import metadata, users
from rubrica.store.upgrade import VERSION_TABLE, Status, status, upgrade
from rubrica.workspace.access import LOCAL

REVISIONS = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0011", "0012", "0013")
HEAD = REVISIONS[-1]
START = """
import asyncio, sys
from rubrica.store.database import Database
from rubrica.store.upgrade import upgrade

async def start(url):
    before = await upgrade(url)
    async with Database.open(url) as database:
        await database.write(lambda conn: conn.exec_driver_sql("UPDATE users SET name = name"))
    return before

print("ready", flush=True)
sys.stdin.readline()
print(*asyncio.run(start(sys.argv[1])).pending)
"""


def write(url: str, *statements: str) -> None:
    def run(conn: Connection) -> None:
        for statement in statements:
            conn.exec_driver_sql(statement)

    async def scenario() -> None:
        async with Database.open(url) as database:
            await database.write(run)

    asyncio.run(scenario())


def tables(url: str) -> set[str]:
    async def scenario() -> set[str]:
        async with Database.open(url) as database:
            return set(await database.read(lambda conn: inspect(conn).get_table_names()))

    return asyncio.run(scenario())


def test_the_migrated_tables_are_those_the_queries_know(database: Opened) -> None:
    def differences(conn: Connection) -> Any:
        here = conn.dialect.name == "postgresql"
        opts = {
            "version_table": VERSION_TABLE,
            "compare_type": True,
            "compare_server_default": here,  # on SQLite, a default of '' looks like another one
            "include_object": lambda thing, *_: here or not getattr(thing, "_ddl_if", None),  # PostgreSQL's alone
        }
        return compare_metadata(MigrationContext.configure(conn, opts=opts), metadata)

    assert {gateway_answers, gateway_breakers} <= set(metadata.tables.values())  # of a module of their own
    assert database.read(differences) == []


def test_the_migrated_tables_have_every_check(database: Opened) -> None:
    def checks(conn: Connection) -> set[tuple[str, Any]]:
        seen = inspect(conn)
        return {(table, check["name"]) for table in metadata.tables for check in seen.get_check_constraints(table)}

    wanted = {
        (table.name, check.name)
        for table in metadata.tables.values()
        for check in table.constraints
        if isinstance(check, CheckConstraint) and check.name
    }
    assert {("market_reviews", "ck_market_reviews_rating")} < wanted
    assert database.read(checks) == wanted


def test_the_local_administrator_is_there(database: Opened) -> None:
    found = database.read(lambda conn: conn.execute(select(users.c.id, users.c.name, users.c.created_at)).one())
    assert found[:2] == (LOCAL.user_id, LOCAL.name)
    assert found[2].tzinfo is not None


def test_an_upgrade_goes_from_nothing_to_the_newest_and_then_does_nothing(empty_database_url: str) -> None:
    assert asyncio.run(status(empty_database_url)) == Status(None, HEAD, REVISIONS)
    assert asyncio.run(upgrade(empty_database_url)) == Status(None, HEAD, REVISIONS)
    write(empty_database_url, "UPDATE users SET name = 'kept'")
    assert asyncio.run(upgrade(empty_database_url)) == Status(HEAD, HEAD, ())
    assert asyncio.run(status(empty_database_url)) == Status(HEAD, HEAD, ())


def test_processes_that_start_together_migrate_once(empty_database_url: str) -> None:
    starts = [
        subprocess.Popen(
            [sys.executable, "-c", START, empty_database_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for start in starts:
        assert start.stdout is not None
        assert start.stdout.readline() == "ready\n"
    with ThreadPoolExecutor() as pool:
        told = list(pool.map(lambda start: start.communicate("go\n", timeout=60)[0].strip(), starts))
    assert [start.returncode for start in starts] == [0, 0, 0]
    assert sorted(told) == ["", "", " ".join(REVISIONS)]


def test_upgrades_of_several_databases_at_once_keep_apart(tmp_path: Path) -> None:
    async def scenario() -> list[Status]:
        return await asyncio.gather(*(upgrade(str(tmp_path / f"{number}.db")) for number in range(4)))

    assert asyncio.run(scenario()) == [Status(None, HEAD, REVISIONS)] * 4


def test_a_migration_that_fails_half_way_leaves_everything_as_it_was(empty_database_url: str) -> None:
    write(empty_database_url, "CREATE TABLE mine (x integer)", "CREATE INDEX ix_players_user ON mine (x)")
    with pytest.raises(StoreError, match=r"nothing was changed .*ix_players_user"):
        asyncio.run(upgrade(empty_database_url))
    assert tables(empty_database_url) == {"mine"}
    write(empty_database_url, "DROP INDEX ix_players_user")
    asyncio.run(upgrade(empty_database_url))
    assert tables(empty_database_url) == {"mine", VERSION_TABLE, *metadata.tables}


def test_a_database_of_something_else_is_refused(empty_database_url: str) -> None:
    write(empty_database_url, "CREATE TABLE users (id integer)")
    with pytest.raises(StoreError, match=r"not Rubrica's \(users\)"):
        asyncio.run(upgrade(empty_database_url))
    assert tables(empty_database_url) == {"users"}


def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "theirs.db"
    with contextlib.closing(sqlite3.connect(file)) as theirs:
        theirs.execute("CREATE TABLE users (id)")
    before = file.read_bytes()
    for way in (status, upgrade):
        with pytest.raises(StoreError, match="not Rubrica's"):
            asyncio.run(way(str(file)))
    assert file.read_bytes() == before


def test_a_database_of_a_later_rubrica_is_refused(database_url: str) -> None:
    write(database_url, f"UPDATE {VERSION_TABLE} SET version_num = '9999'")  # noqa: S608
    for way in (status, upgrade):
        with pytest.raises(StoreError, match=rf"later Rubrica \(revision 9999; this one knows {HEAD}\)"):
            asyncio.run(way(database_url))


def test_the_status_of_a_file_that_is_not_there_makes_none(tmp_path: Path) -> None:
    file = tmp_path / "rubrica.db"
    assert asyncio.run(status(str(file))) == Status(None, HEAD, REVISIONS)
    assert not file.exists()


@pytest.mark.parametrize("way", [status, upgrade])
def test_a_place_that_cannot_be_a_database_is_refused(tmp_path: Path, way: Any) -> None:
    text = tmp_path / "text.db"
    text.write_text("words " * 1000)
    with pytest.raises(StoreError, match="not a SQLite database"):
        asyncio.run(way(str(text)))
    with pytest.raises(StoreError, match="cannot be opened"):
        asyncio.run(way(str(tmp_path)))
    assert text.read_text() == "words " * 1000


def test_an_upgrade_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="folder"):
        asyncio.run(upgrade(str(tmp_path / "nowhere" / "rubrica.db")))
    with pytest.raises(StoreError, match="folder"):
        asyncio.run(upgrade("/proc/rubrica.db"))
