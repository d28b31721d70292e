"""Pages of runs that this process does not work on: those in an object store, and those that wait for a worker."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from nicegui import Client, ui
from studio_runs import WORDS, cases, rubric
from studio_server import Browsing, StudioServer, becomes, words

import rubrica
from object_server import BUCKET, use_objects
from rubrica.runs.execute import execute_run
from rubrica.runs.request import CaseChoice, RunRequest
from rubrica.store.run_queue import QueuedRun, advance_run, give_back, queued_run, take_run
from rubrica.workspace.access import Caller
from rubrica.workspace.run_access import RunKey, share_run
from rubrica.workspace.run_service import NewRun
from rubrica.workspace.run_worker import RunWorker

FAR = f"s3://{BUCKET}/studio/runs"  # as the studio is told


def seen(visitor: Browsing, path: str, said: str) -> str:
    """What a page says once it says something, as a browser has it drawn."""

    async def story() -> str:
        page = await asyncio.to_thread(visitor.page, path)
        async with visitor.connected(page.id):
            await becomes(lambda: said in words(page))
            return words(page)

    return asyncio.run(story())


def test_two_runs_are_compared_by_the_position_of_their_criteria(studio: StudioServer, tmp_path: Path) -> None:
    asked = {
        "name": "by-expert",
        "dimensions": {"answer": {"from": "criteria"}},
        "score": {"points": True},
        "verdicts": [{"label": "scored"}],
    }
    judged = [{"id": str(n), "response": "x", "criteria": ["Says how.", "Says why."]} for n in range(3)]
    for name, answer in (("met-all", "met"), ("met-none", "not_met")):
        judge = tmp_path / f"{name}.jsonl"
        judge.write_text(json.dumps({"reply": {"reason": "so", "answer": answer}}) + "\n")
        home = studio.service.runs.places.home
        rubrica.run(judged, rubric=asked, judge=f"scripted:{judge}", out=home / name, cached=False)
    shown = seen(studio.visitor("admin"), "/runs/compare?a=met-all&b=met-none", "Answers by position")
    assert "some criteria cost points" in shown


def test_a_run_in_a_bucket_is_listed_opened_explained_and_compared_where_it_lies(
    studio: StudioServer, object_server: tuple[Path, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_objects(monkeypatch, object_server[1])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    longer = {**WORDS, "dimensions": {**WORDS["dimensions"], "length": {"formula": "word_count / 2", "weight": 0.5}}}
    for name, data in (("far", WORDS), ("farther", longer)):
        execute_run(RunRequest(CaseChoice(str(cases(tmp_path, 12))), Path(), rubric(data)).kept_at(f"{FAR}/{name}"))
    admin, stranger = studio.visitor("admin"), studio.visitor("author")
    assert "/runs/far" in seen(admin, "/runs", "words@1.0.0")
    shown = seen(admin, "/runs/far", "case-0")
    assert "reply number 0." in shown  # the texts, which the run alone has
    assert "Say 3 words." in seen(admin, "/runs/far/case-3", "reply number 3.")
    assert "Fell furthest" in seen(admin, "/runs/compare?a=far&b=farther", "case-")
    assert "is not yours to see" in words(stranger.page("/runs/far"))
    manifest = studio.service.runs.places.manifest("far")
    assert manifest is not None
    hashes = [used.hash for used in manifest.rubrics]
    studio.write(share_run, caller_of(admin), RunKey("far", manifest.id), "shared", hashes, studio.service.clock())
    assert "reply number 0." in seen(stranger, "/runs/far", "case-0")
    reply = stranger.ask("GET", "/api/runs/far", headers=_key(stranger))
    assert (reply.json()["state"], reply.json()["evaluations"]) == ("finished", 12)
    assert stranger.ask("GET", "/api/runs/farther", headers=_key(stranger)).status_code == 404
    assert stranger.ask("POST", "/api/runs/far/resume", headers=_key(stranger)).status_code == 403
    refused = admin.ask("POST", "/api/runs/far/resume", headers=_key(admin))
    assert (refused.status_code, "is finished" in refused.text) == (409, True)


CASES = [{"id": f"case-{n}", "response": "word " * n} for n in range(8)]


def queued(studio: StudioServer, visitor: Browsing, name: str) -> QueuedRun:
    """A run that waits for a worker."""
    if visitor.ask("GET", "/api/evaluations/words", headers=_key(visitor)).status_code == 404:
        made = visitor.ask("POST", "/api/evaluations", json={**WORDS, "is_public": True}, headers=_key(visitor))
        assert made.status_code == 201, made.text
    studio.run(studio.service.runs.start(caller_of(visitor), NewRun("words", name, cases=CASES, judges=())))
    manifest = studio.service.runs.places.manifest(name)
    assert manifest is not None
    found: QueuedRun | None = studio.run(studio.service.database.read(queued_run, name, manifest.id))
    assert found is not None
    return found


def test_the_page_of_a_run_that_waits_says_so_until_a_worker_has_come_to_its_end(studio: StudioServer) -> None:
    visitor, service = studio.visitor("author"), studio.service
    run = queued(studio, visitor, "waits")

    async def story() -> None:
        page = await asyncio.to_thread(visitor.page, "/runs/waits")
        assert "Waiting for a worker" in words(page)
        assert "judged" not in words(page)
        opened: list[Any] = []
        async with visitor.connected(page.id) as socket:
            socket.on("open", opened.append)
            held = await _apart(studio, take_run, "waits", run.ticket, "a worker", service.clock())
            assert held is not None
            await becomes(lambda: "0 judged" in words(page))
            figures = {"done": 3, "expected": 8, "broken": 1}
            await _apart(studio, advance_run, held, figures, service.clock())
            await becomes(lambda: "3 of 8 judged, 1 broken line" in words(page))
            await _apart(studio, give_back, held, "its worker ends", {})
            await becomes(lambda: "Waiting for a worker: its worker ends; 3 evaluations so far" in words(page))
            assert not opened
            worker = RunWorker(service.database, service.settings.runs, service.clock, "another worker")
            await asyncio.to_thread(studio.run, worker.execute_queued("waits", run.ticket))
            await becomes(lambda: bool(opened))
        assert opened[0]["path"] == "/runs/waits"

    asyncio.run(story())
    shown = seen(visitor, "/runs/waits", "case-7")
    assert "Waiting" not in shown
    assert "Under way" not in shown
    assert len(list(service.runs.places.opened("waits").rows())) == 8


def test_a_run_that_is_stopped_while_it_waits_is_told_as_stopped_and_no_worker_takes_it(studio: StudioServer) -> None:
    visitor, service = studio.visitor("author"), studio.service
    run = queued(studio, visitor, "cancelled")

    async def story() -> None:
        page = await asyncio.to_thread(visitor.page, "/runs/cancelled")
        opened: list[Any] = []
        async with visitor.connected(page.id) as socket:
            socket.on("open", opened.append)
            await socket.emit("event", _click(page, "Stop"))
            await becomes(lambda: bool(opened))

    asyncio.run(story())
    page = visitor.page("/runs/cancelled")
    assert "Stopped before its end" in words(page)
    assert "Go on" in words(page)
    worker = RunWorker(service.database, service.settings.runs, service.clock, "a worker")
    studio.run(worker.execute_queued("cancelled", run.ticket))
    assert "Stopped before its end" in words(visitor.page("/runs/cancelled"))
    assert list(service.runs.places.opened("cancelled").rows()) == []


def caller_of(visitor: Browsing) -> Caller:
    key = visitor.issued.key
    return Caller(key.user_id, key.user, "admin" if key.role == "admin" else "author", key.id)


def _key(visitor: Browsing) -> dict[str, str]:
    return {"Authorization": f"Bearer {visitor.issued.secret}"}


async def _apart(studio: StudioServer, query: Callable[..., Any], *args: Any) -> Any:
    """Write as another process does, while this one hears what a page is told."""
    return await asyncio.to_thread(studio.write, query, *args)


def _click(page: Client, text: str) -> dict[str, Any]:
    """The message that a page sends when somebody presses a button."""
    button = next(one for one in page.elements.values() if isinstance(one, ui.button) and one.text == text)
    listener = next(one.id for one in button._event_listeners.values() if one.type == "click")
    return {"id": button.id, "client_id": page.id, "listener_id": listener, "args": []}
