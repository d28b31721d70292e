"""Calculations that are told in words and do not work out: "half of 35 is 18", "divide 96 by 8 to get 13".

Only what can be read in one way is tried, and a number may always be rounded. In doubt nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import gcd, lcm

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.equation_sides import OPERATIVE, listed_words
from rubrica.text.maths.worked_words import worked_value

MOST_CLAIMS = 60  # of one kind, looked at in one text
_REACH = 60  # characters before "is" that are read

NUMBER = r"(?:\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,9})?|\d{1,9}(?:\.\d{1,9})?|\.\d{1,9})"
_MONEY = r"(?:Rs\.?\s?|[$£€])?"
_ENDS = r"(?![\d:/%^]|[a-zA-Z](?![a-zA-Z])|[.,]\d|\s?[-+*/×÷^(%]|\s\d)(?!\s?per\s?cent\b)(?:\s([a-z]+))?"
_TOLD = lazy_pattern(
    rf"(?:\b(?:is|are|was|were|equals?|makes?|gives?|comes?\sto)\b|=)\s(?:also\s|only\s|just\s)?{_MONEY}({NUMBER}(?:/\d{{1,6}})?){_ENDS}"
)
_CLAUSE = lazy_pattern(r"[;:!?\n()=]|,(?!\d{3})|\.(?!\d)")
_WORKS = lazy_pattern(
    r"\b(?:of|times|plus|minus|(?:divided|multiplied)\s+by|twice|double|triple|squared|cubed|root|than|less|from|to)\b",
    re.IGNORECASE,
)
_SIGNS = lazy_pattern(r"\d\s?[+*×÷]\s?\d|\d\s[-−–x]\s\d")
_LEADS = listed_words("so and then since because now means that the thus hence therefore where while also get as but")
_NUMERAL = lazy_pattern(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|half|third|quarter|twice|than|from)\b"
)
_GROUPS = lazy_pattern(r"(?<=\d)\s(?:groups|rows|sets|lots|columns)\sof\s(?=\d)")
_NOUN = lazy_pattern(r"(?<=\d)\s[a-z]{3,12}$")
_HALF_SAID = lazy_pattern(r"(?:plus|minus|times)\b|\d+\sof\s(?:the|these|those)\s\d", re.IGNORECASE)
"""What is not all of a calculation: "plus 4 makes 10", and a count, such as 5 of the 12."""
_FIRST, _SECOND, _THIRD = (rf"{_MONEY}(?P<{name}>{NUMBER})%?" for name in ("one", "two", "three"))
_UNIT = r"(?:\s[a-z]{1,12})?"
_GETS = (
    r",?\s(?:and\s)?(?:(?:which\s)?(?:gives?|giving|leaves?|leaving|makes?|making|is|equals)"
    rf"|to\s(?:get|find|make|give)|(?:(?:and|you|we)\s){{0,2}}get)\s{_THIRD}{_ENDS}"
)
_STEPS: tuple[tuple[re.Pattern[str], Callable[[Fraction, Fraction], Fraction | None]], ...] = tuple(
    (re.compile(rf"\b{words}{_GETS}", re.IGNORECASE), work)
    for words, work in (
        (rf"divid(?:e|ing)\s{_FIRST}{_UNIT}\sby\s{_SECOND}{_UNIT}", lambda one, two: one / two if two else None),
        (rf"multiply(?:ing)?\s{_FIRST}{_UNIT}\sby\s{_SECOND}{_UNIT}", lambda one, two: one * two),
        (rf"add(?:ing)?\s{_FIRST}{_UNIT}\s(?:and|to)\s{_SECOND}{_UNIT}", lambda one, two: one + two),
        (rf"subtract(?:ing)?\s{_FIRST}{_UNIT}\sfrom\s{_SECOND}{_UNIT}", lambda one, two: two - one),
        (rf"difference\s(?:between|of)\s{_FIRST}\sand\s{_SECOND}", lambda one, two: abs(one - two)),
        (rf"cube\sroot\sof\s{_FIRST}(?P<two>)", lambda one, _: _root(one)),
        (rf"remainder\swhen\s{_FIRST}\sis\sdivided\sby\s{_SECOND}", lambda one, two: one % two if two else None),
    )
)
_COMMON = lazy_pattern(
    rf"\b(?P<name>HCF|GCF|GCD|LCM|LCD|(?:highest|greatest)\scommon\s(?:factor|divisor)|(?:least|lowest)\scommon\smultiple)"
    rf"\s?(?:of\s|\()(?P<list>\d{{1,6}}(?:(?:,\s?(?:and\s)?|\sand\s)\d{{1,6}}){{1,5}})\)?\s?(?:is|=)\s?(?P<said>\d{{1,9}}){_ENDS}"
)
_REMAINDER = lazy_pattern(
    r"(?<![\d.,+*/×÷^-])(\d{1,9})\s?(?:÷|/|divided\sby)\s?(\d{1,6})\s?(?:=|is)\s?(\d{1,9}),?\s?"
    r"(?:R|r|rem(?:ainder)?\.?|with\s(?:a\s)?remainder(?:\sof)?|remainder)\s?(\d{1,6})(?![\d.,]*\d)"
)


def wrong_claims(text: str) -> Iterator[str]:
    """The claims that clearly do not hold, in any order.

    >>> list(wrong_claims("Half of 40 is 18. A third of 36 is 12. Divide 96 by 8 to get 13. The LCM of 4 and 6 is 24."))
    ['Half of 40 is 18', 'Divide 96 by 8 to get 13', 'LCM of 4 and 6 is 24']
    """
    for match in _some(_TOLD, text):
        told = None if _goes_on(match[2]) else _worked_end(text, match.start(), signs=match[0][0] != "=")
        if told is not None and not is_rounded(told[1], match[1]):
            yield f"{told[0]}{text[match.start() : match.end(1)]}"
    for pattern, work in _STEPS:
        for match in _some(pattern, text):
            value = work(_value(match["one"]), _value(match["two"] or "0"))
            if value is not None and not _goes_on(match[4]) and not is_rounded(value, match["three"]):
                yield text[match.start() : match.end("three")]
    for match in _some(_COMMON, text):
        numbers = [int(number) for number in re.findall(r"\d+", match["list"])]
        wanted = lcm(*numbers) if match["name"][0] in "Ll" else gcd(*numbers)
        if wanted != int(match["said"]):
            yield text[match.start() : match.end("said")]
    for match in _some(_REMAINDER, text):
        whole, by, times, rest = (int(group) for group in match.groups())
        if whole != by * times + rest or rest >= by:
            yield match[0]


def is_rounded(value: Fraction, said: str) -> bool:
    """Whether a number as written is a value, rounded to its last place; a fraction is never rounded."""
    if "/" in said:
        return value == _value(said)
    return abs(value - _value(said)) <= Fraction(1, 2 * 10 ** len(said.partition(".")[2]))


def _some(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    yield from (match for match, _ in zip(pattern.finditer(text), range(MOST_CLAIMS), strict=False))


def _value(number: str) -> Fraction:
    return Fraction(number.replace(",", ""))


def _root(value: Fraction) -> Fraction | None:
    root = round(float(value) ** (1 / 3))
    return Fraction(root) if root**3 == value else None


def _goes_on(word: str | None) -> bool:
    """Whether a number is not yet the result: "12 times", "5 more than"."""
    return word is not None and (word.lower() in OPERATIVE or word.lower() in {"of", "x"})


def _worked_end(text: str, end: int, *, signs: bool) -> tuple[str, Fraction] | None:
    """The calculation that the clause before a place ends on, with nothing before it that could belong to it."""
    start = max(0, end - _REACH)
    stops = [stop.end() for stop in _CLAUSE.finditer(text, start, end)]
    if not stops and start:
        return None  # it may begin further back
    clause = text[stops[-1] if stops else start : end]
    for word in re.finditer(r"\S+", clause):
        phrase, before = clause[word.start() :], clause[: word.start()].split()
        if not _WORKS.search(phrase) and not (signs and _SIGNS.search(phrase)):
            return None
        if _HALF_SAID.match(phrase):
            return None
        plain = re.sub(r"\bthe\s(?=\d)|[$£€]", "", _GROUPS.sub(" * ", phrase.strip()))
        value = worked_value(_NOUN.sub("", plain))
        if value is not None:
            clear = not before or (before[-1].lower() in _LEADS and not _NUMERAL.search(clause[: word.start()].lower()))
            return (phrase, value) if clear else None
    return None
