"""Conversions, times of day and ratios in a text that do not hold: "2 h = 110 min", "9:40 + 3:15 = 12:50", "6:9 = 2:4".

Only what is the same everywhere is converted. In doubt nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.expression import evaluate
from rubrica.text.maths.units import converted, measured_amount
from rubrica.text.maths.word_claims import MOST_CLAIMS, NUMBER, is_rounded

_QUANTITY = rf"(?:{NUMBER})\s?(?:[a-zA-Z]{{1,12}}³?)"
_CONVERTED = lazy_pattern(
    rf"(?:^|[.;:,\n=]\s?|\b(?:so|then|that|since)\s)({_QUANTITY})\.?\s?(?:=|is|are)\s?({_QUANTITY})(?:\s({_QUANTITY}))?"
    r"(?![\w²³^/]|\s?[-+*/×÷(\d]|\s(?:per|a)\b|\sand\s(?:an?\b|half\b|one\b|\d))",
    re.MULTILINE,
)
MOST_LINKS = 6  # ratios after the first in "6:9 = 4:6 = 2:3"; a longer chain is read from its middle, too
_CLOCK = {"s", "min", "h"}
_KINDS = {"length", "imperial length", "mass", "volume", "time"}
_PART = r"(?:\d[\d,]*(?:\.\d+)?(?:/\d{1,6})?|\([^()\n]{1,40}\))"
_RATIOS = lazy_pattern(
    rf"(?<![\w:.,)/*+^-])(?<![*/+-]\s)(?<![\d)]:\s)(?<![\d)]\s:\s)({_PART}(?:\s?:\s?{_PART}){{1,4}})(?=\s?=)"
)
_RATIO = lazy_pattern(rf"\s?=\s?({_PART}(?:\s?:\s?{_PART}){{1,4}})(?!\s?[:*/+^]|[\d.]*\d)")
_TIME = lazy_pattern(r"\d{1,2}:[0-5]\d")
_LATER = lazy_pattern(
    r"(?<![\d:])(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?:\s?[ap]\.?m\.?)?\s?(?P<sign>[+−–-]|plus\b|minus\b)\s?"
    r"(?:(?P<hours>\d{1,2})(?::(?P<minutes>[0-5]\d)|\s?h(?:ours?|rs?)?\b(?:\s?(?:and\s)?(?P<rest>\d{1,2})\s?min(?:ute)?s?)?)"
    r"|(?P<only>\d{1,3})\s?min(?:ute)?s?)\s?(?:=|is\b|makes\b|gives\b)\s?(?P<to>\d{1,2}):(?P<at>[0-5]\d)(?![:\d])"
)
_SPAN = lazy_pattern(
    r"\bfrom\s(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)(?:\s?[ap]\.?m\.?)?\s(?:to|until)\s(?P<to>\d{1,2}):(?P<at>[0-5]\d)"
    r"(?:\s?[ap]\.?m\.?)?,?\s(?:it\s|there\s)?(?:is|are|takes)\s(?:(?P<hours>\d{1,2})\s?h(?:ours?|rs?)?\b"
    r"(?:\s?(?:and\s)?(?P<rest>\d{1,2})\s?min(?:ute)?s?\b)?|(?P<only>\d{1,3})\s?min(?:ute)?s?\b)(?!\s(?:and|\d))",
    re.IGNORECASE,
)
_HALF_DAY = 12 * 60


def wrong_measures(text: str) -> Iterator[str]:
    """The conversions, times of day and ratios that clearly do not hold, in any order.

    >>> list(wrong_measures("6:9 = 2:4. 3 h = 180 min, 2 m = 20 cm. 2.5 hours = 2 h 20 min. 9:40 + 3:15 = 12:50."))
    ['2 m = 20 cm', '2.5 hours = 2 h 20 min', '6:9 = 2:4', '9:40 + 3:15 = 12:50']
    """
    for match, _ in zip(_CONVERTED.finditer(text), range(MOST_CLAIMS), strict=False):
        if _is_misconverted(match[1], match[2], match[3]):
            yield match[0].strip(" .,;:=\n")
    for match, _ in zip(_RATIOS.finditer(text), range(MOST_CLAIMS), strict=False):
        yield from _wrong_ratios(text, match)
    for pattern in (_LATER, _SPAN):
        for match, _ in zip(pattern.finditer(text), range(MOST_CLAIMS), strict=False):
            if _is_mistimed(match):
                yield match[0]


def _is_misconverted(one: str, two: str, rest: str | None) -> bool:
    left, right, third = measured_amount(one), measured_amount(two), measured_amount(rest) if rest else None
    if left is None or right is None or left.kind not in _KINDS or left.kind != right.kind:
        return False
    if rest and (third is None or third.kind != left.kind or third.unit == right.unit):
        return False
    units = {each.unit for each in (left, right, third) if each is not None}
    if left.kind == "time" and not units <= _CLOCK:
        return False  # a day of work has eight hours
    if len(units) == 1 or not left.value or not right.value:
        return False
    finer = left.size / left.value < right.size / right.value
    if left.kind != "time" and finer == (left.value < right.value):
        return False  # the scale of a map: 1 cm = 4 km
    last = third or right
    gone = right.size if third else Fraction(0)
    wanted = converted(left.size - gone, measured_base(left.kind), last.unit)
    written = re.match(NUMBER, rest or two)
    return wanted is not None and written is not None and not is_rounded(wanted, written[0])


def measured_base(kind: str) -> str:
    """The unit that the sizes of a kind are told in."""
    return {"length": "m", "imperial length": "in", "mass": "g", "volume": "l", "time": "s"}[kind]


def _wrong_ratios(text: str, first: re.Match[str]) -> Iterator[str]:
    left, place = first[1], first.end()
    for _ in range(MOST_LINKS):
        match = _RATIO.match(text, place)
        if match is None:
            return
        one, two = _parts(left), _parts(match[1])
        if one and two and len(one) == len(two) and not (_TIME.fullmatch(left) and _TIME.fullmatch(match[1])):
            share = two[0] / one[0]
            if any(abs(other - each * share) > abs(other) / 50 for each, other in zip(one, two, strict=True)):
                yield f"{left} = {match[1]}"
        left, place = match[1], match.end()


def _parts(ratio: str) -> list[Fraction]:
    """The numbers of a ratio; none where one has no value, or is 0."""
    try:
        found = [Fraction(evaluate(part.strip())) for part in ratio.split(":")]
    except (FormulaError, FormulaFault, OverflowError):
        return []
    return found if all(found) else []


def _is_mistimed(match: re.Match[str]) -> bool:
    number = {name: int(value) for name, value in match.groupdict().items() if value and value.isdecimal()}
    gone = 60 * number.get("hours", 0) + sum(number.get(name, 0) for name in ("minutes", "rest", "only"))
    start, end = 60 * number["hour"] + number["minute"], 60 * number["to"] + number["at"]
    back = match.groupdict().get("sign", "+") not in {"+", "plus"}
    return (start + (-gone if back else gone) - end) % _HALF_DAY != 0
