"""A run that asks judges is paid from the limits of whoever starts it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Said

from education_samples import provider
from rubrica.errors import InputError, SpendingLimitError
from rubrica.judges.jury import Jury
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from rubrica.store.upgrade import upgrade
from rubrica.workspace import catalogue
from rubrica.workspace.access import LOCAL
from rubrica.workspace.draft import read_draft, rubric_of
from rubrica.workspace.run_jobs import RunJob
from rubrica.workspace.run_service import NewRun, RunStatus
from rubrica.workspace.run_worker import RunWorker
from rubrica.workspace.spending import SpendingPolicy

HAIKU = "anthropic:claude-haiku-4-5"
RUBRIC: dict[str, Any] = {
    "name": "short",
    "version": "1.0.0",
    "scale": {"min": 1, "max": 10},
    "dimensions": {"accuracy": {"asks": "Is it right?", "weight": 1}},
    "score": {"weighted": True, "out_of": 100},
    "verdicts": [{"label": "pass", "when": "score >= 70"}, {"label": "fail"}],
}


@contextmanager
def billed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    said = Said(json.dumps({"score": 9, "reason": "so it is", "confidence": 0.9}), 1000, output_tokens=200)
    with provider(said) as model:
        monkeypatch.setenv("RUBRICA_ANTHROPIC_BASE_URL", model.anthropic_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-0123456789")
        monkeypatch.setenv("RUBRICA_CACHE", "off")
        yield model


@asynccontextmanager
async def opened(folder: Path, usd_per_day: float | None, queue: str | None = None) -> AsyncIterator[Service]:
    """A service with one judge, and with the rubric; runs wait for a worker where there is a queue."""
    place = queue or str(folder / "rubrica.db")
    await upgrade(place)
    policy = SpendingPolicy(max_calls=1, usd_per_day=usd_per_day)
    settings = ServerSettings(place, (HAIKU,), spending=policy, runs=folder / "runs", queued_runs=bool(queue))
    service = Service.open(settings, jury=Jury([HAIKU]))
    await service.database.write(catalogue.create, LOCAL, read_draft(RUBRIC), service.clock())
    try:
        yield service
    finally:
        await service.close()


def wanted(cases: int, **more: Any) -> NewRun:
    return NewRun("short", "run", cases=[{"response": f"Paris {i}."} for i in range(cases)], **more)


def spent(folder: Path, usd_per_day: float | None, run: NewRun) -> tuple[RunStatus, float]:
    """Run some cases under a limit to their end; what became of it, and what it cost."""

    async def work() -> tuple[RunStatus, float]:
        async with opened(folder, usd_per_day) as service:
            name = await service.runs.start(LOCAL, run)
            while service.runs.jobs.running or (await service.spending.shown(LOCAL))["user"].reserved:
                await asyncio.sleep(0.02)
            return await service.runs.status(LOCAL, name), (await service.spending.shown(LOCAL))["user"].spent

    return asyncio.run(work())


def test_a_run_is_paid_by_whoever_starts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with billed(monkeypatch) as model:
        status, usd = spent(tmp_path, 0.02, wanted(3))
        assert (status.line.state, status.line.evaluations) == ("finished", 3)
        assert usd == pytest.approx(3 * 0.002)
        assert model.requests == 3


def test_a_run_that_can_cost_too_much_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with billed(monkeypatch) as model:
        with pytest.raises(SpendingLimitError, match=r"local may spend \$0.02 a day"):
            spent(tmp_path, 0.02, wanted(8))
        assert model.requests == 0
        assert not (tmp_path / "runs" / "run").exists()


def test_a_budget_of_its_own_is_reserved_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with billed(monkeypatch) as model:
        status, usd = spent(tmp_path, 0.02, wanted(8, budget=0.007))
        assert usd <= 0.007
        assert 0 < model.requests < 8
        assert status.usd == pytest.approx(usd)


def test_a_run_with_judges_that_the_server_has_not_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def resumed() -> None:
        async with opened(tmp_path, None) as service:
            folder, file = tmp_path / "runs" / "run", tmp_path / "runs" / "cases" / "cases.jsonl"
            folder.mkdir(parents=True)
            file.parent.mkdir()
            file.write_text('{"response": "Paris."}\n')
            job = RunJob(folder, rubric_of(RUBRIC), file, ("http://127.0.0.1:9/v1#m",))
            job.request.manifest(service.clock()).write(folder)
            await service.runs.resume(LOCAL, "run")

    with billed(monkeypatch):
        with pytest.raises(InputError, match="this server has not the judges of this run"):
            asyncio.run(resumed())
        with pytest.raises(InputError, match=f"whose judges are: {HAIKU}"):
            spent(tmp_path / "runs", 0.02, wanted(1, judges=["http://127.0.0.1:9/v1#m"]))


def test_a_worker_pays_from_the_limits_of_whoever_started_a_run(
    queue_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with opened(tmp_path, 0.05, queue_url) as service:
            with pytest.raises(SpendingLimitError):
                await service.runs.start(LOCAL, replace(wanted(30), name="dear"))
            assert not (tmp_path / "runs" / "dear").exists()
            name = await service.runs.start(LOCAL, replace(wanted(8), name="paid", budget=0.007))
            assert (await service.spending.shown(LOCAL))["user"].reserved == 0.0  # a worker reserves
            worker = RunWorker(service.database, service.settings.runs, service.clock, "a worker")
            await worker.execute_queued(name, 1)
            usd = (await service.spending.shown(LOCAL))["user"].spent
            status = await service.runs.status(LOCAL, name)
            assert 0 < usd <= 0.007
            assert status.line.state == "finished"
            asked = model.requests
            assert 0 < asked < 8
            await worker.execute_queued(name, 1)  # a job that comes twice
            assert model.requests == asked

    with billed(monkeypatch) as model:
        asyncio.run(scenario())
