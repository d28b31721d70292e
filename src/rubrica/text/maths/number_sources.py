"""Where the numbers of a worked explanation come from, and the number that comes from nowhere.

A number is given in the question, is usual (100, 60), is named twice, belongs to an equation that holds, or is the sum,
difference, product, quotient or share of numbers beside it. Where all but one have such a source, and that one is near
a number that has, it is a slip: 148/9 for a train of 150 m. In doubt nothing is said.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from fractions import Fraction
from itertools import islice

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.amounts import amounts_of, worked_out
from rubrica.text.maths.arithmetic import find_equations
from rubrica.text.maths.conclusion import calculates, is_beside, statement
from rubrica.text.maths.continued_lines import continued_equations
from rubrica.text.maths.latex import plain_maths
from rubrica.text.maths.letter_values import expression_values, fulfilled_numbers
from rubrica.text.maths.written_numbers import (
    WrittenNumber,
    neighbours,
    numerals,
    spelt_numbers,
    written_numbers,
)

MOST_NUMBERS, MOST_ASKED = 150, 40  # of an explanation, and of a question; of more nothing is said
MOST_TRIES = 100  # to mend an equation
LONGEST = 8_000  # characters of either
_AROUND = 160, 80  # characters before and after a number, within its lines, whose numbers it may be made of
_NEAR = Fraction(35, 100)  # of the larger of two numbers
_SLIPS = (1, 2, Fraction(1, 2))
_SLIGHT = 2  # added or taken away, it leads from any number to a slip of its own

_NTH = lazy_pattern(r"(?<![\d.,])(\d{1,6})(?:st|nd|rd|th)\b")
_REST = lazy_pattern(  # what comes with a larger unit: 4 h 55 min, 3 lb 10 oz
    r"\d\s?(?:h|hours?|hrs?|min(?:ute)?s?|feet|foot|ft|lbs?|pounds?|kg|m|km|dollars?|years?|weeks?|days?)\s(?:and\s)?\Z"
)
_OPENING, _CLOSING = lazy_pattern(r"\s\([^()=+*/×÷·\n]{0,39}\Z"), lazy_pattern(r"[^()=+*/×÷·\n]{0,40}\)")
_FRACTION = lazy_pattern(r"(?<![\d.,/])(\d{1,6})/(\d{1,6})(?![\d/])")
_TWO_LETTERS = lazy_pattern(r"[a-zA-Z]{3}")
_LOST_POWER = lazy_pattern(r"(?<![A-Za-z])[a-zA-Z][23](?!\d)")
_QUADRATIC = lazy_pattern(r"±|\b(?:discriminant|quadratic)\b", re.IGNORECASE)  # b² - 4ac
_USUAL = frozenset(map(Fraction, ("0", "1/2", "1", "2", "3.14", "10", "60", "90", "100", "180", "360", "1000", "3600")))


class _Sources(msgspec.Struct, frozen=True):
    """What the numbers of an explanation may come from."""

    asked: frozenset[Fraction]  # in the question
    held: frozenset[Fraction]  # in the question or its key, or part of what holds
    usual: frozenset[Fraction]  # known to everybody, or what is given in another form
    counts: Counter[Fraction]  # how often the explanation names each
    percents: frozenset[Fraction]
    scales: frozenset[Fraction]  # what others are multiplied by: halves, weeks and the like
    sure: bool  # whether some equation of the explanation holds to the last digit


def unsourced_numbers(explanation: str, stem: str, key: str) -> Iterator[str]:
    """The number that comes from nowhere, with the words around it; none where several do.

    >>> stem = "A bus with 46 seats makes 15 trips a day. How many people does it carry on 4 days?"
    >>> list(unsourced_numbers("A day: 46 * 15 = 690. For the 47 seats that is 690 * 4 = 2760.", stem, "2760"))
    ['15 = 690. For the 47 seats that is 690 *']
    """
    text, plain_stem = plain_maths(explanation), plain_maths(stem)
    if max(len(text), len(plain_stem)) > LONGEST:
        return
    named, asked = list(written_numbers(text)), list(written_numbers(plain_stem))
    if not asked or len(named) > MOST_NUMBERS or len(asked) > MOST_ASKED or not calculates(text):
        return
    sources = _sources(text, named, plain_stem, asked, plain_maths(key))
    once = [
        number
        for number in named
        if sources.counts[number.value] == 1
        and number.value not in sources.held
        and not _is_counted_on(number, named, text)
        and not _is_power(number, text, sources)
        and not _REST.search(text, max(0, number.start - 30), number.start)
        and not is_beside(statement(text, number.start, number.end))
    ]
    told = _stray(once, named, text, sources)
    if told is None and sources.sure:
        unusual = [number for number in once if number.value not in sources.usual]
        told = _misplaced(unusual, named, text, asked, plain_stem)
        told = told or _mending(once, text, sources.asked | set(sources.counts))
    if told is None:
        shares = {100 + sign * each for each in sources.percents for sign in (-1, 1)}
        strays = [number for number in once if not _is_derived(number, named, text, sources)]
        told = _mending(strays, text, {*islice(worked_out(text), MOST_NUMBERS), *shares})
    if told is not None and not _is_bracketed(told, text):
        yield _shown(text, told)


def _stray(once: list[WrittenNumber], named: list[WrittenNumber], text: str, sources: _Sources) -> WrittenNumber | None:
    """The only number without a source, near one that has one; very near where no equation holds to the last digit."""
    free = [number for number in once if number.value not in sources.usual]
    strays = [number for number in free if not _is_derived(number, named, text, sources)]
    known = sources.asked | set(sources.counts) | {Fraction(100)}
    if len(strays) != 1:
        return None
    near = [other for other in known if _are_near(strays[0].value, other)]
    near += [other for other in _USUAL if sources.sure and other > 10 and abs(strays[0].value - other) <= _SLIGHT]
    close = sources.sure or any(abs(strays[0].value - other) <= _SLIGHT for other in near)
    return strays[0] if near and close else None


def _misplaced(
    once: list[WrittenNumber], named: list[WrittenNumber], text: str, asked: list[WrittenNumber], stem: str
) -> WrittenNumber | None:
    """The only number that stands where a near one does that is given: with the same noun, or the same operation."""
    given = {number.value for number in asked}
    places: dict[str, set[Fraction]] = {}
    for numbers, said in ((asked, stem), (named, text)):
        for number in numbers:
            if number.value in given:
                for neighbour in neighbours(number, said):
                    places.setdefault(neighbour, set()).add(number.value)
    found = [
        number
        for number in once
        if number.value > _SLIGHT
        and any(_are_near(number.value, other) for place in neighbours(number, text) for other in places.get(place, ()))
    ]
    return found[0] if len(found) == 1 else None


def _mending(once: list[WrittenNumber], text: str, known: Set[Fraction]) -> WrittenNumber | None:
    """A number of an equation that holds at best rounded, and to the last digit with a near one that is known."""
    doubtful = [equation for equation in find_equations(text) if not equation.exact]
    tries = (
        (number, other, equation)
        for equation in doubtful
        for number in once
        if equation.start <= number.start and number.end <= equation.end
        for other in known
        if other.denominator == 1 and _are_near(number.value, other)
    )
    for number, other, equation in islice(tries, MOST_TRIES):
        before, after = text[equation.start : number.start], text[number.end : equation.end]
        if any(mended.exact for mended in find_equations(f"{before}{other}{after}")):
            return number
    return None


def _sources(text: str, named: list[WrittenNumber], stem: str, stem_numbers: list[WrittenNumber], key: str) -> _Sources:
    asked = {number.value for number in stem_numbers} | numerals(stem)
    fulfilled = fulfilled_numbers(text, stem, key)
    equations = [*find_equations(text), *(equation for equation, _ in continued_equations(text))]
    held = asked | {number.value for number in written_numbers(key)} | fulfilled
    for equation in equations:
        if equation.holds:
            held |= {number.value for number in written_numbers(equation.text if equation.exact else equation.right)}
    told, shown = ({abs(amount.value) for amount in amounts_of(each) if amount.mark == "%"} for each in (stem, text))
    given = held | spelt_numbers(stem) | spelt_numbers(key)
    usual = _USUAL | given | {value / 100 for value in given} | {value * 100 for value in given}
    usual |= {Fraction(int(nth[1]) + step) for each in (stem, key) for nth in _NTH.finditer(each) for step in (-1, 1)}
    usual |= {each for share in told | shown for each in (100 - share, 100 + share, 1 - share / 100, 1 + share / 100)}
    usual |= {one + sign * two for one in told for two in told for sign in (-1, 1)}
    usual |= expression_values(text, stem) | _reduced_parts(text, asked)
    counts = Counter(number.value for number in named)
    counts.update(spelt_numbers(text))
    known = {Fraction(100), *((Fraction(4),) if _QUADRATIC.search(text) else ())}
    scales = (spelt_numbers(text) | spelt_numbers(stem) | known) - {0}
    return _Sources(
        frozenset(asked),
        frozenset(held),
        frozenset(usual),
        counts,
        frozenset(told | shown),
        frozenset(scales),
        sure=bool(fulfilled) or any(equation.exact for equation in equations),
    )


def _reduced_parts(text: str, asked: frozenset[Fraction] | set[Fraction]) -> set[Fraction]:
    """The numbers of the fractions that are one number of the question over another: 4 and 3 of 4/3, for 20 and 15."""
    shares = {one / two for one in asked for two in asked if two}
    parts = (tuple(map(Fraction, match.groups())) for match in islice(_FRACTION.finditer(text), MOST_NUMBERS))
    return {part for over, under in parts if under and over / under in shares for part in (over, under)}


def _is_counted_on(number: WrittenNumber, named: list[WrittenNumber], text: str) -> bool:
    """Whether numbers are counted through, each after the same word: year 4, year 5, year 6."""

    def before(each: WrittenNumber) -> str:
        return text[max(0, each.start - 5) : each.start]

    steps = {each.value - number.value for each in named if before(each) == before(number)}
    if before(number)[:4].isalpha() and steps & {-1, 1}:
        return True
    return {-1, 1} <= steps or {1, 2} <= steps or {-1, -2} <= steps


def _is_bracketed(number: WrittenNumber, text: str) -> bool:
    """Whether a number stands in a note in brackets, with words and no calculation: (24 cm and 26 cm)."""
    opens, closes = _OPENING.search(text, max(0, number.start - 40), number.start), _CLOSING.match(text, number.end)
    return bool(opens and closes and _TWO_LETTERS.search(opens[0] + closes[0]))


def _is_power(number: WrittenNumber, text: str, sources: _Sources) -> bool:
    """Whether a raised digit was lost, here as elsewhere: x2 - 22 for x² - 2²."""
    written = number.written
    if not written.isdecimal() or not 1 < len(written) < 4 or written[-1] not in "23" or not _LOST_POWER.search(text):
        return False
    return Fraction(int(written[:-1]) ** int(written[-1])) in set(sources.counts) | sources.asked


def _is_derived(number: WrittenNumber, named: list[WrittenNumber], text: str, sources: _Sources) -> bool:
    """Whether a number is what one operation makes of the numbers of the question and of those beside it."""
    before, after = _AROUND
    line = text.rfind("\n", 0, max(0, text.rfind("\n", 0, number.start)))
    start, end = max(line, number.start - before), text.find("\n", number.end)
    end = min(len(text) if end < 0 else end, number.end + after)
    beside = {each.value for each in named if start <= each.start < end and each.start != number.start}
    terms, value = (sources.asked | beside | {each for each in sources.scales if each > _SLIGHT}) - {0}, number.value
    if any(value - one in terms and not _is_slight(one, value) for one in terms if one < value):
        return True
    if any(value + one in terms and not _is_slight(one, value) for one in terms):
        return True
    scales = terms | sources.scales
    if any(value / one in scales or value * one in scales for one in terms) or any(
        value * one in terms for one in scales
    ):
        return True
    if any(100 * value / share in terms for share in sources.percents - {0, value}):
        return True
    squares = {one * one for one in sources.asked}
    if any(value * value - one in squares or value * value + one in squares for one in squares):
        return True  # the side of a right triangle
    places = len(number.written.partition(".")[2])
    return bool(places) and _is_rounded_from(sorted(scales), value, Fraction(1, 2 * 10**places))


def _is_rounded_from(pool: Sequence[Fraction], value: Fraction, half: Fraction) -> bool:
    """Whether a value is a product or quotient of two numbers, rounded by at most a half of its last place."""

    def between(low: Fraction, high: Fraction) -> bool:
        place = bisect_left(pool, low)
        return place < len(pool) and pool[place] <= high

    low, high = value - half, value + half
    return any(between(low / one, high / one) or between(low * one, high * one) for one in pool)


def _is_slight(change: Fraction, value: Fraction) -> bool:
    """Whether adding one number, or the rest, would make a slip of another one: 148 is not 150 - 2."""
    return min(change, abs(value - change)) <= _SLIGHT and value > 2 * _SLIGHT + 1


def _are_near(one: Fraction, other: Fraction) -> bool:
    """Whether a number may be a slip for the other one."""
    if one == other or not other:
        return False
    gap, whole = abs(one - other), (one.denominator == 1) == (other.denominator == 1)
    return gap in _SLIPS or (gap <= _NEAR * max(one, other) and (whole or gap < 1))


def _shown(text: str, number: WrittenNumber) -> str:
    """A number with the words around it, within its line."""
    start = max(text.rfind("\n", 0, number.start) + 1, text.find(" ", max(0, number.start - 20)) + 1)
    end = text.find("\n", number.end)
    end = len(text) if end < 0 else end
    return text[min(start, number.start) : min(end, number.end + 20)].strip()
