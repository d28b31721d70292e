"""The numbers of a text one by one: their value, their place, and what stands beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.amounts import amounts_of
from rubrica.text.maths.equation_sides import listed_words

_NUMBER = lazy_pattern(
    r"(?<!\d)(?<!\d[.,])(?:\d{1,3}(?:,\d{2,3}){0,4},\d{3}(?!\d)(?:\.\d{1,9})?"
    r"|\d{1,15}(?!\d)(?:\.\d{1,9})?|(?<![\w.])\.\d{1,9})(?!\d)"
)
_GLUED = lazy_pattern(r"(?:(?:^|[^a-zA-Z])(?:[Rr]s|INR|USD|[xX])|\d\s?[xCP])\Z")  # letters before a number of its own
_NAMES = lazy_pattern(  # what a number after it only names: step 3, (2), 5th
    r"(?:\b(?:step|option|equations?|eqn?|no|case|statements?|choice|st|chapter|page)\.?\s*\(?#?|(?:^|\n)\s*\(?)\Z",
    re.IGNORECASE,
)
_NAMED = lazy_pattern(r"\s?[):.](?!\d)")
_ORDINAL = lazy_pattern(r"(?:st|nd|rd|th)\b")
_TIME = lazy_pattern(r"(?<![\d:])\d{1,2}:[0-5]\d(?![\d:])")
_OPERATION = r"[-+*/×÷·−–∗^]"
_BEHIND = lazy_pattern(rf"\s?({_OPERATION}|x(?=\s?\d))\s?(\d{{1,15}}(?![\d.,]*\d))")
_BEFORE = lazy_pattern(rf"(?<![\d.,])(\d{{1,15}})\s?({_OPERATION}|(?<=\s)x|(?<=\d)x)\s?\$?\Z")
_NOUN = lazy_pattern(r"[\s-](?:(?:more|other|new|of the)\s)?([a-zA-Z]{3,15})(?![a-zA-Z])")
_NO_NOUNS = listed_words(
    "the and are was were that this with for from then than has have had its his her their they there each per more "
    "less when which who will would can must not one two but also into out over all both every same other another if"
)
_PARTS = {
    "half": 2, "halves": 2, "twice": 2, "double": 2, "doubled": 2, "doubles": 2, "triple": 3, "thrice": 3, "third": 3,
    "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4, "fourths": 4, "fifth": 5, "fifths": 5, "sixth": 6,
    "sixths": 6, "sevenths": 7, "eighth": 8, "eighths": 8, "ninth": 9, "tenth": 10, "tenths": 10, "dozen": 12,
}  # fmt: skip
_KNOWN = {
    "week": 7, "year": 12, "month": 30, "day": 24, "foot": 12, "feet": 12, "inche": 12, "yard": 3, "dice": 6, "die": 6,
    "card": 52, "alphabet": 26, "dime": 10, "nickel": 5,
}  # fmt: skip


class WrittenNumber(msgspec.Struct, frozen=True):
    """A number as it is written: ``text[start:end]``."""

    value: Fraction
    written: str
    start: int
    end: int


def written_numbers(text: str) -> Iterator[WrittenNumber]:
    """The numbers of a text that count or measure something, rather than name a step, a place in a row or a time.

    >>> [str(number.value) for number in written_numbers("Step 1: at 9:40 the 2nd of 3 costs Rs.1,250, or .5x")]
    ['3', '1250', '1/2']
    """
    times = {place for time in _TIME.finditer(text) for place in range(time.start(), time.end())}
    for match in _NUMBER.finditer(text):
        start, end = match.span()
        glued = text[start - 1 : start].isalpha() and not _GLUED.search(text, max(0, start - 5), start)
        names = _NAMES.search(text, max(0, start - 16), start)
        names_only = names and (names[0].strip(" \n(#") or _NAMED.match(text, end))
        if not glued and not names_only and not _ORDINAL.match(text, end) and start not in times:
            yield WrittenNumber(Fraction(match[0].replace(",", "")), match[0], start, end)


def spelt_numbers(text: str) -> set[Fraction]:
    """The numbers that a text has in words, as shares or in units.

    >>> sorted(map(int, spelt_numbers("Half of the three boys came every week.")))
    [2, 3, 7]
    """
    words = {word for word in re.findall(r"[a-z]+", text.lower()) if len(word) < 10}
    found = {Fraction(_PARTS[word]) for word in words if word in _PARTS}
    found |= {Fraction(_KNOWN[one]) for word in words if (one := word.removesuffix("s")) in _KNOWN}
    return numerals(text) | found


def numerals(text: str) -> set[Fraction]:
    """The numbers that a text has in words."""
    return {amount.value for amount in amounts_of(text) if text[amount.start].isalpha()}


def neighbours(number: WrittenNumber, text: str) -> Iterator[str]:
    """What stands beside a number: the noun it counts, an operation with another number.

    >>> text = "So 12 more girls make 4 * 30."
    >>> [list(neighbours(number, text)) for number in written_numbers(text)]
    [['girl'], ['*30'], ['4* ']]
    """
    noun = _NOUN.match(text, number.end)
    if noun and noun[1].lower() not in _NO_NOUNS:
        yield noun[1].lower().removesuffix("s")
    behind, before = _BEHIND.match(text, number.end), _BEFORE.search(text, max(0, number.start - 20), number.start)
    if behind:
        yield f"{behind[1]}{behind[2]}"
    if before:
        yield f"{before[1]}{before[2]} "
