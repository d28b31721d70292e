"""Questions about what numbers are: prime, even, a multiple of 4, less than 1/2, the largest. Which fit is known.

Only where every option is one number and the whole question is understood; else nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.latex import plain_maths
from rubrica.text.maths.units import MeasuredAmount, measured_amount
from rubrica.text.maths.worked_words import worked_value

LONGEST = 160  # characters of a question
LARGEST = 10**6  # of the numbers that are looked at: their factors are tried

Fits = Callable[[Fraction], bool]

_THINGS = (
    r"(?:numbers?|fractions?|decimals?|expressions?|values?|ones?|integers?|sums?|products?|lengths?|amounts?|times?)"
)
_NOT = r"(?P<not>\s*not\b|n['’]t\b)?"
_WHICH = lazy_pattern(
    rf"which\s+(?:one\s+)?(?:of\s+(?:these|the\s+following)\s*)?(?:{_THINGS}\s*)?(?:\(s\)\s*)?(?:is|are){_NOT}\s+"
    rf"(?P<property>(?:[^?.]|\.(?=\d)){{3,80}}?)\s*\?(?P<several>\s*(?:choose|select|pick|mark|tick)\s+all\b[^.?]{{0,30}}\.?)?",
    re.IGNORECASE,
)
_ALL_BUT = lazy_pattern(
    rf"all\s+(?:of\s+)?(?:these|the\s+following)\s+(?:{_THINGS}\s+)?are\s+(?P<property>(?:[^?.,]|\.(?=\d)){{3,80}}?),?\s+except\b\s*(?:for|which)?"
    r"\s*[:.?…_]*",
    re.IGNORECASE,
)
_SELECT = lazy_pattern(
    rf"(?:select|choose|pick|mark|find|tick|circle)\s+(?:all\s+)?(?:of\s+)?(?:the\s+)?(?:"
    rf"(?:{_THINGS}\s+)?(?:that|which)\s+are{_NOT}\s+(?P<property>(?:[^?.]|\.(?=\d)){{3,80}}?)"
    rf"|(?P<kind>prime|composite|even|odd|square)\s+numbers?)\s*[.:]?",
    re.IGNORECASE,
)
_CLAIM = lazy_pattern(
    rf"(?:(?:is\s+(?:this|it)\s+)?true\s+or\s+false\b[\s:.?-]*)?(?P<number>[\d(√][^?=<>≠]{{0,60}}?)\s+(?:is{_NOT}\s+"
    rf"(?P<property>(?:[^?.]|\.(?=\d)){{3,60}}?)|(?P<equals>equals)\s+(?P<other>[^?]{{1,40}}?))\s*[.?]?(?:\s*true\s+or\s+false\s*\??)?",
    re.IGNORECASE,
)
_MULTIPLE = lazy_pattern(r"(?:an?\s+)?multiples?\s+of\s+(?:both\s+)?(\d{1,6})(?:\s+and\s+(?:of\s+)?(\d{1,6}))?")
_DIVISIBLE = lazy_pattern(r"divisible\s+by\s+(?:both\s+)?(\d{1,6})(?:\s+and\s+(?:by\s+)?(\d{1,6}))?")
_FACTOR = lazy_pattern(r"(?:an?\s+)?(?:factors?|divisors?)\s+of\s+(\d{1,6})")
_COMPARED = lazy_pattern(r"(?P<how>greater|larger|bigger|more|less|smaller)\s+than\s+(?P<value>.{1,40})")
_EQUAL = lazy_pattern(r"(?:equal|equivalent)\s+to\s+(?P<value>.{1,40})")
_EXTREME = lazy_pattern(
    r"the\s+(?P<which>largest|greatest|biggest|highest|longest|heaviest|smallest|least|lowest|shortest|lightest)"
    rf"(?:\s+{_THINGS})?"
)
_SORTS = lazy_pattern(
    r"(?:\bfrom\s+)?(?:the\s+)?\b(?P<low>least|smallest|lowest|shortest|lightest)\s+to\s+(?:the\s+)?(?:greatest|largest|biggest|highest|longest|heaviest)\b"
    r"|\bascending\b|(?P<down>\bdescending\b|\b(?:greatest|largest|biggest|highest|longest|heaviest)\s+to\s+(?:the\s+)?(?:least|smallest|lowest|shortest|lightest)\b)",
    re.IGNORECASE,
)


def fitting_options(stem: str, options: Sequence[str]) -> set[int] | None:
    """The places of the options that a question asks for; None where it is not certain.

    >>> fitting_options("Which of these is NOT a factor of 36?", ["9", "8", "12", "18"])
    {1}
    >>> fitting_options("Select all prime numbers.", ["2", "9", "13"]), fitting_options("Which is best?", ["2", "9"])
    ({0, 2}, None)
    """
    text = " ".join(plain_maths(stem[: 2 * LONGEST]).split())
    sizes = sizes_of(options)
    if len(text) > LONGEST or sizes is None or max(map(abs, sizes)) > LARGEST:
        return None
    for form, turned in ((_WHICH, False), (_ALL_BUT, True), (_SELECT, False)):
        found = form.fullmatch(text)
        if found is None:
            continue
        groups = found.groupdict()
        wanted = groups["property"] or groups.get("kind") or ""
        negated = turned or bool(groups.get("not"))
        extreme = _EXTREME.fullmatch(wanted.strip().lower())
        if extreme and not negated:
            best = (min if extreme["which"] in _LOW else max)(sizes)
            return {place for place, size in enumerate(sizes) if size == best}
        fits = _fits(wanted)
        if fits is not None and all(amount is not None and not amount.kind for amount in map(measured_amount, options)):
            return {place for place, size in enumerate(sizes) if fits(size) is not negated}
    return None


_LOW = {"smallest", "least", "lowest", "shortest", "lightest"}


def claim_holds(statement: str) -> bool | None:
    """Whether a statement about a number is true: "3/5 is greater than 2/3", "51 is prime"; None where one cannot tell.

    >>> [claim_holds(text) for text in ("3/5 is greater than 2/3.", "True or false: 15% of 60 equals 9.", "51 is old.")]
    [False, True, None]
    """
    text = " ".join(plain_maths(statement[: 2 * LONGEST]).split())
    found = _CLAIM.fullmatch(text) if len(text) <= LONGEST else None
    value = worked_value(found["number"]) if found else None
    if found is None or value is None or abs(value) > LARGEST:
        return None
    if found["equals"]:
        other = worked_value(found["other"])
        return None if other is None else value == other
    fits = _fits(found["property"])
    return None if fits is None else fits(value) is not bool(found["not"])


def sorted_places(stem: str, options: Sequence[str]) -> list[int] | None:
    """The order in which a question wants its options, as places; None where it does not say, or where two are equal.

    >>> sorted_places("Order from greatest to least.", ["0.45", "1/2", "0.405"])
    [1, 0, 2]
    """
    found = _SORTS.search(stem[:1000])
    sizes = sizes_of(options)
    if found is None or sizes is None or len(set(sizes)) < len(sizes):
        return None
    return sorted(range(len(sizes)), key=lambda place: sizes[place], reverse=bool(found["down"]))


def sizes_of(options: Sequence[str]) -> list[Fraction] | None:
    """What the options are worth beside each other; None unless all are numbers, or all amounts of one kind."""
    amounts = [_amount(text) for text in options]
    known = [amount for amount in amounts if amount is not None]
    units = {amount.kind or amount.unit for amount in known}
    if not known or len(known) < len(amounts) or len(units) > 1:
        return None
    return [amount.size for amount in known]


def _amount(text: str) -> MeasuredAmount | None:
    found = measured_amount(text)
    if found is not None:
        return found
    value = worked_value(text)
    return None if value is None else MeasuredAmount(value)


def _fits(wanted: str) -> Fits | None:
    """The test that a property stands for; None where it is not known."""
    text = " ".join(wanted.lower().split()).strip(" .:")
    whole = _WHOLE.get(re.sub(r"^an?\s+|\s+numbers?$", "", text))
    if whole is not None:
        return lambda value: value.denominator == 1 and whole(int(value))
    found = _MULTIPLE.fullmatch(text) or _DIVISIBLE.fullmatch(text)
    if found:
        by = [int(part) for part in found.groups() if part]
        return None if 0 in by else lambda value: all((value / each).denominator == 1 for each in by)
    found = _FACTOR.fullmatch(text)
    if found:
        number = int(found[1])
        return lambda value: value > 0 and value.denominator == 1 and number % int(value) == 0
    return _compared(text)


def _compared(text: str) -> Fits | None:
    equal, found = _EQUAL.fullmatch(text), _COMPARED.fullmatch(text)
    value = worked_value((equal or found)["value"]) if equal or found else None  # type: ignore[index]
    if value is None:
        return None
    if equal:
        return lambda each: each == value
    less = found is not None and found["how"] in {"less", "smaller"}
    return lambda each: each < value if less else each > value


def _is_prime(number: int) -> bool:
    return 1 < number <= LARGEST and all(number % each for each in range(2, isqrt(number) + 1))


_WHOLE: dict[str, Callable[[int], bool]] = {
    "prime": _is_prime,
    "composite": lambda number: 3 < number <= LARGEST and not _is_prime(number),
    "even": lambda number: number % 2 == 0,
    "odd": lambda number: number % 2 == 1,
    "square": lambda number: 0 <= number == isqrt(abs(number)) ** 2,
    "perfect square": lambda number: 0 <= number == isqrt(abs(number)) ** 2,
}
