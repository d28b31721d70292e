"""Random formula trees, and a plain tree-walking reading of them to compare the compiled one with."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from typing import cast

from hypothesis import strategies as st

from rubrica.formula.bounds import bounds
from rubrica.formula.nodes import Binary, Call, Choose, Compare, Logic, Name, Node, Not, Number, Unary

NAMES = ("a", "b", "c", "d")
AGGREGATES = ("min", "max", "mean", "median", "sum", "count", "any", "all")

numbers = st.one_of(
    st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.5, 1.0, 2.0, 3.0, 10.0, 30.0, 100.0, 1e-9, 1e-300, 1e15]),
    st.floats(0, 1e15, allow_nan=False),
).map(Number)
names = st.sampled_from(NAMES).map(Name)
whole_numbers = st.integers(0, 15).map(lambda n: Number(float(n)))


def _weighted(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    weights = st.integers(0, 10).map(lambda n: Number(n / 10)) | numbers
    first = st.tuples(st.integers(1, 10).map(lambda n: Number(n / 10)), names | children)  # not every weight is zero
    others = st.lists(st.tuples(weights, names | children), max_size=3)
    return st.builds(lambda one, rest: Call("weighted", sum(rest, cast("tuple[Node, ...]", one))), first, others)


def _points(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    given = st.integers(1, 9).map(lambda n: Number(n / 2))
    points = given | given.map(lambda n: Unary("-", n))
    pairs = st.lists(st.tuples(points, names | children), max_size=3)
    first = st.tuples(given, names | children)
    return st.builds(lambda one, rest: Call("share_of_points", sum(rest, cast("tuple[Node, ...]", one))), first, pairs)


def _calls(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    some = st.lists(names | children, min_size=1, max_size=4).map(tuple)
    one = children.map(lambda node: (node,))
    ordered = st.tuples(numbers, numbers).map(lambda pair: sorted(pair, key=lambda number: number.value))
    return st.one_of(
        st.builds(Call, st.sampled_from(AGGREGATES), some),
        st.builds(Call, st.just("given"), names.map(lambda name: (name,))),
        _weighted(children),
        _points(children),
        st.builds(Call, st.sampled_from(["abs", "floor", "ceil", "sqrt", "log", "log1p", "exp", "round"]), one),
        st.builds(Call, st.just("round"), st.tuples(children, whole_numbers)),
        st.builds(Call, st.just("log"), st.tuples(children, children)),
        st.builds(Call, st.just("clamp"), st.tuples(children, names | children, names)),
        st.builds(lambda x, pair: Call("clamp", (x, *pair)), children, ordered),
    )


def _exponent(node: Node) -> Node:
    """Half of a tree, or 2 when that is out of range for all values of its names: such a formula is refused."""
    half = Binary("/", node, Number(2.0))
    reach = bounds(half, {})
    return half if reach.lo <= 64 and reach.hi >= -64 else Number(2.0)


def _extended(children: st.SearchStrategy[Node]) -> st.SearchStrategy[Node]:
    comparison = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
    rest = st.lists(st.tuples(comparison, children), min_size=1, max_size=3).map(tuple)
    several = st.lists(children, min_size=2, max_size=3).map(tuple)
    exponents = whole_numbers | names | children.map(_exponent)
    return st.one_of(
        st.builds(Unary, st.sampled_from(["-", "+"]), children),
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/", "//", "%"]), children, children),
        st.builds(Binary, st.just("**"), children, exponents),
        st.builds(Compare, children, rest),
        st.builds(Logic, st.sampled_from(["and", "or"]), several),
        st.builds(Not, children),
        st.builds(Choose, children, children, children),
        _calls(children),
    )


trees: st.SearchStrategy[Node] = st.recursive(numbers | names, _extended, max_leaves=12)


class NoValueError(Exception):
    """The reference reading ends in a fault."""


def reference(node: Node, values: Mapping[str, float | None]) -> float:
    """The value of a tree, step by step, each step checked to be finite."""
    result = _reference(node, values)
    if not math.isfinite(result):
        raise NoValueError
    return result


def _reference(node: Node, values: Mapping[str, float | None]) -> float:
    match node:
        case Number(value=value):
            return value
        case Name(name=name):
            found = values[name]
            if found is None:
                raise NoValueError
            return found
        case Unary(op=op, operand=operand):
            inner = reference(operand, values)
            return -inner if op == "-" else inner
        case Binary(op=op, left=left, right=right):
            return _arithmetic(op, reference(left, values), reference(right, values))
        case Compare(first=first, rest=rest):
            left_value = reference(first, values)
            for sign, operand in rest:
                right_value = reference(operand, values)
                if not COMPARISONS[sign](left_value, right_value):
                    return 0.0
                left_value = right_value
            return 1.0
        case Logic(op="and", operands=operands):
            return float(all(reference(operand, values) for operand in operands))
        case Logic(operands=operands):
            return float(any(reference(operand, values) for operand in operands))
        case Not(operand=operand):
            return float(not reference(operand, values))
        case Choose(condition=condition, yes=yes, no=no):
            return reference(yes if reference(condition, values) else no, values)
        case Call():
            return _function(node, values)
    raise AssertionError(node)


COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
}


def _arithmetic(op: str, x: float, y: float) -> float:
    try:
        match op:
            case "+":
                return x + y
            case "-":
                return x - y
            case "*":
                return x * y
            case "/":
                return x / y
            case "//":
                return x // y
            case "%":
                return x % y
            case _:
                if abs(y) > 64 or (x < 0 and y != int(y)):
                    raise NoValueError
                return float(x**y)
    except (ZeroDivisionError, OverflowError):
        raise NoValueError from None


def _function(node: Call, values: Mapping[str, float | None]) -> float:
    if node.function == "given":
        return float(not _is_absent(node.arguments[0], values))
    if node.function in AGGREGATES:
        return _aggregate(node.function, _present(node.arguments, values))
    if node.function in ("weighted", "share_of_points"):
        weights, arguments = node.arguments[::2], node.arguments[1::2]
        pairs = [
            (reference(weight, values), reference(argument, values))
            for weight, argument in zip(weights, arguments, strict=True)
            if not _is_absent(argument, values)
        ]
    if node.function == "share_of_points":
        possible = math.fsum(points for points, _ in pairs if points > 0)
        if possible == 0:
            raise NoValueError
        return _aggregate("sum", [points * x for points, x in pairs]) / possible
    if node.function == "weighted":
        weight_sum = math.fsum(weight for weight, _ in pairs)
        if not pairs or weight_sum == 0:
            raise NoValueError
        total = _aggregate("sum", [weight * x for weight, x in pairs])
        return total if abs(weight_sum - 1) <= 1e-9 else total / weight_sum
    return _plain(node.function, [reference(argument, values) for argument in node.arguments])


def _is_absent(argument: Node, values: Mapping[str, float | None]) -> bool:
    return isinstance(argument, Name) and values[argument.name] is None


def _present(arguments: tuple[Node, ...], values: Mapping[str, float | None]) -> list[float]:
    kept = [reference(argument, values) for argument in arguments if not _is_absent(argument, values)]
    if not kept:
        raise NoValueError
    return kept


def _aggregate(function: str, kept: list[float]) -> float:
    match function:
        case "min":
            return min(kept)
        case "max":
            return max(kept)
        case "median":
            return statistics.median(kept)
        case "count":
            return float(len([x for x in kept if x]))
        case "any":
            return float(any(kept))
        case "all":
            return float(all(kept))
        case _:
            total = kept[0]
            for x in kept[1:]:
                total = total + x
            return total / len(kept) if function == "mean" else total


def _plain(function: str, given: list[float]) -> float:
    x = given[0]
    try:
        match function:
            case "abs":
                return abs(x)
            case "floor":
                return float(math.floor(x))
            case "ceil":
                return float(math.ceil(x))
            case "round":
                return round(x, int(given[1])) if len(given) == 2 else float(round(x))
            case "sqrt":
                return math.sqrt(x)
            case "log1p":
                return math.log1p(x)
            case "exp":
                return math.exp(x)
            case "log" if len(given) == 1:
                return math.log(x)
            case "log":
                exact = {2.0: math.log2, 10.0: math.log10}.get(given[1])
                return exact(x) if exact else math.log(x) / math.log(given[1])
            case "clamp" if given[1] <= given[2]:
                return min(max(x, given[1]), given[2])
    except (ValueError, OverflowError, ZeroDivisionError):
        raise NoValueError from None
    raise NoValueError
