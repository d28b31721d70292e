"""How upstreams begin, wait, try again and end: limits, breakers, cancellation, connections."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import provided
from loopback import Fault, Loopback
from upstream_samples import ASK, COUNTED, STREAM, chunks, events, said, settings, trouble, upstream

from rubrica.errors import RubricaError
from rubrica.gateway.parts import GatewayModels
from rubrica.gateway.upstreams.connect import connect_upstream
from rubrica.gateway.upstreams.retrying import RetryingUpstream
from rubrica.llm.budget import Budgeted
from rubrica.llm.connect import connect
from rubrica.llm.http import HttpSession
from rubrica.llm.model import ChatMessage, Request, Usage
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.retry import RetryingModel
from rubrica.llm.settings import Settings

BOTH = pytest.mark.parametrize("spec", ["openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"])
WORDS = " ".join(f"word{number}" for number in range(200))


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 120))


async def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        await asyncio.sleep(0.005)


# --- ending early ---------------------------------------------------------------------------------------------------


@BOTH
def test_cancelling_a_request_ends_the_providers_work(spec: str) -> None:
    async def work() -> None:
        async with Loopback(faults=["hang"]) as server, upstream(server, spec) as model:
            task = asyncio.create_task(model.complete(ASK))
            await until(lambda: server.requests == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: server.left == 1 and server.connections == 0)
            assert model.limit.in_flight == 0  # type: ignore[attr-defined]
            assert (await model.complete(ASK)).text == "ok"

    run(work)


@BOTH
def test_cancelling_the_wait_for_a_streams_first_event_ends_the_providers_work(spec: str) -> None:
    async def work() -> None:
        async with Loopback(faults=["hang"]) as server, upstream(server, spec) as model:
            task = asyncio.create_task(model.open_stream(STREAM))
            await until(lambda: server.requests == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: server.left == 1 and server.connections == 0)
            assert model.limit.in_flight == 0  # type: ignore[attr-defined]

    run(work)


@BOTH
def test_closing_a_stream_ends_the_providers_work_and_gives_its_place_back(spec: str) -> None:
    async def work() -> None:
        async with Loopback(WORDS, pace=0.01) as server, upstream(server, spec) as model:
            stream = await model.open_stream(STREAM)
            assert model.limit.in_flight == 1  # type: ignore[attr-defined]
            reading = aiter(stream)
            got = [await anext(reading) for _ in range(5)]
            await stream.aclose()
            await until(lambda: server.left == 1 and server.connections == 0)
            assert model.limit.in_flight == 0  # type: ignore[attr-defined]
            assert b"word0" in b"".join(got)
            assert stream.text.startswith("word0 ")
            await stream.aclose()  # twice is fine
            assert model.limit.in_flight == 0  # type: ignore[attr-defined]

    run(work)


@BOTH
def test_a_reader_that_is_cancelled_ends_the_stream(spec: str) -> None:
    async def work() -> None:
        async with Loopback(WORDS, faults=["stalled"]) as server, upstream(server, spec) as model:
            stream = await model.open_stream(STREAM)
            task = asyncio.create_task(events(stream))
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await until(lambda: server.left == 1 and server.connections == 0)
            assert model.limit.in_flight == 0  # type: ignore[attr-defined]

    run(work)


def test_a_stream_closed_by_somebody_else_just_ends_for_its_reader() -> None:
    async def work() -> None:
        async with Loopback(WORDS, faults=["stalled"]) as server, upstream(server) as model:
            stream = await model.open_stream(STREAM)
            task = asyncio.create_task(events(stream))
            await asyncio.sleep(0.05)
            await stream.aclose()
            assert len(await task) > 10

    run(work)


# --- limits, breakers, retries --------------------------------------------------------------------------------------


def test_a_stream_keeps_its_place_until_it_has_ended() -> None:
    async def work() -> None:
        gates = ProviderLimits()
        async with Loopback("It is four.") as server, upstream(server, gates=gates, concurrency=1) as model:
            stream = await model.open_stream(STREAM)
            waiting = asyncio.create_task(model.complete(ASK))
            await asyncio.sleep(0.05)
            assert server.requests == 1
            await events(stream)
            assert (await waiting).text == "It is four."

    run(work)


def test_judges_and_upstreams_of_one_model_share_its_limit_and_breaker() -> None:
    async def work() -> None:
        gates = ProviderLimits()
        async with Loopback(faults=["error"] * 10) as server, HttpSession() as session:
            options = settings(server)
            judge = connect("openai:gpt-4o-mini", options, session=session, gates=gates)
            model = connect_upstream("openai:gpt-4o-mini", options, session=session, gates=gates)
            better = connect_upstream("openai:gpt-4o", options, session=session, gates=gates)
            request = Request((ChatMessage("user", "hi"),))
            for _ in range(5):
                assert (await trouble(judge(request))).trouble == "overloaded"
                assert (await trouble(model.complete(ASK))).trouble == "overloaded"
            assert (await trouble(model.complete(ASK))).trouble == "tripped"
            assert (await trouble(model.open_stream(STREAM))).trouble == "tripped"
            assert (await trouble(judge(request))).trouble == "tripped"
            assert server.requests == 10
            assert (await better.complete(ASK)).text  # another model of the same provider and key still answers

    run(work)


@BOTH
def test_a_request_that_failed_for_a_while_is_sent_again_as_it_was(spec: str) -> None:
    async def work() -> None:
        faults = ["rate_limited_ms", "overloaded"]
        async with (
            Loopback("four", faults=faults, retry_after=0.02) as server,  # type: ignore[arg-type]
            upstream(server, spec, attempts=3) as model,
        ):
            assert (await model.complete(ASK)).text == "four"
            assert server.requests == 3
            assert server.seen[0].body == server.seen[1].body == server.seen[2].body

    run(work)


def test_the_deadline_of_a_call_ends_at_a_streams_first_event() -> None:
    async def work() -> None:
        async with (
            Loopback("one two three four five six", pace=0.1) as server,
            upstream(server, deadline=0.3) as model,
        ):
            stream = await model.open_stream(STREAM)
            assert said(chunks(await events(stream))) == "one two three four five six"

    run(work)


# --- many, and fast -------------------------------------------------------------------------------------------------


@BOTH
def test_a_connection_is_used_again_after_a_stream(spec: str) -> None:
    async def work() -> None:
        async with Loopback("It is four.") as server, upstream(server, spec) as model:
            for _ in range(5):
                await events(await model.open_stream(STREAM))
                assert server.connections == 1

    run(work)


def test_five_hundred_streams_are_held_at_once() -> None:
    async def work() -> None:
        async with Loopback("one two three", pace=0.1) as server, upstream(server, concurrency=1000) as model:
            opened = await asyncio.gather(*(model.open_stream(STREAM) for _ in range(500)))
            assert model.limit.in_flight == 500  # type: ignore[attr-defined]
            read = await asyncio.gather(*(events(stream) for stream in opened))
            assert {said(chunks(one)) for one in read} == {"one two three"}
            assert model.limit.in_flight == 0  # type: ignore[attr-defined]

    run(work)


# --- names ----------------------------------------------------------------------------------------------------------


def test_every_form_of_a_name_is_understood(tmp_path: Path) -> None:
    async def work() -> None:
        async with Loopback("four", key=None) as server, HttpSession() as session:
            script = tmp_path / "script.jsonl"
            script.write_text(
                '{"match": "2 + 2", "reply": "four", "usage": {"input_tokens": 9, "output_tokens": 2}}\n'
                '{"match": "boom", "reply": "no idea", "stop": "length"}\n'
                '{"error": "overloaded", "match": "boom"}\n'
            )
            names = [
                "openai:gpt-4o-mini",
                "anthropic:claude-haiku-4-5",
                f"{server.openai_url}#tiny",
                f"scripted:{script}",
            ]
            for name in names:
                model = connect_upstream(name, settings(server), session=session, gates=ProviderLimits())
                assert model.name == name
                answer = await model.complete(ASK)
                assert answer.text == "four"
                assert json.loads(answer.raw)["choices"][0]["message"]["content"] == "four"
                stream = await model.open_stream(COUNTED)
                found = chunks(await events(stream))
                assert said(found) == stream.text == "four"
                assert found[-1]["usage"]["prompt_tokens"] == stream.usage.input_tokens > 0
                await model.close()
            assert server.seen[-1].body["model"] == "tiny"
            assert answer.usage == Usage(9, 2)
            boom = {**ASK, "messages": [{"role": "user", "content": "boom"}]}
            assert (await model.complete(boom)).finish == "length"
            assert (await trouble(model.open_stream({**boom, "stream": True}))).trouble == "overloaded"

    run(work)


@pytest.mark.parametrize("name", ["gpt-4", "openai:", "local", "http://127.0.0.1:9/v1", "openai:gpt-4o"])
def test_names_that_say_too_little_are_refused_at_once(name: str) -> None:
    with pytest.raises(RubricaError):
        connect_upstream(name, Settings(), session=HttpSession(), gates=ProviderLimits())


@pytest.mark.parametrize("fault", ["rate_limited", "hang"])
def test_tier_0_is_waited_for_as_long_as_the_settings_say_and_no_longer(fault: Fault, tmp_path: Path) -> None:
    first = Loopback("Paris.", faults=[fault], retry_after=30.0)
    with provided(tmp_path, first, Loopback("It is Paris."), patience={"tier0": 0.5}, models={"attempts": 4}) as on:
        started = time.perf_counter()
        reply = on.ask()
        assert (reply.text, reply.headers["x-sleipner-tier"]) == ("It is Paris.", "tier-1")
        assert time.perf_counter() - started < 10
        assert first.requests == 1


def test_models_of_the_classifier_have_limits_of_their_own() -> None:
    models = GatewayModels(Settings.model_validate({"openai_key": "sk-0123456789abcdef"}))
    tier, classifier = models.upstream("openai:gpt-4o-mini"), models.classifier("openai:gpt-4o-mini")
    assert isinstance(tier, RetryingUpstream)
    assert isinstance(classifier, Budgeted)
    assert isinstance(classifier.model, RetryingModel)
    assert classifier.model.breaker is not tier.breaker
    asyncio.run(models.close())
