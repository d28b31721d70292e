"""OpenAI's graders: each type, the formula of a multi, and what is refused with its reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

import rubrica
from rubrica.errors import RubricError
from rubrica.interchange import Conversion, export_rubric, import_rubric

ANSWER = "{{ sample.output_text }}"
SCORE = {
    "type": "score_model",
    "name": "soundness",
    "model": "o4-mini",
    "range": [0, 10],
    "pass_threshold": 7,
    "sampling_params": {"reasoning_effort": "low", "max_completions_tokens": 2048},
    "input": [
        {"role": "system", "content": "Hold it against {{ item.reference_answer }} for {{item.reader}}."},
        {"role": "user", "content": ANSWER},
    ],
}
LABEL = {
    "type": "label_model",
    "name": "tone",
    "model": "o4-mini",
    "input": [{"role": "user", "content": [{"type": "input_text", "text": "Which tone is it?"}]}],
    "labels": ["kind (warm)", "plain", "rude"],
    "passing_labels": ["kind (warm)", "plain"],
}
CHECK = {"type": "string_check", "name": "town", "input": ANSWER, "reference": "Paris (FR).", "operation": "eq"}


def read(data: Any) -> Conversion:
    return import_rubric(json.dumps(data), "openai-grader", "graded")


def multi(formula: str, **graders: Any) -> dict[str, Any]:
    return {"type": "multi", "name": "all", "graders": graders, "calculate_output": formula}


def told(found: Conversion) -> list[str]:
    return [str(problem) for problem in found.lost]


@pytest.mark.parametrize(
    "grader",
    [
        SCORE,
        {**SCORE, "range": [0, 1], "pass_threshold": 0.25},
        LABEL,
        CHECK,
        {**CHECK, "operation": "ne"},
        {**CHECK, "operation": "like", "reference": "C:\\x + [y]\n{z} ü"},
        {**CHECK, "operation": "ilike"},
        multi("0.5 * a / 10 + 0.5 * b ^ 2 * max(c, 0.5)", a=SCORE, b=LABEL, c=CHECK),
        multi("3 * b + c", b=LABEL, c=CHECK),
    ],
)
def test_import_export_import_is_the_same(grader: dict[str, Any]) -> None:
    first = read(grader)
    back = export_rubric(rubrica.load(first.data), "openai-grader", model="o4-mini")
    assert read(back.data).data == first.data


def test_a_score_model_keeps_question_range_threshold_and_effort() -> None:
    found = read(SCORE)
    assert found.data["dimensions"]["soundness"]["asks"] == "Hold it against [the reference] for [reader]."
    assert list(found.data["context"]) == ["reader"]
    assert found.data["judging"] == {"effort": "low", "max_tokens": 2048}
    assert told(found) == ["model: a rubric names no model (judge with --judge openai:o4-mini)"]
    for score, verdict in ((6.9, "fail"), (7.0, "pass")):
        decided = rubrica.decide(found.data, {"soundness": score})
        assert (decided.score, decided.verdict) == (score, verdict)


def test_a_label_model_passes_by_its_passing_labels() -> None:
    found = read(LABEL).data
    assert found["dimensions"]["tone"]["answers"] == {"kind_warm": 1, "plain": 1, "rude": 0}
    assert [rubrica.decide(found, {"tone": value}).verdict for value in (1, 0)] == ["pass", "fail"]


@pytest.mark.parametrize(
    ("operation", "response", "score"),
    [
        ("eq", "Paris (FR).", 1),
        ("eq", "paris (fr).", 0),
        ("eq", "Paris (FR).\n", 0),
        ("ne", "Paris (FR).", 0),
        ("ne", "Rome", 1),
        ("like", "It is Paris (FR). Yes.", 1),
        ("like", "It is paris (fr).", 0),
        ("ilike", "IT IS PARIS (FR).", 1),
        ("ilike", "Paris FR", 0),
    ],
)
def test_a_string_check_is_done_by_code(operation: str, response: str, score: float) -> None:
    assert rubrica.evaluate(read({**CHECK, "operation": operation}).data, response=response).score == score


@pytest.mark.parametrize(
    ("operation", "response", "score"),
    [("eq", "Paris.", 1), ("eq", "paris.", 0), ("ne", "Rome", 1), ("like", "In paris.", 0), ("ilike", "In PARIS.", 1)],
)
def test_a_string_check_against_a_field_reads_the_reference_of_the_case(
    operation: str, response: str, score: float
) -> None:
    check = {**CHECK, "operation": operation, "reference": "{{ item.reference }}"}
    found = read(check)
    assert not found.lost
    case = {"response": response, "reference": "Paris."}
    assert rubrica.evaluate(found.data, context=case).score == score
    back = export_rubric(rubrica.load(found.data), "openai-grader").data
    assert (back["operation"], back["reference"]) == (operation, "{{item.reference}}")
    without = rubrica.evaluate(found.data, response=response)
    assert without.score is None
    assert "the case has no reference" in without.dimensions["town"].reason


def test_a_field_of_another_name_is_told_with_the_option_that_names_it() -> None:
    assert any("--map reference=label" in line for line in told(read({**CHECK, "reference": "{{item.label}}"})))


def test_the_formula_of_a_multi_is_the_score() -> None:
    found = read(multi("0.5 * a / 10 + 0.5 * b ^ 2", a=SCORE, b=LABEL))
    assert rubrica.decide(found.data, {"a": 8, "b": 1}).score == pytest.approx(0.9)
    assert "graders.a.pass_threshold: the formula decides alone" in told(found)


def test_a_formula_above_one_keeps_its_value_and_one_below_zero_says_so() -> None:
    assert rubrica.decide(read(multi("3 * b", b=LABEL)).data, {"b": 1}).score == pytest.approx(3)
    assert "calculate_output: can give -1; a score counts 0 at least" in told(read(multi("b - 1", b=LABEL)))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"type": "python", "source": "def grade(s, i): return 1"}, "runs Python code, and a rubric runs none"),
        ({"type": "text_similarity", "input": ANSWER, "evaluation_metric": "bleu"}, "likeness by bleu, which hangs on"),
        ({"type": "text_similarity", "evaluation_metric": "cosine"}, "vectors of OpenAI's text-embedding-3-large"),
        ({"type": "text_similarity", "evaluation_metric": "rouge"}, "there is no metric 'rouge'"),
        ({"type": "endpoint"}, "there is no grader of type 'endpoint'"),
        ({**CHECK, "operation": "regex"}, "there is no operation 'regex'"),
        ({**CHECK, "reference": "{{sample.label}}"}, "compares with sample.label, which no case has as a text"),
        ({**CHECK, "reference": "The {{item.label}}."}, "compares with a template among other words"),
        (
            multi("a + b", a={**CHECK, "reference": "{{item.x}}"}, b={**CHECK, "reference": "{{item.y}}"}),
            "compares with item.y, and another check with item.x; a case has one reference",
        ),
        ({**CHECK, "input": "{{sample.output_json.name}}"}, "compares sample.output_json.name"),
        ({**LABEL, "passing_labels": ["kind"]}, "passing_labels some of them"),
        ({**SCORE, "range": [1, 1]}, "range ends at 1, before it begins"),
        ({**SCORE, "input": [{"role": "user", "content": ANSWER}]}, "the messages ask nothing"),
        (multi("a + z", a=LABEL), "no grader is called 'z'"),
        (multi("0.5 * a)", a=LABEL), "calculate_output"),
        (multi("__import__('os')", a=LABEL), "calculate_output"),
        (multi("a + b", a=LABEL, b=multi("a", a=LABEL)), "is a multi inside a multi"),
        (multi("a", a=LABEL, b={"type": "python"}), "the grader b runs Python code"),
        (multi("a"), "graders are an object of graders by name"),
        ([LABEL, CHECK], "give several in a multi"),
    ],
)
def test_what_cannot_be_carried_over_is_refused_with_its_reason(data: Any, said: str) -> None:
    with pytest.raises(RubricError) as error:
        read(data)
    assert said in str(error.value)


def test_what_a_judge_is_not_shown_is_told() -> None:
    asks = [
        {"role": "user", "content": "See {{sample.output_tools[0].name}}."},
        {"role": "user", "content": {"type": "input_image"}},
    ]
    assert told(read({**LABEL, "input": asks}))[:2] == [
        "input[0].content: judges are not shown sample.output_tools[0].name (put it into a context name of each case)",
        "input[1].content: only text is carried over, not input_image",
    ]


def test_points_become_the_formula_of_a_multi() -> None:
    document = {
        "name": "leaflet",
        "dimensions": {
            "dose": {"points": 5, "asks": "States the dose.", "answers": {"yes": 1, "no": 0}},
            "invents": {"points": -8, "asks": "Invents a dose.", "answers": {"yes": 1, "no": 0}},
            "style": {"points": 3, "asks": "How well is it written?", "scale": {"min": 0, "max": 10}},
        },
        "score": {"points": True},
        "verdicts": [{"label": "scored"}],
    }
    rubric = rubrica.load(document)
    grader = export_rubric(rubric, "openai-grader").data
    assert grader["calculate_output"] == "max(0, min(1, (5 * dose + -8 * invents + 3 * style / 10) / 8))"
    for scores in ({"dose": 1, "invents": 0, "style": 5}, {"dose": 1, "invents": 1, "style": 10}):
        assert rubrica.decide(read(grader).data, scores).score == pytest.approx(rubrica.decide(rubric, scores).score)


def test_a_score_that_no_grader_gives_refuses_the_export() -> None:
    document = {
        "name": "mixed",
        "dimensions": {"a": {"weight": 0.5, "asks": "Good?"}, "b": {"weight": 0.5, "formula": "min(1, word_count)"}},
        "verdicts": [{"label": "scored"}],
    }
    with pytest.raises(RubricError, match="the score needs b, which no grader can give"):
        export_rubric(rubrica.load(document), "openai-grader")
