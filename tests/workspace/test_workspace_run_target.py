"""Runs that are started into an object store: made there, followed, gone on with."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from object_server import BUCKET, WORDS, FailingProxy, use_objects
from rubrica.errors import BusyError, ConflictError, InputError
from rubrica.runs.files.manifest import mark_ended, read_manifest
from rubrica.runs.mirror.copy import RunCopy
from rubrica.runs.mirror.mirror import mirrored
from rubrica.runs.objects.address import ObjectAddress
from rubrica.runs.stored import StoredRun
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from rubrica.store.upgrade import upgrade
from rubrica.workspace import catalogue, run_target, store_place
from rubrica.workspace.access import LOCAL
from rubrica.workspace.draft import read_draft
from rubrica.workspace.run_service import NewRun, RunStatus

CASES = [{"id": f"c{n}", "response": "word " * (n % 6)} for n in range(12)]


@pytest.fixture
def store(object_server: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place of runs in a bucket, and a machine with a cache of its own."""
    use_objects(monkeypatch, object_server[1])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return f"s3://{BUCKET}/{uuid4().hex}/runs"


@asynccontextmanager
async def opened(place: str, folder: Path, store: str) -> AsyncIterator[Service]:
    await upgrade(place)
    service = Service.open(ServerSettings(place, runs=folder / "runs", more_runs=(store,)))
    try:
        await service.database.write(catalogue.create, LOCAL, read_draft(WORDS), service.clock())
        yield service
    finally:
        await service.close()


def wanted(name: str, store: str) -> NewRun:
    return NewRun("words", name, cases=CASES, judges=(), place=store)


async def ended(service: Service, name: str) -> RunStatus:
    status = await service.runs.status(LOCAL, name)
    while status.line.state in ("running", "waiting"):
        await asyncio.sleep(0.05)
        status = await service.runs.status(LOCAL, name)
    return status


def execute(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scenario()

    asyncio.run(whole())


def test_a_run_is_started_in_a_bucket_listed_and_opens_on_another_machine(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with opened(f"sqlite:///{tmp_path}/rubrica.db", tmp_path, store) as service:
            assert service.runs.places.startable == [str(tmp_path / "runs"), store]
            assert await service.runs.start(LOCAL, wanted("monday", store)) == "monday"
            status = await ended(service, "monday")
            assert (status.line.state, status.line.evaluations, status.may_change) == ("finished", 12, True)
            assert [line.name for line in await service.runs.lines(LOCAL)] == ["monday"]
            assert not (tmp_path / "runs" / "monday").exists()
            with pytest.raises(InputError, match="there is a run called 'monday' already"):
                await service.runs.start(LOCAL, wanted("monday", store))
            with pytest.raises(InputError, match="no run is started in 's3://other/runs' here, but in: "):
                await service.runs.start(LOCAL, wanted("tuesday", "s3://other/runs"))

    execute(scenario)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert len(list(StoredRun.open(f"{store}/monday").evaluations())) == 12


def test_a_run_in_a_bucket_goes_on_as_the_server_began_it_whatever_the_bucket_says(store: str, tmp_path: Path) -> None:
    secret = tmp_path / "runs" / "cases" / str(uuid4()) / "secret.jsonl"
    secret.parent.mkdir(parents=True)
    secret.write_text('{"id": "secret", "response": "of somebody else"}\n')
    address = f"{store}/stopped"

    def forge() -> None:
        folder = RunCopy(ObjectAddress.of(address)).folder
        with mirrored(address, lambda _: None):
            (folder / "evaluations.jsonl").unlink()
            (folder / "summary.json").unlink()
            found = read_manifest(folder)
            assert found is not None
            msgspec.structs.replace(found, finished=None, source=str(secret)).write(folder)
            mark_ended(folder, "stopped")

    async def scenario() -> None:
        async with opened(f"sqlite:///{tmp_path}/rubrica.db", tmp_path, store) as service:
            await service.runs.start(LOCAL, wanted("stopped", store))
            await ended(service, "stopped")
            await asyncio.to_thread(forge)
            await asyncio.sleep(1.1)  # what was read of the bucket is no longer believed
            assert (await service.runs.status(LOCAL, "stopped")).line.state == "stopped"
            started = next((tmp_path / "runs" / run_target.STARTED).iterdir())
            aside = started.rename(tmp_path / "aside")
            with pytest.raises(ConflictError, match="was not started here"):
                await service.runs.resume(LOCAL, "stopped")
            aside.rename(started)
            await service.runs.resume(LOCAL, "stopped")
            status = await ended(service, "stopped")
            assert (status.line.state, status.line.evaluations) == ("finished", 12)
            found = await asyncio.to_thread(service.runs.places.opened, "stopped")
            assert {row.case for row in found.rows()} == {case["id"] for case in CASES}

    execute(scenario)


def test_a_bucket_that_cannot_be_reached_begins_no_run(
    object_server: tuple[Path, int], store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = FailingProxy(object_server[1], every=10**9)
    proxy.down = True
    monkeypatch.setattr(store_place, "PATIENCE", 0.2)

    async def scenario() -> None:
        async with opened(f"sqlite:///{tmp_path}/rubrica.db", tmp_path, store) as service:
            with pytest.raises(BusyError, match="object store of some runs cannot be reached"):
                await service.runs.start(LOCAL, wanted("down", store))

    with proxy.serving() as port:
        use_objects(monkeypatch, port)
        execute(scenario)
