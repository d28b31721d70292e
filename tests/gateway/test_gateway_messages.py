"""Anthropic's messages protocol in front of the gateway, over plain HTTP with the field names of its documentation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Reply, Scripted, provided, stage
from loopback import Loopback

from rubrica.llm.model import ModelError
from rubrica.server.gateway.messages_in import read_messages
from rubrica.server.gateway.messages_out import MessageRequest

MINI, BIG = "openai:gpt-4o-mini", "openai:gpt-4o"
BETTER = "Paris has been the capital of France for most of its history."
PATH = "/v1/messages"
WEATHER = {
    "name": "get_weather",
    "description": "The current weather in a city",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    ],
}


def asked(content: Any = CAPITAL, **more: Any) -> dict[str, Any]:
    return {
        "model": "claude-sonnet-4-5",
        "max_tokens": 300,
        "messages": [{"role": "user", "content": content}],
        **more,
    }


def events(reply: Reply) -> list[dict[str, Any]]:
    """The events of a stream; each is called as its data says."""
    found = []
    for block in reply.body.decode().split("\n\n"):
        if block and not block.startswith(":"):
            name, data = block.split("\n")
            found.append(json.loads(data.removeprefix("data: ")))
            assert name == f"event: {found[-1]['type']}"
    return found


def sent(asked: dict[str, Any]) -> dict[str, Any]:
    """The body that models get for a request."""
    return read_messages(json.dumps(asked).encode()).body


# --- answers ----------------------------------------------------------------------------------------------


def test_a_whole_answer(tmp_path: Path) -> None:
    with provided(tmp_path, Loopback(GOOD), Loopback(BETTER)) as on:
        reply = on.post(PATH, asked(system="Be brief."), anthropic_version="2023-06-01", x_api_key="sk-ant-anything")
        assert reply.status == 200
        message = reply.json
        assert message["id"].startswith("msg_")
        assert message["content"] == [{"type": "text", "text": GOOD}]
        assert (message["type"], message["role"], message["stop_reason"]) == ("message", "assistant", "end_turn")
        assert message["usage"]["output_tokens"] == 5
        assert reply.headers["x-sleipner-tier"] == "tier-0"
        record = on.record(reply)
        assert (record.tier, record.status, record.passed) == ("tier-0", 200, True)


def test_it_is_graded_and_escalated_like_any_other(tmp_path: Path) -> None:
    with provided(tmp_path, Loopback(POOR), Loopback(BETTER)) as on:
        reply = on.post(PATH, asked(), x_sleipner_debug="full")
        assert reply.json["content"][0]["text"] == BETTER
        assert reply.headers["x-sleipner-tier"] == "tier-1"
        assert reply.json["sleipner"]["debug"]["flow_steps"]
        assert on.post(PATH, asked(model="tier-0")).json["content"][0]["text"] == POOR


@pytest.mark.parametrize("first", [GOOD, POOR])
def test_a_stream(tmp_path: Path, first: str) -> None:
    """Tier-0's answer is whole before it is told, tier-1's is told as it comes: the events are the same."""
    with provided(tmp_path, Loopback(first), Loopback(BETTER)) as on:
        reply = on.post(PATH, asked(stream=True), x_sleipner_debug="full")
        assert reply.headers["content-type"].startswith("text/event-stream")
        found = events(reply)
    kinds = [event["type"] for event in found]
    assert kinds[:2] == ["message_start", "content_block_start"]
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"]
    assert set(kinds[2:-3]) == {"content_block_delta"}
    assert found[0]["message"]["content"] == []
    assert "".join(event["delta"]["text"] for event in found[2:-3]) == (GOOD if first == GOOD else BETTER)
    assert found[-2]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert found[-2]["usage"]["output_tokens"] == 5
    assert found[-1]["sleipner"]["debug"]


def test_a_call_of_a_tool(tmp_path: Path) -> None:
    question = asked("What is the weather in Oslo?", tools=[WEATHER])
    with stage(tmp_path, Scripted(MINI, CALL), grading={"ungraded": "tier-0"}) as on:
        message = on.post(PATH, question).json
        assert message["stop_reason"] == "tool_use"
        call = {"type": "tool_use", "id": "call_1", "name": "get_weather", "input": {"city": "Oslo"}}
        assert message["content"] == [call]
        found = events(on.post(PATH, {**question, "stream": True}))
    opened = next(event for event in found if event["type"] == "content_block_start")
    assert opened["content_block"] == {**call, "input": {}}
    given = [event["delta"] for event in found if event["type"] == "content_block_delta"]
    assert {delta["type"] for delta in given} == {"input_json_delta"}
    assert json.loads("".join(delta["partial_json"] for delta in given)) == {"city": "Oslo"}
    assert found[-2]["delta"]["stop_reason"] == "tool_use"


def test_a_claude_model_behind_it_is_asked_the_same(tmp_path: Path) -> None:
    """There and back again: what a client says in this protocol reaches a model of the same protocol."""
    claude = Loopback(BETTER)
    turns = [
        {"role": "user", "content": "What is the weather in Oslo?"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "tu_1", "name": "get_weather", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tu_1", "content": "rain"},
                                     {"type": "text", "text": "So?"}]},
    ]  # fmt: skip
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    with provided(tmp_path, Loopback(POOR), claude) as on:
        question = asked(system=system, tools=[WEATHER], tool_choice={"type": "auto"}, stop_sequences=["END"])
        reply = on.post(PATH, {**question, "model": "tier-1", "messages": turns, "temperature": 0.5})
        assert reply.status == 200, reply.body
    body = claude.seen[-1].body
    assert body["system"] == system
    assert body["messages"][1:] == [
        turns[1],
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "tu_1",
                                      "content": [{"type": "text", "text": "rain"}]},
                                     {"type": "text", "text": "So?"}]},
    ]  # fmt: skip
    assert (body["max_tokens"], body["temperature"], body["stop_sequences"]) == (300, 0.5, ["END"])
    assert body["tools"] == [WEATHER]


def test_the_official_client_drives_it(tmp_path: Path) -> None:
    import anthropic  # takes seconds, and the other tests need none of it

    with provided(tmp_path, Loopback(GOOD), Loopback(BETTER)) as on:
        client = anthropic.Anthropic(base_url=on.url, api_key="anything", max_retries=0)
        message = client.messages.create(**asked(model="auto"))
        assert message.content[0].text == GOOD
        assert message.usage.output_tokens == 5
        with client.messages.stream(**asked(model="tier-1")) as stream:
            assert "".join(stream.text_stream) == BETTER
            assert stream.get_final_message().stop_reason == "end_turn"
        with pytest.raises(anthropic.BadRequestError, match="max_tokens"):
            client.messages.create(**asked(model="auto", max_tokens=0))
        said: dict[str, Any] = {"model": "auto", "messages": asked()["messages"]}
        plain = client.messages.count_tokens(**said).input_tokens
        assert 7 <= plain <= 20
        told = client.messages.count_tokens(**{**said, "system": "Be brief.", "tools": [WEATHER]}).input_tokens
        assert plain + 20 <= told <= plain + 120
        with pytest.raises(anthropic.BadRequestError, match="messages"):
            client.messages.count_tokens(model="auto", messages=[])
        assert len(on.gateway.parts.models.breakers) == 2


# --- requests ---------------------------------------------------------------------------------------------


def test_pictures_results_and_thoughts_are_translated() -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    turns = [
        {"role": "user", "content": [picture, {"type": "text", "text": "What is it?"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "…", "signature": "x"},
                                          {"type": "text", "text": "I look."},
                                          {"type": "tool_use", "id": "t", "name": "look", "input": {"at": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": True,
                                      "content": [{"type": "text", "text": "dark"}, picture]}]},
    ]  # fmt: skip
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    function = {"name": "look", "arguments": '{"at":1}'}
    assert sent(asked(messages=turns))["messages"] == [
        {"role": "user", "content": [shown, {"type": "text", "text": "What is it?"}]},
        {"role": "assistant", "content": "I look.",
         "tool_calls": [{"id": "t", "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": "t", "content": "Error: dark"},
        {"role": "user", "content": [shown]},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"type": "auto"}, {"tool_choice": "auto"}),
        ({"type": "any", "disable_parallel_tool_use": True}, {"tool_choice": "required", "parallel_tool_calls": False}),
        ({"type": "none"}, {"tool_choice": "none"}),
        (
            {"type": "tool", "name": "get_weather"},
            {"tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
        ),
    ],
)
def test_the_choice_of_a_tool_is_translated(choice: dict[str, Any], expected: dict[str, Any]) -> None:
    body = sent(asked(tools=[WEATHER], tool_choice=choice))
    assert {name: body[name] for name in expected} == expected
    assert body["tools"][0]["function"]["parameters"] == WEATHER["input_schema"]


def test_a_schema_for_the_answer_is_translated() -> None:
    schema = {"type": "object", "properties": {"capital": {"type": "string"}}}
    body = sent(asked(output_config={"format": {"type": "json_schema", "schema": schema}}))
    assert body["response_format"]["json_schema"]["schema"] == schema


# --- what goes wrong --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"max_tokens": None}, "max_tokens"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "system", "content": "no"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": [{"type": "search_result"}]}]}, "search_result"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}, "tool_use_id"),
        ({"tools": [{"type": "web_search_20250305", "name": "web_search"}]}, "web_search_20250305"),
        ({"tools": [WEATHER], "tool_choice": {"type": "maybe"}}, "tool_choice"),
        (
            {"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": 5}]}]},
            "messages.0.content.0.content",
        ),
        ({"metadata": "none", "messages": [{"role": "user", "content": []}]}, "messages"),
        ({"stream": "yes"}, "stream"),
    ],
)
def test_a_bad_request_is_told_in_anthropics_shape(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    with stage(tmp_path, Scripted(MINI)) as on:
        reply = on.post(PATH, asked() | change)
        assert (reply.status, reply.json["type"]) == (400, "error")
        assert reply.json["error"]["type"] == "invalid_request_error"
        assert named in reply.json["error"]["message"]
        assert on.record(reply).status == 400


def test_keys_are_checked_in_either_header(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI)) as on:
        key = on.key()
        assert on.post(PATH, asked(), x_api_key=key).status == 200
        assert on.post(PATH, asked(), Authorization=f"Bearer {key}").status == 200
        for headers in ({}, {"x_api_key": "sk-ant-other"}, {"x_api_key": "rk_wrong"}):
            reply = on.post(PATH, asked(), **headers)
            assert (reply.status, reply.json["error"]["type"]) == (401, "authentication_error")
            assert int(reply.headers["content-length"]) == len(reply.body)
        reply = on.post(PATH, asked(), x_api_key=on.key(role="viewer"))
        assert (reply.status, reply.json["error"]["type"]) == (403, "permission_error")


def test_models_that_are_down_are_told(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, ModelError("unreachable", "no connection"))) as on:
        reply = on.post(PATH, asked())
        assert (reply.status, reply.json["error"]["type"]) == (503, "overloaded_error")
        assert reply.headers["retry-after"]


def test_a_stream_that_breaks_ends_with_an_error(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, POOR), Scripted(BIG, BETTER, breaks_after=3)) as on:
        found = events(on.post(PATH, asked(stream=True)))
    assert found[-1]["type"] == "error"
    assert found[-1]["error"]["type"] == "api_error"
    assert found[0]["type"] == "message_start"


def test_a_budget_holds_here_too(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI), budget={"usd_per_day": 1e-9}) as on:
        reply = on.post(PATH, asked())
        assert (reply.status, reply.json["error"]["type"]) == (429, "rate_limit_error")


def test_marks_for_anthropics_cache_do_not_reach_openai(tmp_path: Path) -> None:
    mini = Loopback(GOOD)
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    with provided(tmp_path, mini) as on:
        assert on.post(PATH, asked(system=system)).status == 200
    assert mini.seen[-1].body["messages"][0] == {"role": "system", "content": [{"type": "text", "text": "Be brief."}]}


def test_calls_of_a_stream_without_places_are_told_apart() -> None:
    """Some servers that speak OpenAI's protocol number no calls."""
    request = MessageRequest(read_messages(json.dumps(asked(stream=True)).encode()))
    block = b""
    for name in ("a", "b"):
        call = {"id": f"call_{name}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        block += b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"tool_calls": [call]}}]}).encode() + b"\n\n"
    told = request.part(block).decode()
    opened = [line for line in told.splitlines() if '"content_block_start"' in line]
    assert [json.loads(line.removeprefix("data: "))["content_block"]["name"] for line in opened] == ["a", "b"]
