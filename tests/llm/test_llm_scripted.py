"""Models that answer from files: scripts, recordings and the recorder."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rubrica.errors import RubricaError
from rubrica.llm.model import ChatMessage, Model, ModelError, Reply, Request, Usage
from rubrica.llm.scripted import Recorder, ReplayModel, ScriptedModel, ScriptLine


def request(text: str, **more: Any) -> Request:
    return Request((ChatMessage("system", "you judge"), ChatMessage("user", text)), **more)


def say(model: Model, text: str) -> str:
    return asyncio.run(model(request(text))).text


def script(tmp_path: Path, *lines: object) -> Path:
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def test_lines_answer_in_order_and_the_last_answers_again() -> None:
    model = ScriptedModel(["one", {"score": 2}])
    assert [say(model, "x") for _ in range(4)] == ["one", '{"score": 2}', '{"score": 2}', '{"score": 2}']


def test_matching_lines_answer_by_what_the_last_message_says() -> None:
    model = ScriptedModel(
        [
            ScriptLine(reply="acc-1", match="accuracy"),
            ScriptLine(reply="acc-2", match="accuracy"),
            ScriptLine(reply="num", pattern=r"\d{3}"),
            ScriptLine(reply="else"),
        ]
    )
    asked = ["clarity", "accuracy", "accuracy", "see 123", "accuracy", "see 456"]
    assert [say(model, text) for text in asked] == ["else", "acc-1", "acc-2", "num", "else", "else"]


def test_a_mapping_answers_each_stretch_of_text_as_often_as_asked() -> None:
    model = ScriptedModel({"accuracy": {"score": 9}, "depth": ModelError("overloaded", "busy")})
    assert [say(model, "rate accuracy") for _ in range(3)] == ['{"score": 9}'] * 3
    with pytest.raises(ModelError, match="busy"):
        say(model, "rate depth")


def test_a_request_no_line_fits_is_rejected_and_says_what_was_asked() -> None:
    with pytest.raises(ModelError, match=r"no line fits.*rate clarity") as error:
        say(ScriptedModel({"accuracy": 9}), "rate clarity")
    assert error.value.trouble == "rejected"


def test_the_system_message_is_not_matched() -> None:
    with pytest.raises(ModelError):
        say(ScriptedModel({"you judge": "x"}), "hello")


def test_a_function_may_answer() -> None:
    model = ScriptedModel(lambda asked: Reply(asked.messages[-1].content.upper(), "", Usage(3, 1)))
    assert say(model, "hello") == "HELLO"
    assert [asked.messages[-1].content for asked in model.requests] == ["hello"]


def test_a_script_file_may_hold_replies_errors_usage_and_remarks(tmp_path: Path) -> None:
    path = script(
        tmp_path,
        "# first the provider is busy",
        {"error": "rate_limited", "retry_after": 2},
        "",
        {"reply": {"score": 7}, "usage": {"input_tokens": 12, "output_tokens": 4}},
        {"reply": "I cannot judge that", "stop": "refusal"},
    )
    model = ScriptedModel.from_file(path)
    with pytest.raises(ModelError) as error:
        say(model, "x")
    assert (error.value.trouble, error.value.retry_after) == ("rate_limited", 2)
    reply = asyncio.run(model(request("x")))
    assert (reply.text, reply.usage) == ('{"score": 7}', Usage(12, 4))
    assert asyncio.run(model(request("x"))).stop == "refusal"
    assert model.name == f"scripted:{path}"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{not json", r"script.jsonl:2:"),
        ({"replay": "x"}, r"script.jsonl:2:.*replay"),
        ({"error": "exploded"}, r"script.jsonl:2:.*exploded"),
        ({"match": "x"}, 'either a "reply" or an "error"'),
        ({"reply": "x", "error": "timeout"}, 'either a "reply" or an "error"'),
        ({"reply": "x", "pattern": "(?=x)"}, "pattern.*cannot be used"),
    ],
)
def test_a_faulty_script_is_refused_with_its_place(tmp_path: Path, line: object, words: str) -> None:
    with pytest.raises(RubricaError, match=words):
        ScriptedModel.from_file(script(tmp_path, {"reply": "fine"}, line))


def test_empty_and_missing_scripts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RubricaError, match="empty"):
        ScriptedModel.from_file(script(tmp_path, "# nothing"))
    with pytest.raises(RubricaError, match="cannot be read"):
        ScriptedModel.from_file(tmp_path / "gone.jsonl")


def test_a_recording_replays_replies_and_errors_in_order(tmp_path: Path) -> None:
    path = tmp_path / "tape.jsonl"
    answers = [ScriptLine(reply="one", usage=Usage(5, 1)), "two", ModelError("overloaded", "busy")]

    async def record() -> None:
        recorder = Recorder(ScriptedModel(answers, name="openai:m"), path)
        assert recorder.name == "openai:m"
        await recorder(request("a"))
        await recorder(request("a"))
        with pytest.raises(ModelError):
            await recorder(request("b"))
        await recorder.close()

    asyncio.run(record())
    model = ReplayModel(path)
    replies = [asyncio.run(model(request("a"))) for _ in range(3)]
    assert [reply.text for reply in replies] == ["one", "two", "two"]
    assert replies[0].usage == Usage(5, 1)
    with pytest.raises(ModelError, match="busy") as error:
        say(model, "b")
    assert error.value.trouble == "overloaded"


@pytest.mark.parametrize("changed", [{"temperature": 0.7}, {"schema": {"type": "object"}}])
def test_a_request_that_was_not_recorded_is_rejected(tmp_path: Path, changed: dict[str, Any]) -> None:
    path = tmp_path / "tape.jsonl"

    async def record() -> None:
        recorder = Recorder(ScriptedModel(["one"]), path)
        await recorder(request("a"))
        await recorder.close()

    asyncio.run(record())
    with pytest.raises(ModelError, match="not in the recording") as error:
        asyncio.run(ReplayModel(path)(request("a", **changed)))
    assert error.value.trouble == "rejected"


def test_a_faulty_recording_is_refused_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(RubricaError, match=r"script.jsonl:1:"):
        ReplayModel(script(tmp_path, {"reply": "x"}))


def test_a_recording_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(RubricaError, match="cannot be written"):
        Recorder(ScriptedModel(["one"]), tmp_path / "no" / "such" / "folder.jsonl")
