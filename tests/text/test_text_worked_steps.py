"""Steps of an explanation that cannot be: letters, ranges, words, measures; and keys that are formulas or words."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from rubrica.text import FEATURES
from rubrica.text.maths.common_solution import clashing_equations
from rubrica.text.maths.letter_values import unfit_equations
from rubrica.text.maths.measure_claims import wrong_measures
from rubrica.text.texts import Texts

OPTIONS = ("1001", "1002", "1003", "1004", "1005")


def feature(name: str, explanation: str, options: tuple[str, ...], answer: str, stem: str) -> float:
    labelled = [f"{letter}) {text}" for letter, text in zip("ABCDE", options, strict=False)]
    question = {"question": stem, "options": labelled, "answer": answer, "explanation": explanation}
    return FEATURES[name].compute(Texts(response=json.dumps(question)))


def wrong_steps(explanation: str, options: tuple[str, ...] = OPTIONS, answer: str = "B") -> float:
    return feature("question_wrong_equations", explanation, options, answer, "What comes out?")


def rejecting(explanation: str, options: tuple[str, ...], answer: str, stem: str = "What comes out?") -> bool:
    names = ("mcq_key_mismatch", "mcq_key_unreached", "mcq_key_absent")
    return any(feature(name, explanation, options, answer, stem) for name in names)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("4y + 6 = 30\n4y = 24\ny = 6", "4y + 6 = 30\n4y = 23\ny = 6"),
        ("z(z - 3) = 40 => (z-8)(z+5) = 0 => z = 8", "z(z - 3) = 41 => (z-8)(z+5) = 0 => z = 8"),
        ("(y-2)(y-9) = 0 so y = 2 or y = 9", "(y-2)(y-9) = 0 so y = 2 or y = 8"),
        ("πr² = 64π so r = 8", "πr² = 64π so r = 7"),
        ("7x + 90 = 8x + 60, x = 30", "7x + 90 = 8x + 60, x = 31"),
        ("If n is the number, then 4n + 3 = 51. Then n = 12", "If n is the number, then 4n + 3 = 51. Then n = 11"),
        ("1/2(19 - 5) = 7", "1/2(19 - 5) = 9"),
        ("18 (red) + 27 (dark blue) + 9 (for the rest) = 54", "18 (red) + 26 (dark blue) + 9 (for the rest) = 54"),
        ("Area = 12 * 7\nArea = 84", "Area = 12 * 7\nArea = 86"),
        ("Volume = 9 * 8 * 2\n= 144 litres", "Volume = 9 * 8 * 2\n= 134 litres"),
        ("x = 48/6\n\nx = 8", "x = 48/7\n\nx = 8"),
        ("48 / 6 = 8", "48 / 0 = 8"),
        ("16 \\* 3/4 = 12 bags", "16 \\* 3/4 = 13 bags"),
        ("S = 12t and t = 3, so S = 36", "S = 12t and t = 3, so S = 38"),
        ("u = 4(v/2) = 2v", "u = 4(v/2) = 3v"),
        ("$\\sqrt{80} = \\sqrt{16 \\cdot 5} = 4\\sqrt{5}$", "$\\sqrt{80} = \\sqrt{16 \\cdot 5} = 5\\sqrt{5}$"),
        ("6C2 = 15", "6C2 = 16"),
        ("5!/(3!) = 20", "5!/(3!) = 25"),
        ("180° - 45° - 70° = 65°", "180° - 45° - 70° = 75°"),
        ("1/9 x 270 = Rs. 30", "1/9 x 270 = Rs. 32"),
        ("(3/4)(8/9) = 2/3", "(3/4)(8/9) = 1/3"),
        ("1 - 1/20 = 19/20", "1 - 1/21 = 19/20"),
        ("30 = 2*3*5, 42 = 2*3*7", "30 = 2*3*5, 44 = 2*3*7"),
        ("Half of 46 is 23", "Half of 46 is 24.5"),
        ("P = 4(9) = 36, and 36/3 = 12", "P = 4(9) = 39, and 36/3 = 12"),
        ("10^6 - 1 = 999999: six nines", "10^6 - 1 = 999996: six nines"),
        ("35 + 2 = 37 (2 itself is not offered)", "35 + 3 = 37 (2 itself is not offered)"),
        ("1/2 + 1/3 = 3/6 + 2/6 = 5/6", "1/2 + 2/3 = 3/6 + 2/6 = 5/6"),
        ("V = πr²h = π · 9 · 10 = 90π", "V = πr²h = π · 9 · 12 = 90π"),
        ("V = 2 + E − F = 2 + 30 − 12 = 20", "V = 4 + E − F = 2 + 31 − 12 = 20"),
        ("3y − 6 = 2y + 5\n⟹ 3y − 2y = 5 + 6\n⟹ y = 11", "3y − 6 = 2y + 5\n⟹ 4y − 2y = 5 + 6\n⟹ y = 11"),
        ("x = (5 ± √(25 − 24))/2 = (5 ± 1)/2", "x = (5 ± √(25 − 24))/2 = (5 ± 2)/2"),
        ("x = (2 ± 8)/2 = 5 or −3", "x = (2 ± 8)/2 = 6 or −4"),
        ("5 − 2x = 17. Subtract 5: −2x = 12. Divide by −2: x = −6", "5 − 2x = 17. Subtract 3: −2x = 12. So x = −6"),
        ("7n = 84. Dividing both sides by 7 gives n = 12", "7n = 84. Dividing both sides by 6 gives n = 12"),
        ("y/4 = 9. Multiply by 4: y = 36", "y/4 = 9. Multiply by 5: y = 36"),
        ("10% of 70 is 7, and 5% is 3.5", "10% of 70 is 7, and 5% is 4.5"),
        ("9 parts = 72 kg, 1 part = 8 kg, 4 parts = 32 kg", "9 parts = 72 kg, 1 part = 8 kg, 4 parts = 34 kg"),
        ("Half of 5/6 is 5/12", "Half of 5/6 is 5/14"),
        ("45 less 11 is 34", "45 less 11 is 36"),
        ("and so 2 m³ = 2,000 litres", "and so 2 m³ = 1,000 litres"),
        ("18:30 minus 5 hours is 13:30", "18:30 minus 6 hours is 13:30"),
        ("From 9:52 to 12:52 is 3 hours", "From 9:52 to 12:53 is 3 hours"),
        ("From 11:40 to 1:15 it is 1 hour 35 minutes", "From 11:40 to 1:15 it is 1 hour 25 minutes"),
        ("20% of 90 is 18", "20% of 90 is 16"),
        ("Divide 84 by 6 to get 14", "Divide 84 by 6 to get 16"),
        ("2/5 of the 30 seats is 12", "2/5 of the 30 seats is 15"),
        ("The HCF of 24 and 36 is 12", "The HCF of 24 and 36 is 6"),
        ("58 ÷ 7 = 8 R 2", "58 ÷ 7 = 8 R 3"),
        ("4 hrs = 240 min", "4 hrs = 200 min"),
        ("3.5 h = 3 h 30 min", "3.5 h = 3 h 50 min"),
        ("8:50 + 2:20 = 11:10", "8:50 + 2:20 = 11:20"),
        ("1/2 : 1/3 = 3:2", "1/2 : 1/3 = 3:4"),
        ("(5 - 2) : (6 - 4) = 3 : 2", "(5 - 2) : (6 - 3) = 3 : 2"),
    ],
)
def test_a_step_that_does_not_hold_is_told_and_its_right_form_is_not(right: str, wrong: str) -> None:
    assert wrong_steps(right) == 0
    assert wrong_steps(wrong) > 0


@pytest.mark.parametrize(
    "explanation",
    [
        "If n = 4 then 3n = 12, too small. With n = 5 we have 3n = 15.",  # tried
        "Let x be the price. The price in 1990 = x and in 1992 it is (1.1)^2 x = 1.21x.",
        "46x + 220 / x + 4 = 48, so 46x + 220 = 48x + 192 and x = 14",  # a fraction bar
        "Kim + k + 2k = 20 and Kim = 5, so k = 5",
        "1 cm = 5 km on this map",
        "3 less than half of 8 is 1",
        "A working week = 40 hours, 1 day = 8 hours",
        "They sell 3 boxes of 4 for 20 dollars; 3 of 4 is 75 percent.",
        "The ratio a:b = 3:4, so a = 3k and b = 4k",
        "f(x) = 3x and f(2) = 6",
        "They agree at 3:30 = 15:30",
        "5 of the 4 + 5 + 3 = 12 marbles are green",
        "Plus 4 makes 10, times 3 makes 30",
        "Add 5 to both sides, then divide by 3: 3x - 5 = 22 has x = 9",
        "2x + 4 = 10. Add 4 to the list of even numbers. Hence x = 3",
        "x = (2 ± 8)/2 = -3 or 5",
        "20% of 50 is 10, 20% of 80 is 16, and 10% is 8",
        "1 part is 4, 3 parts are 12, and of the rest 2 parts are 10, 1 part is 5",
        "(2 + 3i)(1 - i) = 2 - 2i + 3i - 3i² = 5 + i",
        "6!/4! = (6 · 5 · 4!)/4! = 30",
        "From 9:10 to 10:20 is 1 hour and 10 minutes",
    ],
)
def test_what_may_be_meant_otherwise_is_no_wrong_step(explanation: str) -> None:
    assert wrong_steps(explanation) == 0


def test_a_step_must_leave_the_range_of_the_key_the_same() -> None:
    options = ("x > 4", "x < 4", "x > -4", "x < -4", "x < 8")
    assert wrong_steps("-2x > 8, and dividing by -2 turns the sign: x < -4", options, "D") == 0
    assert wrong_steps("-2x > 9, and dividing by -2 turns the sign: x < -4", options, "D") > 0


@pytest.mark.parametrize(
    ("options", "key", "explanation"),
    [
        (("5w/k", "5wk", "k/(5w)", "w/(5k)", "5k/w"), "A", "one pen costs w/k so 5 pens cost 5w/k. A"),
        (("m = r/3 + 2", "m = (r - 2)/3", "m = 3r - 2", "m = r - 6", "m = 3r + 2"), "B", "r - 2 = 3m so m = (r-2)/3"),
        (("y < 2", "y > 2", "y < -2", "y > -2", "y > 8"), "D", "-4y < 8, turn the sign, so y > -2"),
        (("(2, 5)", "(-2, 5)", "(2, -5)", "(-2, -5)", "(5, 2)"), "C", "Only the sign of y changes, giving (2, -5)."),
        (("1 h", "1 h 20 min", "1 h 40 min", "2 h", "2 h 10 min"), "C", "4 x 25 = 100 min which is 1 h 40 min"),
        (("Sunday", "Monday", "Friday", "Tuesday", "Thursday"), "E", "16 = 2*7 + 2, so the answer is Thursday."),
        (("4√2", "2√8", "6√2", "3√8", "8√3"), "C", "√72 = √36 x √2 = 6√2"),
        (
            ("gain of 3", "loss of 3", "no gain, no loss", "gain of 6"),
            "B",
            "Cost 45 + 48 = 93, sold for 90, so he loses 3.",
        ),
        (("12", "14", "16", "18", "20"), "D", "p^2 + 2 + 1/p^2 = 20, so p^2 + 1/p^2 = 18"),
        (("20", "25", "30", "35", "40"), "C", "1/12 - 1/20 = 2/60 = 1/30 hence thirty days"),
        (("1/12", "5/12", "7/12", "1", "3/4"), "C", "common denominator 12: 3/12 + 4/12 = 7/12"),
        (("between 5 and 6", "between 6 and 7", "between 7 and 8"), "B", "6² = 36 and 7² = 49, so between 6 and 7"),
    ],
)
def test_a_key_is_held_against_the_formula_or_words_that_an_explanation_ends_on(
    options: tuple[str, ...], key: str, explanation: str
) -> None:
    assert not rejecting(explanation, options, key)
    missed = [
        letter for letter in "ABCDE"[: len(options)] if letter != key and not rejecting(explanation, options, letter)
    ]
    assert missed == [] if key != "B" or "loses" not in explanation else missed == ["A"]


@pytest.mark.parametrize(
    "explanation",
    [
        "Canberra was a compromise, so it is neither Sydney nor Melbourne.",
        "It was founded in 1913, so the capital isn't Sydney.",
        "Sydney is larger. Perth lies in the west.",
    ],
)
def test_an_option_that_is_denied_or_told_of_is_not_what_an_explanation_arrives_at(explanation: str) -> None:
    assert not rejecting(explanation, ("Sydney", "Melbourne", "Canberra", "Perth"), "C", "What is Australia's capital?")


@pytest.mark.parametrize(
    ("options", "key", "explanation"),
    [
        (
            ("Sunday", "Monday", "Friday", "Tuesday", "Thursday"),
            "E",
            "16 = 2*7 + 2, so Thursday. What is two days before that is Tuesday.",
        ),
        (("(x - 4)(x - 5)", "(x + 4)(x + 5)", "(x - 2)(x - 10)"), "A", "4 + 5 = 9 and 4*5 = 20: x minus 4, x minus 5."),
        (("6!/3!", "6!", "3!", "9!"), "A", "In all 6 ! orders, of which 3 ! = 6 are alike."),
    ],
)
def test_a_key_that_an_explanation_has_in_another_form_is_not_unreached(
    options: tuple[str, ...], key: str, explanation: str
) -> None:
    assert not rejecting(explanation, options, key)


def test_a_statement_that_begins_with_what_was_given_counts() -> None:
    explanation = "4 took 4 × 400 = 1600. All took 4800 + 1600 = 6400. If there were 8000, 8000 - 6400 = 1600 remain."
    options = ("2000", "1600", "1602", "1595", "0")
    told = [rejecting(explanation, options, letter, "There were 8000. How many remain?") for letter in "ABCDE"]
    assert told == [True, False, True, True, True]


def test_letters_that_stand_for_ever_longer_expressions_and_endless_chains_are_left_after_some_steps() -> None:
    letters = "abcdefghijklmnopqrstuvwy"
    steps = ". ".join(f"{one} = {two}*{two}*{two}" for one, two in pairwise(letters))
    assert len(list(unfit_equations(f"{steps}. a + b = y", formulas=True))) < len(letters)
    assert set(wrong_measures("3:4 = 6:9 = " * 9_000)) == {"3:4 = 6:9", "6:9 = 3:4"}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("(a+b)/2=20 so a+b=40. (b+c)/2=26 so b+c=52. c-a=52-40=12", "(a+b)/2=20 so a+b=40. (b+c)/2=26 so b+c=55."),
        ("60M+80B = 52M+96B\n8M = 16B => 1M = 2B", "60M+80B = 52M+96B\n8M = 16B => 1M = 4B"),
        ("x + y = 10 and x - y = 4, so 2x = 14", "x + y = 10 and x - y = 4, so 2x = 15"),
    ],
)
def test_linear_equations_have_a_common_solution(right: str, wrong: str) -> None:
    assert (wrong_steps(right), wrong_steps(wrong)) == (0, 1)


@pytest.mark.parametrize(
    "explanation",
    [
        "The lines y = 2x + 1 and y = 2x + 3 never meet.",
        "Case 1: x + y = 5. Case 2: x + y = 7.",
        "p + q = 0.33, so 3p + 3q = 1.",
        "So x = 18 x = 18.",
    ],
)
def test_equations_that_need_not_go_together_are_left_alone(explanation: str) -> None:
    assert list(clashing_equations(explanation)) == []
