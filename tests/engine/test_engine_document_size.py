"""Documents and data from outside that are nested deeply, or written to be slow: refused quickly, with their place."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rubrica.cli.app import app
from rubrica.companion.scenarios import load_scenarios
from rubrica.council.settings import load_council
from rubrica.education.inputs import request_of
from rubrica.education.writing import read_questions
from rubrica.engine.cases import BadLine, read_case
from rubrica.engine.document import DEEPEST, check_size, read_document
from rubrica.engine.load import rubric_from_data
from rubrica.errors import JsonError, RubricaError, RubricError
from rubrica.gateway.chat import read_chat
from rubrica.gateway.feedback import read_feedback
from rubrica.gateway.settings import settings_from_text
from rubrica.gateway.thresholds import with_thresholds_in
from rubrica.jsontext import decode_json, decode_json_at
from rubrica.judges.fence import JudgedTexts
from rubrica.judges.labels import read_labels
from rubrica.judges.reply import read_one
from rubrica.llm.http import read_error_body
from rubrica.model.evaluation import Evaluation
from rubrica.model.scale import Scale
from rubrica.text.questions.question import read_question
from rubrica.workspace.bundle import read_bundle
from rubrica.workspace.rubric_text import from_text

BLOCK = "- " * 25_000
FLOW = "[" * 500_000
KEYS = "".join(f"{' ' * depth}k:\n" for depth in range(1_500))
OBJECTS = '{"a":' * 100_000
NEARLY = '{"a":' * 900 + "1" + "}" * 900  # a decoder takes it, and what walks through it later does not


def refusal(text: str) -> str:
    with pytest.raises(RubricError) as refused:
        read_document(text, "r.yaml")
    return str(refused.value)


@pytest.mark.parametrize("text", [BLOCK, FLOW, KEYS, "? " * 50_000, "{a: " * 100_000, OBJECTS, NEARLY])
def test_a_nested_document_is_refused_quickly(text: str) -> None:
    start = time.process_time()
    assert f"the document is nested too deeply (at most {DEEPEST} levels)" in refusal(text)
    assert time.process_time() - start < 1


def test_a_nested_document_is_refused_with_its_line_and_path() -> None:
    text = "name: x\ndimensions:\n  a:\n" + "".join(f"{' ' * depth}k:\n" for depth in range(4, 200))
    assert refusal(text).startswith(f"r.yaml:{DEEPEST + 2}: dimensions.a.k: the document is nested too deeply")


def test_a_document_as_deep_as_allowed_is_read_and_brackets_in_text_do_not_count() -> None:
    levels = "[" * (DEEPEST - 1) + "]" * (DEEPEST - 1)
    assert read_document(f"a: {levels}").data
    assert read_document(f"a: '{'[' * 500}'").data == {"a": "[" * 500}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1" + ":1" * 400_000, "characters that are not read as text"),  # a number of base 60: quadratic to convert
        ("a: 0x" + "f" * 10_000, "characters that are not read as text"),
        ("".join(f"%TAG !{n}! x:\n" for n in range(30_000)) + "---\na: 1", "too many lines begin with %"),
        ("- a\n" * 400_000, "too many values"),
    ],
)
def test_a_document_written_to_be_slow_is_refused_quickly(text: str, said: str) -> None:
    start = time.process_time()
    assert said in refusal(text)
    assert time.process_time() - start < 3


def test_the_command_line_refuses_a_nested_document(tmp_path: Path) -> None:
    file = tmp_path / "deep.yaml"
    file.write_text(BLOCK)
    told = CliRunner().invoke(app, ["validate", str(file)])
    assert isinstance(told.exception, SystemExit)
    assert told.exit_code != 0
    assert "nested too deeply" in told.output


@pytest.mark.parametrize("text", [BLOCK, NEARLY])
@pytest.mark.parametrize(
    "read", [read_bundle, settings_from_text, from_text, check_size], ids=["bundle", "gateway", "builder", "size"]
)
def test_every_reader_of_documents_refuses_a_nested_one(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(RubricError, match="nested too deeply"):
        read(text)


@pytest.mark.parametrize("name", ["council.yaml", "scenarios.yaml"])
def test_every_reader_of_files_refuses_a_nested_one(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(BLOCK)
    with pytest.raises(RubricError, match="nested too deeply"):
        load_council(file) if name == "council.yaml" else load_scenarios([str(file)])


def test_nested_settings_are_left_to_be_edited_by_hand() -> None:
    assert with_thresholds_in(BLOCK, {"FACTUAL": 80}) is None


def test_a_nested_definition_given_as_data_is_refused() -> None:
    with pytest.raises(RubricError, match="nested too deeply"):
        rubric_from_data(decode_json(NEARLY, deepest=1_000))


@pytest.mark.parametrize("text", [FLOW, OBJECTS, NEARLY, '["a",' * 100_000])
def test_nested_json_has_one_error(text: str) -> None:
    with pytest.raises(JsonError, match="nested more than 100 levels deep"):
        decode_json(text)
    with pytest.raises(JsonError, match="nested more than 100 levels deep"):
        decode_json_at(f"see {text}", 4)


@pytest.mark.parametrize("text", [FLOW, OBJECTS, NEARLY])
@pytest.mark.parametrize(
    "read",
    [
        lambda text: read_chat(text.encode()),
        lambda text: read_feedback(text.encode()),
        request_of,
        lambda text: read_labels([text], {"tone": Scale()}),
        lambda text: Evaluation.from_json(text[:200_000]),
    ],
    ids=["chat", "feedback", "education", "labels", "evaluation"],
)
def test_every_reader_of_json_refuses_nested_json_by_its_own_error(read: Callable[[str], object], text: str) -> None:
    with pytest.raises(RubricaError):
        read(text)


@pytest.mark.parametrize("text", [FLOW, OBJECTS, NEARLY, f'{{"score": {"[" * 900}{"]" * 900}}}'])
def test_nested_json_in_replies_of_models_is_passed_over(text: str) -> None:
    start = time.process_time()
    assert not hasattr(read_one(text, "tone", Scale(min=1, max=10), JudgedTexts()), "value")
    assert read_questions(text)[0] == ()
    assert read_question(text) is None
    assert read_error_body(text.encode()).message == ""
    assert isinstance(read_case(text, 1), BadLine)
    assert time.process_time() - start < 3


def test_a_score_behind_nested_json_is_still_read() -> None:
    found = read_one(f'{NEARLY} so {{"score": 7}}', "tone", Scale(min=1, max=10), JudgedTexts())
    assert getattr(found, "value", None) == 7
