"""What the formula language accepts, what it refuses, and what it says then."""

from __future__ import annotations

import contextlib
import copy
import pickle
import time

import pytest
from formula_trees import trees
from hypothesis import given, settings
from hypothesis import strategies as st

from rubrica.errors import FormulaError
from rubrica.formula import FUNCTIONS, Formula, Node, name_hint, parse, text_of
from rubrica.formula.nodes import Binary, Call, Choose, Compare, Logic, Name, Not, Number, Unary


def refusal(text: str) -> FormulaError:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    return caught.value


def parsed(text: str) -> Formula | FormulaError:
    try:
        return parse(text)
    except FormulaError as error:
        return error


def assert_place_in(text: str, error: FormulaError) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert 1 <= error.line <= len(lines)
    assert 1 <= error.column <= len(lines[error.line - 1]) + 1


def test_every_construct_becomes_its_own_node() -> None:
    root = parse("-a + 2 if 1 < b <= c and not d else min(True, e ** 2)").root

    assert root == Choose(
        Logic(
            "and", (Compare(Number(1.0), (("<", Name("b")), ("<=", Name("c")))), Not(Name("d")))
        ),
        Binary("+", Unary("-", Name("a")), Number(2.0)),
        Call("min", (Number(1.0), Binary("**", Name("e"), Number(2.0)))),
    )  # fmt: skip


def test_the_names_a_formula_asks_for_are_known_without_reading_it() -> None:
    assert parse("mean(a, b) * 2 if count > 1 else a").names == {"a", "b", "count"}


def test_a_formula_may_go_on_over_several_lines() -> None:
    text = "\n  0.5 * accuracy\r\n+ 0.5 *\r  clarity\n"

    assert parse(text).value({"accuracy": 8, "clarity": 6}) == 7.0


def test_text_is_kept_as_written_and_equality_is_by_text() -> None:
    formula = parse("a+1")

    assert str(formula) == "a+1"
    assert formula == parse("a+1")
    assert formula != parse("a + 1")
    assert len({formula, parse("a+1")}) == 1


def test_copies_and_pickles_still_work() -> None:
    formula = parse("+".join(["x"] * 250))

    assert pickle.loads(pickle.dumps(formula)).value({"x": 1}) == 250.0  # noqa: S301
    assert copy.deepcopy(formula) == formula


def test_letters_beyond_ascii_make_names_in_their_normal_form() -> None:
    assert parse("größe + ﬁt + क्षेत्र").names == {"größe", "fit", "क्षेत्र"}


