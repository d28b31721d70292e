from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.maths.arithmetic import FEATURES, MAX_SIGNS, evaluate, find_equations
from rubrica.text.maths.expression import tokens_of
from rubrica.text.maths.misprints import is_misprinted
from rubrica.text.texts import Texts


def claims(text: str) -> list[tuple[str, bool | None]]:
    return [(found.text, found.holds) for found in find_equations(text)]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("3 + 4 × 2", 11),
        ("48 ÷ 2", 24),
        ("2^3^2", 512),
        ("-2^2", -4),
        ("2(3 + 4)", 14),
        ("1,200 × 25%", 300),
        ("2 1/2 + ½", 3),
        ("√9 · 3²", 27),
        ("$5 x 3", 15),
        ("\\frac{1}{2} \\times 4", 2),
        (".5 + .25", Fraction(3, 4)),
        ("2^-2", Fraction(1, 4)),
    ],
)
def test_expressions_have_their_exact_value(expression: str, value: Fraction) -> None:
    assert evaluate(expression) == value


def test_an_irrational_root_is_a_float() -> None:
    assert evaluate("√2") == pytest.approx(2**0.5)


@pytest.mark.parametrize(
    "expression", ["1 / 0", "0^-1", "9^9^9", "√(-4)", "(-8)^(1/3)", "(" * 50 + "1", "1" * 501, "√" * 100 + "4"]
)
def test_what_has_no_value_or_too_large_a_one_is_a_fault(expression: str) -> None:
    with pytest.raises(FormulaFault):
        evaluate(expression)


@pytest.mark.parametrize("expression", ["", "2 3", "__import__('os')", "1e5", "y + 1", "(1", "1,2"])
def test_what_is_not_arithmetic_is_an_error_with_a_column(expression: str) -> None:
    with pytest.raises(FormulaError) as caught:
        evaluate(expression)
    assert caught.value.column >= 1


@pytest.mark.parametrize(
    ("text", "claim", "holds"),
    [
        ("so 48 / 2 = 24 apples", "48 / 2 = 24", True),
        ("so 48 / 2 = 25 apples", "48 / 2 = 25", False),
        ("it costs $5 x 3 = $15.", "$5 x 3 = $15", True),
        ("12 cubes + 5 cubes = 18 cubes", "12 cubes + 5 cubes = 18", False),
        ("5 pizzas * $12/pizza = $60", "5 pizzas * $12/pizza = $60", True),
        ("10 / 3 = 3.33", "10 / 3 = 3.33", True),
        ("10 / 3 = 3.34", "10 / 3 = 3.34", None),  # within a unit of the last place
        ("10 / 3 = 3.43", "10 / 3 = 3.43", False),
        ("10 / 3 = 4 buses", "10 / 3 = 4", None),  # rounded up, as buses are
        ("22 / 7 ≈ 3.1", "22 / 7 ≈ 3.1", True),
        ("20% of 50 = 10", "20% of 50 = 10", True),
        ("15 / 60 * 100 = 25%", "15 / 60 * 100 = 25%", True),
        ("200 + 10% = 220", "200 + 10% = 220", None),
        ("2 1/2 + 1 = 3 1/2", "2 1/2 + 1 = 3 1/2", True),
        ("3 hours + 30 minutes = 210 minutes", "3 hours + 30 minutes = 210", None),
        ("100 boxes x 100 kg/box = 10 000 kg", "100 boxes x 100 kg/box = 10", None),
        ("28 / 1/5 = 140", "28 / 1/5 = 140", None),
        ("a common mistake is 3 + 4 = 8", "3 + 4 = 8", None),
        ("\\frac{1}{2} + \\frac{1}{4} = \\frac{3}{4}", "\\frac{1}{2} + \\frac{1}{4} = \\frac{3}{4}", True),
    ],
)
def test_claims_are_judged_with_units_and_rounding(text: str, claim: str, holds: bool | None) -> None:
    assert claims(text) == [(claim, holds)]


def test_a_chain_gives_one_claim_for_each_link() -> None:
    assert claims("2+3 = 5 = 10/2") == [("2+3 = 5", True), ("5 = 10/2", True)]


def test_an_equals_sign_used_as_a_comma_is_not_called_wrong() -> None:
    assert claims("3 + 4 = 7 * 2 = 14") == [("3 + 4 = 7 * 2", None), ("7 * 2 = 14", True)]


