"""Whether the equations of an explanation hold for the values that it finds for its letters.

An explanation that ends with x = 4 must not have 3x = 20 among its steps. A letter with several values is taken at each
of them; one with none, or one that the explanation only tries, proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, pairwise, product
from math import pi

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.algebra import Relation, are_equal, gap_of, letters_of, relations_in, unknowns_of, worth
from rubrica.text.maths.conclusion import SENTENCE, is_remark
from rubrica.text.maths.equation_sides import OPERATIVE, listed_words
from rubrica.text.maths.expression import ArithmeticToken, Number
from rubrica.text.maths.misprints import with_bars

MOST_EQUATIONS = 200  # with letters, read in one explanation
MOST_VALUES = 24  # ways to choose among the values of the letters of one equation
MOST_TOKENS = 400  # of an expression with its letters written out: each may stand for several others

_TRIES = lazy_pattern(  # "if n is the number" and the like only name it
    r"\b(?:try|tried|(?:if|suppose)(?!\s\w{1,9}\s(?:is|be|are|denotes|represents)\b)|substitut\w+|plug\w*|guess\w*"
    r"|say|not|option\w*)\b",
    re.IGNORECASE,
)
_RATIO = lazy_pattern(r"(?<![A-Za-z])[A-Za-z\d](?::|\s:\s)[A-Za-z\d](?![A-Za-z])")
_CHANGES = OPERATIVE | {"of", "per", "at"}
_JOINS = listed_words(
    "and or so then thus hence therefore get gets gives give giving have has find that means is with where since as "
    "because let now using from to which implies yields we obtain"
)
_SIGNS = frozenset("+-*/×÷^(")
_EXACT, _ROUGH = 1e-9, 0.02

Values = Mapping[str, Sequence[Number]]
Link = tuple[Relation, Sequence[ArithmeticToken], Sequence[ArithmeticToken]]
_CONSTANTS: dict[str, list[Number]] = {"π": [Fraction(pi)]}
_OPEN, _CLOSE = ArithmeticToken("open", "(", 0, 0), ArithmeticToken("close", ")", 0, 0)


def unfit_equations(explanation: str, *others: str, formulas: bool = False) -> Iterator[str]:
    """The equations that none of the values found for their letters fulfils; `others` show which letters are unknowns.

    With `formulas`, a formula is asked for: letters stay free, and what is transformed must stay the same.

    >>> list(unfit_equations("7n + 3n = 50, so 11n = 50 and n = 5."))
    ['11n = 50']
    >>> list(unfit_equations("3(t - 2) = 3t - 5", formulas=True))
    ['3(t - 2) = 3t - 5']
    """
    unknowns = unknowns_of(explanation, *others)
    found = list(islice(equations_in(explanation, unknowns), MOST_EQUATIONS)) if unknowns else []
    links = [
        (relation, one, two)
        for relation in found
        for one, two in links_of(relation)
        if letters_of(one) | letters_of(two)
    ]
    values = settled_values(found) | _CONSTANTS
    gaps = [_least_gap(one, two, values) for _, one, two in links]
    precise = [_is_precise(one, two) for _, one, two in links]
    exact = any(gap is not None and gap <= _EXACT and sure for gap, sure in zip(gaps, precise, strict=True))
    defined = _definitions(links, values) if formulas else {}
    for gap, sure, (relation, one, two) in zip(gaps, precise, links, strict=True):
        if gap is None:
            unfit = not _is_kept(one, two, defined, values, chained=formulas or len(relation.sides) > 2)
        else:
            allowed = _EXACT if (exact and sure) or _is_past_rounding(one, two, values) else _ROUGH
            unfit = gap > allowed
        if unfit:
            yield relation.text


def fulfilled_numbers(explanation: str, *others: str) -> frozenset[Fraction]:
    """The numbers of the equations that the values found for their letters fulfil to the last digit.

    >>> sorted(map(int, fulfilled_numbers("7n + 3n = 50, so 12n = 50 and n = 5.")))
    [3, 7, 50]
    """
    unknowns = unknowns_of(explanation, *others)
    found = list(islice(equations_in(explanation, unknowns), MOST_EQUATIONS)) if unknowns else []
    values = settled_values(found) | _CONSTANTS
    links = [link for relation in found for link in links_of(relation) if not any(map(_is_letter, link))]
    gaps = [_least_gap(one, two, values) for one, two in links]
    kept = [link for link, gap in zip(links, gaps, strict=True) if gap is not None and gap <= _EXACT]
    return frozenset(token.value for link in kept for side in link for token in side if token.value is not None)


def expression_values(explanation: str, stem: str) -> frozenset[Fraction]:
    """What the expressions of a question and its explanation come to for the values found for their letters.

    >>> sorted(map(int, expression_values("4n = 32, so n = 8.", "Sides of n + 3 and 2n - 1.")))
    [11, 15, 32]
    """
    unknowns = unknowns_of(explanation, stem)
    if not unknowns:
        return frozenset()
    found = list(islice(equations_in(explanation, unknowns), MOST_EQUATIONS))
    values = {letter: each[-1] for letter, each in settled_values(found).items()}
    sides = (side for text in (explanation, stem) for each in relations_in(text, unknowns) for side in each.sides)
    worths = (
        worth(side, values) for side in islice(sides, MOST_EQUATIONS) if letters_of(side) and not _is_letter(side)
    )
    return frozenset(each for each in worths if isinstance(each, Fraction))


def equations_in(explanation: str, unknowns: frozenset[str]) -> Iterator[Relation]:
    """The equations with letters, those left out that are tried, or that stand among ratios."""
    for line in explanation.splitlines():
        for sentence in SENTENCE.split(line):
            if not is_remark(sentence) and not _TRIES.search(sentence) and not _RATIO.search(sentence):
                yield from (
                    relation
                    for relation in relations_in(sentence, unknowns)
                    if relation.letters and set(relation.signs) == {"="}
                )


def _is_precise(one: Sequence[ArithmeticToken], two: Sequence[ArithmeticToken]) -> bool:
    """Whether an equation, where it holds, holds without rounding: it states no value, and does not put one for π."""
    return not (_is_letter(one) or _is_letter(two) or "π" in letters_of(one) ^ letters_of(two))


def settled_values(relations: Sequence[Relation]) -> dict[str, list[Number]]:
    """The values that equations give to single letters."""
    values: dict[str, list[Number]] = {}
    for relation in relations:
        for one, two in links_of(relation):
            for letter, side in ((one, two), (two, one)):
                value = worth(side, {}) if _is_letter(letter) else None
                if value is not None:
                    values.setdefault(letter[0].text, []).append(value)
    return values


def links_of(relation: Relation) -> Iterator[tuple[Sequence[ArithmeticToken], Sequence[ArithmeticToken]]]:
    """The equations of a chain, without an end that the words beside it change."""
    before, after = relation.before.lower(), relation.after.lower()
    named = before.isalpha() and before not in _JOINS and len(relation.sides[0]) == 1  # "the price in 1989 = x"
    first = 1 if named or before in _CHANGES else 0
    last = len(relation.sides) - (1 if after in OPERATIVE or after in _SIGNS else 0)
    yield from pairwise(relation.sides[first:last])


def _definitions(links: Sequence[Link], values: Values) -> dict[str, Sequence[ArithmeticToken]]:
    """What letters are worth in terms of others, the last first; no letter is defined by one that it defines."""
    defined: dict[str, Sequence[ArithmeticToken]] = {}
    free: set[str] = set()
    for _, one, two in reversed(links):
        for letter, side in ((one, two), (two, one)):
            used = letters_of(side)
            if _is_letter(letter) and used and letter[0].text not in {*used, *free, *defined, *values}:
                defined[letter[0].text] = side
                free |= used
    return defined


def _is_kept(
    one: Sequence[ArithmeticToken],
    two: Sequence[ArithmeticToken],
    defined: Mapping[str, Sequence[ArithmeticToken]],
    values: Values,
    *,
    chained: bool,
) -> bool:
    """Whether two expressions may be one and the same, for letters that have no values."""
    letters = letters_of(one) | letters_of(two)
    if letters & values.keys():
        return True
    if not letters & defined.keys():
        transformed = chained and letters_of(one) == letters_of(two)
        return not transformed or _is_letter(one) or _is_letter(two) or are_equal(one, two)
    left, right = _filled(one, defined), _filled(two, defined)
    return left is None or right is None or are_equal(left, right)


def _filled(
    side: Sequence[ArithmeticToken], defined: Mapping[str, Sequence[ArithmeticToken]]
) -> Sequence[ArithmeticToken] | None:
    """An expression with the letters that are defined written out; None where it gets too long."""
    for _ in range(len(defined)):
        if len(side) > MOST_TOKENS:
            return None
        side = [
            part
            for token in side
            for part in ((_OPEN, *defined[token.text], _CLOSE) if token.text in defined else (token,))
        ]
    return side


def _is_letter(side: Sequence[ArithmeticToken]) -> bool:
    return len(side) == 1 and side[0].kind == "word"


def _least_gap(one: Sequence[ArithmeticToken], two: Sequence[ArithmeticToken], values: Values) -> float | None:
    letters = sorted({token.text for token in (*one, *two) if token.kind == "word"})
    if not letters or any(letter not in values for letter in letters):
        return None
    ways = product(*(dict.fromkeys(values[letter]) for letter in letters))
    gaps = [
        gap_of(left, right, dict(zip(letters, way, strict=True)))
        for way in islice(ways, MOST_VALUES)
        for left in (one, *with_bars(one, broadly=True))
        for right in (two, *with_bars(two, broadly=True))
    ]
    known = [gap for gap in gaps if gap is not None]
    if not known or len(known) < len(gaps):
        return None
    return max(known) if _is_zero_product(one, two) or _is_zero_product(two, one) else min(known)


def _is_past_rounding(one: Sequence[ArithmeticToken], two: Sequence[ArithmeticToken], values: Values) -> bool:
    """Whether an equation of whole numbers with one letter holds for nothing that rounds to the letter's value."""
    letters = set(letters_of(one) | letters_of(two))
    chosen = {Fraction(value) for letter in letters for value in values[letter]}
    numbers = [token.value for token in (*one, *two) if token.value is not None]
    if len(letters) != 1 or len(chosen) != 1 or any(number.denominator != 1 for number in (*numbers, *chosen)):
        return False
    letter, value = letters.pop(), chosen.pop()
    tried = [{letter: value + step} for step in (Fraction(-1, 2), Fraction(0), Fraction(1, 2))]
    ends = [(worth(one, each), worth(two, each)) for each in tried]
    above = {None if left is None or right is None else left > right for left, right in ends}
    return len(above) == 1 and None not in above


def _is_zero_product(one: Sequence[ArithmeticToken], two: Sequence[ArithmeticToken]) -> bool:
    """Whether an equation says that a product of brackets is 0: then all that it leads to must fulfil it."""
    depth, factors = 0, 0
    for token in one:
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        factors += token.kind == "close" and depth == 0
        if depth == 0 and token.text in {"+", "-", "/"}:
            return False
    return factors > 1 and [token.text for token in two] == ["0"]