@pytest.mark.parametrize(
    ("text", "column", "says", "fix"),
    [
        ("score = 7", 7, "'='", "write =="),
        ("score === 7", 7, "'==='", "write =="),
        ("a && b", 3, "'&&'", "write and"),
        ("a || b", 3, "'||'", "write or"),
        ("a & b", 3, "'&'", "write and"),
        ("!a", 1, "'!'", "write not"),
        ("a ? b : c", 3, "'?'", "yes if condition else no"),
        ("a ^ 2", 3, "'^'", "write **"),
        ("a <> 2", 3, "'<>'", "write !="),
        ("a => 2", 3, "'=>'", "write >="),
        ("a ≤ 2", 3, "'≤'", "write <="),
        ("ab≥2", 3, "'≥'", "write >="),
        ("a − b", 3, "'−'", "hyphen"),
        ("(y := 2)", 4, "':='", "cannot set"),
        ("a.real", 2, "'.'", "no dots"),
        ("().__class__", 3, "'.'", "no dots"),
        ("a[0]", 2, "'['", "looked up"),
        ("{a}", 1, "'{'", "round brackets"),
        ("'abc'", 1, "'''", "no text"),
        ('f"{a}"', 2, "'\"'", "no text"),
        ("a # why", 3, "'#'", "beside"),
        ("a;b", 2, "';'", "single expression"),
        ("a\x00b", 2, "U+0000", "NUL"),
        ("a + \ud800", 5, "U+D800", "remove"),
        ("a\u00a0+ 1", 2, "U+00A0", "plain space"),
        ("٣ + 1", 1, "digits 0 to 9", "digits 0 to 9"),
        ("2x + 1", 1, "not a number", "2 * x"),
        ("1.2.3", 1, "not a number", "one decimal point"),
        ("0x10", 1, "not a number", "operator"),
        ("2j", 1, "not a number", "operator"),
        ("lambda: 0", 7, "':'", "yes if"),
        ("_secret + 1", 1, "'_secret'", "letter"),
        ("1 + __import__", 5, "underscore", "letter"),
        ("＿x", 1, "'＿'", "remove"),
        ("𝐓𝐫𝐮𝐞 + 1", 1, "'True' cannot be a name", "plain letters"),
        ("__import__(1)", 1, "no function '__import__'", "there are: min, max"),
        ("mini(a, 1)", 1, "no function 'mini'", "'min'"),
        ("1 + avg(a, b)", 5, "no function 'avg'", ""),
        ("Max(a, b)", 1, "no function 'Max'", "'max'"),
        ("clamp(a, 1)", 1, "clamp takes 3 arguments, not 2", "clamp(x, lo, hi)"),
        ("mean()", 1, "mean takes 1 or more arguments, not 0", "mean(x, …)"),
        ("log(1, 2, 3)", 1, "log takes 1 or 2 arguments, not 3", "log(x, base)"),
        ("clamp(a, 9, 1)", 1, "from 9 down to 1", "lower bound first"),
        ("mean(*a)", 6, "unpacked", "one by one"),
        ("mean(**a)", 1, "by position", "mean(x, …)"),
        ("min(x for x in y)", 4, "no loops", "one by one"),
        ("a, b", 1, "comma", "mean(a, b)"),
        ("(yield)", 2, "yield", "remove"),
        ("a in b", 6, "'is' and 'in'", "=="),
        ("a is b", 6, "'is' and 'in'", "=="),
        ("None", 1, "None is not a number", "absent"),
        ("(a + b)(c)", 1, "only a function", "*"),
        ("round(a, b)", 10, "whole number", "round(x, 2)"),
        ("round(a, 0.5)", 10, "whole number", "round(x, 2)"),
        ("weighted(0.5, a, 0.5)", 1, "odd number", "weighted(w1"),
        ("weighted(a, 0.5)", 10, "a weight", "weighted(0.7"),
        ("weighted(0.5, a, -0.5, b)", 18, "a weight", "weighted(0.7"),
        ("weighted(0, a, 0, b)", 1, "every weight", "above zero"),
        ("share_of_points(5, a, 2)", 1, "odd number", "share_of_points(p1"),
        ("share_of_points(-5, a, -2, b)", 1, "no points are above zero", "above zero"),
        ("share_of_points(2 * c, a)", 17, "a number or a name", "share_of_points(5"),
        ("a ** 65", 6, "exponent 65", "-64 to 64"),
        ("a ** -100", 6, "exponent -100", "-64 to 64"),
        ("1e16 + a", 1, "too large", "1e15"),
        ("a + 1e999", 5, "too large", "1e15"),
        ("9" * 400, 1, "too large", "1e15"),
        ("", 1, "empty", "score >= 7"),
        (" \n\t ", 1, "empty", "score >= 7"),
        ("(a + b", 1, "never closed", "missing ')'"),
        ("a + b)", 6, "closes nothing", "remove it"),
        ("a) + (b", 2, "closes nothing", "remove it"),
        ("a +", 4, "ends too early", "complete it"),
        ("a * / b", 5, "'/' is not expected", "before and after"),
        ("a b", 3, "between 'a' and 'b'", "operator"),
        ("2 (a)", 1, "only a function", "*"),
        ("a if b", 3, "no 'else'", "yes if condition else no"),
        ("a AND b", 3, "'AND'", "write and"),
        ("min(a,,b)", 7, "',' is not expected", "before and after"),
        ("ä + ö +\n  (b .c)", 2, "'.'", "no dots"),
    ],
)  # fmt: skip
def test_what_is_refused_says_where_and_what_to_write(text: str, column: int, says: str, fix: str) -> None:
    error = refusal(text)

    assert says in error.message
    assert fix in error.fix
    assert error.column == column or "\n" in text


def test_the_place_of_an_error_is_a_line_and_a_column_in_characters() -> None:
    error = refusal("größe +\n  ölung + nope(größe)")

    assert (error.line, error.column) == (2, 11)


def test_a_formula_that_is_not_text_is_refused() -> None:
    with pytest.raises(FormulaError, match="a formula is text, not int"):
        parse(40)  # type: ignore[arg-type]


