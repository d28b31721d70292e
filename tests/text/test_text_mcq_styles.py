"""Sound questions are left alone however they are written, and a wrong key is found where the explanation shows it."""

from __future__ import annotations

import json

import pytest

from question_styles import STYLES, StyledQuestion
from rubrica.text import FEATURES
from rubrica.text.texts import Texts

CHECKS = (
    "mcq_key_absent", "mcq_key_duplicated", "mcq_key_mismatch", "mcq_key_unreached", "mcq_key_miscalculated"
)  # fmt: skip
LETTERS = "ABCDEFGHIJ"


def rejected(question: StyledQuestion, answer: str, checks: tuple[str, ...] = CHECKS) -> list[str]:
    """The checks that speak up: of the key, unless others are named."""
    record = {
        "question": question.stem,
        "options": [f"{letter}) {text}" for letter, text in zip(LETTERS, question.options, strict=False)],
        "answer": answer,
        "explanation": question.explanation,
    }
    texts = Texts(response=json.dumps(record))
    return [name for name in checks if FEATURES[name].compute(texts)]


@pytest.mark.parametrize("question", [each for style in STYLES.values() for each in style], ids=lambda each: each.stem)
def test_a_sound_question_is_left_alone(question: StyledQuestion) -> None:
    assert rejected(question, question.key) == []


@pytest.mark.parametrize("question", STYLES["beside the way"], ids=lambda each: each.stem)
def test_what_stands_beside_the_way_to_the_answer_is_no_wrong_step(question: StyledQuestion) -> None:
    assert rejected(question, question.key, ("question_wrong_equations",)) == []


@pytest.mark.parametrize(("style", "least"), [("in words", 0.8), ("misprinted", 0.95), ("in notation", 0.8)])
def test_a_wrong_key_is_found(style: str, least: float) -> None:
    wrong = [
        bool(rejected(question, letter))
        for question in STYLES[style]
        for letter in LETTERS[: len(question.options)]
        if letter != question.key
    ]
    assert sum(wrong) / len(wrong) >= least


def test_equal_values_in_other_notations_are_two_right_answers() -> None:
    asked = StyledQuestion("What is 3 ÷ 4?", ("0.75", "$\\frac{3}{4}$", "4/3", "1"), "A", "")
    assert rejected(asked, "A") == ["mcq_key_duplicated"]
    assert rejected(asked, "D") == []


@pytest.mark.parametrize(
    ("explanation", "wrong"),
    [
        ("She has 15 - 2 = 13 left. Her friend takes 5, so 13 - 5 = 8 are left on the plate.", True),
        ("2000 / 400 = 5 hours.\n#### 5", True),
        ("The total is 5 + 8, and the answer is 9.", True),
        ("20 - 7 = 13. That is what is asked for.", False),
        ("20 - 7 = 13.\nCheck: 13 + 7 = 20.", False),
        ("y = 20 - 13 = 7 gives x = 13.", False),
    ],
)
def test_what_an_explanation_comes_to_counts_not_what_it_passes(explanation: str, wrong: bool) -> None:
    question = StyledQuestion("How many are left?", ("4", "13", "21", "40"), "B", explanation)
    assert bool(rejected(question, "B")) is wrong
