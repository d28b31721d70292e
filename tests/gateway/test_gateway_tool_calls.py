"""Calls of tools are graded: by their schemas, by their words, and by a judge where there is one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gateway_stage import Scripted, provided, stage
from loopback import Loopback, Said

from gateway_samples import chat
from rubrica.gateway.schema_check import SchemaCheck
from rubrica.gateway.tool_calls import ToolCall, calls_of, check_calls
from rubrica.gateway.upstream import Completion
from rubrica.llm.model import Usage

MINI, BIG = "openai:gpt-4o-mini", "openai:gpt-4o"
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def tool(name: str, description: str, parameters: Any = CITY) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


WEATHER = tool("get_weather", "The current weather in a city")
FLIGHT = tool("book_flight", "Book a seat on a plane", {"type": "object", "properties": {"to": {"type": "string"}}})
QUESTION = "What is the weather in Oslo, the city?"


def call(name: str = "get_weather", arguments: str = '{"city": "Oslo"}') -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
    }


def asked(question: str = QUESTION, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}], "tools": [WEATHER, FLIGHT], **more}


# --- through the gateway ----------------------------------------------------------------------------------


def test_a_valid_call_passes_at_tier_0_and_nobody_else_is_paid(tmp_path: Path) -> None:
    first, second = Scripted(MINI, call()), Scripted(BIG, call())
    with stage(tmp_path, first, second) as on:
        reply = on.ask(asked(), x_sleipner_debug="full")
        assert reply.headers["x-sleipner-tier"] == "tier-0"
        assert "x-sleipner-score" not in reply.headers  # code checks it, and no number comes of that
        assert reply.json["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "get_weather"
        assert on.record(reply).tier1_usd == 0
    assert (len(first.asked), len(second.asked)) == (1, 0)


@pytest.mark.parametrize(
    ("said", "more", "reason"),
    [
        (call(arguments='{"city": '), {}, "are no JSON"),
        (call(arguments='["Oslo"]'), {}, "no JSON object"),
        (call(arguments="{}"), {}, "`city` is missing"),
        (call(arguments='{"city": 5}'), {}, "`city` is no string"),
        (call("get_wether"), {}, "there is no tool 'get_wether'"),
        (call(), {"tool_choice": "none"}, "no tool may be"),
        (call(), {"tool_choice": {"type": "function", "function": {"name": "book_flight"}}}, "in place of book_flight"),
        (call("book_flight", '{"to": "Oslo"}'), {}, "get_weather shares"),
    ],
)
def test_a_call_that_cannot_stand_escalates_with_the_reason(
    tmp_path: Path, said: dict[str, Any], more: dict[str, Any], reason: str
) -> None:
    with stage(tmp_path, Scripted(MINI, said), Scripted(BIG, call())) as on:
        reply = on.ask(asked(**more), x_sleipner_debug="flow")
        assert reply.headers["x-sleipner-tier"] == "tier-1"
        assert reason in json.dumps(reply.debug, ensure_ascii=False)


def test_words_beside_a_call_do_not_make_it_an_answer(tmp_path: Path) -> None:
    said = {**call(), "content": "I will look that up."}
    with stage(tmp_path, Scripted(MINI, said), Scripted(BIG, call())) as on:
        assert on.ask(asked()).headers["x-sleipner-tier"] == "tier-0"


def test_what_tools_gave_decides_later_calls(tmp_path: Path) -> None:
    """The words of the request say nothing about the second step."""
    turns = [
        {"role": "user", "content": QUESTION},
        call(),
        {"role": "tool", "tool_call_id": "call_1", "content": "storm: leave by plane"},
    ]
    with stage(tmp_path, Scripted(MINI, call("book_flight", '{"to": "Rome"}')), Scripted(BIG, call())) as on:
        assert on.ask({**asked(), "messages": turns}).headers["x-sleipner-tier"] == "tier-0"


@pytest.mark.parametrize(("ungraded", "tier"), [("tier-0", "tier-0"), ("tier-1", "tier-1")])
def test_calls_without_known_tools_go_where_the_setting_says(tmp_path: Path, ungraded: str, tier: str) -> None:
    with stage(tmp_path, Scripted(MINI, call()), Scripted(BIG, call()), grading={"ungraded": ungraded}) as on:
        assert on.ask(asked(tools=[{"type": "web_search"}])).headers["x-sleipner-tier"] == tier


@pytest.mark.parametrize(("score", "tier"), [(9, "tier-0"), (2, "tier-1")])
def test_a_judge_is_asked_whether_it_is_the_right_tool(tmp_path: Path, score: int, tier: str) -> None:
    own = {"reason": "so it is", "score": score, "confidence": 0.9}
    grader = Loopback(json.dumps({"right_tool": own, "right_arguments": own}))
    answering = Loopback(Said(calls=(("get_weather", {"city": "Oslo"}),)))
    with provided(tmp_path, answering, Loopback("It rains."), grader) as on:
        reply = on.ask(asked())
        assert reply.headers["x-sleipner-tier"] == tier
        record = on.record(reply)
        assert (record.rubric, record.passed) == ("tool-call@1.0.0", score == 9)
        assert record.dimension_scores is not None
        assert set(record.dimension_scores) == {"right_tool", "right_arguments"}
    assert grader.requests == 1
    shown = grader.seen[0].prompt
    assert 'get_weather({"city": "Oslo"})' in shown
    assert "book_flight: Book a seat on a plane" in shown
    assert QUESTION in shown


def test_an_invalid_call_is_not_worth_a_judge(tmp_path: Path) -> None:
    grader = Loopback("never asked")
    with provided(tmp_path, Loopback(Said(calls=(("get_weather", {}),))), Loopback("It rains."), grader) as on:
        assert on.ask(asked()).headers["x-sleipner-tier"] == "tier-1"
    assert grader.requests == 0


# --- schemas ----------------------------------------------------------------------------------------------

NESTED = {
    "type": "object",
    "properties": {
        "unit": {"enum": ["C", "F"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 7},
        "places": {"type": "array", "items": {"$ref": "#/$defs/place"}, "minItems": 1},
        "when": {"anyOf": [{"type": "string", "minLength": 4}, {"type": "null"}]},
    },
    "required": ["places"],
    "additionalProperties": False,
    "$defs": {"place": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}},
}


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"places": [{"name": "Oslo"}], "unit": "C", "days": 3, "when": None}, ""),
        ({"places": [{"name": "Oslo"}], "days": 3.0, "when": "2026"}, ""),
        ({"unit": "C"}, "`places` is missing"),
        ({"places": []}, "`places` has fewer than 1 items"),
        ({"places": [{}]}, "`places[0].name` is missing"),
        ({"places": [{"name": "Oslo"}], "unit": "K"}, "`unit` is none of C, F"),
        ({"places": [{"name": "Oslo"}], "days": 8}, "`days` is not at most 7"),
        ({"places": [{"name": "Oslo"}], "days": 1.5}, "`days` is no integer"),
        ({"places": [{"name": "Oslo"}], "days": True}, "`days` is no integer"),
        ({"places": [{"name": "Oslo"}], "when": "now"}, "`when` is none of what it may be"),
        ({"places": [{"name": "Oslo"}], "where": 1}, "`where` is not known"),
        ([], "the value is no object"),
    ],
)
def test_a_value_is_held_against_its_schema(value: Any, fault: str) -> None:
    assert SchemaCheck(NESTED).fault(value) == fault


def test_schemas_that_make_no_sense_do_no_harm() -> None:
    doubled: dict[str, Any] = {"$defs": {str(n): {"anyOf": [{"$ref": f"#/$defs/{n + 1}"}] * 2} for n in range(60)}}
    doubled["$defs"]["60"] = False
    for schema in (
        {"$ref": "#"},
        {"$ref": "#/nowhere"},
        {"$ref": "https://example.test/schema"},
        {"required": [["a"]], "type": 7, "properties": "none", "enum": 5, "minimum": "x"},
        {**doubled, "$ref": "#/$defs/0"},
        "schema",
        None,
    ):
        SchemaCheck(schema).fault({"a": 1})


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"choices": []}', b'{"choices": [{"message": {"tool_calls": 5}}]}'])
def test_answers_that_cannot_be_read_have_no_calls(raw: bytes) -> None:
    assert calls_of(Completion(raw, "", "any", Usage())) == []


def test_tools_of_other_kinds_are_known_by_name() -> None:
    custom = {"type": "custom", "custom": {"name": "run", "description": "Runs code"}}
    older = chat("Add 2 and 2", functions=[{"name": "add", "parameters": {"type": "object", "required": ["a"]}}])
    found = check_calls(chat("Run it", tools=[custom]), [ToolCall("run", "print(1)", takes_text=True)])
    assert found is not None
    assert not found.fault
    wrong = check_calls(older, [ToolCall("add", "{}")])
    assert wrong is not None
    assert wrong.fault == "add: `a` is missing"
