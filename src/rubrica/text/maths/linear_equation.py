"""Linear equations in one unknown, solved exactly: 7x + 5 = 40 has the solution x = 5.

Both sides are worked out at some values of the unknown. Where the difference of the sides grows evenly, the equation is
linear and the solution follows; anything else has none here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise

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


_MOVE = lazy_pattern(
    r"\b(?:(?P<shift>add|subtract)(?:ing|ed|s)?|(?P<scale>divid|multipl)(?:e|y|ing|ying|ed|ied)"
    r"(?:\s(?:both|each)\ssides?)?\sby)\s(?P<by>[-−]?\d{1,6}(?:\.\d{1,6})?(?:/[1-9]\d{0,5})?)(?![\w.,/]*\w|\s?[-+*/×÷^%(])",
    re.IGNORECASE,
)

Line = tuple[Fraction, Fraction]
"""How steep an expression with one unknown is, and its value at 0."""


class _LinearSides(msgspec.Struct, frozen=True):
    """Both sides of a linear equation: ``text[start:end]``."""

    start: int
    end: int
    sides: tuple[Line, ...]


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


def wrong_moves(explanation: str, stem: str) -> Iterator[str]:
    """What is said to be done to both sides of a linear equation, where the next one shows that it was another number.

    >>> list(wrong_moves("Subtract 4 from both sides: 2x = 12. Dividing by 2 gives x = 6.", "Solve 2x + 5 = 17."))
    ['Subtract 4']
    """
    plain, asked = plain_maths(explanation), _lines_in(plain_maths(stem))
    given = [msgspec.structs.replace(each, start=0, end=0) for each in asked[-1:]]
    moves = list(islice(_MOVE.finditer(plain), MOST_EQUATIONS))
    for one, two in pairwise(given + _lines_in(plain)):
        between = [move for move in moves if one.end <= move.start() and move.end() <= two.start]
        by = _moved(one, two, shifts=bool(between[0]["shift"])) if len(between) == 1 else None
        if by is not None and abs(Fraction(between[0]["by"].replace("−", "-"))) not in by:
            yield between[0][0]


def _lines_in(text: str) -> list[_LinearSides]:
    """The linear equations of a text, each with one unknown."""
    found: list[_LinearSides] = []
    start = 0
    for stop in (*_BETWEEN.finditer(text), None):
        end = len(text) if stop is None else stop.start()
        sides = text[start:end].split("=") if end - start <= LONGEST else []
        lines = [_line(side) for side in sides] if len(sides) == 2 else []
        known = [line for line in lines if line is not None]
        if len(known) == 2 and any(slope for slope, _ in known):
            found.append(_LinearSides(start, end, tuple(known)))
        if stop is None or len(found) >= MOST_EQUATIONS:
            return found
        start = stop.end()
    return found


def _line(written: str) -> Line | None:
    side = _multiplied(tokens_of(written.strip(" ,.$")))
    unknowns = {token.text for token in side or () if token.kind == "word"}
    if not side or len(unknowns) > 1 or any(token.kind in {"other", "money"} for token in side):
        return None
    points = [_worth(side, value) for value in _TRIED]
    first, second = points[0], points[1]
    if first is None or second is None:
        return None
    slope = second - first
    if any(point != first + slope * value for point, value in zip(points, _TRIED, strict=True)):
        return None
    return slope, first


def _moved(one: _LinearSides, two: _LinearSides, *, shifts: bool) -> set[Fraction] | None:
    """What was added to both sides of an equation, or what they were multiplied or divided by, the sign left out; None
    where it was something else."""
    if shifts:
        gaps = {(new[0] - old[0], new[1] - old[1]) for old, new in zip(one.sides, two.sides, strict=True)}
        slope, by = next(iter(gaps))
        return {abs(by)} if len(gaps) == 1 and not slope and by else None
    pairs = [
        (old, new) for olds, news in zip(one.sides, two.sides, strict=True) for old, new in zip(olds, news, strict=True)
    ]
    if any(bool(old) != bool(new) for old, new in pairs):
        return None
    scales = {new / old for old, new in pairs if old}
    by = abs(next(iter(scales), Fraction(0)))
    return {by, 1 / by} if len(scales) == 1 and by not in {0, 1} else None


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
