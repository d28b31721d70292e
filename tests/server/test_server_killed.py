"""A server that is killed, and a database that crashes, under load: what was acknowledged is there, nothing is half
there, and asking again for what was not acknowledged has its effect exactly once."""

from __future__ import annotations

import asyncio
import random
import signal
from pathlib import Path

import pytest

from databases import Server
from rubrica.store.database import Database
from server_load import (
    PATIENCE,
    WORKERS,
    Load,
    client,
    effects,
    halves,
    kill_often,
    open_reservations,
    process,
    settled,
)

KILLS = {"sqlite": 4, "postgresql": 3}
"""`make soak` kills more often."""


@pytest.mark.slow
def test_a_server_killed_many_times_keeps_what_it_acknowledged_and_does_the_rest_once(
    database_url: str, tmp_path: Path
) -> None:
    dice = random.Random(25)  # noqa: S311 - moments, not secrets
    load = Load()
    kind = database_url.partition(":")[0]
    moments = [dice.uniform(0.0, 0.3) for _ in range(KILLS[kind])]
    asyncio.run(asyncio.wait_for(kill_often(database_url, tmp_path / "output", moments, load), 240))
    assert len(load.told) > len(moments)
    assert asyncio.run(asyncio.wait_for(settled(database_url, load), 240)) > 0


@pytest.mark.slow
def test_a_database_that_crashes_under_load_loses_nothing_and_the_server_goes_on(careful_postgres: Server) -> None:
    url = careful_postgres.url(careful_postgres.create())
    load = Load()

    async def crash() -> None:
        for _ in range(2):
            await asyncio.sleep(0.5)
            await asyncio.to_thread(careful_postgres.stop, "immediate")
            await asyncio.sleep(0.3)
            await asyncio.to_thread(careful_postgres.start)
        before = len(load.told)
        while len(load.told) < before + 4 * WORKERS:  # it goes on by itself
            await asyncio.sleep(0.02)

    async def scenario() -> None:
        async with process(url) as (server, base), client(base) as ask:
            await load.prepare(ask)
            stop = asyncio.Event()
            working = asyncio.create_task(load.run(ask, stop))
            await crash()
            stop.set()
            await working
            assert server.poll() is None
        await settled(url, load)

    asyncio.run(asyncio.wait_for(scenario(), 240))


@pytest.mark.slow
def test_a_server_that_is_interrupted_under_load_answers_what_it_has_begun(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'rubrica.db'}"
    load = Load()

    async def scenario() -> None:
        async with process(url) as (server, base), client(base) as ask:
            await load.prepare(ask)
            working = asyncio.create_task(load.run(ask, asyncio.Event()))
            await asyncio.sleep(0.5)
            while len(load.told) <= WORKERS:
                await asyncio.sleep(0.01)
            server.send_signal(signal.SIGINT)
            assert await asyncio.to_thread(server.wait, PATIENCE) == 0
            await working
        async with Database.open(url) as database:
            assert await database.read(open_reservations) == 0  # none was left under way
            assert await database.read(halves) == []
            done = await database.read(effects)
        assert load.told.keys() <= done.keys() <= load.sent.keys()
        assert set(done.values()) == {1}

    asyncio.run(asyncio.wait_for(scenario(), 240))
