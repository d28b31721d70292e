"""Arithmetic written in a text: its tokens, and its exact value. Nothing is ever handed to an interpreter."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import comb, factorial, isfinite, isqrt, perm, sqrt
from typing import Literal, NamedTuple

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern

Number = Fraction | float
TokenKind = Literal["number", "operator", "open", "close", "root", "percent", "power", "money", "word", "other"]

MAX_LENGTH = 500  # characters of one expression
MAX_DEPTH = 40  # nested parentheses, signs and powers
MAX_EXPONENT = 200
MAX_BITS = 4096  # of a numerator or denominator
MAX_DIGITS = 60  # of one written number


class ArithmeticToken(NamedTuple):
    """One token and its place in the text."""

    kind: TokenKind
    text: str
    start: int
    end: int
    value: Fraction | None = None  # of a number


_OPERATORS = {
    "×": "*",
    "·": "*",
    "∙": "*",
    "⋅": "*",
    "∗": "*",
    "÷": "/",
    "∕": "/",
    "−": "-",
    "–": "-",
    "**": "^",
}
_LATEX = {"\\times": "*", "\\cdot": "*", "\\div": "/"}
_VULGAR = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅛": "1/8"}
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_PLAIN = r"(?:\d{1,3}(?:,\d{3})+(?![\d,])(?:\.\d+)?|\d+(?!\d|,\d)(?:\.\d+)?|(?<![\d.])\.\d+)"
_TOKEN = lazy_pattern(
    rf"""
      (?P<mixed>(?<![\d.,/^])\d{{1,3}}(?:[ ]\d{{1,3}}/\d{{1,3}}(?![\d./])|[ ]?[½⅓⅔¼¾⅕⅛]))
    | (?P<fraction>\\d?frac\{{(?P<over>\d{{1,9}})\}}\{{(?P<under>\d{{1,9}})\}}|[½⅓⅔¼¾⅕⅛])
    | (?P<ways>(?<![\w.])\d{{1,3}}[CP]\d{{1,3}}(?!\w)|(?<![\w.])\d{{1,2}}!(?=\s?[*/×÷·=)]|[(\d]))
    | (?P<number>{_PLAIN})
    | (?P<power>[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,3}})
    | (?P<operator>\*\*|[-+*/^×·∙⋅∗÷∕−–]|\\(?:times|cdot|div)(?![a-z]))
    | (?P<open>\(|\\left\(|\[(?=[\d\s.,(]{{1,40}}[-+*/×÷][^\[\]\n]{{1,80}}\])) | (?P<close>\)|\\right\)|\])
    | (?P<root>√) | (?P<percent>\\?%) | (?P<money>\\?\$|[£€¥₹¢]|(?:Rs|INR|USD)\b\.?(?=[ ]?[\d(.]))
    | (?P<word>°(?:[ ]?[CF](?![^\W\d_]))?|[^\W\d_]+(?:['’.-][^\W\d_]+)*[²³]?(?:\^[23](?!\d))?)
    | (?P<other>[^\s])
    """,
    re.VERBOSE | re.ASCII,
)


def tokens_of(text: str) -> list[ArithmeticToken]:
    """The tokens of a text; what arithmetic does not know is a `word` or an `other`."""
    tokens: list[ArithmeticToken] = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        written, place = match[0], match.span()
        if kind in {"mixed", "fraction", "under"}:
            tokens.append(ArithmeticToken("number", written, *place, _fraction(match)))
        elif kind == "ways":
            ways = _ways(written)
            tokens.append(ArithmeticToken("other" if ways is None else "number", written, *place, ways))
        elif kind == "number":
            digits = written.replace(",", "")
            known = len(digits) <= MAX_DIGITS
            tokens.append(
                ArithmeticToken("number" if known else "other", written, *place, _number(digits) if known else None)
            )
        elif kind == "operator":
            tokens.append(ArithmeticToken("operator", _LATEX.get(written) or _OPERATORS.get(written, written), *place))
        elif kind == "power":
            tokens.append(ArithmeticToken("power", written.translate(_RAISED), *place))
        else:
            tokens.append(ArithmeticToken(kind, written, *place))  # type: ignore[arg-type]
    return tokens


@lru_cache(maxsize=4_096)
def _number(digits: str) -> Fraction:
    return Fraction(digits)


def _ways(written: str) -> Fraction | None:
    """How many ways there are to order or choose: 4!, 5C2, 5P2; None where more are chosen than there are."""
    if written.endswith("!"):
        return Fraction(factorial(int(written[:-1])))
    things, chosen = (int(part) for part in re.split("[CP]", written))
    if chosen > things:
        return None
    return Fraction(comb(things, chosen) if "C" in written else perm(things, chosen))


def _fraction(match: re.Match[str]) -> Fraction | None:
    try:
        if match["over"]:
            return Fraction(int(match["over"]), int(match["under"]))
        whole, _, rest = match[0].partition(" ")
        if not rest and whole[-1] in _VULGAR:
            whole, rest = whole[:-1], whole[-1]
        return Fraction(whole or 0) + Fraction(_VULGAR.get(rest, rest))
    except ZeroDivisionError:
        return None


def evaluate(expression: str) -> Number:
    """The value of an arithmetic expression: exact, or a float where a root is irrational.

    Raises FormulaError for what is not arithmetic, FormulaFault for what has no value or too large a one.

    >>> evaluate("3 + 4 × 2"), evaluate("25% × 1,200"), evaluate("2 1/2 + √9")
    (Fraction(11, 1), Fraction(300, 1), Fraction(11, 2))
    >>> evaluate("2 / (3 - 3)")
    Traceback (most recent call last):
    rubrica.errors.FormulaFault: division by zero in '2 / (3 - 3)'
    """
    if len(expression) > MAX_LENGTH:
        raise FormulaFault(f"the expression is longer than {MAX_LENGTH} characters")
    tokens = [
        token._replace(kind="operator", text="*") if token.text in {"x", "X", "of"} else token
        for token in tokens_of(expression)
    ]
    return value_of(tokens, expression)


def value_of(tokens: Sequence[ArithmeticToken], written: str) -> Number:
    """The value of tokens that `tokens_of` gave; `written` is what an error quotes."""
    try:
        value = _Reader(tokens).read()
    except ZeroDivisionError:
        raise FormulaFault(f"division by zero in {written[:80]!r}") from None
    except OverflowError:
        raise FormulaFault(f"the value of {written[:80]!r} is too large") from None
    return value


class _Reader:
    """Recursive descent over the tokens of one expression."""

    def __init__(self, tokens: Sequence[ArithmeticToken]) -> None:
        self.tokens, self.at, self.depth = tokens, 0, 0

    def read(self) -> Number:
        value = self.total()
        if self.at < len(self.tokens):
            raise self.error(f"{self.tokens[self.at].text[:20]!r} is not expected here")
        return value

    def error(self, message: str) -> FormulaError:
        column = self.tokens[min(self.at, len(self.tokens) - 1)].start + 1 if self.tokens else 1
        return FormulaError(message, column=column, fix="write numbers, + - * / ^ √ % and parentheses only")

    def take(self, kind: TokenKind, texts: str = "") -> ArithmeticToken | None:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        if token is None or token.kind != kind or (texts and token.text not in texts):
            return None
        self.at += 1
        return token

    def total(self) -> Number:
        value = self.product()
        while sign := self.take("operator", "+-"):
            other = self.product()
            value = _bounded(value + other if sign.text == "+" else value - other)
        return value

    def product(self) -> Number:
        value = self.signed()
        while True:
            if sign := self.take("operator", "*/"):
                other = self.signed()
                value = _bounded(value * other if sign.text == "*" else value / other)
            elif self.at < len(self.tokens) and self.tokens[self.at].kind in {"open", "root"}:
                value = _bounded(value * self.signed())
            else:
                return value

    def deepen(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormulaFault(f"the expression is nested deeper than {MAX_DEPTH}")

    def signed(self) -> Number:
        self.deepen()
        if sign := self.take("operator", "+-"):
            value = self.signed() if sign.text == "+" else -self.signed()
        else:
            value = self.raised()
        self.depth -= 1
        return value

    def raised(self) -> Number:
        value = self.atom()
        if raised := self.take("power"):
            value = _power(value, Fraction(raised.text))
        if self.take("operator", "^"):
            value = _power(value, self.signed())
        while self.take("percent"):
            value = value / 100
        return value

    def atom(self) -> Number:
        if self.take("root"):
            self.deepen()
            return _root(self.atom())
        if self.take("open"):
            value = self.total()
            if not self.take("close"):
                raise self.error("a closing parenthesis is missing")
            return value
        self.take("money")
        number = self.take("number")
        if number is None:
            raise self.error("a number is missing")
        self.take("money")
        if number.value is None:
            raise ZeroDivisionError
        return number.value


def _power(base: Number, exponent: Number) -> Number:
    if abs(float(exponent)) > MAX_EXPONENT:
        raise FormulaFault(f"an exponent past {MAX_EXPONENT}")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        return _bounded(base ** int(exponent))
    if base < 0:
        raise FormulaFault("a broken power of a negative number")
    power: float = float(base) ** float(exponent)
    return _bounded(power)


def _root(value: Number) -> Number:
    if value < 0:
        raise FormulaFault("the root of a negative number")
    if isinstance(value, Fraction):
        over, under = isqrt(value.numerator), isqrt(value.denominator)
        if (over * over, under * under) == (value.numerator, value.denominator):
            return Fraction(over, under)
    return sqrt(value)


def _bounded(value: Number) -> Number:
    if isinstance(value, float):
        if not isfinite(value):
            raise OverflowError
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise OverflowError
    return value
