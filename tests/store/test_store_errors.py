"""What was accepted is there after a crash, and nothing is half-written: processes killed, disks full, servers gone."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Literal

import pytest
from sqlalchemy import make_url, select
from store_writer import add_pair, pairs

from databases import Server
from rubrica.errors import StoreError
from rubrica.store.database import Database
from rubrica.store.tables import games
from rubrica.store.upgrade import upgrade

WRITER = Path(__file__).with_name("store_writer.py")


def kept(url: str) -> dict[str, str]:
    async def scenario() -> dict[str, str]:
        async with Database.open(url) as database:
            return await database.read(pairs)

    return asyncio.run(scenario())


def told(output: str) -> tuple[set[str], set[str]]:
    """What the writer said was accepted, and what was refused. A line cut off by the kill counts for nothing."""
    lines = [line.split() for line in output.splitlines(keepends=True) if line.endswith("\n")]
    return {name for word, name in lines if word == "accepted"}, {name for word, name in lines if word == "refused"}


@pytest.mark.slow
def test_what_a_killed_process_had_accepted_is_there_and_whole(database_url: str) -> None:
    moments = random.Random(4)  # noqa: S311
    accepted: set[str] = set()
    for _ in range(4):
        writer = subprocess.Popen([sys.executable, str(WRITER), database_url], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        first = writer.stdout.readline()
        time.sleep(moments.uniform(0.02, 0.5))
        writer.kill()
        rest, _ = writer.communicate()
        accepted |= told(first + rest)[0]
        there = kept(database_url)
        assert accepted <= there.keys()
        assert set(there.values()) == {"ab"}
    assert len(accepted) > 20


@pytest.mark.slow
def test_when_the_disk_takes_no_more_writes_are_refused_whole_until_it_does(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'rubrica.db'}"
    asyncio.run(upgrade(url))
    run = subprocess.run([sys.executable, str(WRITER), url, "300000"], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    accepted, refused = told(run.stdout)
    assert len(refused) >= 1
    assert len([name for name in accepted if name.endswith("after")]) == 30
    assert kept(url) == dict.fromkeys(accepted, "ab")


class Cable:
    """A wire to a PostgreSQL server that breaks once, at a word: before the server sees it or after it has answered."""

    def __init__(self, server: Path, word: bytes, when: Literal["before", "after"]) -> None:
        self._server, self._word, self._when = server, word, when
        self._whole = True
        self._calls: list[asyncio.Task[None]] = []

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_unix_connection(self._server)
        answers = asyncio.create_task(_pump(from_server, writer))
        while data := await reader.read(65536):
            if self._whole and self._word in data:
                self._whole = False
                await _ended(answers)
                if self._when == "after":
                    to_server.write(data)
                    await from_server.read(65536)
                break
            to_server.write(data)
        await _ended(answers)
        for end in (to_server, writer):
            end.transport.abort()
            await asyncio.gather(end.wait_closed(), return_exceptions=True)

    def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._calls.append(asyncio.create_task(self.carry(reader, writer)))

    async def hung_up(self) -> None:
        await asyncio.gather(*self._calls)


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


@pytest.mark.parametrize(
    ("word", "when", "accepted", "there"),
    [
        (b"INSERT", "before", True, {"pair": "ab"}),
        (b"INSERT", "after", True, {"pair": "ab"}),
        (b"COMMIT", "before", False, {}),
        (b"COMMIT", "after", False, {"pair": "ab"}),
    ],
)
def test_a_broken_connection_is_tried_again_before_the_commit_and_never_after(
    postgres: Server, postgres_template: str, word: bytes, when: Any, *, accepted: bool, there: dict[str, str]
) -> None:
    url = make_url(postgres.url(postgres.create(postgres_template)))

    async def scenario(folder: str) -> bool:
        cable = Cable(Path(str(url.query["host"])) / ".s.PGSQL.5432", word, when)
        through = url.update_query_dict({"host": folder}).render_as_string(hide_password=False)
        async with await asyncio.start_unix_server(cable.take, Path(folder) / ".s.PGSQL.5432"):
            async with Database.open(through) as database:
                [result] = await asyncio.gather(database.write(add_pair, "pair"), return_exceptions=True)
            await cable.hung_up()
        assert result is None or (isinstance(result, StoreError) and "cannot be told" in str(result))
        return result is None

    with tempfile.TemporaryDirectory(prefix="rubrica-") as folder:
        assert asyncio.run(asyncio.wait_for(scenario(folder), 60)) is accepted
    assert kept(url.render_as_string(hide_password=False)) == there


@pytest.mark.slow
@pytest.mark.parametrize("patience", [20.0, 0.3])
def test_a_postgresql_that_crashes_under_load_keeps_what_was_accepted(
    careful_postgres: Server, patience: float
) -> None:
    server = careful_postgres
    url = server.url(server.create())
    asyncio.run(upgrade(url))
    accepted: set[str] = set()
    refusals: list[str] = []
    stop = asyncio.Event()

    async def write(database: Database, client: int) -> None:
        number = 0
        while not stop.is_set():
            name = f"{client}-{number}"
            number += 1
            try:
                await database.write(add_pair, name)
                accepted.add(name)
                await database.read(lambda conn: conn.execute(select(games.c.id).limit(1)).all())
            except StoreError as error:
                refusals.append(str(error))

    async def crash() -> None:
        for _ in range(2):
            await asyncio.sleep(0.4)
            await asyncio.to_thread(server.stop, "immediate")
            await asyncio.sleep(0.5)
            await asyncio.to_thread(server.start)
        before = len(accepted)
        while len(accepted) < before + 50:  # it goes on by itself
            await asyncio.sleep(0.02)
        stop.set()

    async def scenario() -> None:
        async with Database.open(url, patience=patience) as database, asyncio.TaskGroup() as group:
            for client in range(20):
                group.create_task(write(database, client))
            group.create_task(crash())

    asyncio.run(asyncio.wait_for(scenario(), 120))
    there = kept(url)
    assert accepted <= there.keys()
    assert set(there.values()) == {"ab"}
    if patience < 1:  # the server was away for longer
        assert any("cannot be reached" in told for told in refusals)
