"""Council sessions are kept: listed, opened, followed from any event, also after a restart, exported and audited."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from council_samples import QUESTION, Seat, members, running_session
from databases import Opened
from rubrica.council.saved import read_council
from rubrica.server import council_events
from rubrica.server.settings import ServerSettings
from rubrica.workspace.access import LOCAL
from rubrica.workspace.council_sessions import interrupt_sessions, own_sessions
from rubrica.workspace.webhooks import create_webhook, webhook_log
from servers import Client, Reply, Running, serving

SESSIONS = "/api/council/sessions"
ASKED = {"question": QUESTION, "seed": 7}


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One attempt a call, and no settings of the machine."""
    monkeypatch.setenv("RUBRICA_CONFIG", "")
    monkeypatch.setenv("RUBRICA_ATTEMPTS", "1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@contextmanager
def council(url: str, seats: dict[str, Seat]) -> Iterator[Running]:
    settings = ServerSettings(preload=False, council=tuple(seat.model for seat in seats.values()))
    with serving(url, settings=settings) as running:
        yield running


def blocks(text: str) -> list[tuple[str, str, Any]]:
    """Events as (id, name, data)."""
    found = []
    for block in text.split("\n\n"):
        if block and not block.startswith(":"):
            number, name, data = block.split("\n")
            found.append((number[4:], name[7:], json.loads(data[6:])))
    return found


async def first_events(client: Client, path: str, enough: Callable[[str], bool]) -> str:
    """What a client reads of a stream before it hangs up."""
    heard = ""
    headers = {"Authorization": f"Bearer {client.key}"}
    async with asyncio.timeout(30), client.server.session.get(client.server.url + path, headers=headers) as reply:
        async for line in reply.content:
            heard += line.decode()
            if line == b"\n" and enough(heard):
                break
    return heard


def ended(client: Client, path: str) -> Any:
    """A session once it has ended."""
    assert client.get(f"{path}/events").status in (200, 204)
    return client.get(path).json


def test_a_session_is_kept_with_everything_that_belongs_to_it(database_url: str) -> None:
    with (
        members(ann="quality 9", bo="quality 6", cy=Seat(faults=["error"] * 9)) as seats,
        council(database_url, seats) as server,
    ):
        author = server.author
        begun = author.post(SESSIONS, ASKED, Idempotency_Key="once")
        assert (begun.status, begun.json["state"]) == (201, "running"), begun.text
        path = begun.headers["Location"]
        watched = blocks(author.get(f"{path}/events").text)
        again = author.post(SESSIONS, ASKED, Idempotency_Key="once")
        assert again.json["id"] == begun.json["id"]
        assert seats["ann"].asked == ["answer", "review", "final"]
        run = author.post("/v1/council/run", ASKED)
        [later, listed] = author.get(SESSIONS).json["items"]
        page = author.get(f"{SESSIONS}?limit=1").json
        assert page["items"] == [later]
        assert author.get(f"{SESSIONS}?limit=1&cursor={page['next']}").json == {"items": [listed], "next": None}
        opened = author.get(path).json
        told = author.get(f"{path}/audit").json
        together = author.get("/api/council/audit").json
        line, document = (author.get(f"{path}/export?format={form}") for form in ("json", "markdown"))
        assert author.delete(path).status == 204
        assert author.get(path).status == 404
    identities, names, data = zip(*watched, strict=True)
    assert list(identities) == [f"{begun.json['id']}.{number}" for number in range(1, len(watched) + 1)]
    assert (names[0], names[-1]) == ("stage_started", "concluded")
    assert [one["text"] for one in data if one.get("event") == "answered"] == ["quality 9", "quality 6"]
    assert run.headers["Content-Location"] == f"{SESSIONS}/{later['id']}"
    assert (listed["title"], listed["state"], opened["state"]) == (QUESTION, "finished", "finished")
    assert opened["request"] == ASKED
    assert opened["result"] == data[-1]["result"]
    assert opened["result"]["answer"] == "ann sums up."
    assert "127.0.0.1" not in json.dumps([opened, told])

    assert sorted(told["labels"].values()) == ["ann", "bo"]
    assert {name: [told["labels"][seen] for seen in order] for name, order in told["orders"].items()} == {
        "ann": ["bo"], "bo": ["ann"],
    }  # fmt: skip
    done = [(call["stage"], call["model"], call["outcome"]) for call in told["calls"]]
    assert sorted(done[:3]) == [
        ("answers", "ann", "answered"),
        ("answers", "bo", "answered"),
        ("answers", "cy", "dropped"),
    ]
    assert done[-1] == ("final", "ann", "concluded")
    assert all(call["asked_at"] <= call["done_at"] for call in told["calls"])
    assert (told["seed"], told["self_reviews"], together["sessions"]) == (7, False, 2)

    assert read_council(line.body).answers.keys() == opened["result"]["answers"].keys()
    assert json.loads(line.text)["session"]["id"] == begun.json["id"]
    assert "## Final answer, by ann" in document.text
    assert ">     ann sums up." in document.text
    assert "cy, answers: overloaded or failing" in document.text
    assert document.headers["Content-Type"].startswith("text/markdown")


def test_a_dropped_stream_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(council_events, "KEEP_ALIVE", 0.05)
    with (
        members(ann="quality 9", bo=Seat("quality 6", latency=0.3)) as seats,
        council(str(tmp_path / "rubrica.db"), seats) as server,
    ):
        author, stream = server.author, "/v1/council/stream?question=Why"
        before = blocks(server.run(first_events(author, stream, lambda text: "event: answered" in text)))
        seen = before[-1][0]
        path = f"{SESSIONS}/{seen.partition('.')[0]}/events"
        resumed = author.get(stream, Last_Event_ID=seen)
        after = blocks(resumed.text)
        assert blocks(author.get(path).text) == before + after
        assert blocks(author.get(path, Last_Event_ID=seen).text) == after
        assert [author.get(place, Last_Event_ID=after[-1][0]).status for place in (path, stream)] == [204, 204]
        stranger = server.newcomer("author", "somebody else")
        assert [stranger.get(place, Last_Event_ID=seen).status for place in (path, stream)] == [404, 204]
        assert [seat.asked.count("answer") for seat in seats.values()] == [1, 1]
    assert [name for _, name, _ in before] == ["stage_started", "answered"]
    assert after[-1][1] == "concluded"
    assert ": keep-alive" in resumed.text


def test_a_session_is_stopped_and_keeps_what_had_arrived(database_url: str) -> None:
    with members(ann="quality 9", bo=Seat(latency=60.0)) as seats, council(database_url, seats) as server:
        author = server.author
        path = author.post(SESSIONS, ASKED).headers["Location"]
        server.run(first_events(author, f"{path}/events", lambda text: "event: answered" in text))
        assert author.delete(path).status == 409
        assert server.newcomer("author", "other").post(f"{path}/cancel").status == 404
        stopped = author.post(f"{path}/cancel")
        assert (stopped.status, stopped.json["state"]) == (200, "stopped"), stopped.text
        assert author.post(f"{path}/cancel").json == author.get(path).json
        last = blocks(author.get(f"{path}/events").text)[-1]
        assert server.admin.get(SESSIONS).json["items"][0]["owner"] == "the author"
    assert stopped.json["answers"]["ann"]["text"] == "quality 9"
    assert (stopped.json["result"], stopped.json["problem"]["type"]) == (None, "urn:rubrica:problem:stopped")
    assert (last[1], last[2]["title"]) == ("error", "Stopped")


def test_a_session_that_a_restart_cut_off_is_interrupted_and_can_be_followed_on(database_url: str) -> None:
    with members(ann="quality 9", bo=Seat(faults=[None, "hang"])) as seats, council(database_url, seats) as server:
        path = server.author.post(SESSIONS, ASKED).headers["Location"]
        heard = server.run(first_events(server.author, f"{path}/events", lambda text: "event: reviewed" in text))
        author, now = server.issued["author"], server.service.clock()
        killed = server.write(running_session, author.key.user_id, now)
    with serving(database_url, keyless=True, settings=ServerSettings(preload=False)) as server:
        later = Client(server, author.secret)
        found = later.get(path).json
        rest = blocks(later.get(f"{path}/events", Last_Event_ID=blocks(heard)[-1][0]).text)
        state = later.get(f"{SESSIONS}/{killed}").json["state"]
        document = later.get(f"{path}/export?format=markdown").text
    assert (found["state"], found["answers"]["ann"]["text"]) == ("interrupted", "quality 9")
    assert [(name, data["type"]) for _, name, data in rest] == [("error", "urn:rubrica:problem:interrupted")]
    assert ">     quality 9" in document
    [review] = found["reviews"]
    assert (review["reviewer"], review["model"], review["scores"]["accuracy"]) == ("ann", "bo", 5)
    assert review["notes"] == "worth 5"
    assert "- ann on bo: accuracy 5" in document
    # several servers may share a PostgreSQL database: there it is left to its own until nobody holds it any more
    assert state == ("interrupted" if database_url.startswith("sqlite") else "running")


def test_a_failed_session_says_why(tmp_path: Path) -> None:
    down = {name: Seat(faults=["refused"] * 9) for name in ("ann", "bo")}
    with members(**down) as seats, council(str(tmp_path / "rubrica.db"), seats) as server:
        reply: Reply = server.author.post("/v1/council/run", ASKED)
        [line] = server.author.get(SESSIONS).json["items"]
        found = server.author.get(f"{SESSIONS}/{line['id']}").json
    assert (reply.status, found["state"], found["result"]) == (503, "failed", None)
    assert {one["model"]: one["reason"] for one in found["problem"]["dropped"]} == dict.fromkeys(
        ("ann", "bo"), "refused the request"
    )


def test_a_session_that_no_server_holds_is_interrupted_and_told_of(database: Opened) -> None:
    then = datetime(2026, 5, 4, 12, tzinfo=UTC)
    now = then + timedelta(minutes=2)
    hook = database.write(create_webhook, LOCAL, "https://example.com/", ["council.failed"], then)
    left, held, young = (
        database.write(running_session, LOCAL.user_id, begun) for begun in (then, then, now - timedelta(seconds=10))
    )
    database.write(interrupt_sessions, now, held={held})
    states = {line.id: line.state for line in database.read(own_sessions, LOCAL, None, 10)}
    assert states == {left: "interrupted", held: "running", young: "running"}
    [told] = database.read(webhook_log, LOCAL, hook.id)
    data = json.loads(told.body)["data"]
    assert (data["id"], data["state"], data["seconds"]) == (str(left), "interrupted", None)
