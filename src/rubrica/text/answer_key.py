"""Whether a question's key is the answer that its options allow and its explanation arrives at.

Nothing here solves the question. The explanation is taken at its word, and each check speaks up only in clear cases:
words alone ("as the chart shows") prove nothing either way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rubrica.text.amounts import Amount, amounts_of, is_worth, mentions
from rubrica.text.arithmetic import Equation, find_equations
from rubrica.text.conclusion import Closing, calculates, closing, ends_on, results, stated_letter, stated_value
from rubrica.text.options import letter_of, normal, number_of
from rubrica.text.question import Question, QuestionFault, names_several
from rubrica.text.solution import find_wrong_steps

_ROOM = 40  # characters of an option beside its numbers
_FORMULA = re.compile(  # a power, a root, or a letter that stands for a number
    r"[=^√!²³<>≤≥|]|sqrt|(?:[\d)]\s?|[-+*/(]\s?)[abnpqrtuvwxyzkXYZNPQRKM](?![A-Za-z])|(?<![A-Za-z])[A-Za-z]\s?[-+*/]\s?\d"
)
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)\b")
_MOST_NUMBERS = 3  # in an option that still counts as an amount: a ratio, a point, a time


def absent_key(question: Question) -> Iterator[QuestionFault]:
    """The answer is a text that no option has, or the explanation arrives at a number that no option is."""
    if not question.options or not question.answer:
        return
    if question.answer_index is None:
        if letter_of(question.answer) is None and len(question.answer) <= 200 and not names_several(question):
            yield QuestionFault("the answer is none of the options", question.answer)
        return
    end, key = closing(question.explanation), _numbers(question.key or "")
    if end is None or not key or not ends_on(end) or mentions(question.explanation, key):
        return
    options = [_numbers(text) for _, text in question.options]
    if all(options) and not any(_is_named(option, end) for option in options):
        yield QuestionFault("the explanation's result is none of the options", end.shown)


def contradicted_key(question: Question) -> Iterator[QuestionFault]:
    """The explanation names another option as the answer, or arrives at another option's number."""
    if question.answer_index is None:
        return
    labels = [label for label, _ in question.options]
    letter = stated_letter(question.explanation)
    if letter is not None and letter[0] in labels:
        if letter[0] != labels[question.answer_index]:
            yield QuestionFault("the explanation names another option", letter[1])
            return
        value = stated_value(question.explanation, letter[1])
        if len(value) == 1 and value[0].value not in {amount.value for amount in amounts_of(question.key or "")}:
            yield QuestionFault("the explanation gives the key another value", letter[1])
        return
    end = closing(question.explanation)
    key = _numbers(question.key or "")
    if end is None or not key or _is_named(key, end):
        return
    others = [text for place, (_, text) in enumerate(question.options) if place != question.answer_index]
    reached = [text for text in others if _is_last(_numbers(text), end)]
    if len(reached) == 1 and (end.concludes or not mentions(question.explanation, key)):
        yield QuestionFault("the explanation arrives at another option", end.shown)


def unreached_key(question: Question) -> Iterator[QuestionFault]:
    """The explanation calculates, and never comes to the key; told only where nothing clearer can be said."""
    if _unreached(question) and not any(absent_key(question)) and not any(contradicted_key(question)):
        yield QuestionFault("the explanation never comes to the key", question.key or "")


def _unreached(question: Question) -> bool:
    key = _numbers(question.key or "")
    if not key:
        return _is_unwritten(question)
    end = closing(question.explanation)
    if not mentions(question.explanation, key):
        return not _counts(key, end) and (calculates(question.explanation) or (end is not None and end.concludes))
    if end is None or not ends_on(end) or _ORDINAL.search(question.key or "") or mentions(question.text, [end.last]):
        return False  # an ordinal counts lines, and a number of the question is where a check of the result ends
    if _are_worth(key, (*end.results, end.last)):
        return False
    holds = _holds(end)  # a wrong equation is told elsewhere; after a right one the key may follow unsaid
    if holds is None:
        return True
    return holds and not _are_worth(key, results(question.explanation))


def _counts(key: tuple[Amount, ...], end: Closing | None) -> bool:
    """Whether the explanation closes with a list as long as the key says: 1816, 1856 and 1896 are 3."""
    return end is not None and "=" not in end.text and len(key) == 1 and len(end.amounts) == key[0].value


def _is_unwritten(question: Question) -> bool:
    """Whether the key is a formula that an explanation full of equations never has."""
    key = question.key or ""
    if len(key) > _ROOM or not _FORMULA.search(key) or "=" in key or "!" in key:
        return False
    return "=" in question.explanation and _squeezed(key) not in _squeezed(question.explanation)


def _squeezed(text: str) -> str:
    return re.sub(r"[\s*∗·()\[\]{}$,\\]|left|right", "", text.casefold().replace("−", "-").replace("–", "-"))


def _are_worth(key: tuple[Amount, ...], found: Iterable[Amount]) -> bool:
    readings = [amount.readings[0] for amount in found]
    return all(any(is_worth(amount, reading) for reading in readings) for amount in key)


def _holds(end: Closing) -> bool | None:
    """Whether the equation that a closing statement ends on holds; None if it ends on none."""
    found = [equation for equation in find_equations(end.text) if number_of(equation.right) == end.last.value]
    return None if not found or found[-1].holds is None else found[-1].holds


def duplicated_key(question: Question) -> Iterator[QuestionFault]:
    """Another option says what the key says, so two options are right."""
    key = question.key
    if not key:
        return
    for place, (label, text) in enumerate(question.options):
        if place != question.answer_index and normal(text) == normal(key):
            yield QuestionFault(f"option {label} says the same as the key", text)


def miscalculated_key(question: Question) -> Iterator[QuestionFault]:
    """An equation that does not hold has the key for its result."""
    key = _numbers(question.key or "")
    if len(key) != 1:
        return
    for equation in wrong_equations(question):
        if _is_result(equation, key[0]):
            yield QuestionFault("the key is the result of a wrong equation", equation.text)


def wrong_equations(question: Question) -> list[Equation]:
    """The equations in the explanation and in the key that clearly do not hold."""
    return find_wrong_steps(question.explanation) + find_wrong_steps(question.key or "")


def _is_result(equation: Equation, key: Amount) -> bool:
    value = number_of(equation.right)
    return value is not None and value == key.value


def _numbers(option: str) -> tuple[Amount, ...]:
    """The amounts an option consists of: "24", "Rs.20,000", "13:4"; none where words or a formula count as well."""
    found = amounts_of(option)
    used = sum(amount.end - amount.start for amount in found)
    if not found or len(found) > _MOST_NUMBERS or len(option) > used + _ROOM or _FORMULA.search(option):
        return ()
    return tuple(found)


def _is_named(option: tuple[Amount, ...], end: Closing) -> bool:
    return bool(option) and all(_among(amount, end.amounts) for amount in option)


def _among(amount: Amount, others: tuple[Amount, ...]) -> bool:
    return any(is_worth(amount, reading) for other in others for reading in other.readings)


def _is_last(option: tuple[Amount, ...], end: Closing) -> bool:
    return len(option) == 1 and option[0].value == end.last.value
