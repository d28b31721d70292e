"""How an explanation may have the key without naming its number: as a list, in parts, or left for the reader to add."""

from __future__ import annotations

import re
from math import prod

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.amounts import Amount
from rubrica.text.maths.conclusion import Closing, ends_on, results
from rubrica.text.questions.asked import asks_for_count
from rubrica.text.questions.question import Question

_MOST_LEFT = 3  # numbers that a reader may be left to multiply
_MEMBER = r"(?:\d+(?:\.\d+)?|\([^()\n]{1,20}\))"
_LIST = lazy_pattern(rf"(?<![\w.,(]){_MEMBER}(?:(?:,\s|,?\sand\s){_MEMBER}){{1,40}}(?![\w(])")


def leaves_undone(key: tuple[Amount, ...], end: Closing) -> bool:
    """Whether the key is what all amounts of a closing statement in words make: eight, of "four here, four there"."""
    if len(key) != 1 or len(end.amounts) < 2 or ends_on(end) or end.concludes:
        return False
    values = [amount.value for amount in end.amounts]
    return key[0].value in (sum(values), prod(values[:_MOST_LEFT]))


def is_cut(key: tuple[Amount, ...], last: Amount) -> bool:
    """Whether the key is a broken result as a whole number, up or down: 8.84 rounds are 8 full ones."""
    broken = key[0].value.denominator == 1 < last.value.denominator
    return len(key) == 1 and broken and abs(key[0].value - last.value) < 1


def counts_up(key: tuple[Amount, ...], end: Closing | None) -> bool:
    """Whether the explanation closes with a list as long as the key says: 1816, 1856 and 1896 are 3."""
    return end is not None and "=" not in end.text and len(key) == 1 and len(end.amounts) == key[0].value


def finds_parts(key: tuple[Amount, ...], explanation: str) -> bool:
    """Whether the key is a fraction, and the explanation comes to both of its parts: "84/42 = 2 and 126/42 = 3"."""
    found = {amount.value for amount in results(explanation)}
    return len(key) == 1 and len(key[0].readings) > 2 and {value for value, _ in key[0].readings[1:]} <= found


def lists_them(key: tuple[Amount, ...], question: Question) -> bool:
    """Whether the explanation answers "how many" with a list as long as the key says, wherever that stands."""
    lists = _LIST.finditer(question.explanation) if len(key) == 1 and asks_for_count(question.text) else ()
    return any(len(re.findall(_MEMBER, listed[0])) == key[0].value for listed in lists)
