"""Whether a worked answer is coherent: its steps, the quantities it uses, and its result.

Nothing here solves the question. These are signs that can be read off a text: a sum that is wrong, a number that was
given and never used, half a person as the result of "how many people". English in the main; in doubt each of them is 0.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice
from math import inf

import msgspec
from msgspec.structs import replace

from rubrica.text.cut_off import CALCULATOR_STEP, RESULT_MARK
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.amounts import amounts_of
from rubrica.text.maths.arithmetic import MAX_SIGNS, Equation, equations_of, find_equations
from rubrica.text.maths.conclusion import Closing, ends_on, is_check
from rubrica.text.maths.equation_sides import MEASURES
from rubrica.text.maths.expression import tokens_of
from rubrica.text.texts import Feature, Field, Span, Texts
from rubrica.text.words import Sentence, cached_reading, sentences, spaced_words

MOST_SPANS = 20
MOST_LOOKED_BACK = 30  # sentences that are searched for a conclusion
MOST_QUANTITIES = 1_000  # distinct numbers of a prompt that a response is held against

_NUMBER = lazy_pattern(
    r"(?<![\w.,])(?:\d{1,3}(?:,\d{3}){1,6}|\d{1,18})(?:\.\d{1,18})?(?![\w]|[.,]\d)|(?<![\w.])\.\d{1,18}(?!\w)"
)
_SPELT: dict[str, Fraction | int] = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12, "fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "hundred": 100,
    "dozen": 12, "twice": 2, "double": 2, "triple": 3, "half": Fraction(1, 2), "third": Fraction(1, 3),
    "quarter": Fraction(1, 4),
}  # fmt: skip
_ASKS_FOR_NUMBER = lazy_pattern(
    r"\bhow (?:many|much|long|far|old|tall|high|fast|heavy|deep|wide|large|often)\b"
    r"|\bwhat (?:is|was|are|were|will be|would be)\b[^?.\n]{0,60}\b(?:number|total|sum|cost|price|percent(?:age)?"
    r"|average|probability|difference|amount|area|volume|age|distance|speed|weight|length|height|profit|ratio|rate)\b"
    r"|\b(?:calculate|compute)\b|\b(?:wie ?viele?|combien|cuánt[oa]s?|quant[oiae]s?|сколько)\b|多少|几个|何個|いくつ",
    re.IGNORECASE,
)
_SOUGHT = (
    r"(?:number|total|sum|cost|price|percent(?:age)?|average|mean|probability|difference|product|quotient|remainder|amount"
    r"|area|perimeter|volume|age|distance|speed|weight|length|height|profit|change|value|ratio|rate|pay|left|\d+\s?%)"
)
_ASKS_OF_NUMBERS = lazy_pattern(  # in a prompt that gives some: "What do 10 pens cost?", "Find 30% of 90"
    rf"\bwhat(?:['’]s|\s(?:is|are|was|were|do|does|did|will|would))\s[^?.\n]{{0,60}}\b{_SOUGHT}\b"
    rf"|\b(?:find|determine|work out|evaluate)\s[^?.\n]{{0,60}}\b{_SOUGHT}(?!\w)",
    re.IGNORECASE,
)
FEWEST_QUANTITIES = 2
_COUNTED = lazy_pattern(r"\bhow many (\w+)(?: (?:of )?(\w+))?", re.IGNORECASE)
_ALSO_MEASURED = {"percentage", "times", "degrees", "acres", "calories", "points", "euros", "units", "servings"}
_MAY_BE_BROKEN = lazy_pattern(  # what is asked for is as likely a broken number as a whole one
    r"\b(?:average|mean|median|percent\w*|probability|chance|odds|ratio|rate|speed|fraction|per)\b"
    r"|\bhow (?:long|far|tall|high|fast|heavy|deep|wide|large|old)\b|%",
    re.IGNORECASE,
)
_SHARES = lazy_pattern(r"\b(?:share[sd]?|sharing|split|divided|each)\b", re.IGNORECASE)  # 9 pizzas for 6 are 1.5 each
_MONEY_BEFORE = lazy_pattern(r"[$£€¥₹]\s?$|\b(?:Rs|USD|EUR|GBP)\b\.?\s?$")
_UNIT_BEHIND = lazy_pattern(r"\s?(%|[a-zA-Z]{1,20})")
_ONE_OR_NONE = lazy_pattern(r"\b(?:one|once|zero|none|nobody|nothing|all|both|same)\b", re.IGNORECASE)


class Result(msgspec.Struct, frozen=True):
    """The number that an answer comes to: ``response[start:end]``."""

    value: Fraction
    start: int
    end: int


# --- steps ------------------------------------------------------------------------------------------------


@cached_reading
def steps(texts: Texts) -> tuple[Equation, ...]:
    """The calculations of the response in order."""
    return find_steps(texts.response) if "<<" in texts.response else equations_of(texts)


def find_steps(text: str) -> tuple[Equation, ...]:
    """The calculations of a text in order. Calculator notation counts where nothing around it can be read.

    >>> [(step.left, step.right) for step in find_steps("3 + 4 = <<3+4=7>>7 left, so <<7-2=5>>5.")]
    [('3 + 4', '7'), ('7-2', '5')]
    """
    plain = find_equations(_without_notation(text))
    starts = [found.start for found in plain]
    inner: list[Equation] = []
    for step in islice(CALCULATOR_STEP.finditer(text), MAX_SIGNS):
        before = bisect_left(starts, step.start()) - 1
        if before < 0 or plain[before].end < step.end():
            inner += _noted(step)
    return tuple(sorted((*plain, *inner), key=lambda found: found.start))


def find_wrong_steps(text: str) -> list[Equation]:
    """The calculations that clearly do not work out; calculator notation must hold beside a sum in words that does."""
    wrong = [step for step in find_steps(text) if step.holds is False]
    starts = [step.start for step in wrong]
    noted: list[Equation] = []
    for step in islice(CALCULATOR_STEP.finditer(text), MAX_SIGNS):
        before = bisect_left(starts, step.end()) - 1
        if before < 0 or wrong[before].end <= step.start():  # told already where it lies inside a wrong sum in words
            noted += (found for found in _noted(step) if found.holds is False)
    return sorted((*wrong, *noted), key=lambda step: step.start)


def _noted(step: re.Match[str]) -> Iterator[Equation]:
    """The equations inside calculator notation, at their place in the text."""
    for found in find_equations(step[1]):
        yield replace(found, start=found.start + step.start(1), end=found.end + step.start(1))


@cached_reading
def wrong_steps(texts: Texts) -> list[Equation]:
    """The steps of the response that clearly do not work out."""
    if "<<" in texts.response:
        return find_wrong_steps(texts.response)
    return [step for step in steps(texts) if step.holds is False]


def operation_count(texts: Texts) -> int:
    """How often the steps add, subtract, multiply or divide."""
    return sum(token.kind == "operator" for step in steps(texts) for token in tokens_of(step.left)[1:])


def _without_notation(text: str) -> str:
    """The text with calculator notation blanked out, everything else in its place."""
    return CALCULATOR_STEP.sub(lambda step: " " * len(step[0]), text)


# --- quantities -------------------------------------------------------------------------------------------


def _numbers(text: str) -> Iterator[tuple[Fraction, int, int]]:
    for match in _NUMBER.finditer(text):
        yield _value(match), match.start(), match.end()


def _value(number: re.Match[str]) -> Fraction:
    return Fraction(number[0].replace(",", ""))


def _spelt(text: str) -> Iterator[Fraction]:
    return (Fraction(_SPELT[word]) for word in re.findall(r"[a-z]+", text.lower()) if word in _SPELT)


@cached_reading
def quantities(texts: Texts, name: Field) -> frozenset[Fraction]:
    """The distinct numbers of a text, in digits or as words; "one" is too often none.

    >>> sorted(map(int, quantities(Texts(prompt="Two hens lay 3 eggs on the 4th day, one a 1,200th."), "prompt")))
    [2, 3]
    """
    text = _without_notation(texts.of(name))
    written = {match[0]: match for match in _NUMBER.finditer(text)}  # a text of sums has the same few over and over
    return frozenset({_value(match) for match in written.values()} | set(_spelt(text)))


@cached_reading
def unused_spans(texts: Texts) -> list[tuple[int, int]]:
    """The numbers of the prompt that a response which calculates never takes up, not even as a share of a hundred."""
    if not steps(texts):
        return []
    used = quantities(texts, "response")
    found: dict[Fraction, tuple[int, int]] = {}
    seen: set[Fraction] = set()
    for value, start, end in _numbers(texts.prompt):
        if value in seen or len(seen) >= MOST_QUANTITIES:
            continue
        seen.add(value)
        if not used & {value, value / 100, 100 - value, 1 - value / 100, 1 + value / 100, 100 + value}:
            found[value] = (start, end)
    return list(found.values())


def missing_steps(texts: Texts) -> int:
    """How many operations fewer the response shows than it takes to join the quantities of the prompt."""
    if not steps(texts) or not asks_for_number(texts):
        return 0
    return max(0, len(quantities(texts, "prompt")) - 1 - operation_count(texts))


# --- result -----------------------------------------------------------------------------------------------


@cached_reading
def asks_for_number(texts: Texts) -> bool:
    """Whether the prompt asks how many, how much, how long, for a total, a price or the like."""
    if _ASKS_FOR_NUMBER.search(texts.prompt):
        return True
    return gives_numbers(texts) and _ASKS_OF_NUMBERS.search(texts.prompt) is not None


def gives_numbers(texts: Texts) -> bool:
    """Whether the prompt gives what a sum takes: without, "how long" and "the number one rule" ask for no result."""
    return len(quantities(texts, "prompt")) >= FEWEST_QUANTITIES


@cached_reading
def result_of(texts: Texts) -> Result | None:
    """What the response comes to: the number after its last "answer is", "####" or box, else its last sentence's. Where
    that has none, such as a word of praise, it is what the last sentence before concludes. Checks at the end are left
    out."""
    plain = _without_notation(texts.response)
    marks = [mark.end() for mark in RESULT_MARK.finditer(plain)]
    if marks:
        after = next(_numbers(plain[marks[-1] : marks[-1] + 60]), None)
        if after is not None:
            return Result(after[0], marks[-1] + after[1], marks[-1] + after[2])
    said = _before_checks(plain, sentences(texts, "response"))
    for back, sentence in enumerate(islice(reversed(said), MOST_LOOKED_BACK)):
        found = list(_NUMBER.finditer(plain, sentence.start, sentence.end))[-1:]
        text = plain[sentence.start : sentence.end]
        if found and not text.rstrip().endswith("?") and (back == 0 or _concludes(text)):
            return Result(_value(found[0]), found[0].start(), found[0].end())
    return None


def _before_checks(text: str, said: Sequence[Sentence]) -> Sequence[Sentence]:
    """The sentences up to where the result is tried out: "Check: 35 + 15 = 50." has no result of its own."""
    count = len(said)
    while count and is_check(text[said[count - 1].start : said[count - 1].end].lstrip()):
        count -= 1
    return said[:count] or said


def _concludes(sentence: str) -> bool:
    """Whether a sentence has its last number as a result, rather than tells of some."""
    amounts = tuple(amounts_of(sentence))
    return bool(amounts) and ends_on(Closing(sentence, amounts, concludes=True))


def lacks_result(texts: Texts) -> bool:
    """Whether the result of a sum was asked for, and the last sentence, or what stands after "answer", has none."""
    if not asks_for_number(texts) or not gives_numbers(texts):
        return False
    if not spaced_words(texts, "response") or result_of(texts) is not None:
        return False
    closing = sentences(texts, "response")[-2:]
    text = texts.response[closing[0].start :] if closing else texts.response
    return re.search(r"\d", text) is None and next(_spelt(text), None) is None and _ONE_OR_NONE.search(text) is None


@cached_reading
def odd_result_spans(texts: Texts) -> list[tuple[int, int]]:
    """A result that cannot be: a broken or negative number of things that are counted."""
    asked, result = _COUNTED.search(texts.prompt), result_of(texts)
    if asked is None or result is None:
        return []
    counted = not any(_measured(word) for word in asked.groups() if word)
    before = texts.response[max(0, result.start - 2) : result.start]
    below = before[-1:] in ("-", "−") and not before[:1].isalnum()
    broken = counted and result.value.denominator != 1 and not _may_be_broken(texts, result)
    return [(result.start, result.end)] if below or broken else []


def uneven_result(texts: Texts) -> bool:
    """Whether whole numbers alone were given, a number was asked for, and the result is a broken one of what comes in
    whole ones: no price, no measure, no average or share."""
    result = result_of(texts)
    if result is None or result.value.denominator == 1 or not asks_for_number(texts) or not steps(texts):
        return False
    if _may_be_broken(texts, result) or _is_amount_of(texts.response, result):
        return False
    given = quantities(texts, "prompt")
    return len(given) > 1 and all(value.denominator == 1 for value in given)


def _may_be_broken(texts: Texts, result: Result) -> bool:
    """Whether a question asks for an average, a rate or the like, or for a share that comes out to the last digit."""
    if _MAY_BE_BROKEN.search(texts.prompt):
        return True
    if not _SHARES.search(texts.prompt):
        return False
    return any(
        step.exact and [each.value for each in amounts_of(step.right)] == [result.value] for step in steps(texts)
    )


def _is_amount_of(response: str, result: Result) -> bool:
    """Whether a result is money or a measure, as the sign before it or the word behind it says."""
    if _MONEY_BEFORE.search(response, max(0, result.start - 5), result.start):
        return True
    unit = _UNIT_BEHIND.match(response, result.end)
    return unit is not None and (unit[1] == "%" or _measured(unit[1]))


def _measured(word: str) -> bool:
    word = word.lower()
    return word in MEASURES or word.removesuffix("s") in MEASURES or word in _ALSO_MEASURED


# --- features ---------------------------------------------------------------------------------------------


def _evidence(spans: list[tuple[int, int]], field: Field, text: str, label: str) -> list[Span]:
    return [Span(field, start, end, text[start:end][:200], label) for start, end in spans[:MOST_SPANS]]


def _result_value(texts: Texts) -> float:
    """The result as written, its sign included."""
    result = result_of(texts)
    if result is None:
        return 0.0
    before = texts.response[max(0, result.start - 2) : result.start]
    below = before[-1:] in ("-", "−") and not before[:1].isalnum()
    return -float(result.value) if below else float(result.value)


def _result_evidence(texts: Texts) -> list[Span]:
    result = result_of(texts)
    spans = [] if result is None else [(result.start, result.end)]
    return _evidence(spans, "response", texts.response, "result")


FEATURES: tuple[Feature, ...] = (
    Feature(
        "step_count",
        "calculations in the response with their result, also in calculator notation (<<9*2=18>>)",
        0,
        inf,
        lambda texts: float(len(steps(texts))),
        lambda texts: _evidence([(step.start, step.end) for step in steps(texts)], "response", texts.response, "step"),
    ),
    Feature(
        "wrong_step_count",
        "steps of the response that clearly do not work out, rounding allowed",
        0,
        inf,
        lambda texts: float(len(wrong_steps(texts))),
        lambda texts: _evidence(
            [(step.start, step.end) for step in wrong_steps(texts)], "response", texts.response, "wrong step"
        ),
    ),
    Feature(
        "operation_count",
        "additions, subtractions, multiplications and divisions that the response shows with their result",
        0,
        inf,
        lambda texts: float(operation_count(texts)),
    ),
    Feature(
        "unused_quantity_count",
        "distinct numbers of the prompt that a response which calculates never takes up",
        0,
        inf,
        lambda texts: float(len(unused_spans(texts))),
        lambda texts: _evidence(unused_spans(texts), "prompt", texts.prompt, "unused quantity"),
    ),
    Feature(
        "missing_step_count",
        "operations that a response which calculates lacks to join all the quantities of the prompt",
        0,
        inf,
        lambda texts: float(missing_steps(texts)),
    ),
    Feature(
        "asks_for_number",
        "1 when the prompt asks how many, how much, for a total, a price or the like, else 0",
        0,
        1,
        lambda texts: float(asks_for_number(texts)),
    ),
    Feature(
        "lacks_result",
        "1 when the prompt asks for the result of a sum and the response does not come to one, else 0",
        0,
        1,
        lambda texts: float(lacks_result(texts)),
    ),
    Feature(
        "has_result",
        "1 when the response comes to a number: after 'answer', in its last sentence or a conclusion before it, else 0",
        0,
        1,
        lambda texts: float(result_of(texts) is not None),
        _result_evidence,
    ),
    Feature(
        "result_value",
        "the number that the response comes to; 0 where it comes to none",
        -inf,
        inf,
        _result_value,
    ),
    Feature(
        "odd_result",
        "1 when the response comes to a broken or negative number of things that are counted, else 0",
        0,
        1,
        lambda texts: float(len(odd_result_spans(texts))),
        lambda texts: _evidence(odd_result_spans(texts), "response", texts.response, "odd result"),
    ),
    Feature(
        "uneven_result",
        "1 when a response that calculates with whole numbers comes to a broken one where that is odd, else 0",
        0,
        1,
        lambda texts: float(uneven_result(texts)),
    ),
)
