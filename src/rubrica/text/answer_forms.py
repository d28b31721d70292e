"""The types of questions, and whether an answer has the form of its type and agrees with stem and explanation.

What can be worked out is: a calculation that the stem asks for, an equation with a gap, a statement that is one.
Anything else is held against the explanation. In doubt nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.answer_key import absent_key, contradicted_key, unreached_key
from rubrica.text.arithmetic import evaluate, find_equations
from rubrica.text.asked import asks_for_misfit
from rubrica.text.mcq import check_feature
from rubrica.text.options import number_of, option_index
from rubrica.text.question import Question, QuestionFault

_BLANK = re.compile(r"_{2,}|\[\s*\]|\(\s*\)|□|\\_{2,}|\.{4,}|…")
_TRUTHS = {"true": True, "t": True, "yes": True, "right": True, "false": False, "f": False, "no": False, "wrong": False}
_TRUE_OR_FALSE = re.compile(r"\b(?:is\s+(?:this|it)\s+)?true\s+or\s+false\b[\s:.?-]*", re.IGNORECASE)
_FINDING = re.compile(
    r"\b(?:statement|sentence|equation|claim|it|this|that|answer)\b[^.\n]{0,30}\b(?:is|be)\s+(?P<not>not\s+)?(?P<said>true|false)\b",
    re.IGNORECASE,
)
_SUM = re.compile(
    r"^(?:what\s+is|what's|calculate|compute|evaluate|find|work\s+out|solve)?[\s:$]*"
    r"(?P<sum>[-−]?[\d(][\d\s.,()+*/×÷·^−\-]{1,60}[\d)])[\s$]*(?:=\s*(?:\?|_{2,})?)?[\s$]*[.?]?$",
    re.IGNORECASE,
)
_LETTERS = re.compile(
    r"\b(?:answers?|options?|choices?|letters?)\b[^\w\n]{0,3}(?:are\b)?[^\w\n]{0,3}"
    r"([A-H](?:\s*(?:,|;|&|\band\b|,\s*and\b)\s*[A-H])+)(?![A-Za-z])"
    r"|\b([A-H](?:\s*(?:,|;|&|\band\b|,\s*and\b)\s*[A-H])+)\s+are\s+(?:the\s+)?(?:correct|right)\b"
)


def parts_of(answer: str) -> list[str]:
    """The parts of an answer that names several: ["A", "C"] of "A and C"."""
    return [part for part in re.split(r"\s*(?:[,;&>→]|\band\b)\s*", answer) if part]


# --- the form ---------------------------------------------------------------------------------------------


def malformed_answer(question: Question) -> Iterator[QuestionFault]:
    """An answer that does not have the form its type of question needs."""
    match question.kind:
        case "true-false" if question.answer and _truth(question) is None:
            yield QuestionFault("the answer is neither true nor false", question.answer)
        case "fill-in" if not _BLANK.search(question.text) and "?" not in question.text:
            yield QuestionFault("there is no gap to fill in", question.text)
        case "numeric" if question.answer and not re.search(r"\d", question.answer):
            yield QuestionFault("a number is asked for, and the answer has none", question.answer)
        case "multi-select" | "ordering" if question.options and question.answer:
            yield from _misnamed(question)
        case _:
            pass
    if question.kind and question.kind not in {"mcq", "open", "matching"} and not question.answer:
        yield QuestionFault("no answer is given", question.text)


def _misnamed(question: Question) -> Iterator[QuestionFault]:
    places = [option_index(part, question.options) for part in parts_of(question.answer)]
    if None in places:
        yield QuestionFault("the answer names something that is no option", question.answer)
    elif len(set(places)) < len(places):
        yield QuestionFault("the answer names an option twice", question.answer)
    elif question.kind == "ordering" and len(places) < len(question.options):
        yield QuestionFault("the order leaves options out", question.answer)


def _truth(question: Question) -> bool | None:
    written = question.key if question.key is not None else question.answer
    return _TRUTHS.get(written.strip(" .!").lower())


# --- agreement --------------------------------------------------------------------------------------------


def mismatched_answer(question: Question) -> Iterator[QuestionFault]:
    """An answer that is not what the stem comes to, or what the explanation does."""
    found = _worked_out(question) or _untrue(question) or _other_letters(question)
    if not found and not question.options and number_of(_bare(question.answer)) is not None:
        found = _unexplained(question)
    if found:
        yield QuestionFault(found, question.answer)


def _bare(answer: str) -> str:
    """An answer without its unit and without the unknown it is the value of."""
    plain = re.sub(r"^\s*[a-zA-Z]\s*=\s*", "", answer)
    return re.sub(r"(?<=[\d)])\s*(?:°|[a-zA-Z²³]{1,12}(?:\s[a-zA-Z²³]{1,12})?)\.?$", "", plain).strip()


def _worked_out(question: Question) -> str:
    """Why the answer is not what the stem's calculation comes to; nothing where it is, or where there is none."""
    key = number_of(_bare(question.key if question.key is not None else question.answer))
    if key is None or asks_for_misfit(question.text):
        return ""
    asked = _SUM.match(question.text.strip())
    if asked is not None:
        value = _value(asked["sum"])
        rounded = (
            value is not None and abs(value - key) < Fraction(1, 2) and value.denominator not in {1, key.denominator}
        )
        return "" if value in {None, key} or rounded else "the calculation in the question has another result"
    blanks = _BLANK.findall(question.text)
    if question.options or len(blanks) != 1:
        return ""
    filled = _BLANK.sub(lambda _: f" {_bare(question.answer)} ", question.text)
    wrong = [found for found in find_equations(filled) if found.holds is False]
    return "the answer does not fill the gap of the equation" if wrong else ""


def _value(written: str) -> Fraction | None:
    try:
        return Fraction(evaluate(written))
    except (FormulaError, FormulaFault, OverflowError):
        return None


def _untrue(question: Question) -> str:
    if question.kind != "true-false" or (truth := _truth(question)) is None:
        return ""
    claims = find_equations(_TRUE_OR_FALSE.sub("", question.text))
    if len(claims) == 1 and claims[0].holds is not None and claims[0].holds is not truth and "not" not in question.text:
        return "the equation of the statement says otherwise"
    findings = {
        (match["said"].lower() == "true") is not bool(match["not"]) for match in _FINDING.finditer(question.explanation)
    }
    return "the explanation says otherwise" if findings == {not truth} else ""


def _other_letters(question: Question) -> str:
    if question.kind != "multi-select":
        return ""
    keyed = {option_index(part, question.options) for part in parts_of(question.answer)}
    said = [match[1] or match[2] for match in _LETTERS.finditer(question.explanation)]
    named = {option_index(part, question.options) for part in parts_of(said[-1])} if said else set()
    return "the explanation names other options" if named and None not in keyed | named and named != keyed else ""


def _unexplained(question: Question) -> str:
    """Why the explanation does not come to the answer, as that of a question with this one option would not."""
    alone = Question(question.text, (("A", question.answer),), "A", 0, question.explanation, "mcq")
    reaches = not any(any(check(alone)) for check in (absent_key, contradicted_key, unreached_key))
    return "" if reaches else "the explanation comes to another result"


FEATURES = (
    check_feature(
        "answer_malformed", "1 if the answer lacks the form that its type of question needs", malformed_answer
    ),
    check_feature(
        "answer_mismatch",
        "1 if the answer is not what the question's calculation, or the explanation, comes to",
        mismatched_answer,
    ),
)
