"""Streams: graded before the first byte or passed through live, with signs of life, faults and clients that leave."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import openai
import pytest
from gateway_stage import (
    CAPITAL,
    GOOD,
    POOR,
    Scripted,
    Staged,
    body_of,
    completion,
    hang_up,
    provided,
    stage,
    until,
)
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, Said

from rubrica.gateway.upstream import Completion
from rubrica.llm.model import ModelError, Usage
from rubrica.server.gateway.events import chunks, pieces

MINI, BIG = "openai:gpt-4o-mini", "openai:gpt-4o"
BETTER = "Paris has been the capital of France for most of its history."
DOWN = ModelError("unreachable", "10.0.0.7: no connection")
CHAT = "/v1/chat/completions"
MESSAGES: Any = [{"role": "user", "content": CAPITAL}]


def streamed(**more: Any) -> dict[str, Any]:
    return {**body_of(CAPITAL), "stream": True, **more}


def said(events: list[Any]) -> str:
    return "".join(choice["delta"].get("content") or "" for event in events for choice in event["choices"])


# --- the official client ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "tier", "text"), [(GOOD, "tier-0", GOOD), (POOR, "tier-1", BETTER)])
def test_the_official_client_reads_both_kinds_of_streams(tmp_path: Path, first: str, tier: str, text: str) -> None:
    with provided(tmp_path, Loopback(first), Loopback(BETTER)) as on, on.client() as client:
        reply = client.chat.completions.with_raw_response.create(
            model="gpt-4", messages=MESSAGES, stream=True, stream_options={"include_usage": True}
        )
        assert reply.headers["x-sleipner-tier"] == tier
        assert reply.headers["content-type"].startswith("text/event-stream")
        events = list(reply.parse())
        assert "".join(choice.delta.content or "" for event in events for choice in event.choices) == text
        assert events[0].choices[0].delta.role == "assistant"
        assert [event.choices[0].finish_reason for event in events if event.choices][-1] == "stop"
        assert events[-1].usage is not None
        assert events[-1].usage.completion_tokens == 5
        assert {event.object for event in events} == {"chat.completion.chunk"}
        assert len({event.id for event in events}) == 1


def test_the_async_client_takes_many_streams_at_once(tmp_path: Path) -> None:
    async def one(client: openai.AsyncOpenAI) -> str:
        stream = await client.chat.completions.create(model="gpt-4", messages=MESSAGES, stream=True)
        return "".join([event.choices[0].delta.content or "" async for event in stream])

    async def all_of_them(url: str) -> list[str]:
        async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="any", max_retries=0) as client:
            return await asyncio.gather(*(one(client) for _ in range(20)))

    with provided(tmp_path, Loopback(POOR), Loopback(BETTER, pace=0.01)) as on:
        assert set(asyncio.run(all_of_them(on.url))) == {BETTER}


def test_debug_comes_as_a_last_chunk_without_choices(tmp_path: Path) -> None:
    for first, tier in ((GOOD, "tier-0"), (POOR, "tier-1")):
        with provided(tmp_path, Loopback(first), Loopback(BETTER)) as on, on.client() as client:
            stream = client.chat.completions.create(
                model="gpt-4",
                messages=MESSAGES,
                stream=True,
                stream_options={"include_usage": True},
                extra_headers={"x-sleipner-debug": "full"},
            )
            *events, last = list(stream)
            assert last.choices == []
            block = (last.model_extra or {})["sleipner"]["debug"]
            assert block["performance_metrics"]["tier_used"] == tier
            assert block["performance_metrics"]["cost"] > 0  # by now it is known
            assert events[-1].usage is not None
            assert all("sleipner" not in (event.model_extra or {}) for event in events)


# --- what is sent -----------------------------------------------------------------------------------------


def test_an_answer_that_passed_is_sent_role_first_then_in_pieces(tmp_path: Path) -> None:
    text = f"{GOOD} It lies on the Seine, and has been the capital for most of the time since the Middle Ages."
    with stage(tmp_path, Scripted(MINI, text)) as on:
        reply = on.ask(streamed())
        first, *rest = reply.events
        assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
        assert said(reply.events) == text
        assert len(rest) > 2
        assert rest[-1]["choices"][0] == {"index": 0, "delta": {}, "logprobs": None, "finish_reason": "stop"}
        assert {event["system_fingerprint"] for event in reply.events} == {"fp_1"}
        assert all("usage" not in event for event in reply.events)
        assert float(reply.headers["x-sleipner-cost"]) > 0


def test_token_counts_come_last_where_they_are_wanted(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI)) as on:
        *events, last = on.ask(streamed(stream_options={"include_usage": True})).events
        assert last["choices"] == []
        assert last["usage"] == {"prompt_tokens": 20, "completion_tokens": 8, "total_tokens": 28}
        assert all(event["usage"] is None for event in events)


def test_a_live_stream_is_passed_on_byte_by_byte(tmp_path: Path) -> None:
    asked = streamed(stream_options={"include_usage": True})

    async def direct(on: Staged, server: Loopback) -> bytes:
        headers = {"Authorization": f"Bearer {server.key}", "Content-Type": "application/json"}
        body = json.dumps({**asked, "model": "gpt-4o-mini"}).encode()
        async with on.session.post(f"{server.openai_url}/chat/completions", data=body, headers=headers) as reply:
            return await reply.read()

    server = Loopback(BETTER)
    with provided(tmp_path, server) as on:
        reply = on.ask(asked, x_sleipner_grading="off")
        assert reply.body == on.run(direct(on, server))
        assert (reply.headers["x-sleipner-cost"], reply.headers["x-sleipner-tier"]) == ("unknown", "tier-0")
        assert on.record(reply).total_usd == pytest.approx(10 * 0.15e-6 + 5 * 0.6e-6)


def test_a_live_stream_arrives_while_it_is_written(tmp_path: Path) -> None:
    with provided(tmp_path, Loopback(POOR), Loopback(BETTER, pace=0.1)) as on:

        async def times() -> list[float]:
            async with on.session.post(on.url + CHAT, json=streamed()) as reply:
                return [time.perf_counter() async for _ in reply.content.iter_any()]

        found = on.run(times())
        assert found[-1] - found[0] > 0.3


def test_calls_of_tools_are_streamed_too(tmp_path: Path) -> None:
    called = Loopback(Said("", calls=[("look_up", {"city": "Paris"})]))
    tools: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    with provided(tmp_path, called, grading={"ungraded": "tier-0"}) as on, on.client() as client:
        with client.chat.completions.stream(model="gpt-4", messages=MESSAGES, tools=tools) as stream:
            final = stream.get_final_completion()
        (call,) = final.choices[0].message.tool_calls or []
        assert (call.function.name, json.loads(call.function.arguments)) == ("look_up", {"city": "Paris"})
        assert final.choices[0].finish_reason == "tool_calls"


def test_an_equal_request_is_streamed_from_the_cache(tmp_path: Path) -> None:
    first, second = Scripted(MINI, POOR), Scripted(BIG, BETTER)
    with stage(tmp_path, first, second) as on:
        live, again = on.ask(streamed(temperature=0)), on.ask(streamed(temperature=0))
        whole = on.ask({**body_of(CAPITAL), "temperature": 0})
        assert "x-sleipner-cache" not in live.headers
        assert (again.headers["x-sleipner-cache"], again.headers["x-sleipner-tier"]) == ("exact", "tier-1")
        assert said(again.events) == said(live.events).strip() == whole.text
        assert whole.headers["x-sleipner-cache"] == "exact"
    assert len(second.asked) == 1


@given(st.text(max_size=300))
def test_pieces_are_the_whole_text(text: str) -> None:
    found = pieces(text)
    assert "".join(found) == text
    assert all(0 < len(piece) <= 49 for piece in found)


def test_log_probabilities_stay_with_their_text() -> None:
    document = json.loads(completion("one two " * 20))
    document["choices"][0]["logprobs"] = {"content": [{"token": "one"}], "refusal": None}
    answer = Completion(json.dumps(document).encode(), "", "m", Usage())
    events = [json.loads(event.removeprefix(b"data: ")) for event in chunks(answer, usage=False)]
    (told,) = [event["choices"][0] for event in events if event["choices"][0]["logprobs"]]
    assert told["delta"]["content"] == "one two " * 20


def test_all_parts_of_a_message_are_streamed() -> None:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None,
        "refusal": "No.",
        "annotations": [],
        "reasoning": "Hm.",
    }
    events = list(chunks(Completion(completion(message), "", "m", Usage()), usage=False))
    first = json.loads(events[0].removeprefix(b"data: "))["choices"][0]["delta"]
    assert first == {**message, "content": None}


# --- waiting ----------------------------------------------------------------------------------------------


def test_signs_of_life_are_sent_while_an_answer_is_graded(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, delay=0.5), keep_alive=0.1) as on:
        reply = on.ask(streamed())
        assert reply.status == 200
        assert reply.body.startswith(b": keep-alive\n\n: keep-alive\n\n")
        assert reply.body.count(b": keep-alive") >= 3
        assert said(reply.events) == GOOD
        assert "x-sleipner-tier" not in reply.headers  # it was not known yet
        assert on.record(reply).tier == "tier-0"


def test_clients_do_not_notice_signs_of_life(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, delay=0.4), keep_alive=0.1) as on, on.client() as client:
        stream = client.chat.completions.create(model="gpt-4", messages=MESSAGES, stream=True)
        assert "".join(event.choices[0].delta.content or "" for event in stream) == GOOD


def test_an_answer_in_time_needs_no_sign_of_life(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, delay=0.1), keep_alive=5) as on:
        assert b"keep-alive" not in on.ask(streamed()).body


# --- when things break ------------------------------------------------------------------------------------


def test_all_down_before_the_stream_begins_is_a_plain_error(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, DOWN), Scripted(BIG, DOWN)) as on:
        reply = on.ask(streamed())
        assert reply.status == 503
        assert reply.json["error"]["code"] == "service_unavailable"
        assert reply.headers["content-type"] == "application/json"


def test_all_down_after_signs_of_life_is_an_error_event(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, DOWN, delay=0.3), keep_alive=0.1) as on, on.client() as client:
        reply = on.ask(streamed())
        assert reply.status == 200
        *_, last = [block for block in reply.body.decode().split("\n\n") if block]
        assert json.loads(last.removeprefix("data: "))["error"]["code"] == "service_unavailable"
        assert on.record(reply).status == 503
        with pytest.raises(openai.APIError, match="no model could answer"):
            list(client.chat.completions.create(model="gpt-4", messages=MESSAGES, stream=True))


@pytest.mark.parametrize("fault", ["cut", "unfinished", "garbled_event", "error_event"])
def test_a_stream_that_breaks_off_ends_with_an_error_event(tmp_path: Path, fault: Any) -> None:
    with (
        provided(tmp_path, Loopback(POOR), Loopback(BETTER, faults=[fault] * 9, pace=0.01)) as on,
        on.client() as client,
    ):
        stream = client.chat.completions.create(model="gpt-4", messages=MESSAGES, stream=True)
        assert next(stream).choices[0].delta.role == "assistant"
        with pytest.raises(openai.APIError, match="broke off"):
            list(stream)
        reply = on.ask(streamed())
        assert b"[DONE]" not in reply.body
        assert on.record(reply).status == 502


def test_a_live_stream_that_cannot_begin_is_replaced_by_the_best_answer_seen(tmp_path: Path) -> None:
    with provided(tmp_path, Loopback(POOR), Loopback(BETTER, faults=["error_first"] * 9)) as on:
        reply = on.ask(streamed())
        assert said(reply.events) == POOR
        assert "tier-1 failed" in reply.headers["x-sleipner-degraded"]


def test_events_in_lumps_and_comments_reach_the_client_whole(tmp_path: Path) -> None:
    for fault in ("crlf", "lumps", "keep_alives", "no_last_event"):
        with provided(tmp_path, Loopback(BETTER, faults=[fault] * 9)) as on, on.client() as client:
            stream = client.chat.completions.create(
                model="gpt-4", messages=MESSAGES, stream=True, extra_headers={"x-sleipner-grading": "off"}
            )
            assert "".join(event.choices[0].delta.content or "" for event in stream if event.choices) == BETTER


# --- clients that leave -----------------------------------------------------------------------------------


def test_a_client_that_leaves_a_live_stream_ends_it_at_the_provider(tmp_path: Path) -> None:
    live = Loopback(BETTER, pace=0.2)
    with provided(tmp_path, Loopback(POOR), live) as on:

        async def leave() -> str:
            async with on.session.post(on.url + CHAT, json=streamed()) as reply:
                await reply.content.readany()
                trace = str(reply.headers["x-sleipner-trace"])
                reply.close()
            await until(lambda: live.left)
            return trace

        trace = on.run(leave())
        on.run(until(lambda: on.gateway.metrics.in_flight == 0))
        assert on.record(trace).status == 499


def test_a_client_that_leaves_before_the_stream_begins_cancels_everything(tmp_path: Path) -> None:
    for keep_alive in (0.05, 30):
        first = Scripted(MINI, delay=60)
        with stage(tmp_path, first, keep_alive=keep_alive) as on:

            async def leave(on: Staged = on, first: Scripted = first) -> None:
                await hang_up(on.send("POST", CHAT, streamed(), {}), lambda: first.asked)
                await until(lambda: first.cancelled)

            on.run(leave())
            on.run(until(lambda: on.gateway.metrics.in_flight == 0))


def test_a_client_that_leaves_while_its_answer_is_graded_cancels_the_judges(tmp_path: Path) -> None:
    judge = Loopback(faults=["hang"] * 20)
    with provided(tmp_path, Loopback(GOOD), None, judge, grading={"mode": "each"}) as on:

        async def leave() -> None:
            await hang_up(on.send("POST", CHAT, streamed(), {}), lambda: judge.requests == 5)
            await until(lambda: judge.left == 5)

        on.run(leave())


def test_a_client_that_reads_slowly_holds_the_provider_back_and_loses_nothing(tmp_path: Path) -> None:
    words = "word " * 60_000
    with provided(tmp_path, Loopback(words)) as on:

        async def slowly() -> bytes:
            whole = b""
            async with on.session.post(on.url + CHAT, json=streamed(), headers={"x-sleipner-grading": "off"}) as reply:
                await asyncio.sleep(0.5)
                async for piece in reply.content.iter_any():
                    whole += piece
            return whole

        whole = on.run(slowly())
        assert whole.count(b'"content": "word ') == 60_000
        assert whole.endswith(b"data: [DONE]\n\n")
