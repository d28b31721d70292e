"""Runs over HTTP: started, followed, stopped and gone on with, by whoever may."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from access_table import definition
from rubrica.runs.files.folder import locked
from rubrica.runs.stored import StoredRun
from rubrica.server.settings import ServerSettings
from server_load import client, forked
from servers import Client, Running, serving

LONG = {
    "name": "thorough",
    "version": "1.0.0",
    "scale": {"min": 0, "max": 10},
    "dimensions": {"length": {"formula": "min(10, word_count)", "weight": 1}},
    "score": {"weighted": True, "out_of": 10},
    "verdicts": [{"label": "pass", "when": "score >= 3"}, {"label": "fail"}],
}
CASES = [{"id": "a", "response": "One two three."}, {"id": "b", "response": "One."}, {"id": "c", "response": "1 2 3 4"}]


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Running]:
    """A server with one rubric."""
    with serving(str(tmp_path / "rubrica.db")) as running:
        assert running.author.post("/api/evaluations", {**LONG, "is_public": True}).status == 201
        yield running


def followed(asking: Client, name: str, **headers: str) -> list[tuple[str, str, Any]]:
    """The events of a run up to its end: id, name and data."""
    reply = asking.get(f"/api/runs/{name}/events", **headers)
    assert reply.status == 200, reply.text
    found = []
    for block in reply.text.split("\n\n"):
        fields = dict(line.partition(": ")[::2] for line in block.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["id"], fields["event"], json.loads(fields["data"])))
    return found


def started(asking: Client, **body: Any) -> Any:
    reply = asking.post("/api/runs", {"rubric": "thorough", "cases": CASES, **body})
    assert reply.status == 201, reply.text
    return reply.json


def many(count: int) -> list[dict[str, str]]:
    return [{"id": f"case-{n}", "response": "word " * (n % 7)} for n in range(count)]


def test_a_run_is_started_followed_and_read(server: Running) -> None:
    assert server.author.post("/api/evaluations", LONG).status == 201
    reply = server.author.post("/api/runs", {"rubric": "thorough@1.0.0", "cases": CASES, "name": "monday morning"})
    assert (reply.status, reply.headers["Location"]) == (201, "/api/runs/monday%20morning")
    assert (reply.json["state"], reply.json["evaluations"]) == ("running", 0)
    *_, (last, event, end) = followed(server.author, "monday%20morning")
    assert (event, end["state"], end["evaluations"], end["total"]) == ("ended", "finished", 3, 3)
    assert end["verdicts"] == {"pass": 2, "fail": 1}
    assert end["summary"]["evaluations"] == 3
    assert server.author.get(reply.headers["Location"]).json == end
    assert [own["name"] for own in server.author.get("/api/runs").json["items"]] == ["monday morning"]
    again = server.author.get("/api/runs/monday%20morning/events", Last_Event_ID=last)
    assert again.status == 204
    assert [own[2] for own in followed(server.author, "monday%20morning", Last_Event_ID="seen-before")] == [end]


def test_a_request_that_is_sent_twice_starts_one_run(quick: Running) -> None:
    body = {"rubric": "thorough", "cases": CASES}
    first, second = (quick.author.post("/api/runs", body, Idempotency_Key="once") for _ in range(2))
    assert (first.status, second.status, first.json) == (201, 201, second.json)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert len(quick.author.get("/api/runs").json["items"]) == 1
    followed(quick.author, first.json["name"])


def test_a_run_is_cancelled_and_goes_on_without_judging_anything_twice(quick: Running) -> None:
    name = started(quick.author, cases=many(2000))["name"]
    cancelled = quick.author.post(f"/api/runs/{name}/cancel")
    assert (cancelled.status, cancelled.json["stopping"]) == (200, True)
    *_, (_, event, end) = followed(quick.author, name)
    assert (event, end["state"]) == ("ended", "stopped")
    assert end["evaluations"] < 2000
    assert quick.author.post(f"/api/runs/{name}/cancel").json["state"] == "stopped"
    assert quick.author.post(f"/api/runs/{name}/resume", Idempotency_Key="go").status == 200
    assert followed(quick.author, name)[-1][2]["state"] == "finished"
    rows = [row.case for row in StoredRun.open(quick.service.settings.runs / name).rows()]
    assert (len(rows), len(set(rows))) == (2000, 2000)
    assert quick.author.post(f"/api/runs/{name}/resume", Idempotency_Key="go").status == 200  # what it said then
    assert quick.author.post(f"/api/runs/{name}/resume").status == 409


def test_a_run_of_another_process_is_followed_but_not_stopped_here(quick: Running) -> None:
    name = started(quick.author)["name"]
    followed(quick.author, name)
    folder = quick.service.settings.runs / name
    manifest = folder / "run.json"
    manifest.write_text(manifest.read_text().replace('"finished"', '"was_finished"'))
    with locked(folder):
        assert quick.author.get(f"/api/runs/{name}").json["state"] == "running"
        for way in ("cancel", "resume"):
            assert quick.author.post(f"/api/runs/{name}/{way}").status == 409
    assert quick.author.get(f"/api/runs/{name}").json["state"] == "interrupted"


def test_cases_are_uploaded_once_and_judged_by_name(quick: Running) -> None:
    data = b"".join(json.dumps(case).encode() + b"\n" for case in CASES)
    kept = quick.author.post("/api/cases?name=../my%20cases.jsonl", data)
    assert (kept.status, kept.json) == (201, {"name": "my-cases.jsonl", "size": len(data)})
    assert quick.author.get("/api/cases").json["items"] == [kept.json]
    other = quick.newcomer("author", "somebody else")
    assert other.get("/api/cases").json["items"] == []
    body = {"rubric": "thorough", "file": "my-cases.jsonl", "limit": 2}
    assert "no file of cases" in other.post("/api/runs", body).json["detail"]
    name = quick.author.post("/api/runs", body).json["name"]
    assert followed(quick.author, name)[-1][2]["evaluations"] == 2
    assert quick.author.post("/api/cases?name=a.jsonl", b"nothing\n").status == 422


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "say what is judged"),
    ({"cases": CASES, "examples": True}, "one of them"),
    ({"examples": True}, "no examples"),
    ({"file": "../../rubrica.db"}, "no file of cases"),
    ({"file": "/etc/passwd"}, "no file of cases"),
    ({"cases": [{"prompt": 5}]}, "cases, line 1"),
    ({"cases": CASES, "judges": ["openai:gpt-9"]}, "no 'openai:gpt-9' on this server"),
    ({"cases": CASES, "name": "../up"}, "a run's name has no '/'"),
    ({"cases": CASES, "name": "cases"}, "cannot be called 'cases'"),
    ({"cases": CASES, "sample": "many"}, "a sample is a number"),
    ({"cases": CASES, "smaple": "5"}, "smaple"),
    ({"cases": CASES, "rubric": "nothing-of-the-kind"}, "nothing-of-the-kind"),
]


def test_what_cannot_be_run_is_refused_with_the_way_out(quick: Running) -> None:
    for body, said in REFUSED:
        reply = quick.author.post("/api/runs", {"rubric": "thorough", **body})
        assert reply.status in (404, 422), reply.text
        assert said in reply.json["detail"]
    assert quick.author.get("/api/runs").json["items"] == []


def test_a_case_that_names_a_file_of_the_server_is_not_judged(quick: Running, tmp_path: Path) -> None:
    (tmp_path / "there.gif").write_bytes(b"GIF89a" + bytes([64, 0, 32, 0]))
    cases = [*CASES, {"id": "d", "response": "See it.", "images": [str(tmp_path / "there.gif")]}]
    name = started(quick.author, cases=cases)["name"]
    end = followed(quick.author, name)[-1][2]
    assert (end["evaluations"], end["broken"]) == (3, 1)


def test_a_name_is_used_once_and_a_private_rubric_runs_for_its_author_only(quick: Running) -> None:
    assert quick.author.post("/api/evaluations", {**definition(), "name": "Secret"}).status == 201
    assert started(quick.author, rubric="secret", name="mine")["rubrics"] == ["secret@1.0"]
    followed(quick.author, "mine")
    other = quick.newcomer("author", "somebody else")
    assert other.post("/api/runs", {"rubric": "secret", "cases": CASES}).status == 404
    assert other.post("/api/runs", {"rubric": "thorough", "cases": CASES, "name": "mine"}).status in (409, 422)
    assert other.get("/api/runs").json["items"] == []
    assert [own["name"] for own in quick.admin.get("/api/runs").json["items"]] == ["mine"]


def test_lists_come_in_pages(quick: Running) -> None:
    for name in ("a", "b", "c"):
        started(quick.author, name=name)
        followed(quick.author, name)
    first = quick.author.get("/api/runs?limit=2").json
    second = quick.author.get(f"/api/runs?limit=2&cursor={first['next']}").json
    assert [own["name"] for own in (*first["items"], *second["items"])] == ["c", "b", "a"]
    assert second["next"] is None


@pytest.mark.slow
def test_a_run_that_a_killed_server_was_at_work_on_is_interrupted_and_goes_on(tmp_path: Path) -> None:
    url, runs = f"sqlite:///{tmp_path / 'rubrica.db'}", tmp_path / "runs"
    body = {"rubric": "answer-quality", "name": "long", "cases": many(600), "judges": []}

    async def killed() -> int:
        async with forked(url, tmp_path / "output", "--runs", str(runs)) as (_, base), client(base) as ask:
            assert (await ask("POST", "/api/runs", body, "once"))[0] == 201
            while not (judged := (await ask("GET", "/api/runs/long"))[1]["evaluations"]):
                await asyncio.sleep(0.01)
            return int(judged)

    before = asyncio.run(asyncio.wait_for(killed(), 120))
    with serving(url, keyless=True, settings=ServerSettings(preload=False, runs=runs)) as running:
        found = running.anyone.get("/api/runs/long").json
        assert found["state"] == "interrupted"
        assert before <= found["evaluations"] < 600
        headers = {"Content-Type": "application/json", "Idempotency-Key": "once"}
        again = running.anyone.ask("POST", "/api/runs", json.dumps(body).encode(), headers)
        assert (again.status, again.json["name"]) == (201, "long")  # what the other server replied
        assert running.anyone.post("/api/runs/long/resume").status == 200
        end = followed(running.anyone, "long")[-1][2]
        assert (end["state"], end["evaluations"]) == ("finished", 600)
    rows = [row.case for row in StoredRun.open(runs / "long").rows()]
    assert len(rows) == len(set(rows)) == 600
