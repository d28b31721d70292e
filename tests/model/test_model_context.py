"""Contexts from loose data."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

import rubrica
from rubrica import Context, ContextError
from rubrica.engine.cases import BadLine, Case, read_cases
from rubrica.model.context import LONGEST_TEXT


def test_keys_that_are_not_fields_become_metadata() -> None:
    context = Context.of({"response": "x", "question_type": "FACTUAL", "metadata": {"response_time": 3}})
    assert context.lookup("question_type") == "FACTUAL"
    assert context.lookup("response_time") == 3


def test_a_chat_is_read_as_its_last_question_and_answer() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Why?"},
        {"role": "assistant", "content": "Because."},
    ]
    context = Context.of({"messages": messages})
    assert (context.prompt, context.response) == ("Why?", "Because.")
    assert context.history == ("Hello",)


def test_a_question_may_be_given_as_an_object_and_a_picture_as_its_address() -> None:
    context = Context.of({"response": {"question": "¿2 + 2?", "options": ["3", "4"]}, "images": ["plot.png"]})
    assert context.response == '{"question": "¿2 + 2?", "options": ["3", "4"]}'
    assert context.images[0].url == "plot.png"
    with pytest.raises(ContextError, match="not plain data"):
        Context.of({"response": {"question": object()}})


def test_a_lone_surrogate_becomes_a_replacement_character() -> None:
    context = Context.of({"response": "a\ud800b"})
    assert context.response == "a\ufffdb"
    context.response.encode()


def test_a_context_made_by_its_constructor_is_checked_and_cleaned_too() -> None:
    context = Context(prompt="\udfff", messages=({"role": "user", "content": "a\ud800"},))
    assert (context.prompt, context.messages[0].content) == ("\ufffd", "a\ufffd")
    with pytest.raises(ValidationError, match="Input should be a valid string"):
        Context(response=None)
    with pytest.raises(ValidationError, match="at most 50000000 characters"):
        Context(response="a" * (LONGEST_TEXT + 1))
    with pytest.raises(ValidationError, match="frozen"):
        context.prompt = "x"  # type: ignore[misc]  # frozen
    with pytest.raises(ValidationError, match="not permitted"):
        Context(answer="x")  # type: ignore[call-arg]


def test_the_schema_of_a_context_says_how_long_a_text_may_be() -> None:
    schema = Context.model_json_schema()
    texts = [schema["properties"]["prompt"], schema["$defs"]["Message"]["properties"]["content"]]
    assert [(text["type"], text["maxLength"]) for text in texts] == [("string", LONGEST_TEXT)] * 2


def test_a_chat_that_ends_with_a_question_has_no_answer_yet() -> None:
    asked = [("user", "Hi"), ("assistant", "Hello"), ("user", "How are you?")]
    chat = [{"role": role, "content": content} for role, content in asked]
    assert Context.of({"messages": chat}).response == ""
    looked = [*chat, {"role": "assistant", "content": "Fine."}, {"role": "tool", "content": "{}"}]
    assert Context.of({"messages": looked}).response == "Fine."


def test_everything_that_does_not_fit_is_told_at_once() -> None:
    with pytest.raises(ContextError) as caught:
        Context.of({"response": 3, "images": "no", "metadata": {"token_count": -1}})
    assert all(word in str(caught.value) for word in ("response", "images", "token_count"))


def test_a_broken_line_is_told_by_number_and_the_rest_goes_on() -> None:
    lines: list[str | bytes] = [
        '{"response": "a"}',
        "{oops",
        "",
        "[1]",
        '{"response": 3}',
        b'\xff{"x"',
        '{"id": "last", "response": "z"}',
    ]
    found = list(read_cases(lines))
    assert [type(item) for item in found] == [Case, BadLine, BadLine, BadLine, BadLine, Case]
    assert [item.line for item in found] == [1, 2, 4, 5, 6, 7]
    assert isinstance(found[-1], Case)
    assert found[-1].id == "last"


@pytest.mark.parametrize(
    "text",
    ["\x00\x00 NUL", "\ud800 lone", "שלום עולם, مرحبا", "🙂" * 1000, "", " \n\t", "a" * 100_000],
)
@pytest.mark.parametrize("name", ["answer-quality", "voice-companion", "council-review", "education-question", "arena"])
def test_odd_texts_are_evaluated_by_every_pack(name: str, text: str) -> None:
    evaluation = rubrica.evaluate(name, prompt=text, response=text)
    assert evaluation.verdict
    assert rubrica.Evaluation.from_json(evaluation.to_json()).verdict == evaluation.verdict
