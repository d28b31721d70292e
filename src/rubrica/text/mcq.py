"""Checks of an educational question: key, options, explanation. Each speaks up only in clear cases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf

from rubrica.text.arithmetic import Equation, find_equations
from rubrica.text.impossible import impossible_key
from rubrica.text.question import Question, letter_of, normal, number_of, read_question
from rubrica.text.reading import Feature, Span, Texts

__all__ = ["FEATURES", "Fault", "Question", "read_question"]

EVIDENCE_LIMIT = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing a check found: what, and the words of the response that show it."""

    label: str
    shown: str


def question_of(texts: Texts) -> Question | None:
    """The question in the response, read once."""
    if question_of not in texts.derived:
        texts.derived[question_of] = read_question(texts.response)
    question: Question | None = texts.derived[question_of]  # type: ignore[assignment]
    return question


# --- structure --------------------------------------------------------------------------------------------


def _unmapped(question: Question) -> Iterator[Fault]:
    letter = letter_of(question.answer)
    if question.is_mcq and letter is not None and question.answer_index is None:
        yield Fault("the answer's letter is no option", question.answer)


def _missing(question: Question) -> Iterator[Fault]:
    if question.is_mcq and not question.answer:
        yield Fault("no answer is given", question.text)


def _empty(question: Question) -> Iterator[Fault]:
    for letter, text in question.options:
        if not re.search(r"[^\s.…_-]", text):
            yield Fault(f"option {letter} is empty", text or letter)


_ABOUT_FORM = re.compile(
    r"simplest|lowest|equivalent|equal to|form\b|decimal|fraction|convert|percent|express|notation|round|not equal",
    re.IGNORECASE,
)


def _duplicates(question: Question) -> Iterator[Fault]:
    """Options that repeat an earlier one; where the form of a number is the question, only exact repeats count."""
    same = (lambda text: " ".join(text.casefold().split())) if _ABOUT_FORM.search(question.text) else normal
    seen: set[str] = set()
    for letter, text in question.options:
        if text and same(text) in seen:
            yield Fault(f"option {letter} repeats another", text)
        seen.add(same(text))


# --- the key and the explanation --------------------------------------------------------------------------

_SAYS_LETTER = re.compile(
    r"(?i:answer|option|choice|ans)\b[^\w\n]{0,5}(?i:is\b|key\b)?[^\w\n]{0,5}(?i:option\b|choice\b)?[^\w\n]{0,3}"
    r"([A-H])(?=\s*(?:[).,;:!*]|$)|\s+(?:because|since|as)\b)"
    r"|\b([A-H])\s+is\s+(?:the\s+)?(?:correct|right|answer|best)\b",
    re.MULTILINE,
)
_ANSWER_WORD = re.compile(r"answer|ans\b", re.IGNORECASE)
_SAYS_NUMBER = re.compile(
    r"\b(?:final\s+)?(?:answer|result)\s*(?:is|=|:|equals)\s*[$£€]?\s*(-?\d[\d,]*(?:\.\d+)?(?:/\d+)?)(?![\w.,]*[\d=+*/^×÷%:-])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:/\d+)?(?![\w/]|\.\d)")
_CHECKS = re.compile(r"\b(?:check|verif\w+|note|remember|if|wrong|incorrect|mistake)\b", re.IGNORECASE)


def _stated_letter(question: Question) -> tuple[str, str] | None:
    """The letter the explanation names as the answer, and the words; None if it names none, or several."""
    end = len(question.explanation.rstrip()) - 3  # "Option B" names the answer only as the last word
    found = [
        (match[1] or match[2], match[0])
        for match in _SAYS_LETTER.finditer(question.explanation)
        if match[2] or _ANSWER_WORD.search(match[0]) or match.end() >= end
    ]
    return found[-1] if len({letter for letter, _ in found}) == 1 else None


def _stated_result(question: Question) -> tuple[Fraction, str] | None:
    """The number the explanation ends on: "the answer is 24", or a last line that ends in "= 24"."""
    said = list(_SAYS_NUMBER.finditer(question.explanation))
    if said:
        value = number_of(said[-1][1])
        return None if value is None else (value, said[-1][0])
    lines = question.explanation.strip().splitlines()
    equations = find_equations(lines[-1][-400:]) if lines and not _CHECKS.search(lines[-1]) else ()
    if not equations or not re.fullmatch(r"[\s\w²³%°.!*_)]{0,20}", lines[-1][-400:][equations[-1].end :]):
        return None
    value = number_of(equations[-1].right)
    return None if value is None else (value, equations[-1].text)


def _option_numbers(question: Question) -> list[Fraction] | None:
    """The options' numbers, if every one of them is a single number, with a unit or without."""
    numbers = []
    for _, text in question.options:
        found = _NUMBER.findall(text)
        value = number_of(found[0]) if len(found) == 1 and len(text) <= len(found[0]) + 20 else None
        if value is None:
            return None
        numbers.append(value)
    return numbers


def _is_about(result: Fraction, option: Fraction) -> bool:
    """Whether an option may be the result, rounded or in another unit."""
    if option == result:
        return True
    gap = abs(option - result)
    return gap <= max(abs(result) / 20, Fraction(1, 2)) or any(
        result * scale == option or option * scale == result for scale in (-1, 100, 1000, 60, 12)
    )


def _key_absent(question: Question) -> Iterator[Fault]:
    """The answer is a text that no option has, or the explanation arrives at a number that no option is."""
    if not question.options or not question.answer:
        return
    if question.answer_index is None:
        if letter_of(question.answer) is None and len(question.answer) <= 200:
            yield Fault("the answer is none of the options", question.answer)
        return
    numbers, stated = _option_numbers(question), _stated_result(question)
    if numbers is None or stated is None or any(_is_about(stated[0], number) for number in numbers):
        return
    if not _mentions(question.explanation, numbers[question.answer_index]):
        yield Fault("the explanation's result is none of the options", stated[1])


