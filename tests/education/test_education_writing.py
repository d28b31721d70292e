"""A model is asked for questions, and its reply is read with patience but never guessed at."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from education_samples import question
from rubrica.education.curriculum import Skill
from rubrica.education.questions import GenerateQuestionsRequest, QuestionType
from rubrica.education.writing import Writer, WritingError, form_words, questions_request, read_questions
from rubrica.llm.connect import connect
from rubrica.llm.model import Model, Reply, Request
from rubrica.llm.scripted import ScriptedModel, ScriptLine
from rubrica.llm.settings import Settings

ONE = question()
TWO = question(question="There are 3 bags of 5 pears. How many pears are there?", answer="A")
REQUEST = GenerateQuestionsRequest(
    grade=4, subject="mathematics", count=2, instructions="Equal groups", skill="Multiply equal groups."
)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"questions": [ONE, TWO]}),
        json.dumps([ONE, TWO]),
        json.dumps({"data": {"questions": [ONE, TWO]}}),
        "```json\n" + json.dumps({"questions": [ONE, TWO]}, indent=2) + "\n```",
        "Sure! Here you go:\n\n" + json.dumps({"questions": [ONE, TWO]}) + "\n\nLet me know [if] {more}.",
        "1. " + json.dumps(ONE) + "\n2. " + json.dumps(TWO),
        "[" + json.dumps(ONE) + ", " + json.dumps(TWO) + ", {'question': unfinished",
        json.dumps([{"question": ONE}, TWO]),
    ],
    ids=["object", "list", "wrapped", "fenced", "between words", "one by one", "cut list", "nested"],
)
def test_questions_are_found_however_they_are_wrapped(text: str) -> None:
    found, _ = read_questions(text)
    assert [item.question for item in found if item.question] == [ONE["question"], TWO["question"]]


@pytest.mark.parametrize(
    "text",
    ["", "I cannot do that.", "{", "[[[[[", '{"questions": []}', '{"answer": "4"}', "null", "[1, 2]", "{" * 5000],
)
def test_a_reply_without_questions_gives_none(text: str) -> None:
    assert read_questions(text)[0] == ()


def write(*lines: Any, request: GenerateQuestionsRequest = REQUEST) -> Any:
    return asyncio.run(Writer(ScriptedModel(lines)).write(request))


def test_no_more_questions_are_taken_than_were_asked_for() -> None:
    assert len(write({"questions": [ONE, TWO, ONE, TWO]}).questions) == 2


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("Once upon a time", "holds no question: Once upon a time"),
        (ScriptLine(reply="I'd rather not", stop="refusal"), "refused to write"),
        (ScriptLine(reply='{"questions": [', stop="length"), "cut off"),
        ({"questions": [{"options": ["A", "B"]}]}, "it has no text"),
        ("\x1b[31m\u202egarbage", "U\\+001B"),
    ],
)
def test_a_reply_that_cannot_be_used_says_why(line: Any, why: str) -> None:
    with pytest.raises(WritingError, match=why):
        write(line)


def test_a_model_is_told_everything_the_request_says() -> None:
    request = GenerateQuestionsRequest(
        grade=7, count=3, subject="science", language="spanish", question_type="mcq", difficulty="hard",
        instructions="Parts of a cell", skill="Match parts and their work.",
    )  # fmt: skip
    asked = questions_request(request, options=5)
    told = "\n".join(message.content for message in asked.messages)
    for part in ("grade 7", "3 questions", "science", "spanish", "hard", "Parts of a cell", "Match parts", "5 texts"):
        assert part in told
    assert "{{" not in told
    assert asked.schema is not None
    assert asked.schema["properties"]["questions"]["maxItems"] == 3


def test_the_prompt_is_the_one_that_was_read_last() -> None:
    """``RUBRICA_SNAPSHOTS=write`` writes the copy anew; read the difference."""
    path = Path(__file__).parent / "prompts" / "write.txt"
    shown = (
        "\n\n".join(f"[{message.role}]\n{message.content}" for message in questions_request(REQUEST).messages) + "\n"
    )
    if os.environ.get("RUBRICA_SNAPSHOTS") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, "utf-8")
    assert path.read_text("utf-8") == shown


def test_every_type_of_question_has_its_form() -> None:
    for kind in get_args(QuestionType):
        assert "answer" in form_words(kind, 4)


class Brief:
    """A model that is not let talk for long."""

    def __init__(self, model: Model) -> None:
        self.name, self._model = model.name, model

    async def __call__(self, request: Request) -> Reply:
        return await self._model(msgspec.structs.replace(request, max_tokens=160))

    async def close(self) -> None:
        await self._model.close()


@pytest.mark.slow
def test_the_embedded_model_goes_the_whole_way() -> None:
    async def scenario() -> str:
        model = connect("local:", Settings())
        try:
            written = await Writer(Brief(model)).write(Skill(3, "a", "Equal groups").request())
        except WritingError as error:
            return str(error)
        finally:
            await model.close()
        return written.questions[0].question

    told = asyncio.run(scenario())
    assert told
