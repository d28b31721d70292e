"""A run of the studio that asks judges is paid from the limits of whoever starts it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from loopback import Loopback, Said

from education_samples import provider
from rubrica.errors import InputError, SpendingLimitError
from rubrica.judges.jury import Jury
from rubrica.server.service import Service, utc_now
from rubrica.server.settings import ServerSettings
from rubrica.store.upgrade import upgrade
from rubrica.studio.runs.jobs import RunJob, RunJobs
from rubrica.studio.runs.paid_start import start_run
from rubrica.studio.studio import Visitor
from rubrica.workspace.access import LOCAL
from rubrica.workspace.draft import rubric_of
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


class Someone:
    """Whoever starts a run: what a visitor brings to it."""

    def __init__(self, service: Service) -> None:
        self.service, self.caller = service, LOCAL


@contextmanager
def billed(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    said = Said(json.dumps({"score": 9, "reason": "so it is", "confidence": 0.9}), 1000, output_tokens=200)
    with provider(said) as model:
        monkeypatch.setenv("RUBRICA_ANTHROPIC_BASE_URL", model.anthropic_url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-0123456789")
        monkeypatch.setenv("RUBRICA_CACHE", "off")
        yield model


def spent(folder: Path, usd_per_day: float, cases: int, change: Callable[[RunJob], RunJob] = lambda one: one) -> float:
    """Run some cases under a limit to their end; what that cost."""
    file = folder / "cases.jsonl"
    file.write_text("".join(json.dumps({"response": f"Paris {i}."}) + "\n" for i in range(cases)))

    async def work() -> float:
        place = str(folder / "rubrica.db")
        await upgrade(place)
        policy = SpendingPolicy(max_calls=1, usd_per_day=usd_per_day)
        settings = ServerSettings(place, (HAIKU,), spending=policy)
        service = Service.open(settings, jury=Jury([HAIKU]))
        try:
            orders = change(RunJob(folder / "run", rubric_of(RUBRIC), file, (HAIKU,)))
            course = await start_run(cast("Visitor", Someone(service)), RunJobs(utc_now), orders)
            while course.state == "running" or (await service.spending.shown(LOCAL))["user"].reserved:
                await asyncio.sleep(0.02)
            assert (course.state, course.error) == ("finished", "")
            return (await service.spending.shown(LOCAL))["user"].spent
        finally:
            await service.close()

    return asyncio.run(work())


def test_a_run_is_paid_by_whoever_starts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with billed(monkeypatch) as model:
        assert spent(tmp_path, 0.02, cases=3) == pytest.approx(3 * 0.002)
        assert model.requests == 3


def test_a_run_that_can_cost_too_much_does_not_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with billed(monkeypatch) as model:
        with pytest.raises(SpendingLimitError, match=r"local may spend \$0.02 a day"):
            spent(tmp_path, 0.02, cases=8)
        assert model.requests == 0
        assert not (tmp_path / "run").exists()


def test_a_run_with_judges_that_the_server_has_not_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def elsewhere(orders: RunJob) -> RunJob:
        return RunJob(orders.folder, orders.rubric, orders.cases, ("http://127.0.0.1:9/v1#m",))

    with billed(monkeypatch), pytest.raises(InputError, match="this server has not the judges of this run"):
        spent(tmp_path, 0.02, cases=1, change=elsewhere)