def _mentions(text: str, value: Fraction) -> bool:
    return any(number_of(found) == value for found in _NUMBER.findall(text)[:2000])


def _mismatch(question: Question) -> Iterator[Fault]:
    """The explanation names another option as the answer, or arrives at another option's number."""
    if question.answer_index is None:
        return
    labels = [label for label, _ in question.options]
    letter = _stated_letter(question)
    if letter is not None and letter[0] in labels:
        if letter[0] != labels[question.answer_index]:
            yield Fault("the explanation names another option", letter[1])
        return
    numbers, stated = _option_numbers(question), _stated_result(question)
    if numbers is None or stated is None or stated[0] not in numbers:
        return
    key = numbers[question.answer_index]
    if key != stated[0] and not _mentions(question.explanation, key):
        yield Fault("the explanation arrives at another option", stated[1])


def _leakage(question: Question) -> Iterator[Fault]:
    """The explanation gives away the exact text of the right option."""
    key = question.key
    if not key or not question.explanation:
        return
    if number_of(key) is None and len(key) < 4:
        return
    pattern = rf"(?<![\w.,]){re.escape(key.casefold())}(?!\w|[.,]\d)"
    if re.search(pattern, question.explanation.casefold()):
        yield Fault("the explanation holds the right option's text", key)


def _impossible(question: Question) -> Iterator[Fault]:
    why = impossible_key(question)
    if why:
        yield Fault(why, question.key or question.answer)


def _wrong_equations(question: Question) -> Iterator[Fault]:
    for equation in _equations(question):
        if equation.holds is False:
            yield Fault("wrong equation", equation.text)


def _equations(question: Question) -> tuple[Equation, ...]:
    return find_equations(question.explanation) + find_equations(question.key or "")


_STEP = re.compile(
    r"^\s*(?:[-*•]\s|\d{1,2}[.)]\s|step\s*\d)|(?:^|(?<=[.!?]\s))(?:first|second|third|next|then|finally|lastly)\b",
    re.IGNORECASE | re.MULTILINE,
)


def _steps(question: Question) -> int:
    return sum(1 for _ in _STEP.finditer(question.explanation))


def _words(text: str) -> int:
    return sum(1 for _ in re.finditer(r"\w+(?:['’.,-]\w+)*", text))


# --- features ---------------------------------------------------------------------------------------------

Check = Callable[[Question], Iterator[Fault]]


def _number(name: str, says: str, high: float, count: Callable[[Question], float]) -> Feature:
    def compute(texts: Texts) -> float:
        question = question_of(texts)
        return 0.0 if question is None else float(count(question))

    return Feature(name, says, 0, high, compute)


def _check(name: str, says: str, check: Check, *, counts: bool = False) -> Feature:
    def faults(texts: Texts) -> list[Fault]:
        if check not in texts.derived:
            question = question_of(texts)
            texts.derived[check] = [] if question is None else list(check(question))
        found: list[Fault] = texts.derived[check]  # type: ignore[assignment]
        return found

    def compute(texts: Texts) -> float:
        return float(len(faults(texts))) if counts else float(bool(faults(texts)))

    def evidence(texts: Texts) -> list[Span]:
        spans = (_located(texts.response, fault) for fault in faults(texts)[:EVIDENCE_LIMIT])
        return [span for span in spans if span is not None]

    return Feature(name, says, 0, inf if counts else 1, compute, evidence)


def _located(response: str, fault: Fault) -> Span | None:
    """Where the response shows the fault: as it stands, or as JSON writes it."""
    for shown in (fault.shown, json.dumps(fault.shown)[1:-1], json.dumps(fault.shown, ensure_ascii=False)[1:-1]):
        start = response.find(shown)
        if shown and start >= 0:
            return Span("response", start, start + len(shown), shown[:200], fault.label)
    return None


FEATURES: tuple[Feature, ...] = (
    _number("is_question", "1 if the response is an educational question, as JSON or plain text", 1, lambda _: 1),
    _number("is_mcq", "1 if it is a multiple-choice question", 1, lambda question: question.is_mcq),
    _number("mcq_option_count", "options of the question", inf, lambda question: len(question.options)),
    _check("mcq_answer_unmapped", "1 if the answer's letter maps to no option", _unmapped),
    _check("mcq_answer_missing", "1 if a multiple-choice question has no answer", _missing),
    _check("mcq_key_absent", "1 if the right answer is clearly not among the options", _key_absent),
    _check("mcq_duplicate_options", "options that repeat another, number formats aside", _duplicates, counts=True),
    _check("mcq_empty_options", "options without text", _empty, counts=True),
    _check("mcq_key_mismatch", "1 if the explanation clearly arrives at another option than the key", _mismatch),
    _check("mcq_leakage", "1 if the explanation holds the exact text of the right option", _leakage),
    _check("impossible_pattern", "1 if the key cannot be an answer to what is asked", _impossible),
    _check("question_wrong_equations", "wrong equations in explanation and key", _wrong_equations, counts=True),
    _number(
        "has_explanation",
        "1 if the question has an explanation",
        1,
        lambda item: bool(re.search(r"\w", item.explanation)),
    ),
    _number("explanation_word_count", "words of the explanation", inf, lambda item: _words(item.explanation)),
    _number("explanation_step_count", "steps the explanation marks: numbers, bullets, then, next", inf, _steps),
    _number("question_word_count", "words of the question's stem", inf, lambda item: _words(item.text)),
    _number("question_has_image", "1 if the question comes with an image", 1, lambda item: item.has_image),
)
