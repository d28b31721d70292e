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


@pytest.mark.parametrize(
    ("explanation", "letters"),
    [
        ("Twenty leaving takes 50 down to 30. Ten more brings that to 40.", "AC"),
        ("From 10 to 50 it is 40. (30 is what one gets by counting from 20, a classic mistake.)", "AC"),
        ("The total is 10 × 4 = 40. Adding 10 and 4 first gives the tempting but wrong 30.", "AC"),
        ("Each costs 10, so 2b = 80, b = 40.", "D"),
        ("It doubles: 10 → 20 → 40.", "AC"),
        ("20 × 4 = 80, and half of it is one side: 80/2 = 40.", "AD"),
        ("5 · 16 / 2 = 40, since each line is counted from both ends.", "ACD"),
        ("Step 1: 20 + 60 = 80\nStep 2: $80 − $40 = $40", "D"),
        ("r² = 5 · 16 = 80 and r = 40.", "D"),
        ("Half of 80 is one side. Together that's 40.", "AC"),
        ("Add 10 to 30 to obtain 40.", "AC"),
        ("10 × 4 = 40. (The other rows have 30.)", "AC"),
        ("10 × 4 = 40. Without the first row it would be 10 × 3 = 30.", "AC"),
        ("Thirty and ten make forty. So much for five tens less one.", "AD"),
    ],
)
def test_a_wrong_key_that_an_explanation_passes_or_never_names_is_found(explanation: str, letters: str) -> None:
    question = StyledQuestion("How many are there?", ("20", "40", "30", "80", "15"), "B", explanation)
    assert rejected(question, "B") == []
    assert [letter for letter in letters if not rejected(question, letter)] == []


@pytest.mark.parametrize(
    ("options", "key", "explanation"),
    [
        (("$6", "$7", "$7.50", "$9"), "C", "Thirty are two and a half dozen, which makes seven dollars fifty."),
        (("800", "1000", "1200", "1600"), "C", "Three of them, at 400 each: one thousand two hundred."),
        (("1/4", "1/6", "1/8", "5/8"), "C", "125/1000 shrinks when both are divided by 125.  So one eighth."),
        (("1/6", "1/3", "1/2", "2/3"), "C", "The primes are 2, 3 and 5, that's three out of six."),
        (("Tuesday", "Wednesday", "Friday"), "B", "100 = 14 * 7 + 2. Two days after Monday is Wednesday."),
        (("acute", "right", "obtuse"), "B", "25 + 144 = 169, and the triangle is right."),
        (("(0, 3)", "(2, 1)", "(3, 2)"), "B", "Put x = 2 in: y = 2(2) - 3 = 1. So (2, 1) is on the line."),
        (("4/9", "9/4", "3/2"), "B", "A negative exponent turns the fraction over: (3/2)^2 = 9/4."),
        (("1", "1.5", "2"), "B", "tan 45 is 1 and sin 30 is 1/2 . adding we get 1.5"),
        (("1", "3", "9"), "B", "cycle is 7,9,3,1 (4 terms). 35 = 4*8 + 3. so it is the third in the cycle i.e 3"),
        (("12 noon", "2 pm", "4 pm"), "B", "It closes 60 - 40 = 20 km an hour. time = 80/20 = 4 hours so at 2 pm"),
        (("3.75%", "37.5%", "38%"), "B", "3 divided by 8 is 0.375; times 100 that is 37.5 percent"),
    ],
)
def test_results_in_words_and_in_untidy_sentences_are_read(
    options: tuple[str, ...], key: str, explanation: str
) -> None:
    question = StyledQuestion("What is it?", options, key, explanation)
    assert rejected(question, key) == []
    assert [letter for letter in LETTERS[: len(options)] if letter != key and not rejected(question, letter)] == []


@pytest.mark.parametrize(
    ("stem", "options", "key", "explanation"),
    [
        ("A number and its reciprocal make 2.5. Which?", ("1.5", "2", "2.5"), "B", "Try 2: 2 + 1/2 = 2.5. Works."),
        ("A leak in an hour?", ("24 hr", "30 hr"), "B", "leak in 1 hr = 1/5-1/6 = 1/30. leak empties tank in 30 hr"),
        ("Reduce 84/126.", ("1/2", "2/3", "3/4"), "B", "gcd(84,126)=42 . 84/42=2 & 126/42=3"),
        (
            "How many edges?",
            ("4", "6", "8"),
            "C",
            "There are four at the base and four more that go up.",
        ),
    ],
)
def test_a_result_that_is_left_to_the_reader_is_no_contradiction(
    stem: str, options: tuple[str, ...], key: str, explanation: str
) -> None:
    assert rejected(StyledQuestion(stem, options, key, explanation), key) == []
