"""What an explanation still comes to after it has named a number for the last time.

The answer is what an explanation ends with. A number that it only passes on its way is followed by results that are
new: neither given in the question nor seen before. In doubt nothing counts as such.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.amounts import Amount, Reading, amounts_of, is_worth
from rubrica.text.maths.conclusion import BRACKETED, is_beside, results, statement, without_checks
from rubrica.text.maths.equation_sides import MEASURES

_ORDINAL = lazy_pattern(r"\d{1,4}(?:st|nd|rd|th)\b")
_TRIES = lazy_pattern(r"\b(?:if|suppose|assume|try|trying|plug\w*|substitut\w+|options?|choices?)\b", re.IGNORECASE)
_ON = lazy_pattern(r"\s?=")  # of "Side: 80/2 = 40" 40 is the result
_WORD = lazy_pattern(r"[\s-]?([a-zA-Z]{1,12})")


def later_results(explanation: str, key: Sequence[Amount], stem: str, unit: str = "") -> list[Amount]:
    """The results that are new after the last place where the explanation uses one of the numbers of a key.

    Empty where it names none of them, or comes to one or tries one out there; `unit` is the word beside the key: a
    result in another unit of the same kind says nothing about it.

    >>> late = lambda key: later_results("8 rows of 6 are 48 seats. 48 - 5 = 43.", amounts_of(key), "8 rows of 6.")
    >>> [[int(each.value) for each in late(key)] for key in ("48", "43", "99")]
    [[43], [], []]
    """
    text = BRACKETED.sub("", without_checks(explanation))
    named = amounts_of(text)
    reached = {amount.start for amount in results(text) if not _ON.match(text, amount.end)}
    last = _last_used(named, key, reached)
    if last is None or _TRIES.search(statement(text, named[last].start, named[last].end)):
        return []
    known = {amount.value for amount in (*amounts_of(stem), *named[:last])} | {
        value for value, _ in _parts(named[last], text)
    }
    return [
        amount
        for amount in named[last + 1 :]
        if amount.start in reached
        and not text[amount.start].isalpha()  # "each needs one coach"
        and amount.value not in known
        and not _converts(text, amount, unit)
        and not is_beside(statement(text, amount.start, amount.end))
    ]


def _parts(amount: Amount, text: str) -> Sequence[Reading]:
    """What is written: of "36/3 = 12" both numbers before the sign."""
    return amount.readings[1:] if len(amount.readings) > 2 and _ON.match(text, amount.end) else amount.readings


def ordinals(text: str) -> list[str]:
    """The ordinal numbers of a text in digits, in order: 17th of "on the 17th day"."""
    return [match[0].lower() for match in _ORDINAL.finditer(text)]


def _last_used(named: Sequence[Amount], key: Sequence[Amount], reached: set[int]) -> int | None:
    """The place of the last amount that is one of the key's; None where it is a result there, be it rounded."""
    for place in range(len(named) - 1, -1, -1):
        other = named[place]
        is_result = other.start in reached
        if is_result and any(is_worth(amount, reading) for amount in key for reading in other.readings):
            return None
        if any(abs(value) == abs(amount.value) for amount in key for value, _ in other.readings):
            return place
    return None


def _converts(text: str, amount: Amount, unit: str) -> bool:
    """Whether an amount stands in another unit of what the key is measured in: 180 minutes beside 3 hours."""
    word = _WORD.match(text, amount.end)
    mine, other = measured_in(unit), measured_in(word[1]) if word else ""
    return bool(mine and other) and mine != other and MEASURES[mine] == MEASURES[other]


def measured_in(word: str) -> str:
    """A word of measure as the table has it; empty where it is none."""
    plain = word.lower().rstrip(".")
    return next((form for form in (plain, plain.removesuffix("s")) if form in MEASURES), "")
