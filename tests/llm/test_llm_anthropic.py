"""The messages protocol against a real server on loopback."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from loopback import Fault, Loopback, Said

from rubrica.llm.anthropic import AnthropicModel
from rubrica.llm.http import HttpSession
from rubrica.llm.model import ChatMessage, ModelError, Reply, Request, Trouble, Usage
from rubrica.llm.prompt_cache import fewest_cached_characters

SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "number"}},
    "required": ["score"],
    "additionalProperties": False,
}
ASKED = Request((ChatMessage("system", "You judge."), ChatMessage("user", "How good is this?")))
STRUCTURED = Request(ASKED.messages, schema=SCHEMA, schema_name="accuracy")
JPEG = b"\xff\xd8\xff\xe0" + bytes(16)


def ask(server: Loopback, *requests: Request, **options: Any) -> Reply:
    """The reply to the last of the requests, asked one after another of one model."""

    async def run() -> Reply:
        async with server, HttpSession() as session:
            settings = {"base_url": server.anthropic_url, "key": server.key} | options
            model = AnthropicModel("anthropic:judge", "judge", session=session, **settings)
            return [await model(request) for request in requests or (ASKED,)][-1]

    return asyncio.run(run())


def trouble(server: Loopback, *requests: Request, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(server, *requests, **options)
    return caught.value


def test_a_reply_carries_its_text_model_usage_and_duration() -> None:
    reply = ask(Loopback(Said("Score: 7", input_tokens=20, output_tokens=4)))
    assert (reply.text, reply.model, reply.stop) == ("Score: 7", "loopback-2026-11-15", "end")
    assert reply.usage == Usage(20, 4, 0)
    assert reply.duration_ms > 0


def test_the_request_says_what_was_asked_and_nothing_more() -> None:
    server = Loopback()
    turns = (ChatMessage("assistant", "7"), ChatMessage("user", "Sure?"))
    ask(server, Request((*ASKED.messages, *turns), temperature=0.3, max_tokens=77, seed=5, top_logprobs=3))
    (seen,) = server.seen
    assert seen.headers["x-api-key"] == server.key
    assert seen.headers["anthropic-version"] == "2023-06-01"
    assert "authorization" not in seen.headers
    assert seen.body == {
        "model": "judge",
        "max_tokens": 77,
        "system": [{"type": "text", "text": "You judge."}],
        "messages": [
            {"role": "user", "content": "How good is this?"},
            {"role": "assistant", "content": "7"},
            {"role": "user", "content": "Sure?"},
        ],
        "temperature": 0.3,
    }


def test_a_base_url_with_the_version_in_it_is_understood() -> None:
    async def run() -> str:
        async with Loopback() as server, HttpSession() as session:
            url = server.anthropic_url + "/v1/"
            model = AnthropicModel("anthropic:judge", "judge", base_url=url, key=server.key, session=session)
            return (await model(ASKED)).text

    assert asyncio.run(run()) == "ok"


def test_a_schema_becomes_a_tool_that_must_be_called_and_its_input_the_reply() -> None:
    server = Loopback('{"score": 7, "why": "Größe"}')
    reply = ask(server, STRUCTURED)
    assert json.loads(reply.text) == {"score": 7, "why": "Größe"}
    assert reply.stop == "end"
    body = server.seen[0].body
    assert body["tools"][0]["name"] == "accuracy"
    assert body["tools"][0]["input_schema"] == SCHEMA
    assert body["tool_choice"] == {"type": "tool", "name": "accuracy", "disable_parallel_tool_use": True}


def test_a_model_that_always_thinks_gets_the_schema_as_its_output_format() -> None:
    server = Loopback('{"score": 7}', refuses={"tool_choice", "temperature"})
    reply = ask(server, STRUCTURED, STRUCTURED)
    assert reply.text == '{"score": 7}'  # past the block of thinking
    assert server.requests == 4  # two refusals, once
    for seen in server.seen:
        assert seen.body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
        assert not seen.body.keys() & {"tools", "tool_choice", "temperature"}


def test_a_model_without_any_structured_output_is_asked_in_words() -> None:
    server = Loopback("Score: 7", refuses={"tool_choice", "output_config"})
    assert ask(server, STRUCTURED).text == "Score: 7"
    assert not server.seen[-1].body.keys() & {"tools", "tool_choice", "output_config"}


def test_a_value_out_of_range_is_an_error_and_not_left_out() -> None:
    server = Loopback()
    error = trouble(server, Request(ASKED.messages, temperature=1.5))
    assert (error.trouble, server.requests) == ("rejected", 1)
    assert "range: 0..1" in str(error)


MARK = {"type": "ephemeral"}


@pytest.mark.parametrize("length", [fewest_cached_characters("judge") - 1, fewest_cached_characters("judge")])
def test_a_long_system_text_is_marked_for_the_prompt_cache(length: int) -> None:
    server = Loopback()
    messages = (ChatMessage("system", "x" * (length - 3)), ChatMessage("system", "end"), *ASKED.messages[1:])
    ask(server, Request(messages))
    first, last = server.seen[0].body["system"]
    assert "cache_control" not in first
    assert last.get("cache_control") == (MARK if length >= fewest_cached_characters("judge") else None)


def test_the_end_of_what_a_message_shares_is_marked_where_all_before_it_is_long_enough() -> None:
    server = Loopback()
    system, short = ChatMessage("system", "s" * 3_000), ChatMessage("user", "m" * 900 + "Asked.", (), 900)
    long = ChatMessage("user", "m" * 1_200 + "Asked.", (), 1_200)
    ask(server, Request((system, short)), Request((system, long)), Request((ChatMessage("system", "s" * 5_000), long)))
    unmarked, marked, twice = (seen.body for seen in server.seen)
    assert unmarked["messages"][0]["content"] == short.content
    assert marked["messages"][0]["content"] == [
        {"type": "text", "text": "m" * 1_200, "cache_control": MARK},
        {"type": "text", "text": "Asked."},
    ]
    assert "cache_control" not in marked["system"][-1]
    assert twice["system"][-1]["cache_control"] == twice["messages"][0]["content"][0]["cache_control"] == MARK


def test_an_effort_becomes_a_budget_of_thoughts() -> None:
    server = Loopback('{"score": 7}')
    request = Request(ASKED.messages, schema=SCHEMA, max_tokens=3_000, effort="low")
    assert ask(server, request).text == '{"score": 7}'
    body = server.seen[0].body
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2_048}
    assert body["output_config"] == {"format": {"type": "json_schema", "schema": SCHEMA}}
    assert not body.keys() & {"temperature", "tool_choice"}


@pytest.mark.parametrize(("most", "budget"), [(4_000, 3_488), (1_535, None)])
def test_a_limit_below_the_effort_leaves_room_for_a_reply(most: int, budget: int | None) -> None:
    server = Loopback('{"score": 7}')
    ask(server, Request(ASKED.messages, schema=SCHEMA, max_tokens=most, effort="high"))
    thinking = server.seen[0].body.get("thinking")
    assert thinking == (None if budget is None else {"type": "enabled", "budget_tokens": budget})


def test_a_model_that_does_not_think_is_asked_without_an_effort() -> None:
    server = Loopback('{"score": 7}', refuses={"thinking"})
    ask(server, Request(ASKED.messages, schema=SCHEMA, max_tokens=3_000, effort="low"))
    assert server.requests == 2
    assert "tool_choice" in server.seen[0].body


def test_tokens_read_from_and_written_to_the_cache_are_part_of_the_input() -> None:
    said = Said(input_tokens=100, cached_tokens=900, cache_written=50, output_tokens=3)
    counted = Usage(input_tokens=1050, output_tokens=3, cached_input_tokens=900, cache_write_tokens=50)
    assert ask(Loopback(said)).usage == counted


@pytest.mark.parametrize("request_", [ASKED, STRUCTURED])
def test_a_refusal_is_a_reply_with_its_text(request_: Request) -> None:
    reply = ask(Loopback('{"score": 7}', faults=("refusal",)), request_)
    assert (reply.stop, reply.text) == ("refusal", "I can't help with that.")


def test_a_cut_reply_says_so() -> None:
    reply = ask(Loopback("Score: 7", faults=("length",)))
    assert (reply.stop, reply.text) == ("length", "Scor")
    assert ask(Loopback('{"score": 7}', faults=("length",)), STRUCTURED).stop == "length"


def test_images_come_before_the_text_they_belong_to(tmp_path: Path) -> None:
    file = tmp_path / "photo"
    file.write_bytes(JPEG)
    images = ("https://example.test/a.png", "data:image/gif;base64,R0lGODlh", str(file), "data:image/png,%89PNG")
    server = Loopback()
    ask(server, Request((ChatMessage("user", "Look.", images),)))
    content = server.seen[0].body["messages"][0]["content"]
    assert [part.get("source") for part in content] == [
        {"type": "url", "url": "https://example.test/a.png"},
        {"type": "base64", "media_type": "image/gif", "data": "R0lGODlh"},
        {"type": "base64", "media_type": "image/jpeg", "data": base64.b64encode(JPEG).decode()},
        {"type": "base64", "media_type": "image/png", "data": base64.b64encode(b"\x89PNG").decode()},
        None,
    ]
    assert content[-1] == {"type": "text", "text": "Look."}


def test_a_system_message_cannot_hold_images() -> None:
    server = Loopback()
    error = trouble(server, Request((ChatMessage("system", "Look.", ("https://example.test/a.png",)),)))
    assert (error.trouble, server.requests) == ("rejected", 0)


@pytest.mark.parametrize(
    ("fault", "expected", "status", "says"),
    [
        ("rate_limited", "rate_limited", 429, "exceed your rate limit"),
        ("error", "overloaded", 500, "Internal server error"),
        ("overloaded", "overloaded", 529, "Overloaded"),
        ("refused", "rejected", 400, "too long: 300000 tokens"),
        ("drop", "unreachable", None, "broke before the answer was complete"),
        ("truncated", "garbled", None, "not what the protocol says"),
        ("garbled", "garbled", None, "not what the protocol says"),
        ("wrong_shape", "garbled", None, "not what the protocol says"),
        ("error_in_200", "garbled", None, "upstream provider failed"),
    ],
)
def test_each_trouble_is_named(fault: Fault, expected: Trouble, status: int | None, says: str) -> None:
    error = trouble(server := Loopback(faults=(fault,), retry_after=3.0))
    assert (error.trouble, error.status) == (expected, status)
    assert says in str(error)
    assert error.retry_after == (3.0 if fault == "rate_limited" else None)
    assert server.requests == 1


@pytest.mark.parametrize("key", ["sk-ant-wrong-1234567890", None, ""])
def test_a_missing_or_wrong_key_names_the_variable_and_hides_the_key(key: str | None) -> None:
    error = trouble(Loopback(), key=key)
    assert (error.trouble, error.status) == ("unauthorised", 401)
    assert "ANTHROPIC_API_KEY" in str(error)
    assert "sk-ant" not in str(error)


def test_cancelling_a_hanging_call_ends_it() -> None:
    async def run() -> None:
        async with Loopback(faults=("hang",)) as server, HttpSession() as session:
            url = server.anthropic_url
            model = AnthropicModel("anthropic:judge", "judge", base_url=url, key=server.key, session=session)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(model(ASKED), 0.05)
            for _ in range(500):
                if not server.connections:
                    break
                await asyncio.sleep(0.01)
            assert server.connections == 0

    asyncio.run(run())
