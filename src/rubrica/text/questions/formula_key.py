"""Whether an explanation ends on the formula that the key is, or on that of another option: 12x/y, x < -3, 8√2.

Formulas are compared by what they come to, not by how they are written: 2(a + b) is 2b + 2a. In doubt nothing is said.
"""

from __future__ import annotations

import msgspec

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.algebra import Relation, are_same, read_relation, relations_in, unknowns_of
from rubrica.text.maths.amounts import amounts_of
from rubrica.text.maths.conclusion import SENTENCE, is_label, is_remark, without_checks
from rubrica.text.maths.equation_sides import OPERATIVE, listed_words
from rubrica.text.maths.latex import plain_maths
from rubrica.text.questions.asked import asks_for_misfit
from rubrica.text.questions.question import Question

_REST = lazy_pattern(r"[\s.,!$°)]*(?:[^\W\d_]{2,12}[\s.,!]*){0,3}")  # what may stand after the last formula
_BRACKETED = lazy_pattern(r"\s\([^\W\d_]{2}[^()\d=]{0,90}\)")  # words alone: why a step is right
_COMPARES = lazy_pattern(r"[<>≤≥=^√]|[a-zπ]\d|\d[a-zπ]\b")
_OPEN_ENDS = (*"+-*/×÷^(", " not", " than", " from", " of", " or", " and", " x")
_CONCLUDES = lazy_pattern(r"\b(?:answer|biggest|largest|smallest|least)\s+is:?\s$")
_STATES = lazy_pattern(r"\b(?:is|are|be|becomes?|called|means|answer):?\s(?:an?\s|the\s)?$")
_LED_TO = listed_words("so is are be hence thus therefore gives get left with becomes equals to : = , => -> ⇒ →")


def ending_option(question: Question) -> int | None:
    """The option that the last statement ends on, as it is written; None where that is unclear.

    A number alone is no such option, and words are one only where they are called the answer, or where something is
    what they say and the key is not named anywhere: many a statement ends on either by chance.
    """
    if asks_for_misfit(question.text):
        return None
    last = _last_statement(question.explanation)
    unnamed = bool(question.key) and _words(question.key or "") not in _words(question.explanation)
    found = [
        (len(text), place)
        for place, text in enumerate(_words(text) for _, text in question.options)
        if text and last.endswith(text) and _stands_alone(text, last[: -len(text)], stated=unnamed)
    ]
    return max(found)[1] if found else None


def _last_statement(explanation: str) -> str:
    for line in reversed(without_checks(explanation).strip().splitlines()[-2:]):
        for sentence in reversed(SENTENCE.split(line)):
            if is_label(sentence.strip()):
                continue
            return "" if is_remark(sentence) else _words(sentence)
    return ""


def _words(text: str) -> str:
    plain = plain_maths(text).casefold().replace("−", "-").replace("–", "-")
    return " ".join(plain.split()).strip(" .,;!$")


def _stands_alone(option: str, before: str, *, stated: bool) -> bool:
    """Whether an option at the end of a statement is what it says, rather than a part of it; with `stated`, that
    something is so will do."""
    if len(before.rstrip()) == len(before) and before[-1:].isalnum():
        return False
    if any(sign.isdigit() for sign in option):
        plain = len(amounts_of(option)) == 1 and not _COMPARES.search(option)
        return not plain and not before.rstrip().endswith(_OPEN_ENDS)
    return (_STATES if stated else _CONCLUDES).search(before) is not None


class FormulaEnd(msgspec.Struct, frozen=True):
    """What an explanation ends on, and which options say the same."""

    shown: str
    options: tuple[int, ...]  # their places
    near: bool  # words lead to it, and it has the letters and the form of the key: it takes the key's place


def formula_end(question: Question) -> FormulaEnd | None:
    """What the explanation of a question with formulas for options ends on; None where that is not clear."""
    key = question.answer_index
    if key is None or asks_for_misfit(question.text):
        return None
    texts = [text for _, text in question.options]
    unknowns = unknowns_of(question.text, question.explanation, *texts)
    options = [read_relation(text, unknowns) for text in texts]
    right = options[key]
    if right is None or not is_formula(right):
        return None
    last = _last_relation(question.explanation, unknowns)
    if last is None or last.before.lower() in OPERATIVE | {"of"}:
        return None
    ends = [last, *(_part(last, place) for place in ((-1,) if len(last.sides) > 1 else ()))]
    same = tuple(place for place, option in enumerate(options) if option and any(_agree(option, end) for end in ends))
    led = len(last.sides) > 1 or last.before.lower() in _LED_TO
    near = led and any(end.letters == right.letters and end.signs == right.signs and is_formula(end) for end in ends)
    return FormulaEnd(last.text, same, near)


def is_formula(relation: Relation) -> bool:
    """Whether it is more than a number: it has a letter, a sign of comparison, a root or a power."""
    tokens = [token for side in relation.sides for token in side]
    return any(token.kind in {"word", "root", "power"} or token.text == "^" for token in tokens)


def _agree(option: Relation, end: Relation) -> bool:
    if are_same(option, end):
        return True
    letter = len(option.sides) == 2 and option.signs == ("=",) and len(option.sides[0]) == 1
    return letter and len(end.sides) == 1 and are_same(_part(option, -1), end)  # "h = 2A/b" and 2A/b


def _part(relation: Relation, place: int) -> Relation:
    return msgspec.structs.replace(relation, sides=(relation.sides[place],), signs=())


def _last_relation(explanation: str, unknowns: frozenset[str]) -> Relation | None:
    """The relation that the last statement ends on."""
    for line in reversed(without_checks(explanation).strip().splitlines()[-2:]):
        for written in reversed(SENTENCE.split(line)):
            if is_label(written.strip()):
                continue
            sentence = _BRACKETED.sub("", plain_maths(written))
            found = list(relations_in(sentence, unknowns))
            if is_remark(sentence) or not found:
                return None
            last = found[-1]
            ends = _REST.fullmatch(sentence, last.end) is not None and last.after.lower() not in OPERATIVE
            return last if ends else None
    return None
