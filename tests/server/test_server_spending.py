"""What callers may have a server spend: calls are priced before the first, and limits hold for all at once."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Said

from education_samples import provider
from rubrica.judges.jury import Jury
from rubrica.llm.settings import Settings
from rubrica.server.settings import ServerSettings
from rubrica.workspace.keys import KeyRequest, issue
from rubrica.workspace.spending import SpendingPolicy
from servers import Client, Running, serving

HAIKU = "anthropic:claude-haiku-4-5"
RUBRIC: dict[str, Any] = {
    "name": "short",
    "version": "1.0.0",
    "scale": {"min": 1, "max": 10},
    "dimensions": {"accuracy": {"asks": "Is it right?", "weight": 1, "offline": {"formula": "5"}}},
    "score": {"weighted": True, "out_of": 100},
    "verdicts": [{"label": "pass", "when": "score >= 70"}, {"label": "fail"}],
}
TEXT = {"response": "Paris."}
COST = 0.002
"""US dollars of one call: 1,000 tokens in and 200 out; it can cost up to 0.004."""


@contextmanager
def judged(folder: Path, policy: SpendingPolicy | None = None, **options: Any) -> Iterator[tuple[Running, Loopback]]:
    """A server whose judge is a billed model."""
    said = Said(json.dumps({"score": 9, "reason": "so it is", "confidence": 0.9}), 1000, output_tokens=200)
    with provider(said) as model:
        reached = Settings(anthropic_key="sk-0123456789", anthropic_base_url=model.anthropic_url)
        jury = Jury([HAIKU], reached, cached=False)
        settings = ServerSettings(preload=False, judges=(HAIKU,), spending=policy or SpendingPolicy())
        with serving(str(folder / "rubrica.db"), settings=settings, jury=jury, **options) as server:
            yield server, model


def shared_rubric(server: Running, **more: Any) -> str:
    made = server.author.post("/api/evaluations", {**RUBRIC, **more, "is_public": True})
    assert made.status == 201, made.text
    return made.headers["Location"]


def limited(server: Running, usd_per_day: float, user: str = "ann") -> Client:
    made = server.write(issue, KeyRequest("author", user, "", 100_000, usd_per_day), datetime.now(UTC))
    return Client(server, made.secret, made)


def test_a_request_with_too_many_calls_is_refused_with_the_numbers(tmp_path: Path) -> None:
    with judged(tmp_path, SpendingPolicy(max_calls=19)) as (server, model):
        path = shared_rubric(server)
        definition = {**RUBRIC, "judging": {"repeats": 20}}
        reply = server.author.post(f"{path}/test", {"context": TEXT, "definition": definition})
        assert (reply.status, reply.json["type"]) == (402, "urn:rubrica:problem:spending-limit")
        assert "up to 20 calls to models, and one request may take 19" in reply.json["detail"]
        assert model.requests == 0
        assert server.author.post(f"{path}/execute", TEXT).status == 201


def test_rounds_of_a_game_are_counted_together(tmp_path: Path) -> None:
    with judged(tmp_path, SpendingPolicy(max_calls=3)) as (server, model):
        shared_rubric(server)
        game = server.author.post("/api/games", {"name": "Quiz"}).headers["Location"]
        assert server.author.post(f"{game}/evaluations", {"evaluation_id": "short"}).status == 201
        refused = server.author.post(f"{game}/evaluate", {"rounds": [TEXT] * 4})
        assert (refused.status, model.requests) == (402, 0)
        assert server.author.post(f"{game}/evaluate", {"rounds": [TEXT] * 3}).status == 200
        usage = server.author.get("/api/usage").json
        assert usage["user"]["spent"] == pytest.approx(3 * COST)


def test_a_viewer_tries_out_by_code_and_is_told_so(tmp_path: Path) -> None:
    with judged(tmp_path) as (server, model):
        path = shared_rubric(server)
        for body in (TEXT, {"context": TEXT, "definition": RUBRIC}):
            reply = server.viewer.post(f"{path}/test", body)
            assert (reply.status, reply.json["offline"]) == (200, True), reply.text
            assert "no judge was asked: that needs the role player; this key has viewer" in reply.json["notes"]
        assert model.requests == 0
        assert server.player.post(f"{path}/test", TEXT).json["offline"] is False
        assert model.requests == 1


def test_concurrent_requests_cannot_pass_the_limit_of_a_key(tmp_path: Path) -> None:
    with judged(tmp_path) as (server, model):
        path = shared_rubric(server)
        client = limited(server, 0.0125)
        replies = client.together([("POST", f"{path}/execute", TEXT)] * 50)
        done = [reply for reply in replies if reply.status == 201]
        refused = [reply for reply in replies if reply.status != 201]
        assert model.requests == len(done) <= 6
        assert done
        assert {reply.status for reply in refused} == {429}
        assert all(int(reply.headers["Retry-After"]) >= 1 for reply in refused)
        usage = client.get("/api/usage").json
        assert usage["key"]["spent"] == pytest.approx(COST * len(done))
        assert usage["key"]["spent"] <= usage["key"]["limit"] == 0.0125
        assert usage["key"]["reserved"] == 0.0
        assert "server" not in usage


def test_the_limit_of_a_user_holds_for_all_their_keys_and_survives_a_restart(tmp_path: Path) -> None:
    policy = SpendingPolicy(usd_per_day=0.005)
    with judged(tmp_path, policy) as (server, _):
        path = shared_rubric(server)
        one = server.newcomer("author", "ann")
        assert one.post(f"{path}/execute", TEXT).status == 201
    with judged(tmp_path, policy) as (server, model):
        other = server.newcomer("author", "ann")
        refused = other.post(f"{path}/execute", TEXT)
        assert refused.status == 429
        assert "ann may spend $0.005 a day (UTC): $0.0020 is spent" in refused.json["detail"]
        assert model.requests == 0
        assert server.newcomer("author", "bob").post(f"{path}/execute", TEXT).status == 201


def test_all_users_together_have_a_limit_that_admins_see(tmp_path: Path) -> None:
    with judged(tmp_path, SpendingPolicy(usd_per_day_total=0.005)) as (server, _):
        path = shared_rubric(server)
        assert server.author.post(f"{path}/execute", TEXT).status == 201
        assert server.player.post(f"{path}/execute", TEXT).status == 429
        usage = server.admin.get("/api/usage").json
        assert usage["server"]["left"] == pytest.approx(0.005 - COST)


def test_a_new_day_begins_with_a_new_allowance_and_a_jump_of_the_clock_breaks_nothing(tmp_path: Path) -> None:
    now = [datetime(2026, 5, 1, 12, tzinfo=UTC)]
    with judged(tmp_path, SpendingPolicy(usd_per_day=0.005), clock=lambda: now[0]) as (server, _):
        path = shared_rubric(server)
        assert server.author.post(f"{path}/execute", TEXT).status == 201
        for hours in (1, -2, 1):
            now[0] += timedelta(hours=hours)
            assert server.author.post(f"{path}/execute", TEXT).status == 429
        now[0] += timedelta(days=1)
        assert server.author.post(f"{path}/execute", TEXT).status == 201


def test_a_model_without_a_price_is_refused_where_a_limit_holds(tmp_path: Path) -> None:
    with provider(json.dumps({"score": 9, "reason": "so", "confidence": 0.9})) as model:
        jury = Jury([f"{model.openai_url}#m"], Settings(), cached=False)
        with serving(str(tmp_path / "rubrica.db"), jury=jury) as server:
            path = shared_rubric(server)
            refused = limited(server, 5.0).post(f"{path}/execute", TEXT)
            assert (refused.status, model.requests) == (402, 0)
            assert "a price that is not known, so a spending limit cannot be kept" in refused.json["detail"]
            assert server.author.post(f"{path}/execute", TEXT).status == 201


def test_a_long_text_is_priced_by_its_length(tmp_path: Path) -> None:
    with judged(tmp_path, SpendingPolicy(usd_per_day=0.1)) as (server, model):
        path = shared_rubric(server)
        refused = server.author.post(f"{path}/execute", {"response": "word " * 100_000})
        assert (refused.status, model.requests) == (402, 0)
        assert "this can cost $0.2" in refused.json["detail"]


MEMBERS = (HAIKU, "openai:gpt-4o-mini")
ASKED = {"question": "Why is the sky blue?", "tier": "quick"}
QUESTIONS = {"grade": 3, "count": 2, "instructions": "Equal groups of things", "evaluate": True}


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (SpendingPolicy(max_calls=4), "up to 7 calls to models, and one request may take 4"),
        (SpendingPolicy(usd_per_day=0.001), "the author may spend $0.001 a day (UTC) (ask for less at once"),
    ],
)
def test_a_council_is_priced_before_anybody_is_asked(tmp_path: Path, policy: SpendingPolicy, told: str) -> None:
    settings = ServerSettings(preload=False, council=MEMBERS, spending=policy)  # there is no key to ask them with
    with serving(str(tmp_path / "rubrica.db"), settings=settings) as server:
        refused = server.author.post("/v1/council/run", ASKED)
        assert (refused.status, refused.json["type"]) == (402, "urn:rubrica:problem:spending-limit")
        assert told in refused.json["detail"]
        watched = server.author.get("/v1/council/stream?question=Why%3F&tier=quick")
        assert (watched.status, watched.json["type"]) == (402, "urn:rubrica:problem:spending-limit")
        assert server.player.post("/v1/council/run", ASKED).status == 403


def test_questions_for_learners_are_priced_before_they_are_written(tmp_path: Path) -> None:
    with judged(tmp_path, SpendingPolicy(max_calls=2)) as (server, model):
        refused = server.author.post("/v2/generate_questions", QUESTIONS)
        assert (refused.status, model.requests) == (402, 0)
        assert "up to 3 calls to models" in refused.json["detail"]
    with judged(tmp_path, SpendingPolicy(usd_per_day=0.001)) as (server, model):
        refused = server.author.post("/v2/generate_questions", QUESTIONS)
        assert (refused.status, model.requests) == (402, 0)


def test_a_call_that_times_out_is_counted_with_the_most_it_could_cost(tmp_path: Path) -> None:
    def late(_: Any) -> Said:
        asking.set()
        answering.wait(20)
        return Said(json.dumps({"score": 9, "reason": "so", "confidence": 0.9}))

    asking, answering = threading.Event(), threading.Event()
    with provider(late) as model:
        reached = Settings(
            anthropic_key="sk-0123456789", anthropic_base_url=model.anthropic_url, timeout=0.2, attempts=1
        )
        jury = Jury([HAIKU], reached, cached=False)
        with serving(str(tmp_path / "rubrica.db"), jury=jury) as server:
            path = shared_rubric(server)
            reply = server.author.post(f"{path}/execute", TEXT)
            answering.set()
            assert reply.json["verdict"]
            usage = server.author.get("/api/usage").json["user"]
            assert 0.002 < usage["spent"] < 0.006  # the most it could have cost: the provider may charge for it
            assert usage["reserved"] == 0.0
