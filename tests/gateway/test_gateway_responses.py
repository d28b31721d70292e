"""OpenAI's responses in front of the gateway, driven by the official client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import openai
import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted, provided, stage
from loopback import Loopback

from rubrica.errors import InputError
from rubrica.llm.model import ModelError
from rubrica.server.gateway.response_memory import ResponseMemory, UnknownResponseError
from rubrica.server.gateway.responses_in import messages_of

MINI, BIG = "openai:gpt-4o-mini", "openai:gpt-4o"
BETTER = "Paris has been the capital of France for most of its history."
PATH = "/v1/responses"
WEATHER: Any = {
    "type": "function",
    "name": "get_weather",
    "description": "The current weather in a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "strict": False,
}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'}}
    ],
}


# --- answers ----------------------------------------------------------------------------------------------


def test_a_whole_answer(tmp_path: Path) -> None:
    with provided(tmp_path, Loopback(GOOD), Loopback(BETTER)) as on, on.client() as client:
        raw = client.responses.with_raw_response.create(model="gpt-5", input=CAPITAL, instructions="Be brief.")
        response = raw.parse()
        assert (response.output_text, response.status) == (GOOD, "completed")
        assert response.usage is not None
        assert response.usage.output_tokens == 5
        assert raw.headers["x-sleipner-tier"] == "tier-0"
        record = on.record(raw.headers["x-sleipner-trace"])
        assert (record.tier, record.passed) == ("tier-0", True)


@pytest.mark.parametrize("first", [GOOD, POOR])
def test_a_stream(tmp_path: Path, first: str) -> None:
    """Tier-0's answer is whole before it is told, tier-1's is told as it comes: the events are the same."""
    expected = GOOD if first == GOOD else BETTER
    with provided(tmp_path, Loopback(first), Loopback(BETTER)) as on, on.client() as client:
        events: list[Any] = list(client.responses.create(model="auto", input=CAPITAL, stream=True))
        with client.responses.stream(model="auto", input=CAPITAL) as stream:
            for _ in stream:
                pass
            assert stream.get_final_response().output_text == expected
    assert [event.sequence_number for event in events] == list(range(len(events)))
    kinds = [event.type for event in events]
    assert kinds[:4] == [
        *("response.created", "response.in_progress", "response.output_item.added", "response.content_part.added"),
    ]
    assert kinds[-4:] == [
        *("response.output_text.done", "response.content_part.done", "response.output_item.done", "response.completed"),
    ]
    assert set(kinds[4:-4]) == {"response.output_text.delta"}
    assert "".join(event.delta for event in events[4:-4]) == expected
    final = events[-1].response
    assert (final.output_text, final.id) == (expected, events[0].response.id)
    assert final.usage.output_tokens == 5


def test_a_conversation_goes_on_with_calls_and_their_results(tmp_path: Path) -> None:
    model = Scripted(MINI, [CALL, "It rains in Oslo.", "Take an umbrella along."])
    with stage(tmp_path, model, grading={"ungraded": "tier-0"}) as on, on.client() as client:
        first = client.responses.create(model="auto", input="What is the weather in Oslo?", tools=[WEATHER])
        call: Any = first.output[0]
        assert (call.type, call.name, call.arguments) == ("function_call", "get_weather", '{"city": "Oslo"}')
        result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        second = client.responses.create(
            model="auto", previous_response_id=first.id, input=[result], tools=[WEATHER], instructions="Be brief."
        )
        third = client.responses.create(model="auto", previous_response_id=second.id, input="So?")
        assert third.previous_response_id == second.id
    asked = model.asked[-1]["messages"]
    assert [message["role"] for message in asked] == ["user", "assistant", "tool", "assistant", "user"]
    assert asked[1]["tool_calls"] == CALL["tool_calls"]
    assert asked[2] == {"role": "tool", "tool_call_id": "call_1", "content": "rain"}
    assert asked[3]["content"] == "It rains in Oslo."
    assert model.asked[1]["messages"][0] == {"role": "system", "content": "Be brief."}
    function = {key: WEATHER[key] for key in ("name", "description", "parameters", "strict")}
    assert model.asked[0]["tools"] == [{"type": "function", "function": function}]


def test_a_streamed_call_is_remembered_too(tmp_path: Path) -> None:
    model = Scripted(MINI, [CALL, "It rains in Oslo."])
    with stage(tmp_path, model, grading={"ungraded": "tier-0"}) as on, on.client() as client:
        asked: Any = {"model": "auto", "input": "What is the weather in Oslo?", "tools": [WEATHER], "stream": True}
        events: list[Any] = list(client.responses.create(**asked))
        given = "".join(event.delta for event in events if event.type == "response.function_call_arguments.delta")
        assert given == '{"city": "Oslo"}'
        result: Any = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}
        client.responses.create(model="auto", previous_response_id=events[-1].response.id, input=[result])
    assert [message["role"] for message in model.asked[-1]["messages"]] == ["user", "assistant", "tool"]


def test_an_answer_follows_a_schema(tmp_path: Path) -> None:
    model = Scripted(MINI, '{"capital": "Paris"}')
    schema = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}
    wanted: Any = {"format": {"type": "json_schema", "name": "capital", "schema": schema, "strict": True}}
    with stage(tmp_path, model) as on, on.client() as client:
        response = client.responses.create(model="auto", input=CAPITAL, text=wanted, max_output_tokens=50)
        assert response.output_text == '{"capital": "Paris"}'
    named = {"name": "capital", "schema": schema, "strict": True}
    assert model.asked[-1]["response_format"] == {"type": "json_schema", "json_schema": named}
    assert model.asked[-1]["max_completion_tokens"] == 50


def test_an_answer_that_was_cut_short_says_so(tmp_path: Path) -> None:
    with provided(tmp_path, Loopback(GOOD, faults=["length"])) as on, on.client() as client:
        response = client.responses.create(model="tier-0", input=CAPITAL)
        assert response.status == "incomplete"
        assert response.incomplete_details is not None
        assert response.incomplete_details.reason == "max_output_tokens"


# --- what is remembered -----------------------------------------------------------------------------------


def test_only_what_was_stored_is_remembered_and_for_its_own_key_alone(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI)) as on:
        one, other = on.key(), on.key()
        with on.client(api_key=one) as client, on.client(api_key=other) as stranger:
            stored = client.responses.create(model="auto", input=CAPITAL)
            forgotten = client.responses.create(model="auto", input=CAPITAL, store=False)
            assert client.responses.create(model="auto", input="So?", previous_response_id=stored.id).output_text
            for who, name in ((client, forgotten.id), (stranger, stored.id), (client, "resp_none")):
                with pytest.raises(openai.BadRequestError, match="send the whole conversation") as unknown:
                    who.responses.create(model="auto", input="So?", previous_response_id=name)
                assert (unknown.value.code, unknown.value.param) == (
                    "previous_response_not_found",
                    "previous_response_id",
                )


def test_memory_is_bounded_and_whoever_holds_most_loses_first() -> None:
    memory = ResponseMemory(most=10_000)
    memory.keep("modest", "resp_own", [{"role": "user", "content": "Why?"}])
    for number in range(100):
        memory.keep("greedy", f"resp_{number}", [{"role": "user", "content": "x" * 1_000}])
    memory.keep("modest", "resp_huge", [{"role": "user", "content": "x" * 9_000}])
    assert memory.find("modest", "resp_own")
    assert memory.find("greedy", "resp_99")
    for owner, name in (("greedy", "resp_0"), ("modest", "resp_huge")):
        with pytest.raises(UnknownResponseError):
            memory.find(owner, name)


# --- requests that cannot be read, and models that cannot answer -------------------------------------------


def test_items_become_messages() -> None:
    picture = {"type": "input_image", "image_url": "https://example.test/a.png", "detail": "low"}
    items = [
        {"type": "message", "role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "What is it?"}, picture]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "A cat.", "annotations": []}],
        },
        {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "dark"}]},
    ]
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    assert messages_of(items) == [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "What is it?"}, {
            "type": "image_url", "image_url": {"url": "https://example.test/a.png", "detail": "low"}}]},
        {"role": "assistant", "content": "A cat.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "dark"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    "item", [{"type": "item_reference", "id": "x"}, {"role": "robot", "content": "no"}, "text", {"role": "user"}]
)
def test_items_that_cannot_be_passed_on_are_named(item: Any) -> None:
    with pytest.raises(InputError, match=r"input\[0\]"):
        messages_of([item])


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"input": None}, "input"),
        ({"input": []}, "input"),
        ({"background": True}, "background"),
        ({"tools": [{"type": "web_search"}]}, "web_search"),
        ({"tools": [WEATHER], "tool_choice": "maybe"}, "tool_choice"),
        ({"text": {"format": {"type": "xml"}}}, "text.format"),
        ({"previous_response_id": 5}, "previous_response_id"),
    ],
)
def test_a_bad_request_is_told_in_openais_shape(tmp_path: Path, change: dict[str, Any], named: str) -> None:
    with stage(tmp_path, Scripted(MINI)) as on:
        reply = on.post(PATH, {"input": CAPITAL, **change})
        assert (reply.status, reply.json["error"]["type"]) == (400, "invalid_request_error")
        assert named in reply.json["error"]["message"]


def test_a_stream_that_breaks_ends_as_failed(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, POOR), Scripted(BIG, BETTER, breaks_after=3)) as on, on.client() as client:
        events: list[Any] = list(client.responses.create(model="auto", input=CAPITAL, stream=True))
    assert events[-1].type == "response.failed"
    assert events[-1].response.error.code == "server_error"


def test_models_that_are_down_are_told(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(MINI, ModelError("unreachable", "no connection"))) as on, on.client() as client:
        with pytest.raises(openai.InternalServerError) as down:
            client.responses.create(model="auto", input=CAPITAL)
        assert down.value.status_code == 503
