"""Whether a question's key is the answer that its options allow and its explanation arrives at.

Nothing here solves the question. The explanation is taken at its word, and each check speaks up only in clear cases:
words alone ("as the chart shows") prove nothing either way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, permutations

from msgspec.structs import replace

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.amounts import Amount, amounts_of, is_worth, mentions
from rubrica.text.maths.arithmetic import find_equations
from rubrica.text.maths.conclusion import (
    SENTENCE,
    Closing,
    calculates,
    closing,
    ends_on,
    is_beside,
    is_dismissed,
    results,
    stated_letter,
    stated_value,
    without_checks,
)
from rubrica.text.maths.later_results import later_results, ordinals
from rubrica.text.maths.remarks import without_remarks
from rubrica.text.questions.asked import asked_unknown, asks_for_count, asks_for_misfit, asks_to_choose
from rubrica.text.questions.formula_key import ending_option, formula_end
from rubrica.text.questions.options import letter_of, normal, number_of
from rubrica.text.questions.question import Question, QuestionFault, names_several
from rubrica.text.questions.unnamed_key import counts_up, finds_parts, is_cut, leaves_undone, lists_them

_ROOM = 40  # characters of an option beside its numbers
_FORMULA = lazy_pattern(  # a power, a root, or a letter that stands for a number
    r"[=^√!²³<>≤≥|]|sqrt|\d\s?[-+−–]\s?\d*π|π\s?[-+−–]|(?:[\d)]\s?|[-+*/(]\s?)[abinpqrtuvwxyzkXYZNPQRKM](?![A-Za-z])|(?<![A-Za-z])[A-Za-z]\s?[-+*/]\s?\d"
)
_TELLS = lazy_pattern(r"\b(?:yes|no|it|its|is|are|the|true|false)\b", re.IGNORECASE)  # a sentence, not a formula
_UNIT_POWER = lazy_pattern(  # 15 m², 8 cm^3: a unit, not a formula
    r"\b(?:[cdkm]?m|ft|in|yd|mi|feet|foot|inch(?:es)?|met(?:er|re)s?|units?|yards?|miles?)\s?(?:[²³]|\^\{?[23]\}?)"
)
_UNKNOWN = lazy_pattern(r"^\s*\$?\s*([a-zA-Z])\s*=\s*(?=[-−$£€\\]?\s?[\d\\])")  # "x = 5" as an option
_SETS = lazy_pattern(r"(?<![A-Za-z\d])([a-zA-Z])\s*=[^=\n]*=?[^=\n]*$")
_SOLVED = lazy_pattern(r"\W*[a-zA-Z]\s*=\s*[-−$£€]?\s?\d[\d,.]*\W*")  # nothing but an unknown and its value
_LINK = lazy_pattern(r"\s?(?:=|→)")
_MULTIPLE = lazy_pattern(
    r"(?:\d\s?(?=[a-z]\s?=)|π?(?=[a-z](?:[²³]|\^)))([a-z])(?:[²³]|\^\{?[23]\}?)?\s?=\s?(?:[^=,;\n]{1,40}=\s?)?[$£€]?\Z"
)
_FACTORIAL = lazy_pattern(r"\d+(?=[\s)}]{0,2}!)")
_TRIAL = lazy_pattern(r"\b(?:try|trying|test|testing|plug\w*|substitut\w+)\b", re.IGNORECASE)
MOST_FOUND = 50  # places where a letter has a value
_MOST_NUMBERS = 3  # in an option that still counts as an amount: a ratio, a point, a time


def absent_key(question: Question) -> Iterator[QuestionFault]:
    """The answer is a text that no option has, or the explanation arrives at a number that no option is."""
    if not question.options or not question.answer:
        return
    if question.answer_index is None:
        if letter_of(question.answer) is None and len(question.answer) <= 200 and not names_several(question):
            yield QuestionFault("the answer is none of the options", question.answer)
        return
    question = focused(question)
    end, key = _conclusion(question), option_amounts(question.key or "")
    if end is None or not key or not ends_on(end) or mentions(question.explanation, key):
        return
    if finds_parts(key, question.explanation):
        return
    if asks_to_choose(question.text):
        return  # then the explanation may go through the options one by one
    options = [option_amounts(text) for _, text in question.options]
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
        if value:
            return
    named = letter is not None
    question = focused(question)
    ended = ending_option(question)
    if ended is not None:
        if ended != question.answer_index:
            yield QuestionFault("the explanation ends on another option", question.options[ended][1])
        return
    formula = formula_end(question)
    if formula is not None and formula.options:
        if question.answer_index not in formula.options:
            yield QuestionFault("the explanation arrives at another option", formula.shown)
        return
    end = _conclusion(question)
    key = option_amounts(question.key or "")
    if end is None or _is_last(key, end) or (_is_named(key, end) and (named or not _is_rounded(key, end))):
        return
    if _TRIAL.search(end.text) and end.last.value in {amount.value for amount in amounts_of(question.text)}:
        return  # "Try 2: 2 + 1/2 = 2.5", where a number with the sum of 2.5 is asked for
    reached = [each for each in _others(question) if _is_last(each, end)]
    concludes = end.concludes or (ends_on(end) and (len(end.amounts) == 1 or _is_rounded(key, end)))
    if not key:
        concludes = ends_on(end) and _is_plain(question.key or "")
    if (len(reached) == 1 or (reached and not key)) and (
        concludes or (key and not mentions(question.explanation, key) and not leaves_undone(key, end))
    ):
        yield QuestionFault("the explanation arrives at another option", end.shown)


def _conclusion(question: Question) -> Closing | None:
    """What the explanation comes to; None where the question asks for what does not fit, or for another unknown."""
    end = closing(question.explanation)
    if end is None or asks_for_misfit(question.text) or (end.asides and _names_key(end.asides, question)):
        return None
    multiple = _MULTIPLE.search(end.text, 0, end.last.start)
    if multiple and _finds(question, multiple[1]):
        return None  # 12x = 36, after x = 3 was found
    unknown, asked = _SETS.search(end.text), asked_unknown(question.text)
    return None if asked and unknown and ends_on(end) and unknown[1] != asked else end


def _finds(question: Question, letter: str) -> bool:
    """Whether the explanation says somewhere that a letter has the value of the key."""
    key = option_amounts(question.key or "")
    found = re.finditer(rf"(?<![\w.]){letter}\s?=(?=\s?[-−]?\d)", question.explanation)
    said = (amounts_of(question.explanation[each.end() : each.end() + 20])[:1] for each in islice(found, MOST_FOUND))
    return len(key) == 1 and any(amount.value == key[0].value for amounts in said for amount in amounts)


def _names_key(asides: str, question: Question) -> bool:
    """Whether one of the asides has the key, and does not call it a mistake."""
    key = option_amounts(question.key or "")
    return bool(key) and any(mentions(each, key) for each in asides.split("\n") if not is_dismissed(each))


def unreached_key(question: Question) -> Iterator[QuestionFault]:
    """The explanation calculates, and never comes to the key; told only where nothing clearer can be said."""
    if (
        not asks_to_choose(question.text)
        and _unreached(question)
        and not any(absent_key(question))
        and not any(contradicted_key(question))
    ):
        yield QuestionFault("the explanation never comes to the key", question.key or "")


def focused(question: Question) -> Question:
    """The question with an explanation that speaks of the way to the answer alone, not of other options."""
    plain = without_remarks(question.explanation, question.options, question.answer_index, question.text)
    return replace(question, explanation=plain)


def _unreached(question: Question) -> bool:
    question = focused(question)
    key = option_amounts(question.key or "")
    if not key:
        return _is_unwritten(question)
    if asks_for_misfit(question.text):
        return False
    end = _conclusion(question)
    if lists_them(key, question):
        return False
    if not mentions(question.explanation, key):
        if end is not None and leaves_undone(key, end):
            return False
        if counts_up(key, end) or finds_parts(key, question.explanation):
            return False
        return calculates(question.explanation) or (end is not None and end.concludes) or _names_another(question)
    wanted, named = ordinals(question.key or ""), ordinals(question.explanation)
    if wanted:  # beside ordinals, plain numbers say nothing: they count the lines
        closed = ordinals(end.text) if end is not None and end.concludes else ()
        return bool(named) and (not set(wanted) <= set(named) or (len(closed) == 1 and not set(wanted) & set(closed)))
    if _is_overtaken(question, key):
        return True
    if end is None:
        return False
    if len(key) > 1 and len(end.amounts) == len(key) and ":" not in end.text:
        return end.concludes and not _is_named(key, end)
    return ends_on(end) and _is_passed(key, end, question)


def _is_passed(key: tuple[Amount, ...], end: Closing, question: Question) -> bool:
    """Whether the explanation names the key on its way, and comes to something else."""
    names_option = stated_letter(question.explanation) is not None
    states = names_option or "=" not in end.text
    given = set() if _SOLVED.fullmatch(end.text) else {amount.value for amount in amounts_of(question.text)}
    if end.last.value in given and (states or _is_tried(key, question.explanation, given)):
        return False  # a number of the question is where a check of the result ends
    if len(key) > 1 and _are_worth((end.last,), key):
        return False  # the last of several: the others were found before
    if _is_split(end, key, given):
        return False
    if _are_worth(key, (*end.results, end.last)) or (asks_for_count(question.text) and is_cut(key, end.last)):
        return False
    holds = _holds(end)
    if holds is None:
        return True
    # A wrong equation is told elsewhere. Where an option is named at the end, what the key was may stand before.
    return holds and not (names_option and _are_worth(key, results(question.explanation)))


def _is_split(end: Closing, key: tuple[Amount, ...], given: set[Fraction]) -> bool:
    """Whether the closing statement splits a number of the question, and the key is a part: 2,400 = 24 × 100."""
    left, sign, right = end.text.rpartition("=")
    whole = amounts_of(left)
    return bool(sign) and len(whole) == 1 and whole[0].value in given and mentions(right, key)


def _is_overtaken(question: Question, key: tuple[Amount, ...]) -> bool:
    """Whether the explanation goes on to results that are new after it has named the key for the last time."""
    if _conclusion(question) is None and closing(question.explanation) is not None:
        return False
    unit = re.search(r"[a-zA-Z]{1,12}\W*$", (question.key or "")[key[-1].end :])
    late = later_results(question.explanation, key, question.text, unit[0] if unit else "")
    if not _reaches_another(question, late) and not _is_worked_on(key, late, question.explanation):
        return False  # what is new may be a check, or something else worth telling
    return not (asks_for_count(question.text) and is_cut(key, late[-1]))


def _is_worked_on(key: tuple[Amount, ...], late: Sequence[Amount], explanation: str) -> bool:
    """Whether a sentence has the key together with one of some later results: it may go into that one."""
    values = {amount.value for amount in late}
    sentences = (each for line in explanation.splitlines() for each in SENTENCE.split(line))
    return any(values & {amount.value for amount in amounts_of(each)} and mentions(each, key) for each in sentences)


def _reaches_another(question: Question, found: Sequence[Amount]) -> bool:
    """Whether some amounts have all that an option other than the key consists of."""
    return bool(found) and any(option and _are_worth(option, found) for option in _others(question))


def _is_tried(key: tuple[Amount, ...], explanation: str, given: set[Fraction]) -> bool:
    """Whether the explanation only shows that the key leads to what is given: "7 × 7 = 49" for an area of 49."""
    reached = results(explanation)
    tried = {amount.value for amount in amounts_of(explanation)} - {amount.value for amount in reached}
    return len(key) == 1 and key[0].value in tried and all(amount.value in given for amount in reached)


def _names_another(question: Question) -> bool:
    """Whether the last statement has all numbers of one other option, and not only numbers of the question."""
    said = SENTENCE.split(without_checks(question.explanation).strip())
    last = next((each for each in reversed(said) if not is_beside(each)), "")
    given = {amount.value for amount in amounts_of(question.text)}
    named = (each for each in _others(question) if {amount.value for amount in each} - given)
    return sum(mentions(last, each) for each in named) == 1


def _is_unwritten(question: Question) -> bool:
    """Whether the key is a formula that an explanation does not end on, or one with numbers that it never has."""
    end = formula_end(question)
    if end is not None and (end.options or end.near):
        return question.answer_index not in end.options
    key = _UNIT_POWER.sub("", question.key or "")
    if len(key) > _ROOM or not _FORMULA.search(key) or _TELLS.search(key) or "=" not in question.explanation:
        return False
    if "!" in key:
        named = set(_FACTORIAL.findall(question.explanation))
        return bool(named) and not named.issuperset(_FACTORIAL.findall(key))
    # It may be put together from what was found, or be written in another way: then its numbers are there.
    return not all(mentions(question.explanation, (amount,)) for amount in amounts_of(key))


def _are_worth(key: tuple[Amount, ...], found: Iterable[Amount]) -> bool:
    readings = [amount.readings[0] for amount in found]
    return all(any(is_worth(amount, reading) for reading in readings) for amount in key)


def _holds(end: Closing) -> bool | None:
    """Whether the equation that a closing statement ends on holds; None if it ends on none."""
    found = [equation for equation in find_equations(end.text) if number_of(equation.right) == end.last.value]
    return None if not found or found[-1].holds is None else found[-1].holds


_ABOUT_FORM = lazy_pattern(
    r"simplest|lowest|equivalent|equal to|form\b|decimal|fraction|convert|percent|express|notation|round|not equal",
    re.IGNORECASE,
)


def option_key(stem: str) -> Callable[[str], str]:
    """What two options must share to be one: their value, or their text where the form of a number is the question."""
    return (lambda text: " ".join(text.casefold().split())) if _ABOUT_FORM.search(stem) else normal


def duplicated_key(question: Question) -> Iterator[QuestionFault]:
    """Another option says what the key says, so two options are right."""
    key = question.key
    if not key:
        return
    same = option_key(question.text)
    for place, (label, text) in enumerate(question.options):
        if place != question.answer_index and same(text) == same(key):
            yield QuestionFault(f"option {label} says the same as the key", text)


def option_amounts(option: str) -> tuple[Amount, ...]:
    """The amounts an option consists of: "24", "Rs.20,000", "13:4"; none where words or a formula count as well."""
    option = _UNKNOWN.sub("", _UNIT_POWER.sub("", option))
    found = amounts_of(option)
    used = sum(amount.end - amount.start for amount in found)
    if not found or len(found) > _MOST_NUMBERS or len(option) > used + _ROOM or _FORMULA.search(option):
        return ()
    return tuple(found)


def _others(question: Question) -> list[tuple[Amount, ...]]:
    """The amounts of each option apart from the key."""
    return [option_amounts(text) for place, (_, text) in enumerate(question.options) if place != question.answer_index]


def _named_by(end: Closing) -> tuple[Amount, ...]:
    """The amounts that the closing statement may have for its result."""
    if not ends_on(end) or not _LINK.search(end.text):
        return end.amounts
    passed = (_is_gone_past(end.text, each) for each in end.results)
    return (*(each for each, over in zip(end.results, passed, strict=True) if not over), end.last)


def _is_gone_past(text: str, amount: Amount) -> bool:
    """Whether what follows makes an amount a step on the way: 10 of "5 → 10 → 20" and of "2b = 10, b = 5"."""
    if _LINK.match(text, amount.end):
        return True
    multiple = _MULTIPLE.search(text, 0, amount.start)
    return multiple is not None and re.search(rf"(?<![\w.]){multiple[1]}\s?=", text[amount.end :]) is not None


def _is_named(option: tuple[Amount, ...], end: Closing) -> bool:
    """Whether the closing statement names an option: what goes into its last equation does not count."""
    named = _named_by(end)
    if len(option) > 1 and len(option) == len(named):  # each of them once
        return any(all(map(_is_one, option, order)) for order in permutations(named))
    return bool(option) and all(_among(amount, named) for amount in option)


def _is_one(amount: Amount, other: Amount) -> bool:
    return _among(amount, (other,))


def _among(amount: Amount, others: tuple[Amount, ...]) -> bool:
    return any(is_worth(amount, reading) for other in others for reading in other.readings)


def _is_rounded(option: tuple[Amount, ...], end: Closing) -> bool:
    """Whether the closing statement names an option by a rounding alone: another that it names exactly goes first."""
    return len(option) == 1 and ends_on(end) and all(option[0].value != amount.value for amount in end.amounts)


def _is_plain(key: str) -> bool:
    """Whether a key is words alone, such as "no gain", that say nothing of the other options."""
    return bool(key) and not re.search(r"\d|\b(?:none|all|both|either|cannot|can't|not)\b", key, re.IGNORECASE)


def _is_last(option: tuple[Amount, ...], end: Closing) -> bool:
    """Whether an option is what the closing statement comes to: its last amount, or all that it names, in order."""
    if len(option) > 1:
        return [amount.value for amount in option] == [amount.value for amount in end.amounts]
    return len(option) == 1 and option[0].value == end.last.value
