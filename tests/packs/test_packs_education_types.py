"""Each type of question comes to the verdict that its key and form deserve, offline."""

from __future__ import annotations

import json
from typing import Any

import pytest

import rubrica
from rubrica.packs.library import load

SIX_SEVENS: dict[str, Any] = {"type": "fill-in", "question": "Six sevens are ____.", "difficulty": "easy"}


def judged(settings: dict[str, Any] | None = None, **fields: Any) -> tuple[str, set[str]]:
    rubric = load("education-question").with_settings(**(settings or {}))
    prompt = "Multiplication facts: a question, easy."
    found = rubrica.evaluate(rubric, prompt=prompt, response=json.dumps(fields))
    return found.verdict, {gate.name for gate in found.gates if gate.fired}


def test_a_fill_in_whose_explanation_comes_to_another_number_is_rejected() -> None:
    verdict, gates = judged(**SIX_SEVENS, answer="48", explanation="Six sevens: 6 × 7 = 42.")
    assert verdict == "reject"
    assert "answer-mismatch" in gates


def test_an_explanation_that_mentions_a_distractor_is_no_reason() -> None:
    _, gates = judged(**SIX_SEVENS, answer="42", explanation="6 × 7 = 42. C is what you get for 6 × 8 = 48.")
    assert "answer-mismatch" not in gates


@pytest.mark.parametrize(
    "fields",
    [
        {"question": "Solve 7x + 5 = 40.", "type": "short-answer", "answer": "x = 6"},
        {"question": r"What is $\frac{1}{2} + \frac{1}{4}$?", "options": ["1/6", "2/6", "3/4", "1/8"], "answer": "B"},
        {"question": "Which is NOT a multiple of 7?", "options": ["14", "21", "27", "35"], "answer": "A"},
        {"question": "Convert 3 hours to minutes.", "type": "numeric", "answer": "300"},
    ],
    ids=str,
)
def test_a_key_that_does_not_solve_the_question_is_rejected(fields: dict[str, Any]) -> None:
    verdict, gates = judged(**fields, explanation="Think of what the words mean, one after the other.")
    assert (verdict, "answer-mismatch" in gates) == ("reject", True)


def test_pairs_that_leave_an_item_out_go_back() -> None:
    columns: dict[str, Any] = {"left": ["6 × 7", "6 × 8"], "right": ["42", "48"]}
    _, gates = judged(type="matching", question="Match.", **columns, answer={"6 × 7": "42"})
    assert "malformed-answer" in gates
    _, gates = judged(type="matching", question="Match.", **columns, answer={"6 × 7": "42", "6 × 8": "48"})
    assert not gates & {"malformed-answer", "answer-mismatch"}


@pytest.mark.parametrize(("count", "fires"), [(1, True), (2, False), (6, False), (10, False), (11, True)])
def test_any_number_of_options_from_two_to_ten_will_do_where_none_is_set(count: int, fires: bool) -> None:
    options = [str(each) for each in range(40, 40 + count)]
    _, gates = judged({"option_count": 0}, question="Pick 40.", options=options, answer="A")
    assert ("wrong-option-count" in gates) is fires
