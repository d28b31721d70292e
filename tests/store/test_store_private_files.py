"""Files of a server are its owner's alone, whatever the umask, and one server holds a SQLite file."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from rubrica.errors import StoreError
from rubrica.files import make_private_file
from rubrica.llm.cache import ReplyCache
from rubrica.runs.files.folder import locked
from rubrica.store.database import Database
from rubrica.store.serving import sole_server
from rubrica.store.upgrade import upgrade


@pytest.fixture(autouse=True)
def _lax_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def used(file: Path) -> dict[str, int]:
    """The modes of a database's files while it is written."""

    async def work() -> dict[str, int]:
        await upgrade(str(file))
        async with Database.open(str(file)) as database:
            await database.write(lambda conn: conn.execute(text("CREATE TABLE IF NOT EXISTS mine (x)")))
            return {path.name: mode(path) for path in file.parent.iterdir()}

    return asyncio.run(work())


def test_a_database_and_what_stands_beside_it_is_its_owners_alone(tmp_path: Path) -> None:
    modes = used(tmp_path / "rubrica.db")
    assert set(modes) == {"rubrica.db", "rubrica.db-wal", "rubrica.db-shm"}
    assert set(modes.values()) == {0o600}


def test_a_database_that_others_could_read_is_shut_to_them_and_its_group_keeps_what_it_may(tmp_path: Path) -> None:
    file = tmp_path / "rubrica.db"
    used(file)
    file.chmod(0o664)
    assert set(used(file).values()) == {0o660}


def test_opening_a_database_again_keeps_the_locks_of_who_writes(tmp_path: Path) -> None:
    file = tmp_path / "rubrica.db"
    used(file)

    async def work() -> None:
        async with Database.open(str(file)) as one:
            for _ in range(3):
                async with Database.open(str(file)) as other:
                    await other.read(lambda conn: conn.execute(text("SELECT count(*) FROM mine")).scalar_one())
                await one.write(lambda conn: conn.execute(text("INSERT INTO mine VALUES (1)")))
            assert await one.read(lambda conn: conn.execute(text("SELECT count(*) FROM mine")).scalar_one()) == 3

    asyncio.run(work())


def test_the_reply_cache_and_a_run_are_their_owners_alone(tmp_path: Path) -> None:
    with ReplyCache(tmp_path / "cache" / "replies.sqlite") as cache:
        cache.clear()
        assert mode(cache.path.parent) == 0o700
        assert {mode(path) for path in cache.path.parent.iterdir()} == {0o600}
    with locked(tmp_path / "runs" / "one"):
        assert mode(tmp_path / "runs" / "one") == 0o700


def test_a_private_file_is_never_there_with_a_wider_mode(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    make_private_file(file)
    assert mode(file) == 0o600


def test_a_second_server_on_a_file_says_so_and_names_the_first(tmp_path: Path) -> None:
    place = str(tmp_path / "rubrica.db")
    with sole_server(place, "serve"):
        with (
            pytest.raises(StoreError, match=rf"served already by the process {os.getpid()} \(stop that server.*--db"),
            sole_server(place, "serve"),
        ):
            pass
        with sole_server(place, "gateway"):  # another kind of server may share the file
            assert mode(tmp_path / ".rubrica.db.gateway.lock") == 0o600
    with sole_server(place, "serve"):
        pass


def test_a_server_that_was_killed_leaves_the_file_free(tmp_path: Path) -> None:
    place = str(tmp_path / "rubrica.db")
    code = (
        "import os, sys; from rubrica.store.serving import sole_server\n"
        "with sole_server(sys.argv[1], 'serve'):\n    os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code, place], check=False)
    assert done.returncode == -9
    with sole_server(place, "serve"):
        pass


def test_a_database_on_a_server_may_have_several() -> None:
    place = "postgresql://ann@db.example/rubrica"
    with sole_server(place, "serve"), sole_server(place, "serve"):
        pass
