"""Whether the steps of an explanation hold: its equations, its claims in words, and where its numbers come from.

As with the key, each check speaks up only in clear cases.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rubrica.text.maths.algebra import letters_of, read_relation, unknowns_of
from rubrica.text.maths.amounts import Amount
from rubrica.text.maths.arithmetic import Equation, find_equations
from rubrica.text.maths.common_solution import clashing_equations
from rubrica.text.maths.conclusion import without_checks
from rubrica.text.maths.continued_lines import continued_equations
from rubrica.text.maths.inequalities import unfit_inequalities
from rubrica.text.maths.latex import plain_maths
from rubrica.text.maths.letter_values import unfit_equations
from rubrica.text.maths.linear_equation import wrong_moves
from rubrica.text.maths.measure_claims import wrong_measures
from rubrica.text.maths.number_sources import unsourced_numbers
from rubrica.text.maths.ratio_shares import uneven_shares, unlike_ratios, unlike_shares
from rubrica.text.maths.solution import find_wrong_steps
from rubrica.text.maths.word_claims import wrong_claims
from rubrica.text.questions.answer_key import focused, option_amounts
from rubrica.text.questions.options import number_of
from rubrica.text.questions.question import Question, QuestionFault


def miscalculated_key(question: Question) -> Iterator[QuestionFault]:
    """An equation that does not hold has the key for its result."""
    key = option_amounts(question.key or "")
    if len(key) != 1:
        return
    for equation in wrong_equations(question):
        if _is_result(equation, key[0]):
            yield QuestionFault("the key is the result of a wrong equation", equation.text)


def unfit_steps(question: Question) -> list[str]:
    """The steps of the explanation that cannot be: equations with letters that do not fit the values, or the other
    forms, that it gives them, and claims in words or ratios that do not hold."""
    texts = [text for _, text in question.options]
    unknowns = unknowns_of(question.text, question.explanation, *texts)
    key = read_relation(question.key or "", unknowns)
    formulas = key is not None and any(len(side) > 1 and letters_of(side) for side in key.sides)
    explanation = without_checks(focused(question).explanation)
    unfit = unfit_equations(explanation, question.text, *texts, formulas=formulas)
    ranges = unfit_inequalities(explanation, question.key or "")
    moves = wrong_moves(explanation, question.text)
    clashes = () if formulas else clashing_equations(explanation, question.text, *texts)
    return list(
        dict.fromkeys((*unfit, *clashes, *ranges, *moves, *wrong_claims(explanation), *wrong_measures(explanation)))
    )


def stray_numbers(question: Question) -> list[str]:
    """The number of the explanation that comes from nowhere, where all others have a source, and shares of a ratio
    that are not the question's."""
    explanation = without_checks(focused(question).explanation)
    stray = unsourced_numbers(explanation, question.text, question.key or "")
    plain = plain_maths(explanation)
    return [*stray, *unlike_shares(explanation, question.text), *unlike_ratios(plain), *uneven_shares(plain)]


def wrong_equations(question: Question) -> list[Equation]:
    """The equations in the explanation and in the key that clearly do not hold."""
    explanation = plain_maths(question.explanation)
    across = [replace(step, text=line) for step, line in continued_equations(explanation) if step.holds is False]
    return (
        find_wrong_steps(explanation)
        + across
        + _wrong_both_ways(explanation)
        + find_wrong_steps(plain_maths(question.key or ""))
    )


def _wrong_both_ways(text: str) -> list[Equation]:
    """The equations with ± that hold neither with a plus nor with a minus in its place."""
    if "±" not in text:
        return []
    plus, minus = (find_equations(text.replace("±", sign)) for sign in "+-")
    wrong = {(each.start, each.end) for each in minus if each.holds is False}
    found = [each for each in plus if each.holds is False and (each.start, each.end) in wrong]
    written = [text[each.start : each.end] for each in found]
    return [replace(each, text=as_is) for each, as_is in zip(found, written, strict=True) if "±" in as_is]


def _is_result(equation: Equation, key: Amount) -> bool:
    value = number_of(equation.right)
    return value is not None and value == key.value
