"""The value of a formula for one set of values, and the faults that take its place."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import pytest
from formula_trees import NAMES, NoValueError, reference, trees
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrica.errors import FormulaFault
from rubrica.formula import Node, parse, text_of


def value(text: str, **names: object) -> float:
    return parse(text).value(names)


def fault(text: str, **names: object) -> str:
    with pytest.raises(FormulaFault) as caught:
        parse(text).value(names)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("min(stated / expected, 1) * 30", 22.5),
        ("100 * (1 - (seconds - 10) / 20)", 75.0),
        ("7 // 2 + 7 % 4 + -7 // 2", 2.0),
        ("2 ** 3 ** 2 / 2 ** -1", 1024.0),
        ("-2 ** 2", -4.0),
        ("(-2) ** 3", -8.0),
        ("1 < stated <= 3 < expected", 1.0),
        ("1 < stated < 3", 0.0),
        ("stated == 3 and expected != 3", 1.0),
        ("0 or 7", 1.0),
        ("not 0.5", 0.0),
        ("True + True - False", 2.0),
        ("10 if stated > 5 else 20 if stated > 2 else 30", 20.0),
        ("(stated > 2) * 5", 5.0),
        ("min(3) + max(1, 2, 3) + min(stated, expected) + max(stated, 9)", 18.0),
        ("abs(-2.5) + round(2.5) + round(3.14159, 2) + round(1234, -2)", 1207.64),
        ("floor(-1.5) + ceil(-1.5)", -3.0),
        ("sqrt(16) + log(1) + log1p(0) + exp(0)", 5.0),
        ("log(1000, 10) + log(8, 2)", 6.0),
        ("clamp(stated, 5, 9) + clamp(12, 5, 9) + clamp(6, 5, 9)", 20.0),
        ("mean(1, 2, 6) + median(5, 1, 2) + median(4, 1, 2, 3) + sum(1, 2, stated)", 13.5),
        ("count(stated, 0, 2, stated > 9) + any(0, 0) + any(0, 4) + all(1, 2) + all(1, 0)", 4.0),
        ("weighted(1, 2, 3, 6)", 5.0),
    ],
)
def test_each_operator_and_function_gives_what_it_says(text: str, expected: float) -> None:
    assert value(text, stated=3, expected=4, seconds=15) == pytest.approx(expected, rel=1e-15)


def test_every_result_is_a_float() -> None:
    for text in ("a", "a < 2", "a and a", "not a", "min(a, 2)", "count(a)", "floor(a)", "a // 1"):
        assert type(value(text, a=1)) is float
        assert type(value(text, a=True)) is float


def test_holds_is_true_for_anything_but_zero() -> None:
    assert parse("a - 1").holds({"a": 3})
    assert not parse("a - 1").holds({"a": 1})


def test_weights_that_sum_to_one_give_the_plain_sum() -> None:
    weights = "weighted(0.35, a, 0.1, b, 0.2, c, 0.15, d, 0.2, e)"
    names = {"a": 7.0, "b": 9.0, "c": 6.0, "d": 8.0, "e": 5.0}

    assert parse(weights).value(names) == parse("0.35*a + 0.1*b + 0.2*c + 0.15*d + 0.2*e").value(names)


def test_absent_names_leave_an_aggregate_with_their_weight() -> None:
    names = {"a": 4.0, "b": None, "c": 1.0}

    assert parse("weighted(0.5, a, 0.25, b, 0.25, c)").value(names) == 3.0
    assert parse("mean(a, b, c)").value(names) == 2.5
    assert parse("median(a, b, c)").value(names) == 2.5
    assert parse("sum(a, b, c)").value(names) == 5.0
    assert parse("min(b, a)").value(names) == 4.0
    assert parse("max(b, c)").value(names) == 1.0
    assert parse("min(b, 3 + a)").value(names) == 7.0
    assert parse("count(a, b, c)").value(names) == 2.0
    assert parse("all(a, b)").value(names) == 1.0
    assert parse("any(b, a - 4)").value(names) == 0.0


@pytest.mark.parametrize(
    "text",
    ["b", "b + 1", "-b", "b < 1", "1 == b", "b != b", "not b", "b and 1", "1 if b else 2", "abs(b)", "1 / b",
     "mean(a, -b)", "mean(a, b + 0)", "min(a, b if 1 else a)", "b ** 2", "2 ** b", "weighted(1, b * 1)"],
)  # fmt: skip
def test_an_absent_name_anywhere_else_is_a_fault_that_names_it(text: str) -> None:
    assert "'b' is absent" in fault(text, a=1.0, b=None)


@pytest.mark.parametrize("function", ["mean", "median", "sum", "min", "max", "count", "any", "all"])
def test_an_aggregate_of_nothing_but_absent_names_is_a_fault(function: str) -> None:
    assert f"{function}: every argument is absent" in fault(f"{function}(a, b)", a=None, b=None)


def test_weights_left_over_that_are_all_zero_are_a_fault() -> None:
    assert "every argument" in fault("weighted(1, a, 0, b)", a=None, b=3.0)
    assert "every argument" in fault("weighted(1, a)", a=None)


def test_a_missing_name_is_a_fault_that_names_it() -> None:
    assert fault("a + b", a=1.0) == "no value for 'b'"
    assert fault("mean(a, b)", a=1.0) == "no value for 'b'"


@pytest.mark.parametrize("text", ["a", "a + 1", "-a", "a > 1", "1 / a", "abs(a)", "min(a, 1)", "mean(a, b)"])
def test_an_integer_is_read_as_a_float_or_faults_by_name_where_none_is_so_large(text: str) -> None:
    assert parse(text).value({"a": 3, "b": 5}) == parse(text).value({"a": 3.0, "b": 5.0})
    assert fault(text, a=10**400, b=5) == "'a' is too large for a formula"


def test_division_by_zero_is_a_fault_that_shows_the_division() -> None:
    assert fault("1 + (a + b) / (a - b) * 2", a=1.0, b=1.0) == "division by zero in (a + b) / (a - b)"
    assert fault("a // b", a=1.0, b=0) == "division by zero in a // b"
    assert fault("a % b", a=1.0, b=0.0) == "division by zero in a % b"
    assert "division by zero" in fault("a ** -1", a=0.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a * a", "a * a is too large"),
        ("1 / (a * a)", "a * a is too large"),
        ("a * a > 1", "a * a is too large"),
        ("1 if a * a else 2", "a * a is too large"),
        ("min(a * a, 1)", "a * a is too large"),
        ("mean(a, a)", "mean(a, a) is too large"),
        ("mean(a, a, b - b)", "mean is too large"),
        ("a ** 2", "a ** 2 is too large"),
        ("a ** (b + 1)", "too large"),
        ("exp(a)", "too large"),
        ("2 ** (b * 100)", "exponent 100 is outside"),
        ("(-8) ** (b / 3)", "fractional power"),
        ("sqrt(-b)", "square root"),
        ("log(b - 1)", "logarithm"),
        ("log(b, b)", "base 1"),
        ("log1p(-b)", "above -1"),
        ("clamp(b, b + 1, b)", "lower bound is above"),
    ],
)
def test_a_step_without_a_finite_value_is_a_fault(text: str, says: str) -> None:
    assert says in fault(text, a=1e308, b=1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("text", ["x", "x > 1", "x + 1", "1 / x", "min(x, 1)", "mean(x, y)", "y if x else y", "x * 0"])
def test_a_name_that_is_not_finite_is_a_fault_that_names_it(text: str, bad: float) -> None:
    assert f"'x' is {bad}" in fault(text, x=bad, y=1.0)


@pytest.mark.parametrize("bad", ["abc", b"abc", [1], {}, (), 1j, object(), {1, 2}])
@pytest.mark.parametrize(
    "text", ["x", "x * 3", "x + x", "x < x", "x == x", "not x", "x and 1", "max(x, x)", "count(x, 1)"]
)
def test_a_name_that_is_not_a_number_is_a_fault_that_names_it(text: str, bad: object) -> None:
    assert fault(text, x=bad) == f"'x' is a {type(bad).__name__}, not a number"


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (7, 7.0),
        (True, 1.0),
        (Decimal("0.1"), 0.1),
        (Fraction(1, 4), 0.25),
        (2**53 + 1, float(2**53)),
        (10**300, 1e300),
    ],
)
def test_other_kinds_of_number_are_read_as_the_nearest_float(number: object, expected: float) -> None:
    assert value("x + 0", x=number) == expected
    assert value("max(x, 0)", x=number) == expected


@pytest.mark.parametrize("number", [10**400, -(10**400), Decimal("1e400"), Decimal("NaN"), Decimal("sNaN")])
def test_numbers_no_float_can_hold_are_faults(number: object) -> None:
    assert "'x'" in fault("x + 0", x=number)


def test_long_integers_do_not_slow_a_formula_down() -> None:
    began = time.process_time()
    assert "'x' is too large" in fault("*".join(["x"] * 200), x=1 << 10_000_000)
    assert time.process_time() - began < 1


class Subclass(float):
    """A number type with opinions of its own, as numpy's are."""

    def __truediv__(self, other: float) -> float:
        return math.nan

    def __add__(self, other: float) -> float:
        return "surprise"  # type: ignore[return-value]


