"""Formulas and patterns: from a grammar of their own, and from pieces that fit nowhere."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Any

from fuzz_target import Target, refused, target
from fuzz_texts import ODD_NUMBERS, ODD_TEXTS, broken, texts, words
from hypothesis import strategies as st

from rubrica.errors import FormulaFault, PatternError
from rubrica.formula.functions import FUNCTIONS
from rubrica.formula.interval import Interval
from rubrica.formula.nodes import text_of
from rubrica.formula.parse import Formula, parse
from rubrica.text.patterns import PatternSet, compile_keywords, compile_regex

LONGEST_TEXT = 200_000
"""Characters of a text that patterns are searched in."""
MOST_REPETITION = 1_000
"""The largest count in a pattern, as in ``x{1000}``."""

NAMES = ("a", "b", "word_count", "score", "missing")
_OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "<", "<=", "==", "!=", ">", " and ", " or ", " if 1 else ")
_PIECES = (
    *_OPERATORS,
    *("(", ")", ",", ".", "[", "]", "{", "}", "not ", "lambda", "=", ":=", "&&", "||", "!", "?", "@", "'x'", "\\"),
    *("1e999", "1e-999", "0x1f", "1_0", "1j", "9" * 400, "𝟙", "é", "__class__", "a.b", "a" * 300, "\n", "\t", "#"),
)
_atoms = st.sampled_from(NAMES) | st.sampled_from(["0", "1", "2", "0.5", "3", "64", "1e15", "1e300", "1e-300", "10"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    arguments = st.lists(inner, min_size=1, max_size=4).map(", ".join)
    return st.one_of(
        st.builds("({}{}{})".format, inner, st.sampled_from(_OPERATORS), inner),
        st.builds("{}({})".format, st.sampled_from(sorted(FUNCTIONS)), arguments),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("-{}".format, inner),
        st.builds("not {}".format, inner),
        st.builds("{0} < {1} <= {0}".format, inner, inner),
    )


formulas = st.recursive(_atoms, _larger, max_leaves=15)
_values = st.dictionaries(
    st.sampled_from(NAMES),
    st.none() | st.floats(-1e6, 1e6) | st.sampled_from(ODD_NUMBERS) | st.sampled_from(["x", "1"]),
    max_size=5,
)
_soup = st.lists(st.sampled_from(_PIECES) | _atoms, max_size=20).map("".join)


def _read_formula(example: tuple[str, dict[str, Any]]) -> None:
    """A formula that is read gives a finite value within its interval, or a fault; written again it is the same."""
    text, values = example
    formula = refused(lambda: parse(text))
    if formula is None:
        return
    assert parse(text_of(formula.root)).root == formula.root
    value = _value(formula, values)
    known = {name: _interval(found) for name, found in values.items()}
    reach = formula.interval(known)
    assert not math.isnan(reach.lo)
    assert not math.isnan(reach.hi)
    if value is not None:
        assert math.isfinite(value)
        assert reach.lo <= value <= reach.hi, f"{value} is not in {reach}"
        anything = formula.interval({})
        assert anything.lo <= value <= anything.hi, f"{value} is not in {anything}"
    elif reach.sure and _plain(values):
        raise AssertionError(f"no value, where {reach} is said to be sure")


def _value(formula: Formula, values: dict[str, Any]) -> float | None:
    try:
        return formula.value(values)
    except FormulaFault as fault:
        told = str(fault)
    assert told
    return None


def _interval(value: Any) -> Interval | None:
    if value is None:
        return None
    number = float(value) if isinstance(value, int | float) and abs(value) < 1e308 else math.nan
    return Interval(number, number) if math.isfinite(number) else Interval(-math.inf, math.inf, sure=False)


def _plain(values: dict[str, Any]) -> bool:
    return all(isinstance(value, int | float) and math.isfinite(value) for value in values.values())


_classes = (
    "[a-z]",
    "[^x]",
    r"\w",
    r"\pL",
    ".",
    r"\b",
    "^",
    "$",
    r"\d",
    "[[:alpha:]]",
    r"\x{1F600}",
    r"\Qa.b\E",
    "(?i)",
)
_atoms_of_patterns = st.sampled_from(_classes) | st.sampled_from(["a", "b", "the", "é", "漢", " "])


def _larger_pattern(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    counts = st.integers(0, MOST_REPETITION)
    return st.one_of(
        st.builds("{}{}".format, inner, inner),
        st.builds("(?:{}|{})".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "*?", "+?", "??"])),
        st.builds("(?:{}){{{},{}}}".format, inner, counts, counts),
        st.builds("(?P<span>{})".format, inner),
        st.builds("{}{}".format, st.sampled_from(["(?=", "(?<!", "(?P=", "(?#", "(", "[", "\\", "{", "*"]), inner),
    )


patterns = st.recursive(_atoms_of_patterns, _larger_pattern, max_leaves=10)
_searched = st.builds(
    lambda pieces, times: (" ".join(pieces) * times)[:LONGEST_TEXT],
    st.lists(words | st.sampled_from(["a", "the", "abab", "x" * 50]), max_size=8),
    st.integers(1, 300) | st.integers(1, 20_000),
)


def _search(example: tuple[list[str], str]) -> None:
    """A pattern that compiles finds stretches in order that lie in the text, alone as in a set."""
    sources, text = example
    compiled = [found for one in sources if (found := refused(partial(compile_regex, one))) is not None]
    together = PatternSet(compiled)
    found = set(together.matching(text))
    for place, pattern in enumerate(compiled):
        try:
            spans = pattern.spans(text)
        except PatternError as error:
            assert "matches" in str(error)  # noqa: PT017 - too many of them, which is told
            continue
        assert all(0 <= start < end <= len(text) for start, end in spans)
        assert all(left[1] <= right[0] for left, right in pairwise(spans))
        assert not spans or place in found


def _search_keywords(example: tuple[list[str], str, str]) -> None:
    """Keywords are refused or found; what is found reads as one of them, apart from case and white space."""
    keywords, match, text = example
    found = refused(lambda: compile_keywords(keywords, match))  # type: ignore[arg-type]
    if found is not None:
        assert all(0 <= start < end <= len(text) for start, end in found.spans(text))


TARGETS: tuple[Target, ...] = (
    target(
        "formulas", st.tuples(formulas | broken(formulas, _PIECES) | _soup | texts, _values), _read_formula, share=600
    ),
    target(
        "patterns",
        st.tuples(st.lists(patterns | broken(patterns, tuple(_classes)) | words, min_size=1, max_size=4), _searched),
        _search,
        share=150,
    ),
    target(
        "keywords",
        st.tuples(
            st.lists(words | st.sampled_from(ODD_TEXTS), max_size=6),
            st.sampled_from(["word", "prefix", "substring"]),
            _searched,
        ),
        _search_keywords,
    ),
)
