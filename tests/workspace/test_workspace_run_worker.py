"""A worker by itself: whom it gives way to, and what it hands back; and what servers count together."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from object_server import BUCKET, use_objects
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from rubrica.server.shared_rates import SharedRates
from rubrica.store.run_queue import advance_run, queued_run, take_run
from rubrica.workspace import catalogue
from rubrica.workspace.access import LOCAL, Caller
from rubrica.workspace.draft import read_draft
from rubrica.workspace.keys import KeyRequest, issue
from rubrica.workspace.run_service import NewRun
from rubrica.workspace.run_worker import HandedBackError, RunWorker

SPEED = {
    "name": "speed",
    "version": "1.0.0",
    "scale": {"min": 0, "max": 10},
    "dimensions": {"length": {"formula": "min(10, word_count)", "weight": 1}},
    "score": {"weighted": True, "out_of": 10},
    "verdicts": [{"label": "pass", "when": "score >= 3"}, {"label": "fail"}],
}


@asynccontextmanager
async def opened(place: str, folder: Path, *more_runs: str) -> AsyncIterator[Service]:
    """A service whose runs wait for a worker."""
    service = Service.open(ServerSettings(place, runs=folder / "runs", more_runs=more_runs, queued_runs=True))
    try:
        yield service
    finally:
        await service.close()


def worker_of(service: Service, runs: Path | None = None) -> RunWorker:
    return RunWorker(service.database, runs or service.settings.runs, service.clock, "a worker")


def test_a_run_is_with_one_worker_and_comes_back_from_one_that_does_not_see_it(queue_url: str, tmp_path: Path) -> None:
    plain = NewRun("speed", "seen", cases=[{"response": "Paris."}], judges=())

    async def scenario() -> None:
        async with opened(queue_url, tmp_path) as service:
            await service.database.write(catalogue.create, LOCAL, read_draft(SPEED), service.clock())
            await service.runs.start(LOCAL, plain)
            with pytest.raises(HandedBackError):
                await worker_of(service, tmp_path / "elsewhere").execute_queued("seen", 1)
            status = await service.runs.status(LOCAL, "seen")
            assert (status.line.state, "does not see its folder" in status.line.why) == ("waiting", True)
            first = await service.database.write(take_run, "seen", 1, "one", service.clock())
            second = await service.database.write(take_run, "seen", 1, "other", service.clock())
            assert first is not None
            assert second is not None
            assert await service.database.write(advance_run, first, {"done": 7}, service.clock()) is None
            assert await service.database.write(advance_run, second, {"done": 1}, service.clock()) is False
            await worker_of(service).execute_queued("seen", 1)
            assert (await service.runs.status(LOCAL, "seen")).line.state == "finished"
            found = await service.database.read(queued_run, "seen", status.line.id)
            assert (found.state, found.attempt) == ("ended", 4) if found is not None else False

    asyncio.run(scenario())


def test_a_run_in_a_bucket_is_worked_off_by_a_worker_that_is_told_of_the_bucket(
    queue_url: str, object_server: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_objects(monkeypatch, object_server[1])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store = f"s3://{BUCKET}/of-workers/runs"

    def wanted(name: str) -> NewRun:
        return NewRun("speed", name, cases=[{"response": "Paris."}], judges=(), place=store)

    async def scenario() -> None:
        async with opened(queue_url, tmp_path, store) as service:
            await service.runs.start(LOCAL, wanted("queued"))
            await service.runs.start(LOCAL, wanted("cancelled"))
            states = {line.name: line.state for line in await service.runs.lines(LOCAL)}
            assert states == {"queued": "waiting", "cancelled": "waiting"}
            assert (await service.runs.cancel(LOCAL, "cancelled")).line.state == "stopped"
            with pytest.raises(HandedBackError, match="does not see its folder"):
                await worker_of(service).execute_queued("queued", 1)
            assert (await service.runs.status(LOCAL, "queued")).line.state == "waiting"
            about = service.database, service.settings.runs, service.clock, "one that is told"
            await RunWorker(*about, more_runs=(store,)).execute_queued("queued", 1)
            status = await service.runs.status(LOCAL, "queued")
            assert (status.line.state, status.line.evaluations) == ("finished", 1)

    asyncio.run(scenario())


def test_whoever_has_fewer_runs_comes_first(queue_url: str, tmp_path: Path) -> None:
    def waiting(conn: Connection) -> list[tuple[str, int]]:
        query = "SELECT args->>'run', priority FROM procrastinate_jobs WHERE args->>'run' LIKE 'fair%' ORDER BY id"
        return [(row[0], row[1]) for row in conn.execute(text(query))]

    async def scenario() -> None:
        async with opened(queue_url, tmp_path) as service:
            key = await service.database.write(issue, KeyRequest("author", "bob"), service.clock())
            bob = Caller(key.key.user_id, "bob", "admin")
            for number, who in enumerate((LOCAL, LOCAL, bob)):
                run = NewRun("speed", f"fair-{number}", cases=[{"response": "Paris."}], judges=())
                await service.runs.start(who, run)
            assert await service.database.read(waiting) == [("fair-0", 0), ("fair-1", -1), ("fair-2", 0)]

    asyncio.run(scenario())


def test_two_servers_count_the_requests_of_a_key_together(queue_url: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with opened(queue_url, tmp_path) as service:
            key = (await service.database.write(issue, KeyRequest("author", "eve"), service.clock())).key.id
            servers = [SharedRates(service.database) for _ in range(2)]
            waits = [await servers[n % 2].take(key, 20) for n in range(30)]
            assert 20 <= waits.count(0.0) <= 22  # some fill up again while they are asked
            assert all(0 < wait <= 3 for wait in waits if wait)

    asyncio.run(scenario())
