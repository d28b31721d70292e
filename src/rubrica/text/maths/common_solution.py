"""Whether the linear equations of an explanation have a common solution: x + y = 40 and x + y = 45 have none.

Only equations with letters that get no value of their own are compared; the others are held against those values by
`letter_values`. In doubt nothing is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice

from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.algebra import letters_of, unknowns_of, worth
from rubrica.text.maths.expression import ArithmeticToken
from rubrica.text.maths.letter_values import equations_in, links_of, settled_values

MOST_ROWS, MOST_LETTERS = 40, 5
_APART = lazy_pattern(  # equations that need not go together: of two cases, of parallel lines
    r"\b(?:cases?|either|statements?|options?|scenarios?|lines?|parallel|no\s(?:real\s)?solutions?|contradict\w*)\b|±",
    re.IGNORECASE,
)
_ROUNDED = lazy_pattern(r"\.\d\d")
_BASE = (Fraction(7, 3), Fraction(19, 7), Fraction(31, 11), Fraction(41, 13), Fraction(53, 17))
_CHECKS = tuple(tuple(map(Fraction, each)) for each in ((2, 1, 3, 5, 7), (-3, 4, 9, 11, 6)))

Row = dict[str, Fraction]
"""The factors of the letters, and the constant as that of the empty letter; together they make 0."""


def clashing_equations(explanation: str, *others: str) -> Iterator[str]:
    """The equations that do not go together with those before them; `others` show which letters are unknowns.

    >>> list(clashing_equations("(a+b)/2=20 so a+b=40. (b+c)/2=26 so b+c=55."))
    ['b+c=55']
    >>> [list(clashing_equations(f"8M = 16B => 1M = {times}B")) for times in (2, 4)]
    [[], ['1M = 4B']]
    """
    if _APART.search(explanation):
        return
    unknowns = unknowns_of(explanation, *others)
    relations = list(islice(equations_in(explanation, unknowns), MOST_ROWS)) if unknowns else []
    settled = settled_values(relations)
    solved: dict[str, Row] = {}  # by the letter that each gives
    for relation in (each for each in relations if not _ROUNDED.search(each.text)):
        for one, two in links_of(relation):
            letters = letters_of(one) | letters_of(two)
            row = None if letters <= settled.keys() else _row(one, two, sorted(letters))
            if row is None or len(row) < 2:
                continue  # "x = 18x" is a misprint rather than a claim
            rest = _reduced(row, solved)
            free = [letter for letter in rest if letter]
            even = "" not in row and not any("" in each for each in solved.values())
            if rest and (not free or (even and len(free) == 1 < len(row))):
                yield relation.text
            elif free:
                _add(rest, free[0], solved)


def _row(one: Sequence[ArithmeticToken], two: Sequence[ArithmeticToken], letters: Sequence[str]) -> Row | None:
    """A linear equation by its factors, taken from its values at a few points; None where it is none."""
    if not 0 < len(letters) <= MOST_LETTERS:
        return None

    def gap(point: Sequence[Fraction]) -> Fraction | None:
        values = dict(zip(letters, point, strict=False))
        left, right = worth(one, values), worth(two, values)
        return left - right if isinstance(left, Fraction) and isinstance(right, Fraction) else None

    base = gap(_BASE)
    steps = [gap([each + (place == at) for at, each in enumerate(_BASE)]) for place in range(len(letters))]
    if base is None or None in steps:
        return None
    factors = [step - base for step in steps if step is not None]
    constant = base - sum(factor * value for factor, value in zip(factors, _BASE, strict=False))
    for point in _CHECKS:
        if gap(point) != constant + sum(factor * value for factor, value in zip(factors, point, strict=False)):
            return None
    row = {letter: factor for letter, factor in zip(letters, factors, strict=True) if factor}
    return row | ({"": constant} if constant else {})


def _reduced(row: Row, solved: dict[str, Row]) -> Row:
    """What is left of an equation when the letters that others give are put in."""
    for letter, other in solved.items():
        if letter in row:
            row = _sum(row, other, -row[letter])
    return row


def _add(row: Row, letter: str, solved: dict[str, Row]) -> None:
    """Solve an equation for a letter, and put that into those that are solved."""
    row = {each: factor / row[letter] for each, factor in row.items()}
    for name, other in solved.items():
        if letter in other:
            solved[name] = _sum(other, row, -other[letter])
    solved[letter] = row


def _sum(one: Row, two: Row, times: Fraction) -> Row:
    letters = one.keys() | two.keys()
    found = {letter: one.get(letter, Fraction(0)) + times * two.get(letter, Fraction(0)) for letter in letters}
    return {letter: factor for letter, factor in sorted(found.items(), reverse=True) if factor}