HOSTILE = {
    "brackets": "(" * 10_000 + "x" + ")" * 10_000,
    "brackets within the length": "(" * 990 + "x" + ")" * 990,
    "open brackets": "(" * 1_999,
    "calls": "min(" * 400 + "x",
    "signs": "-" * 10_000 + "1",
    "signs within the length": "-" * 1_990 + "1",
    "nots": "not " * 450 + "x",
    "powers": "x**" * 600 + "x",
    "choices": "x if x else " * 150 + "x",
    "comparisons": "x<" * 900 + "x",
    "long sum": "+".join(["x"] * 10_000),
    "sum within the length": "+".join(["x"] * 990),
    "digits": "9" * 1_990,
    "a long name": "x" * 1_990,
    "a long function": "x" * 90 + "(1)",
    "exponents": "9**9**9**9",
    "lists": "[" * 1_000 + "]" * 1_000,
    "sets": "{" * 1_900,
    "strings": "'" * 1_999,
    "dots": "a" + ".a" * 900,
    "accents": "a" + "\u0301" * 1_990,
    "bad letters": "é" * 1_000 + "≤" * 900,
    "errors in brackets": "(" * 50 + "x y" + ")" * 50,
    "lambdas": "lambda " * 280,
    "commas": "(" * 40 + "," * 1_900 + ")" * 40,
    "keywords": "if else " * 240,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_settled_at_once(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(FormulaError):
        parse(text)
    assert time.process_time() - began < 1


def test_a_sum_of_many_terms_is_not_nesting() -> None:
    formula = parse("+".join(["x"] * 250))  # 499 parts

    assert formula.value({"x": 0.5}) == 125.0
    assert "more than 500 parts" in refusal("+".join(["x"] * 251)).message


def test_nesting_is_bounded() -> None:
    assert parse("abs(" * 49 + "x" + ")" * 49).value({"x": -3}) == 3.0
    assert "nested" in refusal("abs(" * 50 + "x" + ")" * 50).message
    assert parse("-" * 49 + "x").value({"x": 3}) == -3.0
    assert "nested" in refusal("-" * 60 + "x").message


def test_length_is_bounded() -> None:
    assert parse("x" + " " * 1_999).names == {"x"}
    assert "at most 2000" in refusal("x" + " " * 2_000).message


def test_the_largest_number_that_may_be_written_is_1e15() -> None:
    assert parse("1e15").value({}) == 1e15
    assert "too large" in refusal("1000000000000001").message


@settings(deadline=None, max_examples=300)
@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_is_read_or_refused(text: str) -> None:
    outcome = parsed(text)

    if isinstance(outcome, FormulaError):
        assert_place_in(text, outcome)
    else:
        assert outcome.text == text


_PIECES = [
    *FUNCTIONS, *"abxy01259+-*/%<>(),.=!&|^~?:[]{}'\"#\\;@ \n\té_", "**", "//", "<=", ">=", "==", "!=",
    " and ", " or ", "not ", " if ", " else ", "True", "None", "lambda ", " in ", " is ", " for ",
    "1e9", "(a", "a)",
]  # fmt: skip


@settings(deadline=None, max_examples=250)
@given(st.lists(st.sampled_from(_PIECES), max_size=40).map("".join))
def test_any_jumble_of_formula_pieces_is_read_or_refused(text: str) -> None:
    outcome = parsed(text)

    if isinstance(outcome, FormulaError):
        assert_place_in(text, outcome)
    else:
        assert parse(text_of(outcome.root)).root == outcome.root


@settings(deadline=None, max_examples=150)
@given(trees)
def test_the_text_of_a_tree_parses_back_to_it(tree: Node) -> None:
    assert parse(text_of(tree)).root == tree


def test_the_text_of_a_tree_has_only_the_brackets_it_needs() -> None:
    plain = "-a ** 2 * (b + c) - (d - (-e) ** (f ** g)) if not (h and i) or j < (k < l) else m if n else p"

    assert text_of(parse(plain).root) == plain.replace("(f ** g)", "f ** g")


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("Clarity", "did you mean 'clarity'?"),
        ("acuracy", "did you mean 'accuracy'?"),
        ("min", "it is a function: write min(x, …)"),
        ("true", "write True"),
        ("zzz", ""),
    ],
)
def test_an_unknown_name_gets_the_nearest_known_one(name: str, hint: str) -> None:
    assert name_hint(name, {"accuracy", "clarity", "depth"}) == hint


def test_given_takes_a_name_only() -> None:
    with pytest.raises(FormulaError, match=r"given\(name\)"):
        parse("given(a + 1)")
    assert parse("given(a) and not given(b) and not given(c)").holds({"a": 0.0, "b": None})


def test_every_function_has_its_description_and_argument_counts() -> None:
    assert set(FUNCTIONS) == {
        "min", "max", "abs", "round", "floor", "ceil", "sqrt", "log", "log1p", "exp", "clamp",
        "mean", "median", "sum", "count", "any", "all", "weighted", "given", "share_of_points",
    }  # fmt: skip
    for name, function in FUNCTIONS.items():
        assert function.name == name
        assert function.says
        assert function.usage.startswith(name + "(")
        assert function.least >= 1
        assert function.most is None or function.most >= function.least
