"""An explanation may speak of the options that are wrong; what it only passes on its way is not where it arrives."""

from __future__ import annotations

import json

import pytest

from rubrica.text import FEATURES
from rubrica.text.texts import Texts

CHECKS = ("mcq_key_absent", "mcq_key_mismatch", "mcq_key_unreached", "mcq_key_miscalculated", "answer_mismatch")
PENS = {
    "question": "Six boxes hold seven pens each. How many pens are there?",
    "options": ["A) 13", "B) 42", "C) 48", "D) 35"],
    "answer": "B",
}


def rejecting(**fields: object) -> list[str]:
    texts = Texts(response=json.dumps(fields))
    return [name for name in CHECKS if FEATURES[name].compute(texts)]


@pytest.mark.parametrize(
    "explanation",
    [
        "6 × 7 = 42. The other options come from adding (6 + 7 = 13), or from 6 × 8 = 48 and 5 × 7 = 35.",
        "There are 6 × 7 = 42 pens. C is what you get for 6 × 8 = 48.",
        "Multiply 6 by 7 to get 42. Option A adds instead: 6 + 7 = 13.",
        "6 × 7 = 42. Students who answer 48 computed 6 × 8 = 48.",
        "6 × 7 = 42, so B. Adding gives 13 (A), and one box too few gives 5 × 7 = 35 (D).",
        "6 × 7 = 42.\n\nWhy the others are wrong:\nA) 6 + 7 = 13\nC) 6 × 8 = 48\nD) 5 × 7 = 35",
        "Correct: B. 6 × 7 = 42.\nA: 6 + 7 = 13, which is too small.\nC: 6 × 8 = 48.",
        "First 6 × 5 = 30, then 6 × 2 = 12, and 30 + 12 = 42. If it were 8 in each, the total would be 48.",
        "If there were 35, they would fill 35 ÷ 7 = 5 boxes.\nIf there are 42, they fill 42 ÷ 7 = 6 boxes.",
        "6 × 7 = 42. Another way: 5 × 7 = 35 and 35 + 7 = 42.",
    ],
)
def test_what_is_said_about_wrong_options_is_no_conclusion(explanation: str) -> None:
    assert rejecting(**PENS, explanation=explanation) == []


@pytest.mark.parametrize(
    ("answer", "explanation"),
    [
        ("D", "Five boxes hold 5 × 7 = 35 pens, and the sixth brings them to 35 + 7 = 42 pens."),
        ("C", "6 × 7 = 42. The other options come from adding."),
        ("A", "6 + 7 is 13, but they are groups, so we need 6 × 7. That makes it = 42."),
    ],
)
def test_a_key_that_is_only_passed_is_told(answer: str, explanation: str) -> None:
    assert rejecting(**{**PENS, "answer": answer}, explanation=explanation)


def test_an_ordinal_is_held_against_ordinals() -> None:
    fields = {
        "question": "He saves 5 euros in 2 days. On which day does he have 60?",
        "options": ["on the 16th day", "on the 17th day", "on the 20th day"],
        "explanation": "After 16 days he has 40 euros. On the 17th day he gets 20, so 40 + 20 = 60.",
    }
    assert rejecting(**fields, answer="B") == []
    assert rejecting(**fields, answer="A")