@pytest.mark.parametrize(
    "text",
    [
        "Let 2x + 3 = 7, so 2L + 11 = 35 and 10 + 11x = 131.",
        "sin 30 = 0.5 and f(3) = 9 and C(5,2) = 10 and 5! = 120",
        "x = 5; y := 3 + 4; a == 2 + 2; b >= 1 + 1; 3 + 4 != 8",
        "6 inches = 6 / 12 = half",
        "at 3:30 + 2:15 = 5:45",
        "total + 3 = 8",
        "3,5 + 2 = 5,5",
        "2^{10} = 1024",
        "3 / 5 = 12 / x",
        "log 100 + 3 = 5",
        "17 / 5 = 3 remainder 2",
    ],
)
def test_algebra_functions_and_conversions_are_never_called_wrong(text: str) -> None:
    assert [claim for claim in claims(text) if claim[1] is False] == []


def test_wrong_equations_are_counted_with_evidence() -> None:
    texts = Texts(response="First 2 + 2 = 4.\nThen 4 × 3 = 13.")
    count, wrong = FEATURES
    assert (count.compute(texts), wrong.compute(texts)) == (2, 1)
    (span,) = wrong.evidence(texts)  # type: ignore[misc]
    assert texts.response[span.start : span.end] == "4 × 3 = 13" == span.text


@given(st.integers(-999, 999), st.integers(1, 999), st.sampled_from("+-*/"))
def test_a_true_sum_holds_and_a_changed_one_does_not(one: int, two: int, sign: str) -> None:
    sums: dict[str, Any] = {"+": one + two, "-": one - two, "*": one * two, "/": Fraction(one, two)}
    value = sums[sign]
    shown = f"({one}) {sign} {two}"
    assert claims(f"{shown} = {value}") == [(f"{shown} = {value}", True)]
    changed = f"{2 * abs(value) + 2}"
    expected = None if is_misprinted(tokens_of(shown), tokens_of(changed)) else False  # (102) - 10² = 2 is true
    assert [holds for _, holds in claims(f"{shown} = {changed}")] == [expected]


_ODD = st.sampled_from("0123456789+-*/^=().,%$√½x ≈\x00\ud800\u202e")


@given(st.text(alphabet=st.one_of(_ODD, st.characters())))
def test_any_text_gives_finite_counts_and_quoted_equations(text: str) -> None:
    for found in find_equations(text):
        assert text[found.start : found.end] == found.text
    texts = Texts(response=text)
    assert 0 <= FEATURES[1].compute(texts) <= FEATURES[0].compute(texts) < float("inf")


@given(st.text(alphabet="0123456789+-*/^().,%√½ "))
def test_any_expression_has_a_value_or_a_named_error(expression: str) -> None:
    try:
        value = evaluate(expression)
    except (FormulaError, FormulaFault):
        return
    assert isinstance(value, Fraction | float)


def test_a_huge_text_is_read_in_bounded_time() -> None:
    assert len(find_equations("1 + 1 = 2 " * 1_000_000)) == MAX_SIGNS
    assert find_equations("1" * 10_000_000 + " = 1") == ()


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("36 - 7 = **29** whole eggs", [True]),
        ("36 - 7 = **28** whole eggs", [False]),
        ("2**8 = 256", [True]),
        ("S = 20/2 [2*3 + 19*4] = 10 (6 + 76) = 820", [None, True]),
        ("S = 20/2 [2*3 + 19*4] = 10 (6 + 74) = 820", [None, False]),
        ("as in [1] = 3 + 4 = 8", [False]),
        ("(4 terms). 35 = 4*8 + 4.", [False]),
        ("A = (√3/4) a^2 = (√3/4)*36 = 9√3", [True]),
        ("8 m^2 + 3 m^2 = 12 m^2", [False]),
        ("(100 × 81)/(450 × 4.5) = 8099/2025", [False]),
        (r"\frac{18}{12} = \frac{3}{2}", [True]),
        (r"\frac{18}{12} = \frac{2}{3}", [False]),
    ],
)
def test_emphasis_square_brackets_and_fractions_are_read(text: str, holds: list[bool | None]) -> None:
    assert [verdict for _, verdict in claims(text)] == holds
