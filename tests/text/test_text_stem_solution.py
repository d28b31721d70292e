"""What can be solved is solved exactly; a question that is not understood to its last word is left alone."""

from __future__ import annotations

import time
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.text.maths.latex import plain_maths
from rubrica.text.maths.linear_equation import other_solutions, solve_linear
from rubrica.text.maths.number_property import claim_holds, fitting_options, sorted_places
from rubrica.text.maths.stem_solution import solve_stem
from rubrica.text.maths.units import measured_amount
from rubrica.text.maths.worked_words import worked_value


@pytest.mark.parametrize(
    ("stem", "value"),
    [
        ("What is 48 ÷ (4 + 2) × 3?", "24"),
        (r"Calculate $2\frac{1}{2} \times \frac{4}{5}$.", "2"),
        (r"Evaluate \(\sqrt{81} - 2^{3}\).", "1"),
        (r"What is 15\% of 60?", "9"),
        ("What is three quarters of 20?", "15"),
        ("What is 12 less than 30?", "18"),
        ("What is 7 multiplied by 8?", "56"),
        ("Find the product of -3/4 and 2 2/3.", "-2"),
        ("What percent of 50 is 20?", "40"),
        ("18 is 30% of what number?", "60"),
        ("Write 7/8 as a decimal.", "0.875"),
        ("Round 2.345 to two decimal places.", "2.35"),
        ("Simplify the ratio 18 : 24.", "3/4"),
        ("Solve for a: 2(a − 5) = 3a − 17", "7"),
        (r"Solve: $\frac{x}{6} = 9$", "54"),
        ("What value of k makes k/4 + 3 = 9 true?", "24"),
        ("6 x ___ = 42", "7"),
        ("What number makes this true? 7 + __ = 11", "4"),
        ("Evaluate 4x + 9 when x = 5.", "29"),
        ("How many minutes are 2 hours 20 minutes?", "140"),
        ("Convert 5,400 millilitres to litres.", "5.4"),
        ("3 weeks = ___ days", "21"),
        ("Find the mean of 12, 15, 18 and 23.", "17"),
        ("What is the median of 4, 9, 2 and 7?", "5.5"),
        ("The range of 3, 8 and 12 is ____.", "9"),
        ("What is the area of a rectangle with a length of 9 cm and a width of 4 cm?", "36"),
        ("A square has sides of 7 m. What is its perimeter?", "28"),
        ("A triangle has a base of 10 cm and a height of 6 cm. What is its area?", "30"),
        ("What is the greatest common factor of 36 and 54?", "18"),
        ("What is the remainder when 75 is divided by 8?", "3"),
    ],
)
def test_a_question_of_a_known_form_is_solved(stem: str, value: str) -> None:
    found = solve_stem(stem)
    assert found is not None
    assert found.value == Fraction(value)


@pytest.mark.parametrize(
    "stem",
    [
        "",
        "What is 3/4?",
        "What is the capital of France?",
        "Tom has 3 apples and buys 4 more. How many does he have?",
        "What is 6 / 2(3)?",
        "What is 28 / 1/5?",
        "What is 200 + 10%?",
        "What is 1.000 + 5?",
        "What is 7 + 5 to the nearest ten?",
        "Solve x^2 = 9.",
        "Solve 3x + 2y = 12 for x.",
        "If 3n - 8 = 13, what is 2n?",
        "Solve 6/x = 3.",
        "Solve 2x + 1 = 2x + 1.",
        "How many cups are in 2 bags?",
        "How many days are in 2 months?",
        "A rectangle is 8 cm long and 50 mm wide. What is its area?",
        "The mode of 1, 2 and 3 is ____.",
        "What is 2^3^2?",
        "What is 9^999999999?",
        "Round 47 to the nearest prime.",
    ],
)
def test_what_is_not_understood_to_the_last_word_is_left_alone(stem: str) -> None:
    assert solve_stem(stem) is None


@pytest.mark.parametrize(
    ("stem", "answer", "agrees"),
    [
        ("Convert 3 hours to minutes.", "180 minutes", True),
        ("Convert 3 hours to minutes.", "3 hours", True),
        ("Convert 3 hours to minutes.", "300 min", False),
        ("A rectangle is 12 m long and 4 m wide. What is its area?", "48 m", False),
        ("A rectangle is 12 m long and 4 m wide. What is its area?", "48 m²", True),
        ("What is 10 ÷ 4?", "2 1/2", True),
        ("What is 10 ÷ 3?", "3.33", None),
        ("What is 10 ÷ 3?", "3 R 1", None),
        ("What is 300 + 400?", "7 hundreds", None),
        ("What is 300 + 400?", "between 600 and 800", None),
        ("What is 1/4 + 1/4?", "50%", True),
        ("What is 1/4 + 1/4?", r"\frac{2}{4}", True),
        ("What is 1/4 + 1/4?", "2/8", False),
        ("Solve 7x + 5 = 40.", "x = 5", True),
        ("What is 6 × 7?", "42 apples", True),
    ],
)
def test_an_answer_is_held_against_the_solution(stem: str, answer: str, agrees: bool | None) -> None:
    found = solve_stem(stem)
    assert found is not None
    assert found.agrees(answer) is agrees


