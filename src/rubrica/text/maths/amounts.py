"""The amounts a text names, in whatever notation: 20,000, Rs.20,000, 60km, 3 1/2, 5π, 15%, 2.5 million, 12th."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import msgspec

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.expression import evaluate

MOST = 2_000  # amounts read in one text
_SPELT = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = {
    "hundred": 100, "thousand": 1000, "k": 1000, "million": 10**6, "billion": 10**9, "lakh": 10**5, "crore": 10**7,
    "dozen": 12,
}  # fmt: skip
_SHARES = {
    "half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "twelfth": 12, "twentieth": 20, "hundredth": 100,
}  # fmt: skip
_WRITTEN = r"\d{1,3}(?:,\d{2,3}){1,6}(?!\d)(?:\.\d{1,18})?|\d{1,18}(?:\.\d{1,18})?|(?<![\w.])\.\d{1,18}"
_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[\s-](?:{'|'.join(_SPELT[1:10])})\b)?|(?:{'|'.join(_SPELT)}))\b"
_BELOW_1000 = rf"(?:{_BELOW_100}(?:\shundred\b(?:\s(?:and\s)?{_BELOW_100})?)?)"
_CARDINAL = rf"{_BELOW_1000}(?:\s(?:thousand|million|billion|lakh|crore)\b(?:,?\s(?:and\s)?{_BELOW_1000})?){{0,3}}"
_SHARE_WORDS = (  # "a third of it", "three fifths", but no "a third number"
    rf"(?:(?P<count>{'|'.join(_SPELT[2:20])})[\s-](?P<shares>(?:{'|'.join(_SHARES)})s|halves)"
    rf"|(?:an?|one)[\s-](?P<share>{'|'.join(_SHARES)})(?=\s(?:of|off|as)\b|\s?[.,;:!?)]|\s*\Z))"
)
_AMOUNT = lazy_pattern(
    rf"""
      \\[dt]?frac\{{(?P<over>\d{{1,9}})\}}\{{(?P<under>\d{{1,9}})\}}
    | (?P<whole>(?<![\d.,/])\d{{1,3}})[ ](?P<part>\d{{1,3}}/\d{{1,3}})(?![\d/])
    | (?P<first>{_WRITTEN})(?:(?:\s?[/∕]\s?|(?P<ratio>\s?:\s?))(?P<second>{_WRITTEN}))?
    | \b(?P<before>{_BELOW_100})\sand\s(?:an?|one)\s(?P<rest>half|third|quarter)\b
    | \b(?:(?P<also>{_BELOW_100})\sand\s)?{_SHARE_WORDS}\b
    | \b(?P<part_of>{_BELOW_100})\sout\sof\s(?:the\s|every\s)?(?P<all_of>{_BELOW_100})
    | \b(?P<spelt>{_CARDINAL})
    """,
    re.VERBOSE | re.IGNORECASE,
)
_CENTS = lazy_pattern(
    rf"\s(?:dollars?|pounds?|euros?|rupees?)\s(?:and\s)?(?P<cents>\d{{2}}|{_BELOW_100})"
    r"(?=\s(?:cents?|pence|paise)\b|\s?[.,;:!?)]|\s*\Z)",
    re.IGNORECASE,
)
_TAIL = lazy_pattern(
    rf"(?:\s?[*∗·])?\s?(?:(?P<percent>%|\\%|per\s?cent\b)|(?P<pi>π|\\pi\b|pi\b)|(?P<scale>{'|'.join(_SCALES)})s?\b)",
    re.IGNORECASE,
)
_MINUS = lazy_pattern(r"(?:^|[\s(=:,$])[-−–]\s?$")
_SUM = lazy_pattern(r"[\d(√][\d\s.,()+*/×÷·∙⋅^%√x−–-]{1,80}[\d)%]")
_OPERATOR = lazy_pattern(r"[+*/×÷·∙⋅^√x−–-]")
_RESCALED = (100, 1000)
_LEAST_RESCALED = 5  # a smaller number is too often beside its hundredfold by chance

Mark = Literal["", "%", "π", ":"]


Reading = tuple[Fraction, int | None]
"""A value, and the decimals it is written with; None where it is exact: a fraction, a ratio, a word."""


class Amount(msgspec.Struct, frozen=True):
    """One amount: what it may be worth, most likely first."""

    readings: tuple[Reading, ...]
    start: int
    end: int
    mark: Mark = ""

    @property
    def value(self) -> Fraction:
        return self.readings[0][0]


def amounts_of(text: str) -> list[Amount]:
    """The amounts of a text, in order.

    >>> [str(amount.value) for amount in amounts_of("Rs.20,000 at 60km/h for 2 1/2 hours, or -5 and two, as 6:4")]
    ['20000', '60', '5/2', '-5', '2', '3/2']
    >>> [str(amount.value) for amount in amounts_of("Two hundred and six, two and a half, three out of six, a fifth.")]
    ['206', '5/2', '1/2', '1/5']
    """
    return list(_read(text))


@lru_cache(maxsize=64)  # the checks of one question read its explanation over and over
def _read(text: str) -> tuple[Amount, ...]:
    found: list[Amount] = []
    for match in _AMOUNT.finditer(text):
        amount = None if found and match.start() < found[-1].end else _amount(text, match)
        if amount is not None:
            found.append(amount)
        if len(found) >= MOST:
            break
    return tuple(found)


def _amount(text: str, match: re.Match[str]) -> Amount | None:
    start, end = match.span()
    try:
        readings = _readings(match)
    except ZeroDivisionError:
        return None
    mark: Mark = ":" if match["ratio"] else ""
    tail = _TAIL.match(text, end)
    value, decimals = readings[0]
    if tail is not None and tail["scale"]:
        readings, end = [(value * _SCALES[tail["scale"].lower()], None), *readings], tail.end()
    elif tail is not None and tail["percent"]:
        small = (value / 100, None if decimals is None else decimals + 2)
        readings, end, mark = [(value, decimals), small], tail.end(), "%"
    elif tail is not None:
        end, mark = tail.end(), "π"
    elif (rest := _CENTS.match(text, end)) is not None:
        cents = int(rest["cents"]) if rest["cents"].isdecimal() else _cardinal(rest["cents"])
        readings, end = [(value + Fraction(cents, 100), 2), *readings], rest.end()
    if _MINUS.search(text, max(0, start - 3), start):
        readings = [(-value, decimals), *readings]
    return Amount(tuple(readings), start, end, mark)


def _readings(match: re.Match[str]) -> list[Reading]:
    if match["over"]:
        return [(Fraction(int(match["over"]), int(match["under"])), None)]
    if match["whole"]:
        return [(int(match["whole"]) + Fraction(match["part"]), None)]
    if match["share"] or match["shares"]:
        share = _SHARES[(match["share"] or match["shares"].replace("lves", "lfs")[:-1]).lower()]
        count = _cardinal(match["count"]) if match["count"] else 1
        return [((_cardinal(match["also"]) if match["also"] else 0) + Fraction(count, share), None)]
    if match["before"]:
        return [(_cardinal(match["before"]) + Fraction(1, _SHARES[match["rest"].lower()]), None)]
    if match["part_of"]:
        part, whole = (Fraction(_cardinal(match[name])) for name in ("part_of", "all_of"))
        return [(part / whole, None), (part, None), (whole, None)]
    if match["spelt"]:
        return [(Fraction(_cardinal(match["spelt"])), None)]
    written = [match["first"], *([match["second"]] if match["second"] else [])]
    plain = [(Fraction(one.replace(",", "")), len(one.partition(".")[2])) for one in written]
    if len(plain) == 1:
        return [*plain]
    (over, _), (under, _) = plain
    return [(over / under, None), *plain] if under else [*plain]


def _cardinal(words: str) -> int:
    """The number that words say: 1,250 of "one thousand two hundred and fifty"."""
    total = current = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        if word in _SCALES and word != "hundred":
            total, current = total + current * _SCALES[word], 0
        elif word == "hundred":
            current *= 100
        elif word != "and":
            current += 10 * (_TENS.index(word) + 2) if word in _TENS else _SPELT.index(word)
    return total + current


def worked_out(text: str) -> Iterator[Fraction]:
    """The values of the calculations a text leaves undone: 500 of "so x = 2 × 250"."""
    for run in _SUM.finditer(text):
        if not _OPERATOR.search(run[0], 1):
            continue
        try:
            yield Fraction(evaluate(run[0].strip(" .,")))
        except (FormulaError, FormulaFault, OverflowError):
            continue


def is_worth(amount: Amount, other: Reading) -> bool:
    """Whether an amount may be the other one: equal, rounded, or in hundreds or thousands.

    >>> key = amounts_of("24 days")[0]
    >>> [is_worth(key, amounts_of(text)[0].readings[0]) for text in ("23.94", "25", "24,000")]
    [True, False, True]
    """
    chosen = amount.readings[1:] if amount.mark == "%" or amount.value < 0 else []
    return _equals(amount.readings[0], other) or any(abs(own[0]) == abs(other[0]) for own in chosen)


def _equals(one: Reading, two: Reading) -> bool:
    (first, places), (second, others) = one, two
    if abs(first) == abs(second):
        return True
    gap = abs(first - second)
    if places is not None and (others is None or others > places) and gap <= _half(places):
        return second.denominator != 1  # 23.94 or 71/3 rounds to 24
    if others and (places is None or places > others) and gap <= _half(others):
        return True  # 22.48 was rounded to 22.5, and 1/3 to 0.33, on the way
    small, large = sorted((abs(first), abs(second)))
    whole = small.denominator == 1 or (places == 2 and first == small) or (others == 2 and second == small)  # $5.10
    plain = small >= _LEAST_RESCALED or small.denominator != 1
    return plain and whole and bool(small) and any(small * scale == large for scale in _RESCALED)


def _half(places: int) -> Fraction:
    return Fraction(1, 2 * 10**places)


def mentions(text: str, wanted: Sequence[Amount]) -> bool:
    """Whether a text names each of the amounts, or leaves a calculation undone that comes to it.

    Where the text has ratios, or multiples of π, one of them must be the ratio, or the multiple, that is wanted.
    """
    named = amounts_of(text)
    undone: list[Reading] = [(value, None) for value in worked_out(text)]
    for amount in wanted:
        alike = [other for other in named if other.mark == amount.mark] if amount.mark in {":", "π"} else named
        if amount.mark == ":" and not alike:
            parts = [Amount((reading,), 0, 0) for reading in amount.readings[1:]]
            if parts and all(_any_of(part, named, undone) for part in parts):
                continue
        if not _any_of(amount, alike or named, undone):
            return False
    return True


def _any_of(amount: Amount, named: Iterable[Amount], undone: Iterable[Reading]) -> bool:
    return any(is_worth(amount, reading) for other in named for reading in other.readings) or any(
        is_worth(amount, reading) for reading in undone
    )
