"""Claims like "48 / 2 = 24" in a text, and whether they hold. In doubt it does not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import islice, pairwise
from math import inf

import msgspec

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.equation_sides import MEASURES, OPERATIVE, EquationSide, computes, left_side, right_side
from rubrica.text.maths.expression import Number, evaluate, value_of
from rubrica.text.maths.misprints import is_misprinted, with_bars, with_bound_products
from rubrica.text.texts import Feature, Span, Texts

__all__ = ["FEATURES", "Equation", "Number", "evaluate", "find_equations"]

EVIDENCE_LIMIT = 20


class Equation(msgspec.Struct, frozen=True):
    """A claim that two expressions are equal: ``text[start:end]``, in characters."""

    start: int
    end: int
    text: str
    left: str
    right: str
    holds: bool | None  # None: cannot tell
    exact: bool = False  # it holds without rounding


_SIGN = lazy_pattern(r"(?:(?<![<>!=:≠≈~])|(?<=\d!))(?:=|≈|≅)(?![=<>~])")
MAX_SIGNS = 250  # equals signs read in one text: a bound on time, far past any real answer
MAX_READ = 5_000  # characters of the equations found in one text, for the same reason
_WINDOW = 200  # characters read on either side of a sign

_NOTE = lazy_pattern(r"(?<=\d)\s?\(([a-zA-Z][a-z'’-]{2,15}(?:\s[a-z'’-]{2,15}){0,4})\)")  # 3 (red) + 4 (for Ann)
_STRONG = lazy_pattern(r"(?<![\w*)])\*\*(?=[^\s*])([^*\n]{1,80})(?<=\S)\*\*(?![\w*(])")  # 36 - 7 = **29**, but not 2**8
_MISTAKE = lazy_pattern(r"\b(?:wrong|incorrect|mistak\w+|error|false|misread|instead|not equal|forgot\w*)\b", re.I)
_SHORT = lazy_pattern(r"\d+\.[1-9]|\d+\.[27]5")
_ROUNDED = lazy_pattern(r"\.\d*(?:33|66|67|16|17|14|28|29|42|43|57|71|83|86|11|22|44|55|77|88|89)$|\.\d{4,}$")


@lru_cache(maxsize=16)  # several features read the same stretches of one text
def find_equations(text: str) -> tuple[Equation, ...]:
    """Every equation in the text whose two sides are numbers, in order; a chain gives one for each link.

    A side written with d decimals is right within half a unit of its last place.

    >>> [(found.text, found.holds) for found in find_equations("$5 x 3 = $15, and 2 + 2 = 4 = 10 / 2.")]
    [('$5 x 3 = $15', True), ('2 + 2 = 4', True), ('4 = 10 / 2', False)]
    >>> find_equations("Let 2x + 3 = 7.")
    ()
    """
    found: list[Equation] = []
    left, read = MAX_SIGNS, 0
    for line in re.finditer(r"[^\n]+", text):
        if not any(sign in line[0] for sign in "=≈≅"):
            continue
        signs = list(islice(_SIGN.finditer(line[0]), left))
        for equation in _of_line(line[0], line.start(), signs):
            found.append(equation)
            read += len(equation.text)
            if read > MAX_READ:
                return tuple(found)
        left -= len(signs)
        if not left:
            break
    return tuple(found)


def _of_line(written: str, offset: int, signs: Sequence[re.Match[str]]) -> Iterator[Equation]:
    line = _STRONG.sub(r"  \1  ", _NOTE.sub(_without_note, written))
    edges = [0, *(sign.end() for sign in signs)]
    stops = [*(sign.start() for sign in signs), len(line)]
    for place, sign in enumerate(signs):
        edge, stop = edges[place], stops[place]
        left = left_side(line, max(edge, stop - _WINDOW), stop, edge)
        edge, stop = edges[place + 1], stops[place + 1]
        right = left and right_side(line, edge, min(stop, edge + _WINDOW), stop)
        if not left or not right or not _is_a_claim(left, right):
            continue
        around = line[max(0, left.start - 80) : left.start] + " " + line[right.end : right.end + 40]
        after = line[right.end : right.end + 1]
        doubt = left.doubt or right.doubt or bool(_MISTAKE.search(around)) or after == "?"
        doubt = doubt or (after == "!" and "!" in line[left.start : right.end])  # a factorial, perhaps
        holds = _holds(left, right, sign[0] != "=")
        yield Equation(
            offset + left.start,
            offset + right.end,
            written[left.start : right.end],
            line[left.start : left.end],
            line[right.start : right.end],
            None if doubt and holds is False else holds,
            exact=bool(holds) and _is_exact(left, right),
        )


def _without_note(note: re.Match[str]) -> str:
    """Spaces for a note that says what a number counts; what may change its worth, such as "(half)", stays."""
    return note[0] if OPERATIVE & set(note[1].lower().split()) else " " * len(note[0])


def _is_a_claim(left: EquationSide, right: EquationSide) -> bool:
    """Only what computes something: "in 2019 = 5" and "x = 5" claim nothing that can be checked."""
    return computes(left) or (left.plain and computes(right))


# --- judging ----------------------------------------------------------------------------------------------


def _holds(left: EquationSide, right: EquationSide, loose: bool) -> bool | None:
    """True if any fair reading of the two sides agrees, False if every one clearly disagrees, else None."""
    loose = loose or right.loose
    stated = right if _step(right) else left  # the side that is one number, whose last place counts
    step = _step(stated)
    exact = not loose and _are_fractions(left, right)
    slack = Fraction(1, 50) if _looks_rounded(left) or _looks_rounded(right) else Fraction(0)
    verdicts = [
        _agree(one, two, step and step * (one_unit if stated is left else two_unit), slack, loose, exact)
        for one, one_unit in _readings(left)
        for two, two_unit in _readings(right)
    ]
    if any(verdicts):
        return True
    if not verdicts:
        return False if _divides_by_zero(left) or _divides_by_zero(right) else None
    if None in verdicts or _is_doubtful(left, right) or _runs_on(left, right):
        return None
    return None if is_misprinted(left.tokens, right.tokens) else False


def _divides_by_zero(side: EquationSide) -> bool:
    return any(one.text == "/" and two.value == 0 for one, two in pairwise(side.tokens))


def _is_exact(left: EquationSide, right: EquationSide) -> bool:
    return any(one == two for one, _ in _readings(left) for two, _ in _readings(right))


def _runs_on(left: EquationSide, right: EquationSide) -> bool:
    """Whether the equals sign is used as a comma: 3 + 4 = 7 * 2 = 14."""
    number = next((token.value for token in right.tokens if token.kind == "number"), None)
    return computes(right) and number is not None and any(value == number for value, _ in _readings(left))


def _is_doubtful(left: EquationSide, right: EquationSide) -> bool:
    """Whether a conversion between units, or a percentage added to a number, may explain the difference."""
    dimensions = [MEASURES[unit] for unit in left.units | right.units]
    money = any(token.kind == "money" for token in (*left.tokens, *right.tokens))
    converts = bool(left.units) and [token.text for token in left.tokens if token.kind != "number"] == ["/"]
    return (
        converts  # 1/2 a cup = 4 ounces
        or len(set(dimensions)) < len(dimensions)
        or bool({"scale", "rest"} & set(dimensions))
        or (money and "cent" in left.units | right.units)
        or any(_adds_percent(side) for side in (left, right))
    )


def _adds_percent(side: EquationSide) -> bool:
    percents = sum(token.kind == "percent" for token in side.tokens)
    if percents == sum(token.kind == "number" for token in side.tokens):
        return False  # 7% + 12%
    return percents > 0 and any(token.text in {"+", "-"} or token.kind == "close" for token in side.tokens)


def _readings(side: EquationSide) -> Iterator[tuple[Number, Fraction]]:
    """The values a side may have: as written; with its percent signs left out; with a fraction bar for its slash.

    Each with what 1 is worth in it: a hundredth where its percent signs count.
    """
    plain = tuple(token for token in side.tokens if token.kind != "percent")
    tries = [side.tokens]
    if len(plain) < len(side.tokens):
        tries.append(plain)
    if side.tokens[0].text in {"-", "+"}:
        tries.append(side.tokens[1:])  # a bullet or a dash, perhaps
    tries += with_bars(side.tokens)
    if (bound := with_bound_products(side.tokens)) != side.tokens:
        tries.append(bound)
    for tokens in tries:
        try:
            value = value_of([token for token in tokens if token.kind != "money"], "")
        except (FormulaError, FormulaFault):
            continue
        yield value, Fraction(1, 100 if any(token.kind == "percent" for token in tokens) else 1)


def _step(side: EquationSide) -> Fraction | None:
    """One unit in the last place of a side that is a single number; None for a computed side."""
    numbers = [token for token in side.tokens if token.kind == "number"]
    if len(numbers) != 1 or computes(side) or "/" in numbers[0].text or numbers[0].text[-1] in "½⅓⅔¼¾⅕⅛}":
        return None
    return Fraction(1, 10 ** len(numbers[0].text.partition(".")[2]))


def _are_fractions(left: EquationSide, right: EquationSide) -> bool:
    """Whether both sides are made of numbers that nobody rounded, and the right one is a fraction of whole ones."""
    tokens = (*left.tokens, *right.tokens)
    whole = all(
        token.text.isdecimal() or (token not in right.tokens and _SHORT.fullmatch(token.text))
        if token.kind == "number"
        else token.kind in {"operator", "open", "close"}
        for token in tokens
    )
    under = right.tokens[-1].text
    return whole and len(right.tokens) == len("a/b") and right.tokens[1].text == "/" and under.strip("0") != "1"


def _agree(one: Number, two: Number, step: Fraction | None, slack: Fraction, loose: bool, exact: bool) -> bool | None:
    gap, size = abs(Fraction(one) - Fraction(two)), max(abs(Fraction(one)), abs(Fraction(two)))
    noise = size / 10**9  # a float's, where a root is irrational
    if gap <= noise or (step is not None and gap <= step / 2 + noise / 1000):
        return True
    if loose:
        return True if gap <= size / 20 else None if gap <= size / 2 else False
    if step is None:
        return None if gap <= size / 100 and not exact else False
    return None if gap < step or gap <= size * slack else False


def _looks_rounded(side: EquationSide) -> bool:
    """Whether a number in it is a rounded fraction: 0.33 × 300 = 100 is meant well."""
    return any(_ROUNDED.search(token.text) for token in side.tokens if token.kind == "number")


# --- features ---------------------------------------------------------------------------------------------


def equations_of(texts: Texts) -> tuple[Equation, ...]:
    """What `find_equations` finds in the response, found once."""
    if equations_of not in texts.derived:
        texts.derived[equations_of] = find_equations(texts.response)
    found: tuple[Equation, ...] = texts.derived[equations_of]  # type: ignore[assignment]
    return found


def _spans(equations: Sequence[Equation], label: str) -> list[Span]:
    return [Span("response", item.start, item.end, item.text[:200], label) for item in equations[:EVIDENCE_LIMIT]]


def _wrong(texts: Texts) -> list[Equation]:
    return [equation for equation in equations_of(texts) if equation.holds is False]


FEATURES: tuple[Feature, ...] = (
    Feature(
        "equation_count",
        "numeric equations in the response that can be read, right or wrong",
        0,
        inf,
        lambda texts: float(len(equations_of(texts))),
        lambda texts: _spans(equations_of(texts), "equation"),
    ),
    Feature(
        "wrong_equation_count",
        "numeric equations in the response that are clearly wrong, rounding allowed",
        0,
        inf,
        lambda texts: float(len(_wrong(texts))),
        lambda texts: _spans(_wrong(texts), "wrong equation"),
    ),
)