@given(st.integers(-50, 50), st.integers(-50, 50).filter(bool), st.integers(-50, 50), st.integers(-50, 50))
def test_the_solution_of_an_equation_solves_it(value: int, slope: int, other: int, constant: int) -> None:
    right = slope * value + constant - other * value
    written = f"{slope}x + ({constant}) = {other}x + ({right})"
    found = solve_linear(written)
    if slope == other:
        assert found is None
    else:
        assert found is not None
        assert found.solution == value


@given(st.text(alphabet="0123456789+-*/()^x=.% ofand?_\\{}frac√", max_size=240))
def test_whatever_is_asked_an_answer_comes_soon(stem: str) -> None:
    start = time.process_time()
    solve_stem(stem)
    fitting_options(stem, ["1", "2"])
    claim_holds(stem)
    measured_amount(stem)
    worked_value(stem)
    plain_maths(stem)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    "stem",
    [
        "What is " + "9^" * 60 + "9?",
        "What is " + "(" * 110 + "1?",
        "Find the mean of " + "1, " * 70 + "2.",
        "How many " + "m " * 100 + "are in 3 km?",
        "A rectangle is " + "1 " * 100,
        "Which of these is " + "a " * 60 + "?",
        r"\frac{" * 40 + "1" + "}{2}" * 40,
    ],
)
def test_a_hostile_question_takes_no_time(stem: str) -> None:
    start = time.process_time()
    solve_stem(stem)
    fitting_options(stem, ["1", "2", "3"])
    claim_holds(stem)
    assert time.process_time() - start < 1


@pytest.mark.parametrize(
    ("stem", "options", "fitting"),
    [
        ("Which of these numbers is NOT a multiple of 4?", ["12", "28", "36", "30"], {3}),
        ("All of these are prime EXCEPT", ["47", "51", "53"], {1}),
        ("Which fraction isn't equivalent to 2/3?", ["4/6", "6/9", "8/10"], {2}),
        ("Which of these are equal to one half? Choose all that apply.", ["2/4", "2/3", "0.5"], {0, 2}),
        ("Select all the numbers that are divisible by both 2 and 3.", ["12", "16", "30"], {0, 2}),
        ("Which length is the longest?", ["900 m", "1.2 km", "95,000 mm"], {1}),
        ("Which of these is less than 1/2?", ["0.6", "3/8", "1/2"], {1}),
        ("Which of these is greater than 0.5?", ["0.6", "3/8", "1/2"], {0}),
        ("Which of these is prime?", ["red", "7"], None),
        ("Which of these is a nice number?", ["4", "7"], None),
        ("Which of these is larger than a mouse?", ["4", "7"], None),
    ],
)
def test_options_that_are_numbers_are_tried(stem: str, options: list[str], fitting: set[int] | None) -> None:
    assert fitting_options(stem, options) == fitting


@pytest.mark.parametrize(
    ("statement", "holds"),
    [
        ("3/5 is greater than 2/3.", False),
        ("True or false: 15% of 60 equals 9.", True),
        ("51 is not prime.", True),
        ("2/5 is less than 0.35.", False),
        ("0.5 is equal to 5/10.", True),
        ("12 is a lucky number.", None),
    ],
)
def test_a_statement_about_a_number_is_true_or_not(statement: str, holds: bool | None) -> None:
    assert claim_holds(statement) is holds


def test_an_order_of_numbers_is_known_unless_two_are_equal() -> None:
    assert sorted_places("Put these in order from least to greatest.", ["0.5", "3/4", "0.07"]) == [2, 0, 1]
    assert sorted_places("Order these from greatest to least.", ["1 km", "900 m", "1 m"]) == [0, 1, 2]
    assert sorted_places("Order these from least to greatest.", ["1/2", "0.5"]) is None
    assert sorted_places("Put the steps in order.", ["1", "2"]) is None


def test_a_line_that_changes_the_solution_is_found_and_a_trial_or_a_remark_is_not() -> None:
    told = "Expand: 4x + 12 = 32. So 4x = 22.\nIf x = 2, it is too small.\nA common mistake is 4x + 3 = 32.\nx = 5"
    assert [each.text for each in other_solutions(told, "x", Fraction(5))] == ["4x = 22"]
