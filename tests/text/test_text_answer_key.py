"""The key of a question against its options and its explanation: what is found, and what is left alone."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.text.maths.amounts import amounts_of, is_worth, mentions
from rubrica.text.maths.conclusion import closing, stated_letter
from rubrica.text.questions.mcq import FEATURES
from rubrica.text.texts import Texts

CHECKS = {feature.name: feature for feature in FEATURES if feature.name.startswith("mcq_key")}


def found(options: list[str], answer: str, explanation: str, stem: str = "How much is it?", **more: Any) -> set[str]:
    response = {"question": stem, "options": options, "answer": answer, "explanation": explanation, **more}
    texts = Texts(response=json.dumps(response, ensure_ascii=False))
    return {name.removeprefix("mcq_key_") for name, check in CHECKS.items() if check.compute(texts)}


NUMBERS = ["A) 12", "B) 20", "C) 24", "D) 30"]


@pytest.mark.parametrize(
    "explanation",
    [
        "The shorter is 6 and the longer 18. So the total is 24.",
        "6 × 4 = 24\nC",
        "6 × 4 = 24=C",
        "Answer C 24",
        "ANSWER: OPTION C",
        "Hence, C",
        "Therefore C is correct.",
        "They have 24 legs, so it must be 24.",
    ],
)
def test_another_letter_than_the_explanation_arrives_at_is_a_contradiction(explanation: str) -> None:
    assert found(NUMBERS, "C", explanation) == set()
    assert found(NUMBERS, "A", explanation) == {"mismatch"}


@pytest.mark.parametrize(
    ("key", "explanation"),
    [
        ("25", "6 × 4 = 24\nAnswer: C"),
        ("Rs.20,500", "450 = P × 0.0225, so P = 20000"),
        ("66 kmph", "5 km in 5 minutes = 60km per hour."),
        ("16:16", "4x:5y = 16:15"),
        ("4π", "Length of the arc = 1/4 × 2π × 10 = 5π"),
        ("2/25", "4/100 = 1/25."),
        ("55%", "96 / (96 + 96) = 50%"),
        ("5k/5", "10 × k/8 = 5k/4"),
    ],
)
def test_a_key_with_another_value_than_the_explanations_result_is_found(key: str, explanation: str) -> None:
    assert found(["A) 1", "B) 7", f"C) {key}", "D) 9"], "C", explanation) & {"unreached", "absent", "mismatch"}


@pytest.mark.parametrize(
    ("key", "explanation"),
    [
        ("24 days", "3.42 x 7 = 23.94 or so"),
        ("33.3%", "1/3 of them = 0.333"),
        ("88,000$", "in thousands: 39 + 1105 = 1144, and 1144 / 13 = 88"),
        ("17th day", "After 16 days he has 40, on the 17th day he earns 20, so 40 + 20 = 60."),
        ("3", "The values are 1816, 1856 and 1896."),
        ("1989", "The wall was built in 1961 and stood for 28 years."),
        ("None of these", "6 × 4 = 24"),
        ("4", "17 × 2 = 34 gifts and 4 × 4 = 16 gifts, for 4 children. Total is 50."),
    ],
)
def test_a_key_that_may_follow_is_left_alone(key: str, explanation: str) -> None:
    stem = "When 50 gifts were given, how much was it?"
    assert found(["A) 1", "B) 7", f"C) {key}", "D) 99"], "C", explanation, stem) == set()


def test_the_result_of_a_wrong_equation_is_no_key() -> None:
    assert "miscalculated" in found(NUMBERS, "C", "6 × 4 is near: 6 × 5 = 24")
    assert found(NUMBERS, "C", "First 6 × 5 = 31, but then 6 × 4 = 24") == set()


def test_two_options_that_are_right_are_told() -> None:
    assert found(["A) 1/2", "B) 0.50", "C) 3", "D) 4"], "A", "") == {"duplicated"}


def test_an_answer_that_names_several_options_is_not_called_absent() -> None:
    assert found(NUMBERS, "A and C", "") == set()
    assert found(NUMBERS, "A and X", "") == {"absent"}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("Rs.20,000", ["20000"]),
        ("1,00,000", ["100000"]),
        ("60km/h", ["60"]),
        ("2 1/2 hours", ["5/2"]),
        ("\\frac{3}{4}", ["3/4"]),
        ("-5 and 3", ["-5", "3"]),
        ("2.5 million", ["2500000"]),
        ("twelve", ["12"]),
        ("no amount", []),
        ("1/0", ["1"]),
    ],
)
def test_amounts_are_read_in_any_notation(text: str, values: list[str]) -> None:
    assert [str(amount.value) for amount in amounts_of(text)] == values


def test_rounding_counts_in_the_place_that_is_written() -> None:
    whole, exact = amounts_of("24")[0], amounts_of("24.30")[0]
    assert is_worth(whole, amounts_of("24.3")[0].readings[0])
    assert not is_worth(exact, amounts_of("24.36")[0].readings[0])
    assert mentions("so it is 2 × 250", [amounts_of("500")[0]])


def test_two_letters_name_no_answer_and_an_aside_no_result() -> None:
    assert stated_letter("The answer is A. No, the answer is B.") is None
    assert closing("If you picked 36, you forgot to divide.") is None


@pytest.mark.parametrize("unit", ["= 1 ", "answer A 1", "(1/2)*", "A)\n", "1:2 ", "So x = ", "<<1+1=2>>", "=A  "])
def test_long_explanations_take_linear_time(unit: str) -> None:
    response = json.dumps(
        {"question": "?", "options": NUMBERS, "answer": "C", "explanation": unit * (40_000 // len(unit))}
    )
    started = time.process_time()
    for feature in FEATURES:
        feature.compute(Texts(response=response))
    assert time.process_time() - started < 8  # less than 1 on the machine this was written on


@given(st.text(alphabet="0123456789 .,/:%=+-*()ABCxπ$√\n", max_size=200), st.text(max_size=20))
def test_any_explanation_and_key_give_an_answer(explanation: str, key: str) -> None:
    assert found([f"A) {key}", "B) 2"], "A", explanation) <= {name.removeprefix("mcq_key_") for name in CHECKS}


def test_an_unknown_that_is_solved_at_the_end_is_the_result_though_the_question_names_its_number() -> None:
    stem, explanation = "The area is 5√2. How long is the side a?", "√2/5 · a² = 5√2\na = 5\nAnswer: C"
    assert found(["A) 3", "B) 7", "C) 5", "D) 9"], "C", explanation, stem) == set()
    assert found(["A) 3", "B) 7", "C) 2", "D) 9"], "C", explanation, stem) == {"unreached"}


def test_the_only_ordinal_of_a_conclusion_is_the_result() -> None:
    explanation = "The 4th term is a + 3d and the 8th is a + 7d.\nSo a + 6d = 0, which is the 7th term.\nAnswer: C"
    assert found(["A) 1st", "B) 9th", "C) 7th", "D) None"], "C", explanation) == set()
    assert found(["A) 1st", "B) 9th", "C) 8th", "D) None"], "C", explanation) == {"unreached"}
