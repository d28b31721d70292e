"""Runs that wait in PostgreSQL for a worker: worked off elsewhere, followed, cancelled, handed back and taken over."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from databases import Server
from process_forks import Fork, start_fork
from rubrica.runs.stored import StoredRun
from rubrica.server.settings import ServerSettings
from servers import Client, Running, serving

RUBRIC = {
    "name": "thorough",
    "version": "1.0.0",
    "scale": {"min": 0, "max": 10},
    "dimensions": {"length": {"formula": "min(10, word_count)", "weight": 1}},
    "score": {"weighted": True, "out_of": 10},
    "verdicts": [{"label": "pass", "when": "score >= 3"}, {"label": "fail"}],
    "is_public": True,
}
PATIENCE = 60.0
LONG = 120_000  # cases: nobody is through with them before they are stopped
Start = Callable[[], Fork]


def cases(count: int) -> bytes:
    return b"".join(b'{"id": "case-%d", "response": "%s"}\n' % (n, b"word " * (n % 5)) for n in range(count))


def state(asking: Client, name: str) -> Any:
    return asking.get(f"/api/runs/{name}").json


def until(asking: Client, name: str, wanted: Callable[[Any], bool]) -> Any:
    give_up = time.monotonic() + PATIENCE
    while not wanted(found := state(asking, name)):
        assert time.monotonic() < give_up, found
        time.sleep(0.05)
    return found


@pytest.fixture(scope="module")
def queued(postgres: Server, postgres_template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that works no runs off itself."""
    name = postgres.create(postgres_template)
    runs = tmp_path_factory.mktemp("queued") / "runs"
    settings = ServerSettings(preload=False, runs=runs, queued_runs=True, run_jobs=0, max_body=20_000_000)
    with serving(postgres.url(name), settings=settings) as running:
        assert running.author.post("/api/evaluations", RUBRIC).status == 201
        settings.runs.mkdir(exist_ok=True)
        yield running
    postgres.drop(name)


@pytest.fixture(scope="module")
def workers(queued: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Starts processes of `rubrica worker`."""
    output = tmp_path_factory.mktemp("workers") / "output"
    settings = queued.service.settings
    running: list[Fork] = []

    def start() -> Fork:
        args = ("--db", settings.database, "--folder", str(settings.runs), "--stalled-after", "1")
        running.append(start_fork("worker", *args, output=output))
        return running[-1]

    yield start
    for fork in running:
        fork.kill()


def start_run(asking: Client, name: str, count: int) -> Any:
    kept = asking.post("/api/cases?name=cases.jsonl", cases(count)).json["name"]
    reply = asking.post("/api/runs", {"rubric": "thorough", "file": kept, "name": name})
    assert reply.status == 201, reply.text
    return reply.json


def test_a_run_waits_for_a_worker_and_is_cancelled_before_one_comes(queued: Running) -> None:
    assert start_run(queued.author, "early", 3)["state"] == "waiting"
    assert state(queued.author, "early")["state"] == "waiting"
    assert [own["state"] for own in queued.author.get("/api/runs").json["items"]] == ["waiting"]
    assert queued.author.post("/api/runs/early/resume").status == 409
    assert queued.author.post("/api/runs/early/cancel").json["state"] == "stopped"
    assert queued.author.post("/api/runs/early/resume").json["state"] == "waiting"
    assert queued.author.post("/api/runs/early/cancel").json["state"] == "stopped"


def test_a_waiting_run_is_worked_off_by_another_server_that_has_room_for_runs(queued: Running) -> None:
    settings = queued.service.settings
    assert start_run(queued.author, "beside", 4)["state"] == "waiting"
    with serving(settings.database, keyless=True, settings=replace(settings, run_jobs=1)):
        last = until(queued.author, "beside", lambda found: found["state"] not in ("waiting", "running"))
    assert (last["state"], last["evaluations"], last["verdicts"]) == ("finished", 4, {"fail": 3, "pass": 1})
    assert [row.case for row in StoredRun.open(settings.runs / "beside").rows()] == [f"case-{n}" for n in range(4)]


@pytest.mark.slow
def test_runs_are_worked_off_elsewhere_followed_cancelled_and_survive_their_workers(
    queued: Running, workers: Start
) -> None:
    runs, author, other = queued.service.settings.runs, queued.author, queued.newcomer("author", "somebody else")
    for name in ("long", "behind"):
        start_run(author, name, LONG)
    start_run(other, "others", 3)
    first = workers()
    events = other.get("/api/runs/others/events").text  # up to its end
    last = json.loads(events.rstrip().rpartition("data: ")[2])
    assert (last["state"], last["evaluations"], last["verdicts"]) == ("finished", 3, {"fail": 3})
    before = until(author, "long", lambda found: found["evaluations"] > 0)
    assert (before["state"], before["total"]) == ("running", LONG)
    assert state(author, "behind")["state"] == "waiting"  # one run of each owner at a time
    first.kill()
    second = workers()
    after = until(author, "long", lambda found: found["evaluations"] > before["evaluations"])
    assert after["state"] == "running"
    second.terminate()
    second.wait()
    assert state(author, "long")["state"] == "waiting"  # handed back
    workers()
    until(author, "long", lambda found: found["state"] == "running")
    assert author.post("/api/runs/behind/cancel").json["state"] == "stopped"
    assert author.post("/api/runs/long/cancel").json["stopping"] is True
    stopped = until(author, "long", lambda found: found["state"] != "running")
    assert (stopped["state"], stopped["evaluations"] < LONG) == ("stopped", True)
    rows = [row.case for row in StoredRun.open(runs / "long").rows()]
    assert len(rows) == len(set(rows)) == stopped["evaluations"]
