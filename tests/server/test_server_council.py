"""The council over HTTP: run whole or watched event by event, among the server's own models only."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from council_samples import QUESTION, Seat, members, voter
from rubrica.errors import RubricaError
from rubrica.server.council_service import LONGEST, MOST_AT_ONCE, CouncilService
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from servers import Reply, Running, serving

RUN, STREAM = "/v1/council/run", "/v1/council/stream"
FORM = "application/x-www-form-urlencoded"
ASKED = {"question": QUESTION, "seed": 7}


@pytest.fixture(autouse=True)
def steady(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """One attempt a call, and no settings of the machine."""
    monkeypatch.setenv("RUBRICA_CONFIG", "")
    monkeypatch.setenv("RUBRICA_ATTEMPTS", "1")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@contextmanager
def council(folder: Path, seats: dict[str, Seat], **options: Any) -> Iterator[Running]:
    settings = ServerSettings(preload=False, council=tuple(seat.model for seat in seats.values()))
    with serving(str(folder / "rubrica.db"), settings=settings, **options) as running:
        yield running


@contextmanager
def three(folder: Path, **changes: Seat) -> Iterator[tuple[Running, dict[str, Seat]]]:
    """A server with ann, who is best, bo, and cy."""
    seats: dict[str, str | Seat] = {"ann": "quality 9", "bo": "quality 6", "cy": "quality 3", **changes}
    with members(**seats) as seated, council(folder, seated) as running:
        yield running, seated


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, dict[str, Seat]]]:
    """One server for all that is refused."""
    with three(tmp_path_factory.mktemp("refusing")) as found:
        yield found


def events_of(reply: Reply) -> list[tuple[str, Any]]:
    found = []
    for block in reply.text.split("\n\n"):
        if block and not block.startswith(":"):
            _, name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


# --- whole --------------------------------------------------------------------------------------------------


def test_a_council_answers_with_its_result(tmp_path: Path) -> None:
    with three(tmp_path) as (server, seats):
        reply = server.author.post(RUN, ASKED)
        assert reply.status == 200, reply.text
        assert all(seat.asked.count("answer") == 1 for seat in seats.values())
    found = reply.json
    labels = found["metadata"]["labels"]
    assert [labels[label] for label in found["ranking"]] == ["ann", "bo", "cy"]
    assert found["answer"] == "ann sums up."
    assert found["metadata"]["chair"] == "ann"
    assert found["evaluations"][found["ranking"][0]]["overall"] == 9
    assert "127.0.0.1" not in reply.text  # where models run is nobody's business


def test_a_caller_chooses_among_the_servers_models(tmp_path: Path) -> None:
    with three(tmp_path) as (server, seats):
        wish = {**ASKED, "models": ["bo", "cy"], "chair": "ann", "tier": "quick", "pool": "borda"}
        found = server.author.post(RUN, {**wish, "exclude_self": False, "safety_gate": True}).json
        assert seats["ann"].asked == ["final"]
    about = found["metadata"]
    assert (about["models"], about["chair"], about["deadline"]) == (["bo", "cy"], "ann", 20)
    assert (about["pool"], about["exclude_self"], about["seed"]) == ("borda", False, 7)
    assert about["safety_gate"]["enabled"] is True
    assert found["answer"] == "ann sums up."


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"models": ["ann", "http://169.254.169.254/v1#x"]}, "there are ann, bo, cy"),
        ({"models": ["ann", "openai:gpt-4o"]}, "there are ann, bo, cy"),
        ({"models": ["ann", "scripted:/etc/passwd"]}, "there are ann, bo, cy"),
        ({"chair": "http://169.254.169.254/v1#x"}, "there are ann, bo, cy"),
        ({"models": ["ann"]}, "at least two"),
        ({"models": []}, "at least two"),
        ({"models": ["ann", "ann"]}, "named twice"),
        ({"rubric": "/etc/passwd"}, "is not bundled"),
        ({"rubric": "../rubric.yaml"}, "is not bundled"),
        ({"rubric": "arena/speed-demon"}, "a council reviews dimensions"),
        ({"weights": {"accuracy": 1}}, "sum to"),
        ({"question": " "}, "question"),
        ({"question": "x" * (LONGEST + 1)}, "characters"),
        ({"history": [{"role": "user", "content": "x" * LONGEST}]}, "characters"),
        ({"history": [{"role": "tool", "content": "x"}]}, "history"),
        ({"safety_gate": False}, "safety_gate"),
        ({"tier": "slow"}, "tier"),
        ({"seed": -1}, "seed"),
        ({"deadline": 3600}, "deadline"),
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
def test_what_is_not_to_be_had_here_is_refused_before_anybody_is_asked(
    refusing: tuple[Running, dict[str, Seat]], change: dict[str, Any], told: str, accept: str
) -> None:
    server, seats = refusing
    reply = server.author.post(RUN, {**ASKED, **change}, Accept=accept)
    assert reply.status == 422, reply.text
    assert reply.headers["Content-Type"] == "application/problem+json"
    assert told in reply.json["detail"]
    assert "root:" not in reply.text
    assert not any(seat.asked for seat in seats.values())


def test_what_was_said_before_reaches_the_members(tmp_path: Path) -> None:
    with three(tmp_path) as (server, seats):
        history = [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Which tower is in Pisa?"},
            {"role": "assistant", "content": "The leaning one."},
        ]
        assert server.author.post(RUN, {**ASKED, "history": history}).status == 200
        said = seats["bo"].server.seen[0].body["messages"]
        assert [message["content"] for message in said][1:] == [turn["content"] for turn in history] + [QUESTION]


def test_a_member_that_fails_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    with three(tmp_path, cy=Seat(faults=["error"] * 9)) as (server, _):
        reply = server.author.post(RUN, ASKED)
    assert reply.status == 200
    assert reply.json["metadata"]["dropped"] == [
        {"model": "cy", "stage": "answers", "reason": "overloaded or failing"},
    ]
    assert "127.0.0.1" not in reply.text


def test_the_price_is_told_by_stage_and_nobody_is_asked(tmp_path: Path) -> None:
    with three(tmp_path) as (server, seats):
        quote = server.author.post("/v1/council/quote", {**ASKED, "debate": 1})
        assert quote.status == 200
        assert [(one["stage"], one["calls"]) for one in quote.json["stages"]] == [
            ("answers", 3), ("reviews", 12), ("final", 1),
        ]  # fmt: skip
        assert quote.json["usd"] is None  # nobody knows what a loopback model costs
        assert not any(seat.asked for seat in seats.values())


def test_below_a_quorum_what_arrived_is_sent_and_marked(tmp_path: Path) -> None:
    down = Seat(faults=["refused"] * 9), Seat(faults=["unavailable"] * 9)
    with three(tmp_path, bo=down[0], cy=down[1]) as (server, _):
        reply = server.author.post(RUN, ASKED)
    assert (reply.status, reply.json["complete"]) == (200, False)
    assert reply.json["answer"] == next(iter(reply.json["answers"].values()))["text"]
    assert reply.json["missing"][0]["why"] == "1 of 3 models answered, and the council needs 2"


def test_where_nobody_answers_the_dropped_members_are_told(tmp_path: Path) -> None:
    down = Seat(faults=["refused"] * 9), Seat(faults=["unavailable"] * 9), Seat(faults=["refused"] * 9)
    with three(tmp_path, bo=down[0], cy=down[1], ann=down[2]) as (server, _):
        reply = server.author.post(RUN, ASKED)
        watched = server.author.get(f"{STREAM}?question=Why&seed=7")
    assert (reply.status, reply.json["type"]) == (503, "urn:rubrica:problem:quorum")
    assert reply.headers["Retry-After"] == "30"
    told = {one["model"]: (one["stage"], one["reason"]) for one in reply.json["dropped"]}
    assert told["bo"] == ("answers", "refused the request")
    assert told["cy"] == ("answers", "overloaded or failing")
    assert "0 of 3 models answered" in reply.json["detail"]
    assert "127.0.0.1" not in reply.text
    name, problem = events_of(watched)[-1]
    assert (name, problem["status"], problem["type"]) == ("error", 503, "urn:rubrica:problem:quorum")
    assert {one["model"] for one in problem["dropped"]} == {"ann", "bo", "cy"}


def test_a_repeated_request_is_paid_once(tmp_path: Path) -> None:
    with three(tmp_path) as (server, seats):
        first = server.author.post(RUN, ASKED, Idempotency_Key="one")
        again = server.author.post(RUN, ASKED, Idempotency_Key="one")
        assert (first.status, again.status) == (200, 200)
        assert again.json == first.json
        assert again.headers["Idempotency-Replayed"] == "true"
        assert seats["ann"].asked.count("answer") == 1


# --- event by event -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["GET", "POST"])
def test_every_step_is_an_event(tmp_path: Path, way: str) -> None:
    with three(tmp_path) as (server, _):
        if way == "GET":
            reply = server.author.get(f"{STREAM}?question={quote(QUESTION)}&seed=7&models=ann,bo,cy&tier=quick")
        else:
            reply = server.author.post(RUN, {**ASKED, "tier": "quick"}, Accept="text/event-stream")
    assert reply.status == 200, reply.text
    assert reply.headers["Content-Type"] == "text/event-stream; charset=utf-8"
    assert reply.headers["Cache-Control"] == "no-cache"
    events = events_of(reply)
    assert all(data["event"] == name for name, data in events)
    stages = [(name, data["stage"]) for name, data in events if "stage" in data]
    assert stages == [(what, stage) for stage in ("answers", "reviews", "final") for what in
                      ("stage_started", "stage_finished")]  # fmt: skip
    names = [name for name, _ in events]
    assert (names.count("answered"), names.count("reviewed"), names.count("ranked")) == (3, 3, 1)
    assert names[-1] == "concluded"
    last = events[-1][1]
    assert last["text"] == last["result"]["answer"] == "ann sums up."
    assert last["result"]["metadata"]["seed"] == 7


def test_the_first_events_come_before_anybody_has_answered(tmp_path: Path) -> None:
    async def watch(server: Running) -> tuple[list[bytes], list[float]]:
        lines, times = [], []
        headers = {"Authorization": f"Bearer {server.author.key}"}
        async with server.session.get(f"{server.url}{STREAM}?question=Why", headers=headers) as reply:
            async for line in reply.content:
                lines.append(line)
                times.append(time.perf_counter())
        return lines, times

    with three(tmp_path, bo=Seat("quality 6", latency=0.5)) as (server, _):
        lines, times = server.run(watch(server))
    assert times[-1] - times[0] > 0.5  # bo takes as long to answer, and again to review
    assert lines[-4].startswith(b"id: ")
    assert lines[-3] == b"event: concluded\n"


def test_an_id_of_no_session_starts_none(refusing: tuple[Running, dict[str, Seat]]) -> None:
    server, seats = refusing
    for seen in ("last", "7", "018f0000-0000-7000-8000-000000000000.3"):
        reply = server.author.get(f"{STREAM}?question=Why", Last_Event_ID=seen)
        assert (reply.status, reply.body) == (204, b"")
    assert not any(seat.asked for seat in seats.values())


def test_a_session_ends_when_a_client_goes_that_waits_for_its_result(tmp_path: Path) -> None:
    slow = {name: Seat("quality 5", latency=60.0) for name in ("ann", "bo", "cy")}

    async def until(true: Callable[[], bool]) -> None:
        async with asyncio.timeout(30):
            while not true():
                await asyncio.sleep(0.01)

    async def leave(server: Running, seats: dict[str, Seat]) -> None:
        servers = [seat.server for seat in seats.values()]
        task = asyncio.create_task(server.author.send("POST", RUN, ASKED))
        await until(lambda: sum(each.requests for each in servers) == 3)
        task.cancel()
        await until(lambda: sum(each.left for each in servers) == 3)

    with three(tmp_path, **slow) as (server, seats):
        server.run(leave(server, seats))
        assert not any(seat.asked for seat in seats.values())  # nobody came as far as an answer
        server.run(asyncio.wait_for(server.service.sessions.close(), 10))  # which waits for what is to be written
        [kept] = server.author.get("/api/council/sessions").json["items"]
        assert (kept["state"], kept["title"]) == ("stopped", QUESTION)


# --- who may, and when nobody can ---------------------------------------------------------------------------


def test_only_authors_ask_the_council(tmp_path: Path) -> None:
    with three(tmp_path) as (server, _):
        clients = (server.anyone, server.viewer, server.player, server.author, server.admin)
        assert [client.post(RUN, ASKED).status for client in clients] == [401, 403, 403, 200, 200]
        assert [client.get(f"{STREAM}?question=Why").status for client in clients] == [401, 403, 403, 200, 200]


def test_a_browser_that_signed_in_watches_the_council(tmp_path: Path) -> None:
    with three(tmp_path) as (server, _):
        signed = server.anyone.post("/signin", f"key={server.author.key}".encode(), Content_Type=FORM)
        cookie = signed.headers["Set-Cookie"].partition(";")[0]
        reply = server.anyone.get(f"{STREAM}?question=Why", Cookie=cookie, Accept="text/event-stream")
    assert events_of(reply)[-1][0] == "concluded"


@pytest.mark.parametrize("names", [(), ("scripted:one.jsonl",)])
def test_without_models_the_way_out_is_told(tmp_path: Path, names: tuple[str, ...]) -> None:
    settings = ServerSettings(preload=False, council=names)
    with serving(str(tmp_path / "rubrica.db"), settings=settings) as server:
        for reply in (server.author.post(RUN, ASKED), server.author.get(f"{STREAM}?question=Why")):
            assert (reply.status, reply.json["type"]) == (503, "urn:rubrica:problem:unavailable")
            assert "rubrica serve --model" in reply.json["detail"]


def test_models_that_cannot_be_connected_are_told_without_where_they_are(tmp_path: Path) -> None:
    settings = ServerSettings(preload=False, council=("scripted:/srv/secret/a.jsonl", "scripted:/srv/secret/b.jsonl"))
    with serving(str(tmp_path / "rubrica.db"), settings=settings) as server:
        reply = server.author.post(RUN, ASKED)
    assert (reply.status, reply.json["detail"]) == (
        503, "the council's models cannot be connected: the log says why",
    )  # fmt: skip


def test_a_model_that_has_no_form_is_told_before_anything_is_served(tmp_path: Path) -> None:
    with pytest.raises(RubricaError, match="names no model"):
        Service.open(ServerSettings(database=str(tmp_path / "x.db"), council=("gpt-4", "local:")))


def test_only_so_many_councils_are_in_session(tmp_path: Path) -> None:
    slow = {name: Seat("quality 5", latency=0.6) for name in ("ann", "bo", "cy")}
    with three(tmp_path, **slow) as (server, _):
        replies = server.author.together([("POST", RUN, {**ASKED, "models": ["ann", "bo"]})] * (MOST_AT_ONCE + 1))
    assert sorted(reply.status for reply in replies) == [200] * MOST_AT_ONCE + [503]
    refused = next(reply for reply in replies if reply.status == 503)
    assert "in session already" in refused.json["detail"]


def test_models_that_look_alike_have_names_of_their_own() -> None:
    council_service = CouncilService(["http://10.0.0.7/v1#llama", "http://10.0.0.8/v1#llama", "openai:gpt-4o-mini"])
    assert council_service.models == ("llama", "llama-2", "openai:gpt-4o-mini")


# --- verdicts, and replies by seed --------------------------------------------------------------------------


def test_a_council_decides_by_yes_or_no(tmp_path: Path) -> None:
    seats = {"ann": voter("yes", 0.9), "bo": voter("no", 0.8, "no test covers it"), "cy": voter("yes", 0.7)}
    with three(tmp_path, **seats) as (server, seated):
        asked = {"question": "May it ship?"}
        quote = server.author.post("/v1/council/verdict/quote", {**asked, "debate": 1})
        assert (quote.status, quote.json["calls"]) == (200, 6)
        assert not any(seat.asked for seat in seated.values())
        found = server.author.post("/v1/council/verdict", asked, Idempotency_Key="one")
        again = server.author.post("/v1/council/verdict", asked, Idempotency_Key="one")
        strict = server.author.post("/v1/council/verdict", {**asked, "majority": 0.75})
        refused = server.author.post("/v1/council/verdict", {**asked, "majority": 0.2})
    assert (found.status, again.json) == (200, found.json), found.text
    assert (found.json["verdict"], found.json["counts"]) == ("yes", {"yes": 2, "no": 1, "unclear": 0})
    assert (found.json["agreement"], found.json["confidence"]) == (0.667, 0.6)
    assert [(one["model"], one["reason"]) for one in found.json["dissent"]] == [("bo", "no test covers it")]
    assert (strict.json["verdict"], "75% are needed" in strict.json["why"]) == ("undecided", True)
    assert (refused.status, "majority" in refused.text) == (422, True)
    assert seated["ann"].asked == ["answer"] * 2


def test_replies_to_a_seed_are_kept_for_the_user_who_asked(tmp_path: Path) -> None:
    with three(tmp_path) as (server, seats):
        first = server.author.post(RUN, {**ASKED, "early": False}).json
        calls = [len(seat.asked) for seat in seats.values()]
        again = server.author.post(RUN, {**ASKED, "early": False}).json
        assert [len(seat.asked) for seat in seats.values()] == calls
        assert (again["reviews"], again["answer"]) == (first["reviews"], first["answer"])
        assert again["metadata"]["cost"]["usd"] == 0.0
        server.admin.post(RUN, {**ASKED, "early": False})
        assert [len(seat.asked) for seat in seats.values()] == [count * 2 for count in calls]
        server.author.post(RUN, {"question": QUESTION, "early": False})
        assert seats["ann"].asked.count("answer") == 3  # without a seed nothing is kept, and nothing found
        server.author.post(RUN, {**ASKED, "early": False, "seed": 8})
        assert seats["ann"].asked.count("answer") == 4
