"""Whether the steps of an explanation leave an inequality the same: 2x > 8 must not become x > 5."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

from rubrica.text.maths.algebra import Relation, read_relation, relations_in, unknowns_of, worth
from rubrica.text.maths.conclusion import SENTENCE, is_remark
from rubrica.text.maths.expression import ArithmeticToken

Range = tuple[Fraction | None, Fraction | None]  # what lies between, ends left open


def unfit_inequalities(explanation: str, key: str) -> Iterator[str]:
    """The inequalities of an explanation that hold for other numbers than the key, which is one itself.

    >>> list(unfit_inequalities("3x + 1 ≤ 16, so 3x ≤ 12 and x ≤ 5", "x ≤ 5"))
    ['3x ≤ 12']
    """
    unknowns = unknowns_of(key)
    right = read_relation(key, unknowns)
    wanted = _range(right) if right is not None else None
    if right is None or wanted is None or not {len(side) for side in right.sides} & {1}:
        return
    for line in explanation.splitlines():
        for sentence in SENTENCE.split(line):
            if not is_remark(sentence):
                for relation in relations_in(sentence, unknowns):
                    found = _range(relation)
                    if found is not None and found != wanted:
                        yield relation.text


def _range(relation: Relation) -> Range | None:
    """The numbers that fulfil an inequality in one letter; None where it is none, or not linear."""
    if not relation.signs or "=" in relation.signs or len(relation.letters) != 1:
        return None
    low: list[Fraction] = []
    high: list[Fraction] = []
    (letter,) = relation.letters
    for sign, (one, two) in zip(relation.signs, pairwise(relation.sides), strict=True):
        gaps = [_gap(one, two, letter, at) for at in (0, 1, 2)]
        if any(gap is None for gap in gaps):
            return None
        start, first, second = (gap for gap in gaps if gap is not None)
        slope = first - start
        if not slope or second - first != slope:
            return None
        (high if (slope > 0) == (sign in "<≤") else low).append(-start / slope)
    return (max(low) if low else None, min(high) if high else None)


def _gap(one: tuple[ArithmeticToken, ...], two: tuple[ArithmeticToken, ...], letter: str, at: int) -> Fraction | None:
    left, right = (worth(side, {letter: Fraction(at)}) for side in (one, two))
    return left - right if isinstance(left, Fraction) and isinstance(right, Fraction) else None
