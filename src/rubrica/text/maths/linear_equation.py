"""Linear equations in one unknown, solved exactly: 7x + 5 = 40 has the solution x = 5.

Both sides are worked out at some values of the unknown. Where the difference of the sides grows evenly, the equation is
linear and the solution follows; anything else has none here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise

import msgspec

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.conclusion import SENTENCE, is_remark, without_checks
from rubrica.text.maths.expression import ArithmeticToken, tokens_of, value_of
from rubrica.text.maths.latex import plain_maths

LONGEST = 120  # characters of an equation
MOST_EQUATIONS = 60  # looked at in one text
_TRIED = (Fraction(0), Fraction(1), Fraction(2), Fraction(-3), Fraction(7), Fraction(1, 2))
_BETWEEN = lazy_pattern(r"[^\W\d_]{2,}|[\n;:?!]|,(?!\d{3}(?!\d))|\.(?!\d)|⇒|→|=>|->")
_TRIES = lazy_pattern(
    r"\b(?:try|tried|if|suppose|let|when|substitut\w+|plug\w*|guess\w*|say|where|not)\b", re.IGNORECASE
)


class SolvedEquation(msgspec.Struct, frozen=True):
    """An equation as written, its unknown, and the one value that solves it."""

    text: str
    unknown: str
    solution: Fraction


def solve_linear(written: str) -> SolvedEquation | None:
    """The solution of an equation with one unknown; None where there is not just one, or where it is not linear.

    >>> str(solve_linear("2(a − 5) = 3a − 17").solution), solve_linear("x^2 = 9"), solve_linear("2 + 2 = 4")
    ('7', None, None)
    """
    plain = plain_maths(written)
    if len(plain) > LONGEST or plain.count("=") != 1:
        return None
    sides = [_multiplied(tokens_of(side)) for side in plain.split("=")]
    tokens = [token for side in sides for token in side or ()]
    unknowns = {token.text for token in tokens if token.kind == "word"}
    if not all(sides) or len(unknowns) != 1 or any(token.kind in {"other", "money"} for token in tokens):
        return None
    points = [_gap([side or [] for side in sides], value) for value in _TRIED]
    first, second = points[0], points[1]
    if first is None or second is None or first == second:
        return None
    slope = second - first
    if any(point != first + slope * value for point, value in zip(points, _TRIED, strict=True)):
        return None
    return SolvedEquation(written.strip(), unknowns.pop(), -first / slope)


def equations_in(text: str) -> Iterator[SolvedEquation]:
    """The equations with one unknown that stand in a text, each between words or at the end of a line.

    >>> [(each.unknown, int(each.solution)) for each in equations_in("Add 7: 5y = 25. Divide by 5, so y = 5.")]
    [('y', 5), ('y', 5)]
    """
    pieces = (piece for piece in _BETWEEN.split(plain_maths(text)) if piece.count("=") == 1)
    for piece, _ in zip(pieces, range(MOST_EQUATIONS), strict=False):
        solved = solve_linear(piece)
        if solved is not None:
            yield solved


def other_solutions(explanation: str, unknown: str, solution: Fraction) -> Iterator[SolvedEquation]:
    """The lines of an explanation with the same unknown that another value solves: a step between has changed it.

    Values that are tried out, and sentences about mistakes, are left out.

    >>> [each.text for each in other_solutions("5y - 7 = 18. So 5y = 24, and y = 5.", "y", Fraction(5))]
    ['5y = 24']
    """
    for line in without_checks(explanation).splitlines():
        for sentence in SENTENCE.split(line):
            if not is_remark(sentence) and not _TRIES.search(sentence):
                found = (each for each in equations_in(sentence) if each.unknown == unknown)
                yield from (each for each in found if each.solution != solution)


def _multiplied(tokens: Sequence[ArithmeticToken]) -> list[ArithmeticToken] | None:
    """The tokens with every product spelt out: 3x, 2(x + 1), (x)(3); None where one is unclear."""
    found: list[ArithmeticToken] = list(tokens[:1])
    for place, (one, two) in enumerate(pairwise(tokens)):
        if one.kind == "word" and two.kind in {"number", "open", "word", "root", "power"}:
            return None  # 3 x 4 is a product, x(3) a function, and a power is not linear
        if two.kind == "word" and one.kind in {"number", "close"}:
            if one.kind == "number" and (one.end != two.start or (place and tokens[place - 1].text == "/")):
                return None  # "5 x" may be a unit or a sign, and 1/2x is read both ways
            found.append(ArithmeticToken("operator", "*", two.start, two.start))
        found.append(two)
    words = [token for token in found if token.kind == "word"]
    return found if found and all(len(token.text) == 1 for token in words) else None


def _gap(sides: Sequence[Sequence[ArithmeticToken]], value: Fraction) -> Fraction | None:
    """Left less right where the unknown has a value."""
    left, right = (_worth(side, value) for side in sides)
    return None if left is None or right is None else left - right


def _worth(side: Sequence[ArithmeticToken], value: Fraction) -> Fraction | None:
    filled = [token._replace(kind="number", value=value) if token.kind == "word" else token for token in side]
    try:
        found = value_of(filled, "")
    except (FormulaError, FormulaFault):
        return None
    return found if isinstance(found, Fraction) else None
