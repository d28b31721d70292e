"""A formula: its text, its tree, and the readings of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from rubrica.errors import FormulaError, FormulaFault
from rubrica.formula.bounds import Intervals, bounds
from rubrica.formula.grammar import read
from rubrica.formula.interval import Interval
from rubrica.formula.nodes import Logic, Name, Node, text_of, walk
from rubrica.formula.tokens import MAX_COMPOSED, MAX_LENGTH
from rubrica.formula.value import Names, compiled

_LONGEST_KEPT = 300  # characters: bounds what the formulas that are kept can take up


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression over names, ready to be read. Two formulas are equal when their texts are.

    >>> rule = parse("min(stated / expected, 1) * 30")
    >>> rule.value({"stated": 2, "expected": 4})
    15.0
    >>> rule.value({"stated": 2, "expected": 0})
    Traceback (most recent call last):
    rubrica.errors.FormulaFault: division by zero in stated / expected
    >>> parse("mean(a, b)").value({"a": 4, "b": None})
    4.0
    >>> rule.interval({"stated": Interval.of(3, 9), "expected": Interval.point(4)})
    Interval(lo=22.5, hi=30.0, sure=True, optional=False)
    >>> sorted(rule.names)
    ['expected', 'stated']
    """

    text: str
    root: Node = field(compare=False, repr=False)
    names: frozenset[str] = field(compare=False, repr=False)
    value: Callable[[Names], float] = field(init=False, compare=False, repr=False)
    """``value(names)`` is the number the formula gives for these values, or a FormulaFault; None is "absent".

    It is the compiled function itself rather than a method around it: a call less where millions are made. It is
    compiled when it is first asked for: half of a rubric's formulas stand in for judges that do answer.
    """

    if not TYPE_CHECKING:  # where it would let every misspelt attribute pass

        def __getattr__(self, name: str) -> Callable[[Names], float]:
            if name != "value":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            try:
                value = compiled(self.root)
            except RecursionError:  # only on a stack that is nearly full already: a tree has 50 levels at most
                raise FormulaFault("there is no room left to read this formula") from None
            object.__setattr__(self, "value", value)
            return value

    def holds(self, names: Names) -> bool:
        """Whether the formula, as a condition, is true: not zero.

        >>> parse("5 <= score < 7").holds({"score": 6.5})
        True
        """
        return self.value(names) != 0

    def interval(self, names: Intervals) -> Interval:
        """Everything the formula can still give while names are only known to lie in intervals."""
        return bounds(self.root, names)

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[Callable[[str], Formula], tuple[str]]:
        """Copies and pickles are parsed again: the text is all there is to know."""
        return composed, (self.text,)


@lru_cache(maxsize=1024)
def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The conditions that an `and` joins, or the formula itself: what must each hold.

    >>> [part.text for part in conjuncts(parse("a > 1 and (b or c) and not d"))]
    ['a > 1', 'b or c', 'not d']
    """
    if not (isinstance(formula.root, Logic) and formula.root.op == "and"):
        return (formula,)
    return tuple(parse(text_of(operand)) for operand in formula.root.operands)


def parse(text: str) -> Formula:
    """Read a formula, or raise FormulaError with the place and the way out. The last ones that were read are kept.

    >>> parse("pace > 3 && score >= 7")
    Traceback (most recent call last):
    rubrica.errors.FormulaError: line 1, column 10: '&&' is not part of the formula language (write and)
    """
    short = isinstance(text, str) and len(text) <= _LONGEST_KEPT
    return _kept(text) if short else _parsed(text)


def composed(text: str) -> Formula:
    """Read a formula that was put together here, over the dimensions of a rubric: it may be longer than an author's."""
    return _kept(text) if len(text) <= _LONGEST_KEPT else _parsed(text, MAX_COMPOSED)


@lru_cache(maxsize=1024)
def _kept(text: str) -> Formula:
    """A formula that was read before is not read again: variants of a rubric differ in a number or two."""
    return _parsed(text)


def _parsed(text: str, longest: int = MAX_LENGTH) -> Formula:
    try:
        root = read(text, longest)
    except RecursionError:  # only on a stack that is nearly full already: a tree has 50 levels at most
        raise FormulaError("there is no room left to read this formula", fix="split it into several formulas") from None
    names = frozenset(node.name for node in walk(root) if isinstance(node, Name))
    return Formula(text, root, names)
