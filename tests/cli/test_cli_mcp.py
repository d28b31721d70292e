"""`rubrica mcp`: the official client starts it in a process of its own, and speaks with it over standard input and
output."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from cli_runs import STEADY, TINY
from typer.testing import CliRunner

from access_table import definition
from council_samples import QUESTION, Seat, members, voter
from rubrica.cli.remote import KEY_VARIABLE
from rubrica.errors import RubricaError
from servers import serving
from warm_start import rubrica_command

if TYPE_CHECKING:  # it takes a second to load, which only those who run these tests have to wait for
    from mcp import Client
    from mcp.types import CallToolResult

T = TypeVar("T")
PATIENCE = 60.0


@asynccontextmanager
async def agent(folder: Path, *options: str) -> AsyncIterator[Client]:
    """A client of a server that was started with these options."""
    from mcp import Client, StdioServerParameters, stdio_client

    environment = {
        **{
            name: value
            for name, value in os.environ.items()
            if name == KEY_VARIABLE or not name.startswith(("RUBRICA_", "LLM_COUNCIL_"))
        },
        "RUBRICA_ATTEMPTS": "1",
        "XDG_CONFIG_HOME": str(folder),
        "XDG_CACHE_HOME": str(folder),
    }
    command, *args = rubrica_command("mcp", *options)
    server = StdioServerParameters(command=command, args=args, env=environment, cwd=str(folder))
    errors = sys.__stderr__  # told: left to itself, the library takes what stood there when a test first loaded it
    assert errors is not None
    async with Client(stdio_client(server, errors), read_timeout_seconds=PATIENCE) as client:
        yield client


def speak(folder: Path, options: list[str], talk: Callable[[Client], Awaitable[T]]) -> T:
    async def whole() -> T:
        async with agent(folder, *options) as client:
            return await talk(client)

    return asyncio.run(whole())


def call(folder: Path, options: list[str], tool: str, **arguments: Any) -> CallToolResult:
    return speak(folder, options, lambda client: client.call_tool(tool, arguments))


def text_of(result: CallToolResult) -> str:
    return "".join(getattr(block, "text", "") for block in result.content)


def data_of(result: CallToolResult) -> Any:
    assert not result.is_error, text_of(result)
    return result.structured_content


def test_the_tools_say_what_they_take_and_give(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    options = ["--models", "local:,openai:gpt-4o-mini", "--rubrics", str(tmp_path)]
    found = {tool.name: tool for tool in speak(tmp_path, options, lambda client: client.list_tools()).tools}
    assert set(found) == {"council", "verdict", "judge", "rubrics", "rubric", "health"}
    council, judge = found["council"], found["judge"]
    assert "Models: local:, openai:gpt-4o-mini." in (council.description or "")
    assert council.input_schema["required"] == ["question"]
    assert set(council.input_schema["properties"]) == {"question", "models", "tier", "tokens", "seed"}
    assert "quick" in str(council.input_schema["properties"]["tier"])
    assert "Rubrics: tiny, answer-quality," in (judge.description or "")
    assert judge.input_schema["required"] == ["rubric", "response"]
    assert set(judge.input_schema["properties"]) == {"rubric", "response", "prompt", "context"}
    for tool in found.values():
        assert all(field.get("description") for field in tool.input_schema.get("properties", {}).values())
        assert tool.output_schema
        assert tool.annotations
        assert tool.annotations.read_only_hint
        assert tool.input_schema["additionalProperties"] is False


def test_a_council_is_consulted_and_its_progress_told(tmp_path: Path) -> None:
    steps: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        steps.append(message or "")

    with members(ann="quality 9", bo="quality 6", cy=Seat(faults=["error"] * 9)) as seats:
        names = [seat.model for seat in seats.values()]
        result = speak(
            tmp_path,
            ["--models", ",".join(names), "--tier", "quick"],
            lambda client: client.call_tool("council", {"question": QUESTION}, progress_callback=note),
        )
    advice = data_of(result)
    assert advice["answer"] == "ann sums up."
    assert [(one["model"], one["rank"], one["score"]) for one in advice["ranking"]] == [
        ("ann", 1, 9.0),
        ("bo", 2, 6.0),
    ]
    assert [(one["model"], one["stage"]) for one in advice["failed"]] == [("cy", "answers")]
    assert (advice["chair"], advice["fallback"], advice["usd"]) == ("ann", "", None)
    assert any(step.startswith("answers: asking") for step in steps)
    assert "ann answered" in steps
    assert "127.0.0.1" not in text_of(result)  # where models run is none of an agent's business


def test_an_agent_chooses_among_the_models_of_the_server_only(tmp_path: Path) -> None:
    with members(ann="quality 9", bo="quality 6", cy="quality 3") as seats:
        names = [seat.model for seat in seats.values()]

        async def talk(client: Client) -> tuple[CallToolResult, ...]:
            two = await client.call_tool("council", {"question": "Why?", "models": ["bo", "cy"], "tier": "quick"})
            other = await client.call_tool("council", {"question": "Why?", "models": ["ann", "local:"]})
            typo = await client.call_tool("council", {"question": "Why?", "modles": ["ann", "bo"], "tier": "fast"})
            return two, other, await client.call_tool("council", {"question": " "}), typo

        two, other, empty, typo = speak(tmp_path, ["--models", ",".join(names)], talk)
        assert typo.is_error
        assert text_of(typo) == (
            "modles: council has no such argument (did you mean 'models'?)\n"
            "tier: should be 'quick', 'balanced', 'high' or 'reasoning'"
        )
        assert [one["model"] for one in data_of(two)["ranking"]] == ["bo", "cy"]
        assert seats["ann"].asked == []
    assert other.is_error
    assert "there is no 'local:' here (there are ann, bo, cy)" in text_of(other)
    assert empty.is_error
    assert "question" in text_of(empty)


def test_a_council_votes_and_its_replies_are_kept_by_seed(tmp_path: Path) -> None:
    with members(ann=voter("yes"), bo=voter("no", reason="untested"), cy=voter("yes")) as seats:

        async def talk(client: Client) -> list[Any]:
            asked = {"question": "May it ship?", "seed": 4}
            found = [data_of(await client.call_tool("verdict", asked)) for _ in range(2)]
            strict = await client.call_tool("verdict", {**asked, "majority": 1.0})
            return [*found, data_of(strict)]

        first, again, strict = speak(tmp_path, ["--models", ",".join(seat.model for seat in seats.values())], talk)
        assert [len(seat.asked) for seat in seats.values()] == [1, 1, 1]
    assert (first["verdict"], first["agreement"], first["complete"]) == ("yes", 0.667, True)
    assert [(one["model"], one["reason"]) for one in first["dissent"]] == [("bo", "untested")]
    assert (again["votes"], again["usd"]) == (first["votes"], 0.0)
    assert (strict["verdict"], "100% are needed" in strict["why"]) == ("undecided", True)


def test_a_client_that_gives_up_ends_the_session(tmp_path: Path) -> None:
    from mcp import MCPError

    with members(ann=Seat(latency=5.0), bo=Seat(latency=5.0)) as seats:

        async def talk(client: Client) -> int:
            with pytest.raises(MCPError):
                await client.call_tool("council", {"question": "Why?"}, read_timeout_seconds=3.0)
            for _ in range(150):  # before the members would have answered
                if sum(seat.server.left for seat in seats.values()) == 2:
                    break
                await asyncio.sleep(0.01)
            return sum(seat.server.left for seat in seats.values())

        assert speak(tmp_path, ["--models", ",".join(seat.model for seat in seats.values())], talk) == 2


def test_without_a_quorum_the_reasons_are_told(tmp_path: Path) -> None:
    with members(ann="quality 9", bo=Seat(faults=["error"] * 9)) as seats:
        names = [seat.model for seat in seats.values()]
        result = call(tmp_path, ["--models", ",".join(names)], "council", question="Why?")
    assert not result.is_error
    advice = result.structured_content
    assert (advice["answer"], advice["complete"]) == ("quality 9", False)
    assert "1 of 2 models answered" in advice["missing"][0]
    assert advice["failed"][0]["model"] == "bo"


def test_without_models_the_way_out_is_told(tmp_path: Path) -> None:
    result = call(tmp_path, [], "council", question="Why?")
    assert result.is_error
    assert "rubrica mcp --models" in text_of(result)


def test_a_response_is_judged_offline(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)

    async def talk(client: Client) -> list[CallToolResult]:
        assert data_of(await client.call_tool("health", {}))["ok"] is True
        listed = data_of(await client.call_tool("rubrics", {}))["rubrics"]
        assert [(one["name"], one["source"]) for one in listed[:2]] == [
            ("tiny", "folder"),
            ("answer-quality", "bundled"),
        ]
        shown = data_of(await client.call_tool("rubric", {"name": "answer-quality"}))
        assert shown["definition"]["dimensions"].keys() == {"accuracy", "completeness", "clarity", "depth", "safety"}
        return [
            await client.call_tool("judge", arguments)
            for arguments in (
                {
                    "rubric": "answer-quality",
                    "prompt": "What is the capital of France?",
                    "response": "The capital of France is Paris.",
                    "context": {"question_type": "FACTUAL"},
                },
                {"rubric": "tiny", "response": '{"a": 1}'},
                {"rubric": "tiny", "response": "x", "context": {"images": ["/etc/passwd"]}},
                {"rubric": "anser-quality", "response": "x"},
                {"rubric": str(tmp_path / "tiny.yaml"), "response": "x"},
                {"rubric": "tiny"},
            )
        ]

    good, own, picture, typo, path, nothing = speak(tmp_path, ["--rubrics", str(tmp_path)], talk)
    found = data_of(good)
    assert (found["rubric"].partition("@")[0], found["offline"]) == ("answer-quality", True)
    assert (found["verdict"], found["threshold"]) == ("inconclusive", 85)
    assert found["bounds"][0] < 85 < found["bounds"][1]
    assert set(found["dimensions"]) == {"accuracy", "completeness", "clarity", "depth", "safety"}
    assert all(one["reason"] for one in found["dimensions"].values())
    assert data_of(own)["rubric"].startswith("tiny@")
    for refused, told in (
        (picture, "not paths of files"),
        (typo, "did you mean 'answer-quality'?"),
        (path, "there is no"),
        (nothing, "response"),
    ):
        assert refused.is_error
        assert told in text_of(refused)


def test_a_judge_is_asked_where_there_is_one(tmp_path: Path) -> None:
    script = tmp_path / "judge.jsonl"
    script.write_text('{"reply": {"score": 4, "reason": "it is wrong", "confidence": 0.9}}\n' * 5)
    result = call(
        tmp_path,
        ["--judge", f"scripted:{script}"],
        "judge",
        rubric="answer-quality",
        prompt="What is the capital of France?",
        response="The capital of France is Lyon.",
        context={"question_type": "FACTUAL"},
    )
    found = data_of(result)
    assert (found["verdict"], found["offline"]) == ("fail", False)
    accuracy = found["dimensions"]["accuracy"]
    assert (accuracy["score"], accuracy["judged_by"]) == (4, "scripted:judge")
    assert "it is wrong" in accuracy["reason"]


def test_judges_cost_no_more_than_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-nobody")
    result = call(
        tmp_path,
        ["--judge", "openai:gpt-4o-mini", "--budget", "0"],  # where a call were made, it would be refused otherwise
        "judge",
        rubric="answer-quality",
        prompt="What is the capital of France?",
        response="The capital of France is Paris.",
        context={"question_type": "FACTUAL"},
    )
    reasons = {dimension["reason"] for dimension in data_of(result)["dimensions"].values()}
    assert all("budget" in reason for reason in reasons), reasons


def test_the_rubrics_of_a_server_are_listed_shown_and_judged_as_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(str(tmp_path / "rubrica.db")) as server:
        for who, name in ((server.author, "Brief"), (server.admin, "Secret")):
            assert who.post("/api/evaluations", {**definition(), "name": name}).status == 201

        async def talk(client: Client) -> list[CallToolResult]:
            return [
                await client.call_tool("health", {}),
                await client.call_tool("rubrics", {}),
                await client.call_tool("rubric", {"name": "brief"}),
                await client.call_tool("judge", {"rubric": "brief", "response": "Paris."}),
                await client.call_tool("judge", {"rubric": "secret", "response": "Paris."}),
                await client.call_tool("rubric", {"name": "../keys"}),
            ]

        monkeypatch.setenv("RUBRICA_API_KEY", server.author.key or "")
        health, listed, shown, judged, secret, path = speak(tmp_path, ["--server", server.url], talk)
    assert (data_of(health)["ok"], data_of(health)["user"]) == (True, "the author, author")
    assert [(one["name"], one["source"]) for one in data_of(listed)["rubrics"]] == [("brief", "server")]
    assert data_of(shown)["definition"]["rules"][0]["name"] == "brief"
    assert data_of(judged)["rubric"].startswith("brief@")
    assert secret.is_error
    assert "secret" in text_of(secret)
    assert path.is_error


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--models", "local:"], "two or more"),
        (["--models", "gpt-4,local:"], "names no model"),
        (["--server", "nowhere"], "is no address"),
    ],
)
def test_what_cannot_be_served_is_told_at_the_start(options: list[str], told: str) -> None:
    from rubrica.cli.mcp import app

    result = CliRunner(env=STEADY).invoke(app, options)
    assert isinstance(result.exception, RubricaError)
    assert told in str(result.exception)
