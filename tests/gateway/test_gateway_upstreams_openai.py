"""Models behind OpenAI's protocol: passed through both ways, whole and as a stream."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest
from loopback import Fault, Loopback, Said, Seen
from upstream_samples import ASK, COUNTED, STREAM, chunks, events, said, trouble, upstream

from rubrica.gateway.upstreams.openai import PassThroughStream
from rubrica.llm.model import Usage
from rubrica.llm.provider import ProviderLimits


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 20))


EVERYTHING: dict[str, Any] = {
    "model": "gpt-4",
    "messages": [
        {"role": "developer", "content": "Be brief.", "name": "boss"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Größe? \u2028 \U0001f600"},
                {"type": "image_url", "image_url": {"url": "https://example.test/a.png", "detail": "low"}},
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "4"},
    ],
    "tools": [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}, "strict": True}}],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "response_format": {"type": "json_object"},
    "temperature": 0.30000000000000004,
    "seed": 12345678901234567890123,
    "n": 2,
    "stop": ["\n", "END"],
    "user": "u-1",
    "frobnicate": {"deep": [None, True, 1.0, 1e-7]},
    "stream": False,
}


# --- whole answers --------------------------------------------------------------------------------------------------


def test_only_the_model_of_a_request_is_replaced() -> None:
    async def work() -> None:
        async with Loopback("four", knows=["frobnicate"]) as server, upstream(server) as model:
            await model.complete(EVERYTHING)
            assert server.seen[0].body == {**EVERYTHING, "model": "gpt-4o-mini"}
            assert list(server.seen[0].body) == list(EVERYTHING)

    run(work)


def test_an_answer_comes_back_byte_by_byte_and_is_read() -> None:
    async def work() -> None:
        spoken = Said("It is “4”.", input_tokens=30, cached_tokens=12, output_tokens=9)
        async with Loopback(spoken) as server, upstream(server) as model:
            answer = await model.complete(ASK)
            body = json.loads(answer.raw)
            assert json.dumps(body).encode() == answer.raw  # as the provider wrote it, spaces and all
            assert answer.text == "It is “4”." == body["choices"][0]["message"]["content"]
            assert answer.model == "loopback-2026-11-15"
            assert answer.usage == Usage(input_tokens=42, output_tokens=9, cached_input_tokens=12)
            assert (answer.finish, answer.calls_tools) == ("stop", False)
            assert answer.duration_ms > 0

    run(work)


def test_calls_of_tools_are_noticed() -> None:
    async def work() -> None:
        async with Loopback(Said("", calls=[("add", {"a": 2})])) as server, upstream(server) as model:
            answer = await model.complete(ASK)
            assert (answer.text, answer.finish, answer.calls_tools) == ("", "tool_calls", True)

    run(work)


def test_a_request_for_a_stream_can_be_answered_whole() -> None:
    async def work() -> None:
        async with Loopback("four") as server, upstream(server) as model:
            assert (await model.complete(COUNTED)).text == "four"
            assert server.seen[0].body.keys() == {"model", "messages"}

    run(work)


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("refused", ("rejected", 400)),
        ("rate_limited", ("rate_limited", 429)),
        ("error", ("overloaded", 500)),
        ("unavailable", ("overloaded", 503)),
        ("drop", ("unreachable", None)),
        ("truncated", ("garbled", None)),
        ("garbled", ("garbled", None)),
        ("wrong_shape", ("garbled", None)),
        ("error_in_200", ("garbled", None)),
        ("hang", ("timeout", None)),
    ],
)
@pytest.mark.parametrize("spec", ["openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"])
def test_troubles_are_told_apart(spec: str, fault: Fault, expected: tuple[str, int | None]) -> None:
    async def work() -> None:
        patience = 0.5 if fault == "hang" else 10.0
        async with Loopback(faults=[fault] * 2) as server, upstream(server, spec, timeout=patience) as model:
            error = await trouble(model.complete(ASK))
            assert (error.trouble, error.status) == expected
            error = await trouble(model.open_stream(STREAM))
            assert error.trouble == expected[0]
            assert server.key is not None
            assert server.key not in str(error)

    run(work)


# --- streams --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [None, "crlf", "lumps", "keep_alives", "no_last_event"])
def test_a_stream_is_handed_on_as_it_comes_without_the_counts_nobody_asked_for(fault: Fault | None) -> None:
    async def work() -> None:
        spoken = Said("It is four, I think.", input_tokens=30, cached_tokens=12, output_tokens=9)
        async with Loopback(spoken, faults=[fault]) as server, upstream(server) as model:
            stream = await model.open_stream({**STREAM, "stream_options": {"include_obfuscation": False}})
            blocks = [block async for block in stream]
            assert blocks[-1] == b"data: [DONE]\n\n"
            plain = b"".join(blocks).replace(b"\r\n", b"\n").replace(b": still there\n\n", b"")
            found = chunks([event + b"\n\n" for event in plain.split(b"\n\n")[:-1]])
            assert said(found) == stream.text == "It is four, I think."
            assert [bool(chunk["choices"]) for chunk in found] == [True] * 7
            assert stream.usage == Usage(42, 9, 12)
            assert (stream.finish, stream.model) == ("stop", "loopback-2026-11-15")
            sent = server.seen[0].body
            assert sent["stream_options"] == {"include_obfuscation": False, "include_usage": True}

    run(work)


def test_counts_that_a_client_wants_reach_it() -> None:
    async def work() -> None:
        async with Loopback("It is four.") as server, upstream(server) as model:
            stream = await model.open_stream(COUNTED)
            found = chunks(await events(stream))
            assert found[-1]["usage"]["total_tokens"] == 15
            assert found[-1]["choices"] == []
            assert stream.usage == Usage(10, 5)
            assert server.seen[0].body == {**COUNTED, "model": "gpt-4o-mini"}

    run(work)


def test_a_server_that_cannot_count_streams_is_asked_without_and_that_is_remembered() -> None:
    async def work() -> None:
        async with Loopback("It is four.", refuses=["stream_options"]) as server, upstream(server) as model:
            for _ in range(2):
                stream = await model.open_stream(STREAM)
                assert said(chunks(await events(stream))) == "It is four."
                assert stream.usage == Usage()
            assert server.requests == 3  # refused once
            refused = await trouble(model.open_stream(COUNTED))  # what the client itself asks for is its own affair
            assert (refused.trouble, refused.status) == ("rejected", 400)

    run(work)


def test_other_refusals_of_a_stream_do_not_stop_the_counting() -> None:
    async def work() -> None:
        async with Loopback("four", faults=["refused"]) as server, upstream(server) as model:
            assert (await trouble(model.open_stream(STREAM))).trouble == "rejected"
            await events(await model.open_stream(STREAM))
            assert "stream_options" in server.seen[1].body

    run(work)


def test_only_the_first_of_several_choices_is_read_and_all_are_handed_on() -> None:
    async def work() -> None:
        async with Loopback("It is four.") as server, upstream(server) as model:
            stream = await model.open_stream({**STREAM, "n": 2})
            found = chunks(await events(stream))
            assert {change["index"] for chunk in found for change in chunk["choices"]} == {0, 1}
            assert stream.text == "It is four."

    run(work)


def test_tool_calls_and_refusals_stream_through() -> None:
    async def work() -> None:
        calls = Said("", calls=[("add", {"a": 2, "b": 2})])
        async with Loopback(calls, faults=[None, "refusal"]) as server, upstream(server) as model:
            stream = await model.open_stream(STREAM)
            found = chunks(await events(stream))
            pieces = [call for chunk in found for call in chunk["choices"][0]["delta"].get("tool_calls", ())]
            assert pieces[0]["function"]["name"] == "add"
            given = "".join(piece["function"]["arguments"] for piece in pieces)
            assert json.loads(given) == {"a": 2, "b": 2}
            assert (stream.text, stream.finish) == ("", "tool_calls")
            declined = await model.open_stream(STREAM)
            await events(declined)
            assert declined.text == "I can't help with that."

    run(work)


@pytest.mark.parametrize("spec", ["openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"])
@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("cut", "unreachable"),
        ("unfinished", "unreachable"),
        ("garbled_event", "garbled"),
        ("error_event", "overloaded"),
        ("stalled", "timeout"),
    ],
)
def test_a_stream_that_breaks_off_says_so_after_what_came(spec: str, fault: Fault, expected: str) -> None:
    async def work() -> None:
        gates = ProviderLimits()
        async with (
            Loopback("It is four, or maybe five.", faults=[fault], pace=0.01) as server,
            upstream(server, spec, gates, timeout=0.5, attempts=3) as model,
        ):
            stream = await model.open_stream(STREAM)
            got = []

            async def read() -> None:
                async for block in stream:
                    got.append(block)

            error = await trouble(read())
            assert error.trouble == expected
            assert server.requests == 1  # the client has seen some of it: nothing is tried again
            text = b"".join(got)
            assert b"data: [DONE]" not in text
            assert 0 < len(stream.text) < len("It is four, or maybe five.")
            assert model.limit.in_flight == 0  # type: ignore[attr-defined]
            assert [block async for block in stream] == []

    run(work)


@pytest.mark.parametrize("spec", ["openai:gpt-4o-mini", "anthropic:claude-haiku-4-5"])
@pytest.mark.parametrize("fault", ["error_first", "rate_limited_ms", "overloaded", "error"])
def test_a_stream_is_tried_again_before_its_first_event(spec: str, fault: Fault) -> None:
    async def work() -> None:
        async with (
            Loopback("It is four.", faults=[fault], retry_after=0.05) as server,
            upstream(server, spec, attempts=2) as model,
        ):
            stream = await model.open_stream(STREAM)
            assert said(chunks(await events(stream))) == "It is four."
            assert server.requests == 2

    run(work)


def test_an_answer_that_is_no_stream_is_garbled() -> None:
    async def work() -> None:
        def whole(seen: Seen) -> str:
            seen.body.pop("stream")  # a server that does not know it
            return "four"

        async with Loopback(whole) as server, upstream(server) as model:
            error = await trouble(model.open_stream(STREAM))
            assert error.trouble == "garbled"

    run(work)


class Listed:
    """Events that are all there."""

    def __init__(self, *blocks: bytes) -> None:
        self._blocks = iter(blocks)

    async def block(self) -> bytes:
        return next(self._blocks, b"")

    async def drain(self) -> None: ...

    def close(self) -> None: ...


def chunk(**fields: Any) -> bytes:
    return b"data: " + msgspec.json.encode(fields) + b"\n\n"


def test_what_came_before_an_error_in_the_same_breath_is_handed_on_first() -> None:
    async def work() -> None:
        first = chunk(choices=[{"index": 0, "delta": {"role": "assistant"}}])
        text = chunk(choices=[{"index": 0, "delta": {"content": "four"}}])
        source = Listed(first, text + b"event: error\n" + chunk(error={"message": "no capacity"}) + text)
        stream = await PassThroughStream("openai:any", "any", source, hides_counts=True).begin()
        assert [await anext(stream), await anext(stream)] == [first, text]
        assert (await trouble(anext(stream))).trouble == "overloaded"
        assert stream.text == "four"
        together = PassThroughStream("openai:any", "any", Listed(first + b"data: oops\n\n"), hides_counts=True)
        assert (await trouble(together.begin())).trouble == "garbled"  # nobody has seen any of it: it can be retried

    run(work)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (chunk(error={"message": "no capacity", "code": 503}), "overloaded"),
        (chunk(error={"message": "slow down", "code": 429}), "rate_limited"),
        (chunk(error={"message": "bad", "type": "invalid_request_error"}), "rejected"),
        (chunk(object="error", message="bad prompt", code=400), "rejected"),
        (b"event: error\ndata: oops\n\n", "garbled"),
    ],
)
def test_errors_in_events_are_understood(event: bytes, expected: str) -> None:
    error = asyncio.run(trouble(PassThroughStream("openai:any", "any", Listed(event), hides_counts=True).begin()))
    assert error.trouble == expected
    assert str(error).startswith("openai:any: ")


def test_counts_beside_a_choice_stay_and_several_events_may_come_at_once() -> None:
    async def work() -> None:
        first = chunk(choices=[], prompt_filter_results=[{}])
        text = chunk(choices=[{"index": 0, "delta": {"content": "four"}}], usage=None)
        last = chunk(choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}], usage={"prompt_tokens": 3})
        alone = chunk(choices=[], usage={"prompt_tokens": 3, "completion_tokens": 1})
        source = Listed(first + text + last + alone + b"data: [DONE]\n\n")
        stream = await PassThroughStream("openai:any", "any", source, hides_counts=True).begin()
        assert [block async for block in stream] == [first + text + last, b"data: [DONE]\n\n"]
        assert (stream.text, stream.usage) == ("four", Usage(3, 1))

    run(work)
