"""Tasks about plain numbers that are worked out: averages, roundings, percentages, other forms, common factors."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from math import floor, gcd, lcm

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.units import MeasuredAmount, measured_amount
from rubrica.text.maths.worked_words import worked_value

MOST_NUMBERS = 40  # of a list

_FIND = r"(?:(?:what\s+is|find|calculate|determine|work\s+out)\s+)?"
_END = r"\s*(?:\?|_{2,})?\s*[.?!:]?"
_LIST = r"(?P<list>[-−]?\d[\d.,\s−-]*?(?:,?\s*(?:and|&)\s*[-−]?\d[\d.]*)?)"
_AVERAGE = lazy_pattern(
    rf"(?:(?:what\s+is|find|calculate|determine|work\s+out)\s+)?the\s+(?P<which>mean|average|median|mode|range)\s+"
    rf"(?:value\s+)?of\s+(?:(?:these|the(?:\s+following)?)\s+)?(?:five\s+|four\s+)?(?:numbers|values|data(?:\s+set)?|set)?\s*:?"
    rf"\s*[{{(]?\s*{_LIST}\s*[)}}]?(?:\s+is)?{_END}",
    re.IGNORECASE,
)
_ROUNDED = lazy_pattern(
    r"round\s+(?P<number>\d[\d,]*(?:\.\d+)?)\s+(?:off\s+)?to\s+(?:the\s+nearest\s+(?P<place>whole\s+number|one|ten|hundred|thousand|tenth|hundredth)"
    r"|(?P<places>one|two|three|1|2|3)\s+decimal\s+places?)\s*\.?",
    re.IGNORECASE,
)
_PERCENT = lazy_pattern(
    r"what\s+percent(?:age)?\s+of\s+(?P<whole>\d[\d,.]*)\s+is\s+(?P<part>\d[\d,.]*?)\s*\?", re.IGNORECASE
)
_WHOLE = lazy_pattern(
    r"(?P<part>\d[\d,.]*)\s+is\s+(?P<share>\d[\d,.]*%|\d{1,4}/\d{1,4})\s+of\s+(?:what|which)\s+number\s*\?",
    re.IGNORECASE,
)
_OTHER_FORM = lazy_pattern(
    r"(?:write|convert|express|change|what\s+is)\s+(?:the\s+(?:fraction|decimal|percentage|mixed\s+number)\s+)?"
    r"(?P<number>[\d(][\d\s.,/()]*[\d)]?\s?%?)\s+(?:as|to|into|in)\s+an?\s+(?:improper\s+)?"
    r"(?P<form>decimal|fraction|mixed\s+number|percent(?:age)?)\s*[.?]?",
    re.IGNORECASE,
)
_PLACES = {
    "one": Fraction(1), "whole number": Fraction(1), "ten": Fraction(10), "hundred": Fraction(100),
    "thousand": Fraction(1000), "tenth": Fraction(1, 10), "hundredth": Fraction(1, 100),
}  # fmt: skip
_COUNTED = {"one": 1, "two": 2, "three": 3, "1": 1, "2": 2, "3": 3}
_REMAINDER = lazy_pattern(
    rf"{_FIND}the\s+remainder\s+(?:when|of|if)\s+(?P<number>\d{{1,9}})\s+(?:is\s+)?(?:divided\s+by|÷|/)\s+(?P<by>\d{{1,9}}){_END}",
    re.IGNORECASE,
)
_COMMON = lazy_pattern(
    rf"{_FIND}the\s+(?:(?P<factor>greatest\s+common\s+(?:factor|divisor)|gcf|gcd|hcf|highest\s+common\s+factor)"
    rf"|(?P<multiple>least\s+common\s+multiple|lowest\s+common\s+multiple|lcm))\s+of\s+(?P<one>\d{{1,6}})\s+and\s+(?P<two>\d{{1,6}}){_END}",
    re.IGNORECASE,
)


def worked_number(text: str) -> MeasuredAmount | None:
    """What a task about numbers comes to; None where its form is not one of those known.

    >>> [str(worked_number(text).value) for text in ("The mode of 2, 3, 3 is ___.", "Round 4,768 to the nearest ten.")]
    ['3', '4770']
    """
    return next((found for task in _TASKS if (found := task(text)) is not None), None)


def _percent(text: str) -> MeasuredAmount | None:
    found = _PERCENT.fullmatch(text)
    if found is None:
        return None
    whole, part = worked_value(found["whole"]), worked_value(found["part"])
    return MeasuredAmount(100 * part / whole, "%") if whole and part is not None else None


def _whole(text: str) -> MeasuredAmount | None:
    found = _WHOLE.fullmatch(text)
    share, part = (worked_value(found["share"]), worked_value(found["part"])) if found else (None, None)
    return MeasuredAmount(part / share) if share and part is not None else None


def _rewritten(text: str) -> MeasuredAmount | None:
    """A number in another form: its value stays what it is."""
    found = _OTHER_FORM.fullmatch(text)
    value = worked_value(found["number"]) if found else None
    if found is None or value is None:
        return None
    percent = found["form"].lower().startswith("percent")
    return MeasuredAmount(value * 100 if percent else value, "%" if percent else "")


def _common(text: str) -> MeasuredAmount | None:
    found = _COMMON.fullmatch(text)
    if found is None:
        return None
    one, two = int(found["one"]), int(found["two"])
    return MeasuredAmount(Fraction(gcd(one, two) if found["factor"] else lcm(one, two)))


def _remainder(text: str) -> MeasuredAmount | None:
    found = _REMAINDER.fullmatch(text)
    if found is None or not int(found["by"]):
        return None
    return MeasuredAmount(Fraction(int(found["number"]) % int(found["by"])))


def _average(text: str) -> MeasuredAmount | None:
    found = _AVERAGE.fullmatch(text)
    if found is None:
        return None
    parts = [part for part in re.split(r"\s*(?:,\s|,?\s*\band\b|&)\s*", found["list"].strip(" ,.")) if part]
    amounts = [measured_amount(part) for part in parts]
    numbers = [amount.value for amount in amounts if amount is not None and not amount.unit]
    if not 2 <= len(numbers) == len(parts) <= MOST_NUMBERS:
        return None
    which = found["which"].lower()
    value = _STATISTICS[which](sorted(numbers))
    return None if value is None else MeasuredAmount(value)


def _median(numbers: list[Fraction]) -> Fraction:
    middle = len(numbers) // 2
    return numbers[middle] if len(numbers) % 2 else (numbers[middle - 1] + numbers[middle]) / 2


def _mode(numbers: list[Fraction]) -> Fraction | None:
    counts = {number: numbers.count(number) for number in numbers}
    most = [number for number, count in counts.items() if count == max(counts.values())]
    return most[0] if len(most) == 1 else None


_STATISTICS: dict[str, Callable[[list[Fraction]], Fraction | None]] = {
    "mean": lambda numbers: sum(numbers, Fraction(0)) / len(numbers),
    "average": lambda numbers: sum(numbers, Fraction(0)) / len(numbers),
    "median": _median,
    "mode": _mode,
    "range": lambda numbers: numbers[-1] - numbers[0],
}


def _rounding(text: str) -> MeasuredAmount | None:
    found = _ROUNDED.fullmatch(text)
    if found is None:
        return None
    step = (
        Fraction(1, 10 ** _COUNTED[found["places"].lower()])
        if found["places"]
        else _PLACES[" ".join(found["place"].lower().split())]
    )
    number = Fraction(found["number"].replace(",", ""))
    return MeasuredAmount(floor(number / step + Fraction(1, 2)) * step)


_TASKS: tuple[Callable[[str], MeasuredAmount | None], ...] = (
    _rounding, _percent, _whole, _rewritten, _average, _common, _remainder,
)  # fmt: skip
