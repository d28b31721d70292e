"""The types of questions, and whether an answer has the form of its type and agrees with stem and explanation.

What can be solved is: a question whose whole form is understood, an equation with a gap, options that are numbers, a
statement about numbers. Anything else is held against the explanation. In doubt nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.amounts import amounts_of
from rubrica.text.maths.arithmetic import find_equations
from rubrica.text.maths.number_property import claim_holds, fitting_options, sorted_places
from rubrica.text.maths.stem_solution import solve_stem
from rubrica.text.questions.answer_key import absent_key, contradicted_key, unreached_key
from rubrica.text.questions.asked import asks_for_misfit
from rubrica.text.questions.matching import MatchingParts, mispaired, pairing_faults
from rubrica.text.questions.mcq import check_feature, question_of
from rubrica.text.questions.options import number_of, option_index
from rubrica.text.questions.question import Question, QuestionFault
from rubrica.text.texts import Feature, Texts

LONGEST_SHORT_ANSWER = 60  # words
_BLANK = lazy_pattern(r"_{2,}|\[\s*\]|\(\s*\)|□|\\_{2,}|\.{4,}|…")
_VAGUE = lazy_pattern(r"\bor\s+so\b", re.IGNORECASE)
_TRUTHS = {"true": True, "t": True, "yes": True, "right": True, "false": False, "f": False, "no": False, "wrong": False}
_TRUE_OR_FALSE = lazy_pattern(r"\b(?:is\s+(?:this|it)\s+)?true\s+or\s+false\b[\s:.?-]*", re.IGNORECASE)
_FINDING = lazy_pattern(
    r"\b(?:statement|sentence|equation|claim|it|this|that|answer)\b[^.\n]{0,30}\b(?:is|be)\s+(?P<not>not\s+)?(?P<said>true|false)\b",
    re.IGNORECASE,
)
_LETTERS = lazy_pattern(
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
        case "true-false":
            yield from _half_truths(question)
        case "fill-in":
            yield from _misfilled(question)
        case "numeric" if question.answer and (not amounts_of(question.answer) or _VAGUE.search(question.answer)):
            yield QuestionFault("a number is asked for, and the answer has none", question.answer)
        case "short-answer" if len(question.answer.split()) > LONGEST_SHORT_ANSWER:
            yield QuestionFault("the answer is too long for a short one", question.answer)
        case "multi-select" | "ordering":
            yield from _misnamed(question)
        case "matching":
            faults = pairing_faults(question.matching or MatchingParts(), question.text)
            yield from (QuestionFault(fault, question.text) for fault in faults)
        case _:
            pass
    if question.kind and question.kind not in {"mcq", "open", "matching"} and not question.answer:
        yield QuestionFault("no answer is given", question.text)


def _half_truths(question: Question) -> Iterator[QuestionFault]:
    if question.answer and _truth(question) is None:
        yield QuestionFault("the answer is neither true nor false", question.answer)
    elif question.options and not {True, False} <= {_truth_of(text) for _, text in question.options}:
        yield QuestionFault("the options are not true and false", question.text)


def _misfilled(question: Question) -> Iterator[QuestionFault]:
    gaps = len(_BLANK.findall(question.text))
    if not gaps and "?" not in question.text:
        yield QuestionFault("there is no gap to fill in", question.text)
    elif gaps > 1 and question.answer and not re.search(r"[,;/|&\n]|\band\b|\s", question.answer):
        yield QuestionFault("there are more gaps than answers", question.answer)


def _misnamed(question: Question) -> Iterator[QuestionFault]:
    if not question.answer or (not question.options and question.kind == "ordering"):
        return  # the items may stand in the question itself
    if len(question.options) < 2:
        yield QuestionFault("there are no options to choose from", question.text)
        return
    places = [option_index(part, question.options) for part in parts_of(question.answer)]
    if None in places:
        yield QuestionFault("the answer names something that is no option", question.answer)
    elif len(set(places)) < len(places):
        yield QuestionFault("the answer names an option twice", question.answer)
    elif question.kind == "ordering" and len(places) < len(question.options):
        yield QuestionFault("the order leaves options out", question.answer)


def _truth(question: Question) -> bool | None:
    return _truth_of(question.key if question.key is not None else question.answer)


def _truth_of(written: str) -> bool | None:
    return _TRUTHS.get(written.strip(" .!").lower())


# --- agreement --------------------------------------------------------------------------------------------


def mismatched_answer(question: Question) -> Iterator[QuestionFault]:
    """An answer that is not what the stem comes to, or what the explanation does."""
    found = next((why for check in _DISAGREEMENTS if (why := check(question))), "")
    if found:
        yield QuestionFault(found, question.answer or question.text)


def _bare(answer: str) -> str:
    """An answer without its unit and without the unknown it is the value of."""
    plain = re.sub(r"^\s*[a-zA-Z]\s*=\s*", "", answer)
    return re.sub(r"(?<=[\d)])\s*(?:°|[a-zA-Z²³]{1,12}(?:\s[a-zA-Z²³]{1,12})?)\.?$", "", plain).strip()


def _unsolved(question: Question) -> str:
    """Why the answer is not what solves the question; nothing where it is, or where the question is not understood."""
    if asks_for_misfit(question.text) or question.kind in {"multi-select", "ordering", "true-false"}:
        return ""
    solution = solve_stem(question.text)
    answer = question.key if question.key is not None else question.answer
    if solution is None or solution.agrees(answer) is not False:
        return ""
    return f"{solution.how} in the question has another result"


def _unfilled(question: Question) -> str:
    if question.options or len(_BLANK.findall(question.text)) != 1 or number_of(_bare(question.answer)) is None:
        return ""
    filled = _BLANK.sub(lambda _: f" {_bare(question.answer)} ", question.text)
    wrong = [found for found in find_equations(filled) if found.holds is False]
    return "the answer does not fill the gap of the equation" if wrong else ""


def _misfitting(question: Question) -> str:
    """Why the keyed options are not those that the question asks for, where they are numbers."""
    keyed = _keyed(question)
    texts = [text for _, text in question.options]
    if None in keyed or not keyed or len(set(keyed)) < len(keyed) or not texts:
        return ""
    if question.kind == "ordering":
        order = sorted_places(question.text, texts)
        return "the numbers are in another order" if order and len(order) == len(keyed) and order != keyed else ""
    fitting = fitting_options(question.text, texts)
    if fitting is None or fitting == set(keyed):
        return ""
    if question.is_mcq and fitting > set(keyed):
        return "more than one option is right"
    return "other options have what is asked for"


def _keyed(question: Question) -> list[int | None]:
    if question.kind in {"multi-select", "ordering"}:
        return [option_index(part, question.options) for part in parts_of(question.answer)]
    return [question.answer_index]


def _mispaired(question: Question) -> str:
    return mispaired(question.matching) if question.matching else ""


def _untrue(question: Question) -> str:
    if question.kind != "true-false" or (truth := _truth(question)) is None:
        return ""
    holds = claim_holds(question.text)
    if holds is not None:
        return "" if holds is truth else "what the statement says can be worked out, and is otherwise"
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
    if question.options or number_of(_bare(question.answer)) is None:
        return ""
    alone = Question(question.text, (("A", question.answer),), "A", 0, question.explanation, "mcq")
    reaches = not any(any(check(alone)) for check in (absent_key, contradicted_key, unreached_key))
    return "" if reaches else "the explanation comes to another result"


_DISAGREEMENTS = (_unsolved, _unfilled, _misfitting, _mispaired, _untrue, _other_letters, _unexplained)


def _is_solved(texts: Texts) -> float:
    """Whether the question is of a form that is solved here, so that its key was held against the solution."""
    question = question_of(texts)
    if question is None or (asks_for_misfit(question.text) and not question.options):
        return 0.0
    options = [text for _, text in question.options]
    solution = None if asks_for_misfit(question.text) else solve_stem(question.text)
    agrees = solution is not None and solution.agrees(question.key or question.answer) is not None
    return float(agrees or _is_tried(question, options))


def _is_tried(question: Question, options: Sequence[str]) -> bool:
    """Whether a statement, or the options, are about numbers and were tried."""
    if question.kind == "true-false":
        return claim_holds(question.text) is not None
    if question.kind == "ordering":
        return sorted_places(question.text, options) is not None
    return bool(options) and fitting_options(question.text, options) is not None


FEATURES: tuple[Feature, ...] = (
    Feature(
        "question_solved",
        "1 if the answer was worked out from the question's own words, and the key could be held against it",
        0,
        1,
        _is_solved,
    ),
    check_feature(
        "answer_malformed", "1 if the answer lacks the form that its type of question needs", malformed_answer
    ),
    check_feature(
        "answer_mismatch",
        "1 if the answer is not what the question's calculation, or the explanation, comes to",
        mismatched_answer,
    ),
)
