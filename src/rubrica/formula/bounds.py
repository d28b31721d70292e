"""The interval reading of a formula: what it can still become while some of its names are open.

It is sound: whatever values the names take inside their intervals, and whichever of the optional ones are
absent, `value` gives a number inside the result or, unless the result is `sure`, a fault. It follows the same
order of steps as `value`, so that most bounds are reached exactly.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Final, assert_never

from rubrica.formula import arithmetic, interval
from rubrica.formula.functions import FUNCTIONS
from rubrica.formula.interval import UNKNOWN, Interval
from rubrica.formula.nodes import (
    Binary,
    BinaryOp,
    Call,
    Choose,
    Compare,
    CompareOp,
    Logic,
    Name,
    Node,
    Not,
    Number,
    Unary,
    left_chain,
    literal,
)

Intervals = Mapping[str, Interval | None]

_BINARY: Final[Mapping[BinaryOp, Callable[[Interval, Interval], Interval]]] = {
    "+": interval.add,
    "-": interval.subtract,
    "*": interval.multiply,
    "/": interval.divide,
    "//": interval.floor_divide,
    "%": interval.modulo,
    "**": interval.power,
}
_PLAIN: Final[Mapping[str, Callable[..., Interval]]] = {
    "abs": interval.absolute,
    "round": interval.rounded,
    "floor": interval.floor,
    "ceil": interval.ceil,
    "sqrt": interval.sqrt,
    "log": interval.log,
    "log1p": interval.log1p,
    "exp": interval.exp,
    "clamp": interval.clamp,
}


def bounds(node: Node, names: Intervals) -> Interval:
    """The interval of a tree. A name that is not in the mapping is unknown; one that is None there is absent.

    >>> from rubrica.formula.grammar import read
    >>> bounds(read("min(a / b, 1) * 30"), {})
    Interval(lo=-inf, hi=30.0, sure=False, optional=False)
    """
    match node:
        case Number(value=value):
            return Interval(value, value)
        case Name(name=name):
            found = names.get(name, UNKNOWN)
            if found is None:
                return UNKNOWN
            return Interval(found.lo, found.hi, sure=False) if found.optional else found
        case Unary(op=op, operand=operand):
            inner = bounds(operand, names)
            return interval.negated(inner) if op == "-" else inner
        case Binary():
            first, links = left_chain(node)
            left = bounds(first, names)
            for link in links:
                left = _BINARY[link.op](left, bounds(link.right, names))
            return left
        case Compare():
            return _bounds_of_comparison(node, names)
        case Logic():
            return _bounds_of_logic(node, names)
        case Not(operand=operand):
            inner = bounds(operand, names)
            return _decided(None if inner.truth is None else not inner.truth, inner.sure)
        case Choose(condition=condition, yes=yes, no=no):
            return _bounds_of_choice(bounds(condition, names), yes, no, names)
        case Call():
            return _bounds_of_call(node, names)
        case _:
            assert_never(node)


def _decided(truth: bool | None, sure: bool) -> Interval:
    """The interval of a condition: 1, 0, or either."""
    return Interval(1.0 if truth is True else 0.0, 0.0 if truth is False else 1.0, sure)


def _bounds_of_choice(condition: Interval, yes: Node, no: Node, names: Intervals) -> Interval:
    match condition.truth:
        case True:
            chosen = bounds(yes, names)
        case False:
            chosen = bounds(no, names)
        case None:
            chosen = interval.union(bounds(yes, names), bounds(no, names))
    return chosen.unsure(unless=condition.sure)


def _holds(op: CompareOp, a: Interval, b: Interval) -> bool | None:
    match op:
        case "<":
            return True if a.hi < b.lo else False if a.lo >= b.hi else None
        case "<=":
            return True if a.hi <= b.lo else False if a.lo > b.hi else None
        case ">":
            return _holds("<", b, a)
        case ">=":
            return _holds("<=", b, a)
        case "==":
            return True if a.lo == a.hi == b.lo == b.hi else False if a.hi < b.lo or b.hi < a.lo else None
        case "!=":
            same = _holds("==", a, b)
            return None if same is None else not same
        case _:
            assert_never(op)


def _bounds_of_comparison(node: Compare, names: Intervals) -> Interval:
    left = bounds(node.first, names)
    truth: bool | None = True
    sure = left.sure
    for op, operand in node.rest:
        right = bounds(operand, names)
        sure = sure and right.sure
        held = _holds(op, left, right)
        if held is False:
            return _decided(False, sure)  # nothing to the right of a failed comparison is read
        truth = truth and held
        left = right
    return _decided(truth, sure)


def _bounds_of_logic(node: Logic, names: Intervals) -> Interval:
    settles = node.op == "or"  # the truth of an operand after which nothing more is read
    truth: bool | None = not settles
    sure = True
    for operand in node.operands:
        inner = bounds(operand, names)
        sure = sure and inner.sure
        if inner.truth is settles:
            return _decided(settles, sure)
        if inner.truth is None:
            truth = None
    return _decided(truth, sure)


def _bounds_of_given(name: str, names: Intervals) -> Interval:
    if name not in names:
        return _decided(None, sure=True)
    found = names[name]
    return _decided(False if found is None else None if found.optional else True, sure=True)


def _bounds_of_call(node: Call, names: Intervals) -> Interval:
    if node.function == "given" and isinstance(asked := node.arguments[0], Name):
        return _bounds_of_given(asked.name, names)
    if node.function == "share_of_points":
        return _share_of_points(node, names)
    if not FUNCTIONS[node.function].drops_absent:
        return _PLAIN[node.function](*(bounds(argument, names) for argument in node.arguments))
    arguments = node.arguments
    weights = [1.0] * len(arguments)
    if node.function == "weighted":
        weights = [literal(weight) or 0.0 for weight in arguments[::2]]
        arguments = arguments[1::2]
    given: list[Interval] = []
    kept: list[float] = []
    for weight, argument in zip(weights, arguments, strict=True):
        found = _of_argument(argument, names)
        if found is not None:
            given.append(found)
            kept.append(weight)
    if not given:
        return UNKNOWN
    result = weighted_bounds(kept, given) if node.function == "weighted" else _AGGREGATES[node.function](given)
    always = any(not argument.optional for argument in given)  # otherwise all may be absent, which is a fault
    return result.unsure(unless=always and all(argument.sure for argument in given))


def _of_argument(argument: Node, names: Intervals) -> Interval | None:
    """What is known of an argument that may be absent."""
    return names.get(argument.name, UNKNOWN) if isinstance(argument, Name) else bounds(argument, names)


def _share_of_points(node: Call, names: Intervals) -> Interval:
    """Bounds of the points earned over those that can be, for every choice of the optional arguments."""
    read = [_of_argument(argument, names) for argument in node.arguments]
    pairs = [(p, x) for p, x in zip(read[::2], read[1::2], strict=True) if p is not None and x is not None]
    if len(pairs) == 1 and pairs[0][0].lo > 0:  # whatever the points are, it is that share of them
        points, x = pairs[0]
        sure = interval.multiply(points, x).sure and not (points.optional or x.optional)
        apart = 4 * sys.float_info.epsilon * max(-x.lo, x.hi) + math.ulp(0.0) / points.lo
        return interval.computed(x.lo - apart, x.hi + apart, sure=sure) if math.isfinite(apart) else UNKNOWN
    if any(p.lo != p.hi or p.optional for p, _ in pairs):
        return UNKNOWN
    return points_bounds([p.lo for p, _ in pairs], [x for _, x in pairs])


def points_bounds(points: Sequence[float], given: Sequence[Interval]) -> Interval:
    """Bounds of what is earned of known points, over those that can be."""
    earning = [(p, x) for p, x in zip(points, given, strict=True) if p > 0]
    zero = Interval.point(0)
    costs = [
        interval.multiply(Interval.point(p), interval.union(x, zero) if x.optional else x)
        for p, x in zip(points, given, strict=True)
        if p < 0
    ]
    cost = reduce(interval.add, costs, zero)
    hi = _largest_mean([(p, x.hi, x.optional) for p, x in earning], 0.0, cost.hi)
    lo = -_largest_mean([(p, -x.lo, x.optional) for p, x in earning], 0.0, -cost.lo)
    sure = any(not x.optional for _, x in earning) and math.isfinite(lo) and math.isfinite(hi)
    return interval.computed(lo, hi, sure=sure and all(x.sure for x in given))


def _lowest(given: Sequence[Interval]) -> Interval:
    certain = [a.hi for a in given if not a.optional]
    return Interval(min(a.lo for a in given), min(certain) if certain else max(a.hi for a in given))


def _highest(given: Sequence[Interval]) -> Interval:
    return interval.negated(_lowest([_mirrored(a) for a in given]))


def _mirrored(a: Interval) -> Interval:
    return Interval(-a.hi, -a.lo, a.sure, a.optional)


def _total(given: Sequence[Interval]) -> Interval:
    # What is absent adds nothing, just as a zero in its place would.
    zero = Interval.point(0)
    return reduce(interval.add, [interval.union(a, zero) if a.optional else a for a in given])


def _median(given: Sequence[Interval]) -> Interval:
    los, his = [a.lo for a in given], [a.hi for a in given]
    half = sys.float_info.max / 2
    fits = all(-half <= a.lo and a.hi <= half for a in given)  # the middle two are added before they are halved
    if any(a.optional for a in given) or not fits:
        return Interval(min(los), max(his), sure=fits)
    return Interval(arithmetic.middle(los), arithmetic.middle(his))


def _count(given: Sequence[Interval]) -> Interval:
    least = sum(a.truth is True and not a.optional for a in given)
    return Interval(float(least), float(sum(a.truth is not False for a in given)))


def _any(given: Sequence[Interval]) -> Interval:
    if any(a.truth is True and not a.optional for a in given):
        return _decided(True, sure=True)
    return _decided(False if all(a.truth is False for a in given) else None, sure=True)


def _all(given: Sequence[Interval]) -> Interval:
    if any(a.truth is False and not a.optional for a in given):
        return _decided(False, sure=True)
    return _decided(True if all(a.truth is True for a in given) else None, sure=True)


def _mean(given: Sequence[Interval]) -> Interval:
    if any(a.optional for a in given):
        return _weighted_with_gaps([1.0] * len(given), given, slack=0.0)
    return interval.divide(reduce(interval.add, given), Interval.point(len(given)))


def weighted_bounds(weights: Sequence[float], given: Sequence[Interval]) -> Interval:
    """Bounds of the mean by weights."""
    if any(a.optional for a in given):
        # Weights that sum to 1 only nearly are not scaled; among weights of up to six decimals none do.
        slack = 0.0 if all(round(weight, 6) == weight for weight in weights) else arithmetic.EVEN_WEIGHTS
        return _weighted_with_gaps(weights, given, slack)
    divisor = arithmetic.scale(weights)
    if divisor == 0:
        return UNKNOWN
    # A weight of zero times "however large" is zero: the values themselves are finite.
    terms = [
        interval.computed(w * a.lo, w * a.hi, sure=True) if w else Interval(0.0, 0.0)
        for w, a in zip(weights, given, strict=True)
    ]
    return interval.divide(reduce(interval.add, terms), Interval(divisor, divisor))


def _weighted_with_gaps(weights: Sequence[float], given: Sequence[Interval], slack: float) -> Interval:
    """Bounds of a weighted mean over every choice of the optional arguments."""
    if not any(weights):
        return UNKNOWN
    fixed = math.fsum(w for w, a in zip(weights, given, strict=True) if not a.optional)
    size = sum(w * max(-a.lo, a.hi) for w, a in zip(weights, given, strict=True) if w)
    hi = _largest_mean([(w, a.hi, a.optional) for w, a in zip(weights, given, strict=True)], slack)
    lo = -_largest_mean([(w, -a.lo, a.optional) for w, a in zip(weights, given, strict=True)], slack)
    return interval.computed(lo, hi, sure=fixed > 0 and size < math.inf)


def _largest_mean(terms: Sequence[tuple[float, float, bool]], slack: float, more: float = 0.0) -> float:
    """The largest weighted mean of (weight, value, optional), or a little more: who raises it joins.

    `more` is added to the sum that is divided by the weights.
    """
    weight, total = 0.0, more
    for w, x, optional in terms:
        if w and not optional:
            weight, total = weight + w, total + w * x
    joining = sorted(((x, w) for w, x, optional in terms if w and optional), reverse=True)
    for x, w in joining:
        if weight and x <= total / weight:
            break
        weight, total = weight + w, total + w * x
    if not math.isfinite(total) or not weight or (more > 0 and all(optional for _, _, optional in terms)):
        return math.inf
    # No choice has a larger true mean; rounding along the way is relative to the largest value.
    margin = 2 * (len(terms) + 3) * sys.float_info.epsilon + slack
    tiny = len(terms) * math.ulp(0.0) / min(w for w, _, _ in terms if w)  # where rounding is no longer relative
    return total / weight + margin * (max(abs(x) for w, x, _ in terms if w) + abs(more) / weight) + tiny


_AGGREGATES: Final[Mapping[str, Callable[[Sequence[Interval]], Interval]]] = {
    "min": _lowest,
    "max": _highest,
    "sum": _total,
    "mean": _mean,
    "median": _median,
    "count": _count,
    "any": _any,
    "all": _all,
}
