"""Calculations in words, worked out: "three quarters of 20", "12 less than 30", "the product of 4 and 9"."""

from __future__ import annotations

import re
from fractions import Fraction

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.expression import evaluate, tokens_of
from rubrica.text.maths.latex import plain_maths

LONGEST = 120  # characters of a calculation

_PARTS = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4, "fifth": 5,
    "fifths": 5, "sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8, "tenth": 10, "tenths": 10,
}  # fmt: skip
_COUNTS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100,
}  # fmt: skip
_FRACTION = lazy_pattern(
    rf"\b(?:({'|'.join(_COUNTS)})[\s-]+)?({'|'.join(_PARTS)})\b(?=\s+(?:of|times|\+|plus|minus)\b|$)"
)
_COUNT = lazy_pattern(rf"\b({'|'.join(name for name in _COUNTS if len(name) > 2)})\b")
_SIGNS = (
    (r"(?:multiplied\s+by|times)\b", "*"), (r"divided\s+by\b", "÷"), (r"plus\b", "+"),
    (r"(?:minus|take\s+away|less(?!\s+than))\b", "-"),
    (r"per\s?cent\b", "%"), (r"squared\b", "^2"), (r"cubed\b", "^3"), (r"(?:twice|double)\b", "2 *"),
    (r"(?:the\s+)?square\s+root\s+of\b", "√"), (r"triple\b", "3 *"),
)  # fmt: skip
_NUMBER = r"[-−]?[\d√(][\d.,/%√()½¼¾⅓⅔⅕⅛^]*(?:\s\d{1,3}/\d{1,3})?"
_PAIRS = (
    (rf"(?:the\s+)?sum\s+of\s+({_NUMBER})\s+and\s+({_NUMBER})", "({0}) + ({1})"),
    (rf"(?:the\s+)?product\s+of\s+({_NUMBER})\s+and\s+({_NUMBER})", "({0}) * ({1})"),
    (rf"(?:the\s+)?quotient\s+of\s+({_NUMBER})\s+and\s+({_NUMBER})", "({0}) ÷ ({1})"),
    (rf"({_NUMBER})\s+less\s+than\s+({_NUMBER})", "({1}) - ({0})"),
    (rf"({_NUMBER})\s+(?:more|greater)\s+than\s+({_NUMBER})", "({1}) + ({0})"),
    (rf"({_NUMBER})\s+(?:subtracted|taken\s+away)\s+from\s+({_NUMBER})", "({1}) - ({0})"),
    (rf"({_NUMBER})\s+added\s+to\s+({_NUMBER})", "({1}) + ({0})"),
    (rf"(?:the\s+)?square\s+of\s+({_NUMBER})", "({0})^2"),
    (rf"(?:the\s+)?cube\s+of\s+({_NUMBER})", "({0})^3"),
)
_TIGHT = lazy_pattern(r"(?<![\d/.)^])(?<!\d[ ])(\d{1,9})/(\d{1,9})(?![\d/.(^])")
_TWO_WAYS = lazy_pattern(  # 1.000, a chain of slashes, a bracket behind a divisor, a percentage that is added
    r"[1-9]\d{0,2}\.000\b|/\s*[\d.]+\s*/|[/÷]\s*[\d.]+\s*\(|÷[^÷+()-]*/\s*\d|%\s*[-+−]|[-+−][^-+−]*%|\^\s*\(?[\d.]+\)?\s*\^"
)


def worked_value(written: str) -> Fraction | None:
    """The exact value of a calculation in signs or words; None where it is none, or where it may be read in two ways.

    >>> [str(worked_value(text)) for text in ("1/2 ÷ 1/4", "three quarters of 20", "12 less than 30", "6 / 2(3)")]
    ['2', '15', '18', 'None']
    """
    text = " ".join(plain_maths(written).casefold().split()).strip(" .:?$")
    if len(text) > LONGEST:
        return None
    text = _FRACTION.sub(_share, text)
    text = _COUNT.sub(lambda match: str(_COUNTS[match[1]]), text)
    if not re.search(r"\d", text):
        return None
    for words, form in _PAIRS:
        pair = re.fullmatch(words, text)
        if pair:
            text = form.format(*pair.groups())
            break
    for words, sign in _SIGNS:
        text = re.sub(rf"(?<![a-z]){words}", sign, text)
    text = _TIGHT.sub(r"(\1/\2)", text)
    if _TWO_WAYS.search(text) or any(
        token.kind == "word" and token.text not in {"x", "of"} for token in tokens_of(text)
    ):
        return None
    try:
        value = evaluate(text)
    except (FormulaError, FormulaFault, OverflowError):
        return None
    return value if isinstance(value, Fraction) else None


def _share(words: re.Match[str]) -> str:
    return f"({_COUNTS[words[1]] if words[1] else 1}/{_PARTS[words[2]]})"
