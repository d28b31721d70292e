"""HealthBench's lines: chats, criteria with points and tags, experts' answers, and what comes along."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from rubrica.engine.cases import BadLine, Case, case_from
from rubrica.errors import InputError
from rubrica.interchange.healthbench import ConvertedLine, Ideal, export_cases, import_cases, losses_of, read_responses

ROW: dict[str, Any] = {
    "prompt_id": "p-1",
    "prompt": [
        {"role": "user", "content": "My knee hurts after running."},
        {"role": "assistant", "content": "Since when?"},
        {"role": "user", "content": "Since Sunday."},
    ],
    "rubrics": [
        {"criterion": "Advises a break from running.", "points": 7, "tags": ["level:example", "axis:accuracy"]},
        {"criterion": "Names a diagnosis as certain.", "points": -5, "tags": []},
    ],
    "example_tags": ["theme:sport"],
    "ideal_completions_data": {"ideal_completion": "Pause for a week.", "ideal_completions_group": "Group 1"},
    "canary": "a string that must not be lost",
}


def lines(*rows: Any) -> list[str]:
    return [row if isinstance(row, str) else json.dumps(row) for row in rows]


def one(row: Any, **options: Any) -> dict[str, Any]:
    (found,) = import_cases(lines(row), **options)
    assert isinstance(found, ConvertedLine), found
    data: dict[str, Any] = found.conversion.data
    return data


def bad(row: Any) -> str:
    (found,) = import_cases(lines(row))
    assert isinstance(found, BadLine)
    return found.reason


@pytest.mark.parametrize("ideal", get_args(Ideal))
@pytest.mark.parametrize("more", [{}, {"completion": "Rest it."}, {"prompt": "Knee?", "other": {"x": [1]}}])
def test_import_export_import_is_the_same(ideal: Ideal, more: dict[str, Any]) -> None:
    first = one({**ROW, **more}, ideal=ideal)
    (back,) = export_cases(lines(first))
    assert isinstance(back, ConvertedLine)
    assert back.conversion.lost == ()
    assert one(back.conversion.data, ideal=ideal) == first


def test_a_line_comes_back_as_it_was() -> None:
    (back,) = export_cases(lines(one(ROW)))
    assert isinstance(back, ConvertedLine)
    assert back.conversion.data == ROW


def test_a_case_names_its_rubric_and_keeps_what_no_judge_is_shown() -> None:
    case = one({**ROW, "completion": "Rest it."}, rubric="mine")
    assert (case["id"], case["rubric"], case["response"]) == ("p-1", "mine", "Rest it.")
    assert case["criteria"][0] == {
        "criterion": ROW["rubrics"][0]["criterion"],
        "points": 7,
        "tags": ["level:example", "axis:accuracy"],
    }
    assert case["metadata"].keys() == {"example_tags", "ideal_completions_data", "canary"}
    assert "reference" not in case


def test_an_earlier_answer_is_never_judged_in_place_of_a_missing_one() -> None:
    (found,) = import_cases(lines(ROW))
    assert isinstance(found, ConvertedLine)
    assert [str(problem) for problem in losses_of(found)] == [
        "1: completion: there is no response to judge (add a `response` to the case, or give --responses)"
    ]
    case = case_from(found.conversion.data, 1)
    assert isinstance(case, Case)
    assert (case.context.prompt, case.context.response) == ("Since Sunday.", "")


def test_responses_come_from_another_file_or_from_experts() -> None:
    answers = read_responses(
        lines({"prompt_id": "p-1", "completion": [{"role": "assistant", "content": "Ice."}]}), "a.jsonl"
    )
    assert one(ROW, responses=answers)["response"] == "Ice."
    assert one(ROW, ideal="response")["response"] == "Pause for a week."
    assert one(ROW, ideal="reference")["reference"] == "Pause for a week."


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (("nope",), "a.jsonl:1: not JSON"),
        (({"prompt_id": "x"},), "a.jsonl:1: a line has a prompt_id and a completion"),
        (({"id": "x", "response": "a"}, {"id": "x", "response": "b"}), "a.jsonl:2: the response to 'x' is given twice"),
    ],
)
def test_responses_that_cannot_be_read_are_refused(rows: tuple[Any, ...], said: str) -> None:
    with pytest.raises(InputError) as error:
        read_responses(lines(*rows), "a.jsonl")
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rubrics": []}, "rubrics are a list of criteria, not an empty list"),
        ({"rubrics": [{"criterion": "Says so."}]}, "rubrics[0]: a criterion has points"),
        ({"rubrics": [{"criterion": "Says so.", "points": 0}]}, "0 points"),
        ({"rubrics": [{"criterion": "Says so.", "points": 1}] * 2}, "given twice"),
        ({"rubrics": [{"criterion": "Says so.", "points": -1}]}, "all negative"),
        ({"rubrics": [{"criterion": "x" * 2_001, "points": 1}]}, "2000"),
        ({"rubrics": [{"criterion": f"Says {at}.", "points": 1} for at in range(10_000)]}, "5000"),
        ({"prompt": 3}, "the prompt is a list of messages, not 3"),
        ({"prompt": ["hi"]}, "prompt[0]: a message is an object"),
        ({"prompt": [{"role": "ghost", "content": "x"}]}, "role"),
    ],
)
def test_a_line_that_cannot_be_judged_is_told_with_its_reason(change: dict[str, Any], said: str) -> None:
    assert said.replace(",", "") in bad({**ROW, **change}).replace(",", "")


def test_broken_lines_do_not_stop_the_others() -> None:
    found = [type(line).__name__ for line in import_cases(lines("{oops", "[1]", "", "[" * 5_000, ROW))]
    assert found == ["BadLine", "BadLine", "BadLine", "ConvertedLine"]


def test_a_line_can_bring_no_pictures_or_metrics_of_its_own() -> None:
    case = one({**ROW, "images": ["/etc/hostname"], "custom_metrics": {"score": 1}, "expect": "good"})
    judged = case_from(case, 1)
    assert isinstance(judged, Case)
    assert (judged.context.images, judged.context.custom_metrics, judged.expect) == ((), {}, None)


def test_what_has_no_place_in_healthbench_is_told() -> None:
    case = {
        **one(ROW),
        "expect": "good",
        "rubric": "mine",
        "criteria": [{"criterion": "Short.", "answers": {"yes": 1, "no": 0}}, "Kind."],
    }
    (found,) = export_cases(lines(case))
    assert isinstance(found, ConvertedLine)
    assert [str(problem) for problem in found.conversion.lost] == [
        "criteria[0].answers: has no place in HealthBench",
        "expect: has no place in a line of HealthBench",
        "rubric: a line of HealthBench names no rubric",
    ]
    assert found.conversion.data["rubrics"][1] == {"criterion": "Kind.", "points": 1, "tags": []}


def test_a_case_without_criteria_has_no_place_there() -> None:
    (found,) = export_cases(lines({"prompt": "Hi", "response": "Hello"}))
    assert isinstance(found, BadLine)
    assert "the case has no criteria of its own" in found.reason