def test_number_types_cannot_bring_their_own_arithmetic() -> None:
    assert value("x / 2 + (x + 1)", x=Subclass(4.0)) == 7.0


class Lazy(dict[str, object]):
    """Computes a value when it is first asked for."""

    def __missing__(self, name: str) -> object:
        if name == "never":
            raise AssertionError("was read")
        self[name] = float(len(name))
        return self[name]


def test_names_are_read_only_when_they_are_reached() -> None:
    names = Lazy()

    assert parse("four + (never if four > 9 else 1)").value(names) == 5.0
    assert parse("four > 3 or never").value(names) == 1.0
    assert parse("9 < four < never").value(names) == 0.0
    assert set(names) == {"four"}


def test_faults_in_a_branch_not_taken_do_not_count() -> None:
    assert value("a / b if b else 0", a=1.0, b=0.0) == 0.0
    assert value("b != 0 and a / b > 1", a=1.0, b=0.0) == 0.0


def test_builtins_are_out_of_reach() -> None:
    formula = parse("a + 1")

    assert formula.value.__globals__["__builtins__"] == {}


values = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0, 10.0, -3.0, 1e-300, 1e300]),
    st.floats(-100, 100),
    st.floats(allow_nan=False, allow_infinity=False),
)
settings_of_names = st.fixed_dictionaries({name: values | st.none() for name in NAMES})


@settings(deadline=None, max_examples=250)
@given(trees, settings_of_names)
def test_the_compiled_formula_agrees_with_a_walk_over_its_tree(tree: Node, names: Mapping[str, float | None]) -> None:
    formula = parse(text_of(tree))
    try:
        expected = reference(formula.root, names)
    except NoValueError:
        with pytest.raises(FormulaFault):
            formula.value(names)
    else:
        assert formula.value(names) == expected


anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.complex_numbers(),
    st.decimals(), st.fractions(), st.lists(st.integers()), st.just(10**400),
)  # fmt: skip


@settings(deadline=None, max_examples=150)
@given(trees, st.dictionaries(st.sampled_from(NAMES), anything))
def test_whatever_the_names_hold_there_is_a_finite_float_or_a_fault(tree: Node, names: dict[str, object]) -> None:
    with contextlib.suppress(FormulaFault):
        result = parse(text_of(tree)).value(names)
        assert type(result) is float
        assert math.isfinite(result)
