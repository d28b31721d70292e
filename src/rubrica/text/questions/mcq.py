"""Checks of an educational question: key, options, explanation. Each speaks up only in clear cases."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from math import inf

from rubrica.text.language import HAN, STEP
from rubrica.text.maths.conclusion import stated_letter
from rubrica.text.maths.linear_equation import other_solutions
from rubrica.text.maths.stem_solution import solve_stem
from rubrica.text.questions.answer_key import (
    absent_key,
    contradicted_key,
    duplicated_key,
    option_key,
    unreached_key,
)
from rubrica.text.questions.explanation_steps import miscalculated_key, stray_numbers, unfit_steps, wrong_equations
from rubrica.text.questions.impossible import impossible_key
from rubrica.text.questions.options import letter_of, number_of
from rubrica.text.questions.question import Question, QuestionFault, read_question
from rubrica.text.texts import Feature, Span, Texts

__all__ = ["FEATURES", "Question", "QuestionFault", "read_question"]

EVIDENCE_LIMIT = 20


def question_of(texts: Texts) -> Question | None:
    """The question in the response, read once."""
    if question_of not in texts.derived:
        texts.derived[question_of] = read_question(texts.whole_response)  # of JSON, a head and a tail are no question
    question: Question | None = texts.derived[question_of]  # type: ignore[assignment]
    return question


# --- structure --------------------------------------------------------------------------------------------


def _unmapped(question: Question) -> Iterator[QuestionFault]:
    letter = letter_of(question.answer)
    if question.chooses and letter is not None and question.answer_index is None:
        yield QuestionFault("the answer's letter is no option", question.answer)


def _missing(question: Question) -> Iterator[QuestionFault]:
    if question.is_mcq and not question.answer:
        yield QuestionFault("no answer is given", question.text)


def _empty(question: Question) -> Iterator[QuestionFault]:
    for letter, text in question.options:
        if not re.search(r"[^\s.…_-]", text):
            yield QuestionFault(f"option {letter} is empty", text or letter)


def _duplicates(question: Question) -> Iterator[QuestionFault]:
    """Options that repeat an earlier one; where the form of a number is the question, only exact repeats count."""
    same = option_key(question.text)
    seen: set[str] = set()
    for letter, text in question.options:
        if text and same(text) in seen:
            yield QuestionFault(f"option {letter} repeats another", text)
        seen.add(same(text))


# --- the explanation ---------------------------------------------------------------------------------------


def _leakage(question: Question) -> Iterator[QuestionFault]:
    """The explanation gives away the exact text of the right option."""
    if _holds_key(question.explanation, question.key):
        yield QuestionFault("the explanation holds the right option's text", question.key or "")


def _hint_leakage(question: Question) -> Iterator[QuestionFault]:
    """A hint, read before the answer is due, gives away the right option: by its text, or by its letter."""
    if _holds_key(question.hints, question.key):
        yield QuestionFault("a hint holds the right option's text", question.key or "")
    letter = stated_letter(question.hints)
    right = None if question.answer_index is None else question.options[question.answer_index][0]
    if letter is not None and letter[0] == right:
        yield QuestionFault("a hint names the right option", letter[1])


def _holds_key(text: str, key: str | None) -> bool:
    if not key or not text or (number_of(key) is None and len(key) < 4):
        return False
    return re.search(rf"(?<![\w.,]){re.escape(key.casefold())}(?!\w|[.,]\d)", text.casefold()) is not None


def _impossible(question: Question) -> Iterator[QuestionFault]:
    why = impossible_key(question)
    if why:
        yield QuestionFault(why, question.key or question.answer)


def _wrong_equations(question: Question) -> Iterator[QuestionFault]:
    for equation in wrong_equations(question):
        yield QuestionFault("wrong equation", equation.text)
    for text in unfit_steps(question):
        yield QuestionFault("a step that does not hold", text)
    for text in stray_numbers(question):
        yield QuestionFault("a number that comes from nowhere", text)
    solution = solve_stem(question.text)
    if solution is not None and solution.unknown:
        for step in other_solutions(question.explanation, solution.unknown, solution.value):
            yield QuestionFault("a step that changes the solution", step.text)


def _steps(question: Question) -> int:
    return sum(1 for _ in STEP.finditer(question.explanation))


def _words(text: str) -> int:
    """Words; where they are not set apart, as in Chinese, two signs count as one."""
    signs = len(HAN.findall(text))
    return sum(1 for _ in re.finditer(r"\w+(?:['’.,-]\w+)*", HAN.sub(" ", text))) + (signs + 1) // 2


# --- features ---------------------------------------------------------------------------------------------

Check = Callable[[Question], Iterator[QuestionFault]]


def _number(name: str, says: str, high: float, count: Callable[[Question], float]) -> Feature:
    def compute(texts: Texts) -> float:
        question = question_of(texts)
        return 0.0 if question is None else float(count(question))

    return Feature(name, says, 0, high, compute)


def check_feature(name: str, says: str, check: Check, *, counts: bool = False) -> Feature:
    def faults(texts: Texts) -> list[QuestionFault]:
        if check not in texts.derived:
            question = question_of(texts)
            texts.derived[check] = [] if question is None else list(check(question))
        found: list[QuestionFault] = texts.derived[check]  # type: ignore[assignment]
        return found

    def compute(texts: Texts) -> float:
        return float(len(faults(texts))) if counts else float(bool(faults(texts)))

    def evidence(texts: Texts) -> list[Span]:
        spans = (_located(texts.response, fault) for fault in faults(texts)[:EVIDENCE_LIMIT])
        return [span for span in spans if span is not None]

    return Feature(name, says, 0, inf if counts else 1, compute, evidence)


def _located(response: str, fault: QuestionFault) -> Span | None:
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
    check_feature("mcq_answer_unmapped", "1 if the answer's letter maps to no option", _unmapped),
    check_feature("mcq_answer_missing", "1 if a multiple-choice question has no answer", _missing),
    check_feature("mcq_key_absent", "1 if the right answer is clearly not among the options", absent_key),
    check_feature(
        "mcq_duplicate_options", "options that repeat another, number formats aside", _duplicates, counts=True
    ),
    check_feature("mcq_empty_options", "options without text", _empty, counts=True),
    check_feature(
        "mcq_key_mismatch", "1 if the explanation clearly arrives at another option than the key", contradicted_key
    ),
    check_feature(
        "mcq_key_unreached", "1 if the explanation calculates and never comes to the key's number", unreached_key
    ),
    check_feature("mcq_key_duplicated", "options that say the same as the key", duplicated_key, counts=True),
    check_feature(
        "mcq_key_miscalculated", "1 if the key is the result of an equation that does not hold", miscalculated_key
    ),
    check_feature("mcq_leakage", "1 if the explanation holds the exact text of the right option", _leakage),
    check_feature(
        "hint_leakage", "hints that give the right option away, by its text or its letter", _hint_leakage, counts=True
    ),
    check_feature("impossible_pattern", "1 if the key cannot be an answer to what is asked", _impossible),
    check_feature("question_wrong_equations", "wrong equations in explanation and key", _wrong_equations, counts=True),
    _number(
        "has_explanation",
        "1 if the question has an explanation",
        1,
        lambda item: bool(re.search(r"\w", item.explanation)),
    ),
    _number("explanation_word_count", "words of the explanation", inf, lambda item: _words(item.explanation)),
    _number(
        "explanation_step_count",
        "steps the explanation marks: numbers, bullets, words such as next",
        inf,
        _steps,
    ),
    _number("question_word_count", "words of the question's stem", inf, lambda item: _words(item.text)),
    _number("question_has_image", "1 if the question comes with an image", 1, lambda item: item.has_image),
)
