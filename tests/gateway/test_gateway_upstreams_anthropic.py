"""Claude models: requests said in Anthropic's protocol, answers said in OpenAI's."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loopback import Fault, Loopback, Said
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from upstream_samples import ASK, COUNTED, STREAM, chunks, events, said, trouble, upstream

from rubrica.gateway.upstreams.translation import DEFAULT_MAX_TOKENS, translate
from rubrica.llm.model import ModelError, Usage

CLAUDE = "anthropic:claude-haiku-4-5"
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "strict": True,
    },
}
NOW = {"type": "function", "function": {"name": "now"}}
SCHEMA = {
    "type": "object",
    "properties": {"sum": {"type": "integer"}},
    "required": ["sum"],
    "additionalProperties": False,
}
BY_SCHEMA = {"type": "json_schema", "json_schema": {"name": "the sum", "strict": True, "schema": SCHEMA}}


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 20))


def asked(**fields: Any) -> dict[str, Any]:
    return translate({**ASK, **fields}, "claude-haiku-4-5").body


def talk(*messages: Mapping[str, Any]) -> dict[str, Any]:
    return asked(messages=list(messages))


# --- requests -------------------------------------------------------------------------------------------------------


def test_a_plain_request_has_what_the_protocol_demands() -> None:
    assert asked() == {
        "model": "claude-haiku-4-5",
        "max_tokens": DEFAULT_MAX_TOKENS,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "What is 2 + 2?"}]}],
    }


def test_settings_of_a_request_have_their_counterparts() -> None:
    body = asked(
        max_completion_tokens=50, max_tokens=40, stop="END", temperature=1.5, top_p=0.9, user="u-1", top_k=5, seed=3
    )
    assert {key: value for key, value in body.items() if key not in ("model", "messages")} == {
        "max_tokens": 50,
        "temperature": 1,
        "top_k": 5,
        "metadata": {"user_id": "u-1"},
        "stop_sequences": ["END"],
    }
    assert asked(top_p=0.9)["top_p"] == 0.9
    assert asked(max_tokens=7, stop=["a", "b"])["stop_sequences"] == ["a", "b"]


def test_system_and_developer_messages_are_the_systems_text_wherever_they_stand() -> None:
    body = talk(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi."},
        {
            "role": "developer",
            "content": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        },
        {"role": "assistant", "content": "Hello."},
    )
    assert body["system"] == [
        {"type": "text", "text": "Be brief."},
        {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}},
    ]
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant"]


def test_pictures_and_documents_are_shown() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}
    link = {"type": "image_url", "image_url": {"url": "https://example.test/a.png"}}
    file = {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBE"}}
    content = talk({"role": "user", "content": [{"type": "text", "text": "Look:"}, picture, link, file]})
    assert content["messages"][0]["content"][1:] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image", "source": {"type": "url", "url": "https://example.test/a.png"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBE"}},
    ]


CALLED = (
    {"role": "user", "content": "How is Paris, and when?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {"id": "call:1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}},
            {"id": "call:2", "type": "function", "function": {"name": "now", "arguments": ""}},
        ],
    },
    {"role": "tool", "tool_call_id": "call:1", "content": "sunny"},
    {"role": "tool", "tool_call_id": "call:2", "content": [{"type": "text", "text": "noon"}]},
    {"role": "user", "content": "Thanks. And?"},
)


def test_calls_of_tools_and_their_results_are_turns() -> None:
    body = asked(messages=CALLED, tools=[WEATHER, NOW], tool_choice="required", parallel_tool_calls=False)
    assert body["messages"][1:] == [
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Paris"}},
                {"type": "tool_use", "id": "call_2", "name": "now", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "sunny"}]},
                {"type": "tool_result", "tool_use_id": "call_2", "content": [{"type": "text", "text": "noon"}]},
                {"type": "text", "text": "Thanks. And?"},
            ],
        },
    ]
    assert body["tools"] == [
        {
            "name": "weather",
            "description": "The weather of a city.",
            "input_schema": WEATHER["function"]["parameters"],  # type: ignore[index]
        },
        {"name": "now", "input_schema": {"type": "object"}},
    ]
    assert body["tool_choice"] == {"type": "any", "disable_parallel_tool_use": True}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", {"type": "auto"}),
        ("none", {"type": "none"}),
        ("required", {"type": "any"}),
        ({"type": "function", "function": {"name": "now"}}, {"type": "tool", "name": "now"}),
        (None, None),
    ],
)
def test_the_choice_of_a_tool_is_translated(choice: object, expected: object) -> None:
    assert asked(tools=[NOW], tool_choice=choice).get("tool_choice") == expected


def test_a_conversation_with_calls_but_without_tools_names_them_for_the_record() -> None:
    body = asked(messages=CALLED)
    assert [tool["name"] for tool in body["tools"]] == ["now", "weather"]
    assert body["tool_choice"] == {"type": "none"}


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"n": 2}, "`n`"),
        ({"logprobs": True}, "`logprobs`"),
        ({"logprobs": False, "top_logprobs": 3}, "`top_logprobs`"),
        ({"audio": {"voice": "alloy"}}, "`audio`"),
        ({"modalities": ["text", "audio"]}, "`modalities`"),
        ({"functions": [{"name": "f"}]}, "`functions`"),
        ({"web_search_options": {}}, "`web_search_options`"),
        ({"stop": ["ok", "\n"]}, "`stop`"),
        ({"tools": [{"type": "custom", "custom": {"name": "c"}}]}, "`tools[0]`"),
        ({"tools": [NOW], "tool_choice": {"type": "allowed_tools"}}, "`tool_choice`"),
        ({"response_format": {"type": "grammar"}}, "`response_format`"),
        ({"tools": 7}, "`tools`"),
        ({"messages": [{"role": "assistant", "content": "?", "tool_calls": 7}]}, "`messages[0].tool_calls`"),
        ({"messages": [{"role": "system", "content": "alone"}]}, "`messages`"),
        ({"messages": [{"role": "function", "name": "f", "content": "4"}]}, "`messages[0].role`"),
        ({"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "`messages[0].content[0]`"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "/etc/passwd"}}]}]},
            "`messages[0].content[0]`",
        ),
        ({"messages": [*CALLED[:1], {"role": "tool", "content": "4"}]}, "`messages[1].tool_call_id`"),
        (
            {
                "messages": [
                    {
                        "role": "assistant",
                        "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "[1"}}],
                    }
                ]
            },
            "`messages[0].tool_calls[0].function.arguments`",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_by_name(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ModelError) as error:
        asked(**fields)
    assert str(error.value).startswith(f"{named}: ")
    assert error.value.trouble == "rejected"


def test_what_cannot_be_asked_costs_no_call_and_says_nothing_about_the_provider() -> None:
    async def work() -> None:
        async with Loopback() as server, upstream(server, CLAUDE) as model:
            assert (await trouble(model.complete({**ASK, "n": 2}))).status is None
            assert (await trouble(model.open_stream({**STREAM, "n": 2}))).trouble == "rejected"
            assert server.requests == 0

    run(work)


PARTS = st.one_of(
    st.none(),
    st.text(max_size=5),
    st.lists(
        st.one_of(
            st.builds(lambda text: {"type": "text", "text": text}, st.text(max_size=5)),
            st.dictionaries(st.sampled_from(["type", "text", "image_url"]), st.text(max_size=3)),
            st.integers(),
        ),
        max_size=3,
    ),
)
MESSAGES = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["system", "developer", "user", "assistant", "tool", "x"]), "content": PARTS},
        optional={"tool_call_id": st.text(max_size=3), "tool_calls": st.lists(st.dictionaries(st.text(), st.text()))},
    ),
    min_size=1,
    max_size=6,
)


@given(MESSAGES)
def test_any_conversation_is_translated_into_turns_or_refused(messages: list[dict[str, Any]]) -> None:
    try:
        body = asked(messages=messages)
    except ModelError:
        return
    roles = [turn["role"] for turn in body["messages"]]
    assert all(one != other for one, other in pairwise(roles))
    assert all(turn["content"] for turn in body["messages"])


# --- answers --------------------------------------------------------------------------------------------------------


def test_an_answer_is_a_chat_completion() -> None:
    async def work() -> None:
        spoken = Said("It is four.", input_tokens=20, cached_tokens=8, cache_written=4, output_tokens=6)
        async with Loopback(spoken) as server, upstream(server, CLAUDE) as model:
            answer = await model.complete(ASK)
            whole = ChatCompletion.model_validate_json(answer.raw, strict=True)
            assert whole.id == "chatcmpl-loopback"
            assert whole.choices[0].message.content == answer.text == "It is four."
            assert whole.usage is not None
            assert (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens) == (32, 6, 38)
            assert whole.usage.prompt_tokens_details is not None
            assert whole.usage.prompt_tokens_details.cached_tokens == 8
            assert answer.usage == Usage(32, 6, 8, 4)
            assert (answer.finish, answer.calls_tools, answer.model) == ("stop", False, "loopback-2026-11-15")
            assert server.seen[0].headers["x-api-key"] == server.key

    run(work)


@pytest.mark.parametrize(("fault", "finish"), [(None, "stop"), ("length", "length"), ("refusal", "content_filter")])
def test_how_an_answer_ended_is_told_in_openais_words(fault: Fault | None, finish: str) -> None:
    async def work() -> None:
        async with Loopback("It is four.", faults=[fault, fault]) as server, upstream(server, CLAUDE) as model:
            answer = await model.complete(ASK)
            stream = await model.open_stream(STREAM)
            found = chunks(await events(stream))
            assert answer.finish == stream.finish == finish
            assert found[-1]["choices"][0]["finish_reason"] == finish
            assert answer.text == stream.text
            if fault == "refusal":
                assert json.loads(answer.raw)["choices"][0]["message"]["refusal"] == "I can't help with that."

    run(work)


def test_calls_of_tools_come_back_whole_and_as_a_stream() -> None:
    async def work() -> None:
        spoken = Said("Let me look.", calls=[("weather", {"city": "Paris"}), ("now", {})])
        async with Loopback(spoken) as server, upstream(server, CLAUDE) as model:
            tools = {"tools": [WEATHER, NOW], "messages": list(CALLED)}
            answer = await model.complete({**ASK, **tools})
            message = ChatCompletion.model_validate_json(answer.raw, strict=True).choices[0].message
            assert answer.calls_tools
            assert answer.finish == "tool_calls"
            assert message.content == "Let me look."
            stream = await model.open_stream({**STREAM, **tools})
            found = chunks(await events(stream))
            assert found[-1]["choices"][0]["finish_reason"] == "tool_calls"
            assert _calls(found) == {
                0: ("toolu_0", "weather", {"city": "Paris"}),
                1: ("toolu_1", "now", {}),
            }
            assert message.tool_calls is not None
            assert {
                place: (call.id, call.function.name, json.loads(call.function.arguments))  # type: ignore[union-attr]
                for place, call in enumerate(message.tool_calls)
            } == _calls(found)
            assert stream.text == "Let me look."

    run(work)


def _calls(found: list[dict[str, Any]]) -> dict[int, tuple[str, str, Any]]:
    names: dict[int, tuple[str, str]] = {}
    given: dict[int, str] = {}
    for chunk in found:
        for change in chunk["choices"]:
            for call in change["delta"].get("tool_calls", ()):
                if "id" in call:
                    names[call["index"]] = (call["id"], call["function"]["name"])
                given[call["index"]] = given.get(call["index"], "") + call["function"]["arguments"]
    return {index: (*names[index], json.loads(text)) for index, text in given.items()}


def test_a_stream_is_one_of_chat_completion_chunks() -> None:
    async def work() -> None:
        spoken = Said("It is four.", input_tokens=20, cached_tokens=8, output_tokens=6)
        async with Loopback(spoken) as server, upstream(server, CLAUDE) as model:
            stream = await model.open_stream(COUNTED)
            found = await events(stream)
            read = [ChatCompletionChunk.model_validate_json(event.removeprefix(b"data: ")) for event in found[:-1]]
            assert {chunk.id for chunk in read} == {"chatcmpl-loopback"}
            assert read[0].choices[0].delta.role == "assistant"
            assert "".join(c.choices[0].delta.content or "" for c in read if c.choices) == stream.text == "It is four."
            assert read[-1].choices == []
            assert read[-1].usage is not None
            assert (read[-1].usage.prompt_tokens, read[-1].usage.completion_tokens) == (28, 6)
            assert stream.usage == Usage(28, 6, 8)
            assert stream.model == "loopback-2026-11-15"
            plain = await model.open_stream(STREAM)
            assert all("usage" not in chunk for chunk in chunks(await events(plain)))
            assert plain.usage == Usage(28, 6, 8)
            assert server.seen[0].body["stream"] is True
            assert "stream_options" not in server.seen[0].body

    run(work)


@pytest.mark.parametrize("fault", ["crlf", "lumps", "keep_alives"])
def test_events_are_found_however_they_come(fault: Fault) -> None:
    async def work() -> None:
        async with Loopback("It is four.", faults=[fault]) as server, upstream(server, CLAUDE) as model:
            assert said(chunks(await events(await model.open_stream(STREAM)))) == "It is four."

    run(work)


def test_a_stream_that_is_closed_early_still_knows_what_the_question_took() -> None:
    async def work() -> None:
        async with Loopback("It is four.", pace=0.02) as server, upstream(server, CLAUDE) as model:
            stream = await model.open_stream(STREAM)
            await stream.aclose()
            assert stream.usage.input_tokens == 10

    run(work)


# --- the form of the answer -----------------------------------------------------------------------------------------


def test_a_schema_is_kept_to_by_a_tool_whose_input_is_the_answer() -> None:
    async def work() -> None:
        async with Loopback('{"sum": 4}') as server, upstream(server, CLAUDE) as model:
            answer = await model.complete({**ASK, "response_format": BY_SCHEMA})
            assert json.loads(answer.text) == {"sum": 4}
            assert (answer.finish, answer.calls_tools) == ("stop", False)
            assert server.seen[0].body["tool_choice"]["name"] == "the_sum"
            stream = await model.open_stream({**STREAM, "response_format": BY_SCHEMA})
            found = chunks(await events(stream))
            assert json.loads(said(found)) == {"sum": 4}
            assert stream.finish == "stop"
            assert not any("tool_calls" in chunk["choices"][0]["delta"] for chunk in found)

    run(work)


def test_a_model_that_always_thinks_gets_the_schema_as_its_output_format_from_then_on() -> None:
    async def work() -> None:
        async with Loopback('{"sum": 4}', refuses=["tool_choice"]) as server, upstream(server, CLAUDE) as model:
            for body in (ASK, STREAM):
                stream = await model.open_stream({**body, "response_format": BY_SCHEMA})
                assert json.loads(said(chunks(await events(stream)))) == {"sum": 4}
            assert server.requests == 3
            assert server.seen[-1].body["output_config"]["format"]["schema"] == SCHEMA
            forced = await trouble(model.complete({**ASK, "tools": [NOW], "tool_choice": "required"}))
            assert forced.trouble == "rejected"  # what the client itself demands is not left out

    run(work)


def test_a_model_without_any_structure_is_told_in_words() -> None:
    async def work() -> None:
        refuses = ["tool_choice", "output_config", "temperature"]
        async with Loopback('{"sum": 4}', refuses=refuses) as server, upstream(server, CLAUDE) as model:
            answer = await model.complete({**ASK, "response_format": BY_SCHEMA, "temperature": 0})
            assert answer.text == '{"sum": 4}'
            assert server.requests == 4
            assert '"required":["sum"]' in server.seen[-1].body["system"][-1]["text"]
            await model.complete({**ASK, "temperature": 0})
            assert server.requests == 5  # remembered

    run(work)


def test_json_mode_and_a_schema_beside_tools_need_no_tool_of_ours() -> None:
    assert "JSON" in asked(response_format={"type": "json_object"})["system"][-1]["text"]
    both = asked(response_format=BY_SCHEMA, tools=[NOW])
    assert [tool["name"] for tool in both["tools"]] == ["now"]
    assert both["output_config"]["format"]["schema"] == SCHEMA
    assert asked(response_format={"type": "text"}) == asked()
