"""What `Database` promises on SQLite and PostgreSQL: all or nothing, each caller its own error, nobody left waiting."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from databases import Opened, Server
from rubrica.errors import ConflictError, InputError, StoreError
from rubrica.store.columns import new_id, to_json
from rubrica.store.database import Database
from rubrica.store.query_threads import QueryThreads
from rubrica.store.tables import games, users

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def add_user(conn: Connection, name: str) -> str:
    conn.execute(insert(users), {"id": new_id(NOW), "name": name, "created_at": NOW})
    return name


def add_then_fail(conn: Connection, name: str, error: BaseException) -> None:
    add_user(conn, name)
    raise error


def add_game(conn: Connection, config: Any) -> None:
    row = {"id": new_id(NOW), "name": "g", "config": config, "is_public": True, "created_at": NOW}
    conn.execute(insert(games), row)


def names(conn: Connection) -> set[str]:
    return set(conn.execute(select(users.c.name).where(users.c.name != "local")).scalars())


def configs(conn: Connection) -> list[Any]:
    return list(conn.execute(select(games.c.config)).scalars())


async def outcomes(calls: list[Any]) -> list[Any]:
    return await asyncio.gather(*calls, return_exceptions=True)


# --- one transaction each ---------------------------------------------------------------------------------------------


def test_what_is_written_is_read_by_every_kind_of_read(database: Opened) -> None:
    assert database.write(add_user, "ann") == "ann"
    assert database.read(names) == {"ann"}
    assert database.run(lambda opened: opened.lookup(names)) == {"ann"}


def test_it_is_still_there_after_opening_again(database_url: str) -> None:
    async def write() -> None:
        async with Database.open(database_url) as database:
            await database.write(add_user, "ann")

    async def read() -> set[str]:
        async with Database.open(database_url) as database:
            return await database.read(names)

    asyncio.run(write())
    assert asyncio.run(read()) == {"ann"}


@pytest.mark.parametrize("error", [ConflictError("taken"), KeyError("bug"), StopIteration()], ids=repr)
def test_a_write_that_fails_leaves_nothing_and_gives_its_error(database: Opened, error: Exception) -> None:
    expected = RuntimeError if isinstance(error, StopIteration) else type(error)
    with pytest.raises(expected):
        database.write(add_then_fail, "ann", error)
    assert database.read(names) == set()


def test_a_broken_constraint_reaches_the_caller_as_such(database: Opened) -> None:
    database.write(add_user, "ann")
    with pytest.raises(IntegrityError):
        database.write(add_user, "ann")


def test_a_nested_transaction_can_be_given_up_alone(database: Opened) -> None:
    def twice(conn: Connection) -> None:
        add_user(conn, "ann")
        with contextlib.suppress(IntegrityError), conn.begin_nested():
            add_user(conn, "bob")
            add_user(conn, "ann")
        add_user(conn, "cem")

    database.write(twice)
    assert database.read(names) == {"ann", "cem"}


def test_a_nested_transaction_left_open_harms_no_later_write(database: Opened) -> None:
    def left_open(conn: Connection) -> None:
        conn.begin_nested()
        add_user(conn, "ann")
        raise KeyError("bug")

    with pytest.raises(KeyError):
        database.write(left_open)
    database.write(add_user, "bob")
    assert database.read(names) == {"bob"}


def test_a_read_sees_one_state_throughout(tmp_path: Path, sqlite_template: Path) -> None:
    (tmp_path / "rubrica.db").write_bytes(sqlite_template.read_bytes())

    async def scenario() -> tuple[int, int]:
        async with Database.open(str(tmp_path / "rubrica.db")) as database:
            begun, written = threading.Event(), threading.Event()

            def count_twice(conn: Connection) -> tuple[int, int]:
                first = len(names(conn))
                begun.set()
                assert written.wait(10)
                return first, len(names(conn))

            reading = asyncio.create_task(database.read(count_twice))
            await asyncio.to_thread(begun.wait, 10)
            await database.write(add_user, "ann")
            written.set()
            return await reading

    assert asyncio.run(scenario()) == (0, 0)


# --- many at once ---------------------------------------------------------------------------------------------------


def test_one_failing_write_among_many_fails_alone(database: Opened) -> None:
    async def scenario(opened: Database) -> list[Any]:
        return await outcomes(
            [
                *(opened.write(add_user, f"user-{number}") for number in range(7)),
                opened.write(add_then_fail, "late", ConflictError("taken")),
                opened.write(add_then_fail, "user-0", ZeroDivisionError()),
                *(opened.write(add_user, f"user-{number}") for number in range(9, 40)),
                opened.write(lambda conn: [add_user(conn, "twice"), add_user(conn, "twice")]),
            ]
        )

    results = database.run(scenario)
    failed = {number: type(result) for number, result in enumerate(results) if isinstance(result, BaseException)}
    assert set(failed) == {7, 8, 40}
    assert (failed[7], failed[40]) == (ConflictError, IntegrityError)
    assert failed[8] in (ZeroDivisionError, IntegrityError)  # whichever of the two user-0 came first
    assert database.read(names) == {f"user-{number}" for number in range(40)} - {"user-7", "user-8"}


def test_far_more_callers_than_connections_are_all_served(database: Opened) -> None:
    async def scenario(opened: Database) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(300):
                group.create_task(opened.write(add_user, f"user-{number}"))
                group.create_task(opened.read(names))

    database.run(scenario)
    assert len(database.read(names)) == 300


def test_callers_that_are_cancelled_harm_nobody(database: Opened) -> None:
    async def scenario(opened: Database) -> set[str]:
        writes = [asyncio.create_task(opened.write(add_user, f"user-{number}")) for number in range(60)]
        reads = [asyncio.create_task(opened.read(names)) for _ in range(30)]
        for turn, task in enumerate([*writes, *reads]):
            if turn % 3 == 0:
                task.cancel()
            if turn % 10 == 0:
                await asyncio.sleep(0.001)
        results = await outcomes([*writes, *reads])
        assert {type(result) for result in results} <= {str, set, asyncio.CancelledError}
        return {result for result in results if isinstance(result, str)}

    told = database.run(scenario)
    assert told
    assert told <= database.read(names)  # one that was cancelled may have been on its way to the disk
    database.write(add_user, "after")


def test_a_write_given_up_before_its_turn_does_not_happen(tmp_path: Path, sqlite_template: Path) -> None:
    (tmp_path / "rubrica.db").write_bytes(sqlite_template.read_bytes())

    async def scenario() -> set[str]:
        async with Database.open(str(tmp_path / "rubrica.db")) as database:
            go_on = threading.Event()
            first = asyncio.create_task(database.write(lambda _: go_on.wait(10)))
            await asyncio.sleep(0.05)
            second = asyncio.create_task(database.write(add_user, "ann"))
            await asyncio.sleep(0)
            second.cancel()
            await asyncio.sleep(0)
            go_on.set()
            await first
            return await database.read(names)

    assert asyncio.run(scenario()) == set()


class Unplugged(BaseException):
    """Not an Exception, as SystemExit is not."""


def unplug(conn: Connection) -> None:
    raise Unplugged


def test_not_even_a_base_exception_ends_the_threads(database: Opened) -> None:
    for _ in range(6):
        with pytest.raises(Unplugged):
            database.write(add_then_fail, "ann", Unplugged())
        with pytest.raises(Unplugged):
            database.read(unplug)
    database.write(add_user, "bob")
    assert database.read(names) == {"bob"}


# --- values that cannot be kept -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["half \ud800", "\udfff"])
def test_half_a_character_is_an_input_error(database: Opened, name: str) -> None:
    with pytest.raises(InputError):
        database.write(add_user, name)
    with pytest.raises(InputError):
        database.write(add_game, {"text": name})
    with pytest.raises(InputError):
        database.read(lambda conn: conn.execute(select(users.c.id).where(users.c.name == name)).all())
    with pytest.raises(InputError):
        database.run(lambda opened: opened.lookup(lambda conn: conn.execute(select(users).where(users.c.name == name))))


@pytest.mark.parametrize("number", [2**63, 2**70, -(2**80)])
def test_a_number_too_large_for_its_column_is_an_input_error(database: Opened, number: int) -> None:
    with pytest.raises(InputError):
        database.read(lambda conn: conn.execute(select(users.c.id).limit(number)).all())


def test_text_that_postgresql_cannot_keep_is_an_input_error(postgres: Server, postgres_template: str) -> None:
    async def scenario() -> list[Any]:
        async with Database.open(postgres.url(name)) as database:
            return await outcomes(
                [
                    database.write(add_user, "nul \0"),
                    database.write(add_user, "long" * 100),
                    database.write(add_user, "ok"),
                ]
            )

    name = postgres.create(postgres_template)
    nul, long, fine = asyncio.run(scenario())
    assert (type(nul), type(long), fine) == (InputError, InputError, "ok")
    assert "SELECT" not in str(nul)
    assert "INSERT" not in str(nul)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), 10**5000], ids=lambda n: str(type(n)))
def test_a_document_with_a_number_json_has_not_is_an_input_error(database: Opened, number: float) -> None:
    with pytest.raises(InputError, match="document"):
        database.write(add_game, {"deep": [{"x": number}]})
    assert database.read(configs) == []


@pytest.mark.parametrize(
    "config",
    [
        {"nul": "a\0b", "a\0b": 1},
        {"large": 2**70, "small": -(2**90), "float": 0.1 + 0.2, "zero": -0.0, "int": 1, "whole": 1.0},
        {"null": None, "true": True, "list": [[], {}, "", " "]},
        {"text": 'čšž 漢字 🎲 \u2028 "quoted" \\'},
        {},
    ],
    ids=["nul", "numbers", "empty", "unicode", "nothing"],
)
def test_a_document_comes_back_as_it_was(database: Opened, config: dict[str, Any]) -> None:
    database.write(add_game, config)
    (back,) = database.read(configs)
    assert to_json(back) == to_json(config)  # also tells 1 from 1.0


# --- closing --------------------------------------------------------------------------------------------------------


def test_closing_finishes_what_was_accepted_and_refuses_what_comes_later(database_url: str) -> None:
    async def scenario() -> tuple[list[Any], list[Any]]:
        database = Database.open(database_url)
        await database.read(names)
        accepted = [asyncio.create_task(database.write(add_user, f"user-{number}")) for number in range(50)]
        await asyncio.sleep(0)
        await database.close()
        await database.close()
        return await outcomes(accepted), [
            await outcomes([database.write(add_user, "late"), database.read(names), database.lookup(names)])
        ]

    accepted, late = asyncio.run(scenario())
    assert accepted == [f"user-{number}" for number in range(50)]
    assert [type(error) for error in late[0]] == [StoreError] * 3


def test_a_forked_process_is_told_to_open_its_own(tmp_path: Path, sqlite_template: Path) -> None:
    (tmp_path / "rubrica.db").write_bytes(sqlite_template.read_bytes())

    async def scenario() -> int:
        async with Database.open(str(tmp_path / "rubrica.db")) as database:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                child = os.fork()
            if child == 0:
                try:
                    call = database.write(add_user, "ann")
                    call.send(None)
                except StoreError as error:
                    os._exit(3 if "forked" in str(error) else 4)
                finally:
                    os._exit(5)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    assert asyncio.run(scenario()) == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_ever_when_a_thread_ends_all_the_same() -> None:
    class Hard(asyncio.SelectorEventLoop):
        """A loop that cannot be woken once."""

        spent = False

        def call_soon_threadsafe(self, *args: Any, **options: Any) -> Any:  # type: ignore[override]
            if not self.spent and threading.current_thread().name == "doomed":
                self.spent = True
                raise MemoryError
            return super().call_soon_threadsafe(*args, **options)

    def work(jobs: Any) -> None:
        time.sleep(0.05)

    async def scenario() -> list[Any]:
        crew = QueryThreads("doomed", work)
        query: Callable[[Connection], None] = names  # type: ignore[assignment]
        results = await asyncio.wait_for(outcomes([crew.do(query) for _ in range(5)]), 10)
        results += await outcomes([crew.do(query)])
        await asyncio.to_thread(crew.close)
        return results

    with asyncio.Runner(loop_factory=Hard) as runner:
        assert [type(result) for result in runner.run(scenario())] == [StoreError] * 6


# --- a file that cannot be used -------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path, sqlite_template: Path) -> Path:
    place = tmp_path / "rubrica.db"
    place.write_bytes(sqlite_template.read_bytes())
    return place


def test_a_file_locked_by_another_process_is_waited_for_then_told(file: Path) -> None:
    async def scenario() -> tuple[list[Any], Any]:
        async with Database.open(str(file), patience=0.3) as database:
            other = sqlite3.connect(file, isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            assert await database.read(names) == set()  # readers do not wait
            refused = await outcomes([database.write(add_user, "ann"), database.write(add_user, "bob")])
            waiting = asyncio.create_task(database.write(add_user, "cem"))
            await asyncio.sleep(0.1)
            other.execute("ROLLBACK")
            other.close()
            return refused, await waiting

    refused, waited = asyncio.run(scenario())
    assert [type(error) for error in refused] == [StoreError, StoreError]
    assert "locked" in str(refused[0])
    assert waited == "cem"


def test_a_full_database_refuses_what_does_not_fit_and_keeps_the_rest(file: Path) -> None:
    async def scenario() -> tuple[list[Any], set[str], int | None]:
        async with Database.open(str(file)) as database:
            used = await database.read(lambda conn: conn.exec_driver_sql("PRAGMA page_count").scalar_one())
            await database.write(lambda conn: conn.exec_driver_sql(f"PRAGMA max_page_count = {used + 40}"))
            before = [database.write(add_user, f"user-{number}") for number in range(5)]
            after = [database.write(add_user, f"user-{number}") for number in range(6, 10)]
            results = await outcomes([*before, database.write(add_game, {"text": "x" * 4_000_000}), *after])
            kept = await database.read(names)
            return results, kept, await database.read(lambda conn: conn.scalar(select(func.count()).select_from(games)))

    results, kept, played = asyncio.run(scenario())
    assert [number for number, result in enumerate(results) if isinstance(result, BaseException)] == [5]
    assert isinstance(results[5], StoreError)
    assert "no room" in str(results[5])
    assert kept == {result for result in results if isinstance(result, str)}
    assert played == 0


def test_a_lookup_that_would_have_to_wait_does_so_in_a_thread(file: Path) -> None:
    def locked_here(conn: Connection) -> str:
        if threading.current_thread() is threading.main_thread():
            error = sqlite3.OperationalError("database is locked")
            error.sqlite_errorname = "SQLITE_BUSY"
            raise error
        return threading.current_thread().name

    async def scenario() -> str:
        async with Database.open(str(file)) as database:
            return await database.lookup(locked_here)

    assert asyncio.run(scenario()) == "rubrica-read"


def test_a_query_that_reads_cannot_write(file: Path) -> None:
    async def scenario() -> None:
        async with Database.open(str(file)) as database:
            with pytest.raises(StoreError):
                await database.read(add_user, "ann")
            with pytest.raises(StoreError):
                await database.lookup(add_user, "ann")

    asyncio.run(scenario())


@pytest.mark.parametrize("end", [Connection.commit, Connection.rollback])
def test_a_query_that_ends_its_transaction_is_a_mistake_that_harms_no_other(
    file: Path, end: Callable[[Connection], None]
) -> None:
    def meddle(conn: Connection) -> None:
        add_user(conn, "meddler")
        end(conn)

    async def scenario() -> tuple[list[Any], set[str]]:
        async with Database.open(str(file)) as database:
            before = [database.write(add_user, f"user-{number}") for number in range(5)]
            after = [database.write(add_user, f"user-{number}") for number in range(6, 10)]
            results = await outcomes([*before, database.write(meddle), *after])
            return results, await database.read(names)

    results, kept = asyncio.run(scenario())
    assert isinstance(results[5], RuntimeError)
    assert kept == {f"user-{number}" for number in range(10) if number != 5}


def test_tables_that_are_not_there_yet_are_told_with_the_way_out(empty_database_url: str) -> None:
    async def scenario() -> None:
        async with Database.open(empty_database_url) as database:
            for call in (database.read(names), database.write(add_user, "ann"), database.lookup(names)):
                with pytest.raises(StoreError, match="rubrica db upgrade"):
                    await call

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mysql://host/name", "mysql is not supported"),
        ("://", "not a database URL"),
        ("postgresql://host:port/name", "not a database URL"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        (":memory:", "needs a file"),
        ("", "needs a file"),
        ("sqlite:///rubrica.db?mode=ro", "no options"),
    ],
)
def test_a_url_that_names_no_database_is_refused(url: str, told: str) -> None:
    with pytest.raises(StoreError, match=told):
        Database.open(url)


def test_a_file_that_cannot_be_a_database_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, but long enough to be taken for one\n" * 100)
    with pytest.raises(StoreError, match="not a SQLite database"):
        Database.open(str(tmp_path / "text.db"))
    with pytest.raises(StoreError, match="cannot be opened"):
        Database.open(str(tmp_path))
    with pytest.raises(StoreError, match="folder"):
        Database.open(str(tmp_path / "nowhere" / "rubrica.db"))
    with pytest.raises(StoreError, match="folder"):
        Database.open("/proc/rubrica.db")  # where not even root may make a file


def test_a_path_with_odd_characters_is_a_path(tmp_path: Path) -> None:
    place = tmp_path / "a b?mode=memory#%41.db"

    async def scenario() -> None:
        async with Database.open(str(place)) as database:
            await database.write(lambda conn: conn.exec_driver_sql("CREATE TABLE t (x)"))

    asyncio.run(scenario())
    assert place.stat().st_size > 0


def test_tables_that_change_under_an_open_database_do_not_disturb_it(database: Opened) -> None:
    database.write(add_game, {"a": 1})
    for column in ("one", "two"):
        database.run(lambda opened: asyncio.gather(*(opened.read(everything) for _ in range(20))))
        asyncio.run(change(database.url, f"ALTER TABLE games ADD COLUMN {column} integer"))
    if database.url.startswith("postgresql"):
        asyncio.run(change(database.url, "ALTER TABLE games ALTER COLUMN name TYPE text"))
    reads = database.run(lambda opened: asyncio.gather(*(opened.read(everything) for _ in range(20))))
    assert all(len(rows) == 1 for rows in reads)
    database.write(add_game, {"b": 2})


def everything(conn: Connection) -> list[Any]:
    return list(conn.execute(select(text("*")).select_from(games)).all())


async def change(url: str, statement: str) -> None:
    async with Database.open(url) as database:
        await database.write(lambda conn: conn.exec_driver_sql(statement))


def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    async def scenario(folder: str) -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        async with await asyncio.start_unix_server(silent, f"{folder}/.s.PGSQL.5432"):
            async with Database.open(f"postgresql://ann@/rubrica?host={folder}", patience=0.2) as database:
                with pytest.raises(StoreError, match="cannot be reached"):
                    await database.read(names)
            await asyncio.sleep(0.05)

    with tempfile.TemporaryDirectory(prefix="rubrica-") as folder:
        asyncio.run(asyncio.wait_for(scenario(folder), 30))


def test_a_server_that_is_not_there_is_told_with_the_way_out(postgres: Server, tmp_path: Path) -> None:
    async def told(url: str) -> str:
        async with Database.open(url, patience=0.3) as database:
            (error,) = await outcomes([database.read(names)])
            assert isinstance(error, StoreError)
            return str(error)

    assert "cannot be reached" in asyncio.run(told(f"postgresql://ann:secret@/rubrica?host={tmp_path}"))
    assert "secret" not in asyncio.run(told("postgresql://ann:secret@127.0.0.1:9/rubrica"))
    assert "no such database" in asyncio.run(told(postgres.url("nowhere")))
    assert "does not know this user" in asyncio.run(told(postgres.url("postgres").replace("postgres:@", "nobody:@")))
    assert "cannot be used as a URL" in asyncio.run(told(postgres.url("postgres") + "&sslmode=odd"))
