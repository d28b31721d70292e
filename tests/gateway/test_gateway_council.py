"""The model `council` through the gateway: the official client asks for it by name and gets the chair's answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from gateway_stage import CAPITAL, GOOD, Scripted, Staged, hang_up, provided, stage, until
from loopback import Loopback

from council_samples import QUESTION, Seat, members
from gateway_samples import record as spent
from rubrica.errors import RubricaError
from rubrica.gateway.chat import read_chat
from rubrica.gateway.settings import GatewaySettings, settings_from_text
from rubrica.gateway.starter import starter
from rubrica.server.gateway.council import council_request_of
from rubrica.server.service import utc_now
from rubrica.store.gateway import add_requests

ASKED: Any = {"model": "council", "messages": [{"role": "user", "content": QUESTION}]}


@contextmanager
def three(
    folder: Path, council: dict[str, Any] | None = None, settings: dict[str, Any] | None = None, **changes: Seat
) -> Iterator[tuple[Staged, dict[str, Seat]]]:
    """A gateway with a council of ann, who is best, bo, and cy."""
    seats: dict[str, str | Seat] = {"ann": "quality 9", "bo": "quality 6", "cy": "quality 3", **changes}
    with members(**seats) as seated:
        chosen = {"models": [seat.model for seat in seated.values()], **(council or {})}
        with provided(folder, Loopback(GOOD), council=chosen, **(settings or {})) as on:
            yield on, seated


def test_the_official_client_gets_the_chairs_answer(tmp_path: Path) -> None:
    with three(tmp_path) as (on, seats), on.client() as client:
        raw = client.chat.completions.with_raw_response.create(**ASKED, seed=7)
        answer = raw.parse()
        assert answer.choices[0].message.content == "ann sums up."
        assert (answer.model, answer.choices[0].finish_reason) == ("council", "stop")
        calls = sum(len(seat.asked) for seat in seats.values())
        assert calls == 7  # three answers, three reviews, the last word
        assert answer.usage is not None
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (10 * calls, 5 * calls)
        assert (raw.headers["x-sleipner-tier"], raw.headers["x-sleipner-model"]) == ("council", "council")
        assert raw.headers["x-sleipner-cost"] == "unknown"  # models of one's own have no price
        record = on.record(raw.headers["x-sleipner-trace"])
    assert (record.tier, record.model, record.status, record.answer_tokens) == ("council", "council", 200, 5 * calls)
    assert record.degraded == ""


def test_the_official_client_streams_the_chairs_answer(tmp_path: Path) -> None:
    with three(tmp_path, settings={"keep_alive": 0.05}, cy=Seat(latency=0.3)) as (on, _), on.client() as client:
        stream = client.chat.completions.create(**ASKED, stream=True, stream_options={"include_usage": True})
        chunks = list(stream)
        whole = on.ask({**ASKED, "stream": True})
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == "ann sums up."
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 35
    assert {chunk.model for chunk in chunks} == {"council"}
    assert whole.body.count(b": keep-alive\n\n") >= 2
    assert whole.events


def test_the_debug_block_has_the_ranking_and_who_failed(tmp_path: Path) -> None:
    with three(tmp_path, cy=Seat(faults=["error"] * 9)) as (on, _):
        reply = on.ask(ASKED, x_sleipner_debug="full")
        streamed = on.ask({**ASKED, "stream": True}, x_sleipner_debug="flow")
    for block in (reply.debug, streamed.events[-1]["sleipner"]["debug"]):
        found = block["council"]
        assert [(one["model"], one["rank"], one["score"]) for one in found["ranking"]] == [("ann", 1, 9), ("bo", 2, 6)]
        assert found["failed"] == [{"model": "cy", "stage": "answers", "reason": "overloaded or failing"}]
        assert (found["chair"], found["fallback"]) == ("ann", None)
        assert [step["name"] for step in block["flow_steps"]] == ["Council"]
        assert block["performance_metrics"]["tier_used"] == "council"
    assert "127.0.0.1" not in reply.body.decode()


def test_a_chair_that_fails_is_told_as_degraded(tmp_path: Path) -> None:
    with three(tmp_path, ann=Seat("quality 9", faults=[None, None, "error"])) as (on, _):
        reply = on.ask(ASKED)
        assert reply.text == "quality 9"
        assert "the chair gave no answer" in reply.headers["x-sleipner-degraded"]
        assert on.record(reply).tier == "council"


def test_what_was_said_before_reaches_every_member(tmp_path: Path) -> None:
    messages = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": "Which tower is in Pisa?"},
        {"role": "assistant", "content": "The leaning one."},
        {"role": "user", "content": [{"type": "text", "text": QUESTION}]},
    ]
    with three(tmp_path) as (on, seats):
        assert on.ask({"model": "council", "messages": messages}).status == 200
        for seat in seats.values():
            said = [(one["role"], one["content"]) for one in seat.server.seen[0].body["messages"]]
            assert said[1:] == [
                ("system", "Be brief."),
                ("user", "Which tower is in Pisa?"),
                ("assistant", "The leaning one."),
                ("user", QUESTION),
            ]


def test_the_council_is_listed_among_the_models(tmp_path: Path) -> None:
    with three(tmp_path) as (on, _), on.client() as client:
        assert "council" in [model.id for model in client.models.list()]
        assert client.models.retrieve("council").owned_by == "rubrica"
        assert client.chat.completions.create(model="gpt-4", messages=[{"role": "user", "content": CAPITAL}])
    with stage(tmp_path, Scripted()) as on, on.client() as client:
        assert "council" not in [model.id for model in client.models.list()]


def test_without_a_council_nobody_else_answers_in_its_name(tmp_path: Path) -> None:
    model = Scripted()
    with (
        stage(tmp_path, model) as on,
        on.client() as client,
        pytest.raises(openai.NotFoundError, match="name its models under `council`"),
    ):
        client.chat.completions.create(**ASKED)
    assert not model.asked


def test_without_a_quorum_who_failed_is_told_and_clients_do_not_ask_again(tmp_path: Path) -> None:
    down: dict[str, Any] = {"bo": Seat(faults=["refused"] * 9), "cy": Seat(faults=["error"] * 9)}
    with three(tmp_path, **down) as (on, _):
        reply = on.ask(ASKED)
        assert reply.status == 200  # what arrived is sent, and marked
        assert "no quorum" in reply.headers["x-sleipner-degraded"]
    down["ann"] = Seat(faults=["refused"] * 9)
    with three(tmp_path, **down) as (on, seats), on.client(max_retries=3) as client:
        with pytest.raises(openai.InternalServerError) as raised:
            client.chat.completions.create(**ASKED)
        assert raised.value.status_code == 503
        assert "bo: refused the request" in raised.value.message
        assert "127.0.0.1" not in raised.value.message
        assert seats["ann"].asked == ["answer"]
        assert on.record(raised.value.response.headers["x-sleipner-trace"]).total_usd is None  # nobody knows


def test_a_budget_that_is_spent_holds_for_the_council_too(tmp_path: Path) -> None:
    with three(tmp_path, settings={"budget": {"usd_per_day": 0.5, "unpriced": "allow"}}) as (on, seats):
        on.run(on.gateway.database.write(add_requests, [spent(utc_now(), total_usd=1.0)]))
        reply = on.ask(ASKED)
        assert (reply.status, reply.json["error"]["code"]) == (429, "insufficient_quota")
        assert not seats["ann"].asked


def test_prices_that_are_known_are_counted(tmp_path: Path) -> None:
    with members(ann="quality 9") as seats:
        known = {"openai_base_url": seats["ann"].server.openai_url, "openai_key": "any"}
        council = {"models": ["openai:gpt-4o-mini", "openai:gpt-4o"], "tier": "quick"}
        with provided(tmp_path, Loopback(GOOD), council=council, models=known) as on:
            reply = on.ask(ASKED)
            record = on.record(reply)
    assert reply.status == 200
    assert float(reply.headers["x-sleipner-cost"]) == pytest.approx(record.total_usd)
    assert record.total_usd
    assert record.tier1_usd == record.total_usd
    assert reply.headers["x-sleipner-savings"] == "unknown"


def test_a_client_that_goes_ends_the_session(tmp_path: Path) -> None:
    slow: dict[str, Any] = {name: Seat(latency=60.0) for name in ("ann", "bo", "cy")}
    with three(tmp_path, **slow) as (on, seats):

        async def gone() -> None:
            asking = on.send("POST", "/v1/chat/completions", ASKED, {})
            await hang_up(asking, lambda: sum(seat.server.requests for seat in seats.values()) == 3)
            await until(lambda: sum(seat.server.left for seat in seats.values()) == 3)

        on.run(gone())


def test_a_chair_from_outside_answers_nothing_but_the_last_word(tmp_path: Path) -> None:
    with members(ann="quality 9", bo="quality 6", dee="quality 1") as seats:
        chosen = {"models": [seats["ann"].model, seats["bo"].model], "chair": seats["dee"].model}
        with provided(tmp_path, Loopback(GOOD), council=chosen) as on:
            assert on.ask(ASKED).text == "dee sums up."
        assert seats["dee"].asked == ["final"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tools": [{"type": "function", "function": {"name": "look"}}]}, "`tools`"),
        ({"response_format": {"type": "json_object"}}, "`response_format`"),
        ({"logprobs": True}, "`logprobs`"),
        ({"n": 2}, "2 answers"),
        ({"messages": [{"role": "assistant", "content": "Hello."}]}, "no question"),
        ({"messages": [{"role": "user", "content": "A?"}, {"role": "assistant", "content": "B."}]}, "last message"),
        ({"messages": [{"role": "tool", "content": "5"}, {"role": "user", "content": "A?"}]}, "messages[0]"),
        (
            {"messages": [{"role": "user", "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
            ]}]},
            "image",
        ),
    ],
)  # fmt: skip
def test_what_a_council_cannot_promise_is_refused(change: dict[str, Any], told: str) -> None:
    with pytest.raises(RubricaError) as raised:
        council_request_of(read_chat(json.dumps({**ASKED, **change}).encode()))
    assert told in str(raised.value)


def test_a_request_that_is_refused_cost_nothing(tmp_path: Path) -> None:
    with three(tmp_path) as (on, seats):
        reply = on.ask({**ASKED, "tools": [{"type": "function", "function": {"name": "look"}}]})
        record = on.record(reply)
        assert not seats["ann"].asked
    assert reply.status == 400
    assert (record.status, record.total_usd) == (400, 0.0)


def test_settings_name_the_council(tmp_path: Path) -> None:
    found = settings_from_text("council:\n  models: [a, b]\n  tier: quick\n").council
    assert (found.models, found.tier) == (("a", "b"), "quick")
    assert settings_from_text(starter()) == GatewaySettings()


def test_a_council_file_says_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "council.yaml"
    file.write_text("pool: borda\nexclude_self: false\n")
    with three(tmp_path, {"config": str(file)}) as (on, seats):
        assert on.ask(ASKED, x_sleipner_debug="full").debug["council"]["ranking"][0]["reviews"] == 3
        assert seats["ann"].asked.count("review") == 1


def test_a_council_of_one_is_told_before_anything_is_served(tmp_path: Path) -> None:
    with (
        pytest.raises(RubricaError, match="at least two"),
        provided(tmp_path, Loopback(GOOD), council={"models": ["local:"]}),
    ):
        pass
