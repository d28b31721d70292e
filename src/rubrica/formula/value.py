"""A formula as one Python function, built from our own nodes only: nearly as fast as one written by hand.

Names are read as ``v["name"]`` when they are reached, so a dict subclass with ``__missing__`` can
compute them lazily. A value that is not exactly a float takes a slower road through `arithmetic.number`,
which converts it or faults; so past that point there are only floats, and Python's own operators cannot
do anything unexpected.

Every step must be finite. Sums, products and numerators that are not stay so up to the end, where one
check finds them; where a step could hide it (a comparison, a condition, a divisor, an argument) it is
checked on the spot.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from math import isfinite
from types import CodeType, FunctionType
from typing import Final, TypedDict, assert_never, cast

from rubrica.errors import FormulaFault
from rubrica.formula import arithmetic
from rubrica.formula.functions import FUNCTIONS
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
    text_of,
    walk,
)

Names = Mapping[str, object]

_FUNCTIONS: Final[Mapping[str, Callable[..., float]]] = {
    "min": arithmetic.lowest,
    "max": arithmetic.highest,
    "mean": arithmetic.mean,
    "median": arithmetic.median,
    "sum": arithmetic.total,
    "count": arithmetic.count,
    "any": arithmetic.any_true,
    "all": arithmetic.all_true,
    "weighted": arithmetic.weighted,
    "share_of_points": arithmetic.share_of_points,
    "given": arithmetic.given,
    "abs": abs,
    "round": arithmetic.rounded,
    "floor": arithmetic.floor,
    "ceil": arithmetic.ceil,
    "sqrt": arithmetic.sqrt,
    "log": arithmetic.log,
    "log1p": arithmetic.log1p,
    "exp": arithmetic.exp,
    "clamp": arithmetic.clamp,
}
# All that the compiled code can reach. Author's names never get here: they are only ever keys of `v`.
_SCOPE: Final[Mapping[str, object]] = {
    "__builtins__": {},
    "errors": (KeyError, ZeroDivisionError, OverflowError),
    "type": type,
    "float": float,
    "int": int,
    "number": arithmetic.number,
    "argument": arithmetic.argument,
    "overflow": arithmetic.overflow,
    "power": arithmetic.power,
    **{f"f_{name}": function for name, function in _FUNCTIONS.items()},
}
_BINARY: Final[Mapping[BinaryOp, type[ast.operator]]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
    "**": ast.Pow,
}
_COMPARE: Final[Mapping[CompareOp, type[ast.cmpop]]] = {
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "==": ast.Eq,
    "!=": ast.NotEq,
}


def compiled(root: Node) -> Callable[[Names], float]:
    """Build the function of a tree.

    >>> from rubrica.formula.grammar import read
    >>> compiled(read("min(stated / expected, 1) * 30"))({"stated": 2, "expected": 4})
    15.0
    """
    writer = _Writer(root)
    attempt: ast.stmt = ast.Return(writer.finite_value(root), **_HERE)
    raising = ast.Raise(_call("fault", _load("error"), _load("v")), _load("error"), **_HERE)
    caught = ast.ExceptHandler(_load("errors"), "error", [raising], **_HERE)
    function = ast.FunctionDef(
        name="formula",
        args=ast.arguments(posonlyargs=[], args=[ast.arg("v", **_HERE)], kwonlyargs=[], kw_defaults=[], defaults=[]),
        body=[ast.Try([attempt], [caught], [], [], **_HERE)],
        decorator_list=[],
        **_HERE,
    )
    if hasattr(function, "type_params"):  # a required list from Python 3.12 on
        function.type_params = []
    code = compile(ast.Module([function], []), "<formula>", "exec", dont_inherit=True)
    body = next(constant for constant in code.co_consts if isinstance(constant, CodeType))
    scope = {**_SCOPE, "fault": partial(_fault_of, tuple(writer.places))}
    return cast("Callable[[Names], float]", FunctionType(body, scope))


def _fault_of(places: tuple[Node, ...], error: Exception, names: Names) -> FormulaFault:
    """What to tell about an error: the line in its traceback stands for a place in the tree."""
    trace = error.__traceback__
    place = places[trace.tb_lineno - 1] if trace is not None else places[0]
    if isinstance(error, KeyError) and isinstance(place, Name):
        return FormulaFault(f"no value for '{place.name}'")
    if isinstance(error, OverflowError) and isinstance(place, Name) and isinstance(names.get(place.name), int):
        return FormulaFault(f"'{place.name}' is too large for a formula")
    if isinstance(error, ZeroDivisionError):
        return FormulaFault(f"division by zero in {text_of(place)}")
    for node in walk(place):
        if isinstance(node, Name) and isinstance(value := names.get(node.name), float) and not isfinite(value):
            return FormulaFault(f"'{node.name}' is {value}, not a finite number")
    return FormulaFault(f"{text_of(place)} is too large to be a finite number")


class _Position(TypedDict):
    lineno: int
    col_offset: int


_HERE: Final = _Position(lineno=1, col_offset=0)


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load(), **_HERE)


def _constant(value: float | str) -> ast.expr:
    return ast.Constant(value, **_HERE)


def _constants(values: list[float]) -> ast.expr:
    return ast.Tuple([_constant(value) for value in values], ast.Load(), **_HERE)


def _call(function: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(_load(function), list(arguments), [], **_HERE)


def _binary(left: ast.expr, op: ast.operator, right: ast.expr) -> ast.expr:
    return ast.BinOp(left, op, right, **_HERE)


def _compare(left: ast.expr, op: ast.cmpop, right: ast.expr) -> ast.expr:
    return ast.Compare(left, [op], [right], **_HERE)


def _choose(condition: ast.expr, yes: ast.expr, no: ast.expr) -> ast.expr:
    return ast.IfExp(condition, yes, no, **_HERE)


def _all_of(tests: list[ast.expr]) -> ast.expr:
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests, **_HERE)


class _Writer:
    """Writes the Python of each node.

    `value` gives an expression whose result is a float and, with it, whether that may be non-finite;
    `finite_value` gives one that is finite for sure; `truth` gives one that is only good as a condition.
    """

    def __init__(self, root: Node) -> None:
        self.places: list[Node] = [root]  # place n is written as line n + 1
        self.temporaries = 0

    def placed(self, expression: ast.expr, node: Node) -> ast.expr:
        """Mark an expression that may raise with the node to blame."""
        self.places.append(node)
        expression.lineno = len(self.places)
        return expression

    def kept(self, expression: ast.expr) -> tuple[ast.expr, str]:
        """``(t := expression)`` and the name of t."""
        self.temporaries += 1
        name = f"t{self.temporaries}"
        return ast.NamedExpr(ast.Name(name, ast.Store(), **_HERE), expression, **_HERE), name

    def raw(self, node: Name) -> ast.expr:
        """The value of a name as the mapping has it."""
        return self.placed(ast.Subscript(_load("v"), _constant(node.name), ast.Load(), **_HERE), node)

    def is_float(self, node: Name, *, finite: bool) -> tuple[list[ast.expr], str]:
        """Tests that a name holds a float (and a finite one), and the temporary that holds it afterwards."""
        reading, name = self.kept(self.raw(node))
        tests: list[ast.expr] = [_compare(_call("type", reading), ast.Is(), _load("float"))]
        return ([*tests, self.is_finite(_load(name), name)] if finite else tests), name

    @staticmethod
    def is_finite(first: ast.expr, name: str) -> ast.expr:
        """``x - x == 0.0``: false for infinities and NaN, and cheaper than a call."""
        return _compare(_binary(first, ast.Sub(), _load(name)), ast.Eq(), _constant(0.0))

    def read(self, node: Name, *, finite: bool, otherwise: str = "number") -> ast.expr:
        tests, name = self.is_float(node, finite=finite)
        is_int = _compare(_call("type", _load(name)), ast.Is(), _load("int"))
        as_float = self.placed(_call("float", _load(name)), node)
        other = _choose(is_int, as_float, _call(otherwise, _load(name), _constant(node.name)))
        return _choose(_all_of(tests), _load(name), other)

    def checked(self, expression: ast.expr, node: Node) -> ast.expr:
        keeping, name = self.kept(expression)
        too_large = self.placed(_call("overflow"), node)
        return _choose(self.is_finite(keeping, name), _load(name), too_large)

    def finite_value(self, node: Node) -> ast.expr:
        if isinstance(node, Name):
            return self.read(node, finite=True)
        expression, loose = self.value(node)
        return self.checked(expression, node) if loose else expression

    def truth(self, node: Node) -> ast.expr:
        match node:
            case Compare(first=first, rest=rest):
                operators: list[ast.cmpop] = [_COMPARE[op]() for op, _ in rest]
                operands = [self.finite_value(operand) for _, operand in rest]
                return ast.Compare(self.finite_value(first), operators, operands, **_HERE)
            case Logic(op=op, operands=operands):
                joined = ast.And() if op == "and" else ast.Or()
                return ast.BoolOp(joined, [self.truth(operand) for operand in operands], **_HERE)
            case Not(operand=operand):
                return ast.UnaryOp(ast.Not(), self.truth(operand), **_HERE)
            case _:
                return self.finite_value(node)

    def value(self, node: Node) -> tuple[ast.expr, bool]:
        match node:
            case Number(value=value):
                return _constant(value), False
            case Name():
                return self.read(node, finite=False), True
            case Unary(op=op, operand=operand):
                expression, loose = self.value(operand)
                return (ast.UnaryOp(ast.USub(), expression, **_HERE) if op == "-" else expression), loose
            case Binary():
                return self.chain(node)
            case Compare() | Logic() | Not():
                return _choose(self.truth(node), _constant(1.0), _constant(0.0)), False
            case Choose(condition=condition, yes=yes, no=no):
                test = self.truth(condition)
                (then, loose), (other, looser) = self.value(yes), self.value(no)
                return _choose(test, then, other), loose or looser
            case Call():
                return self.call(node)
            case _:
                assert_never(node)

    def chain(self, node: Binary) -> tuple[ast.expr, bool]:
        first, links = left_chain(node)
        left, loose = self.value(first)
        before = first
        for link in links:
            match link.op:
                case "+" | "-" | "*":
                    left = _binary(left, _BINARY[link.op](), self.value(link.right)[0])
                    loose = True
                case "/" | "//" | "%":
                    left = self.placed(_binary(left, _BINARY[link.op](), self.finite_value(link.right)), link)
                    loose = True
                case "**":
                    left = self.power(self.checked(left, before) if loose else left, link)
                    loose = False
                case _:
                    assert_never(link.op)
            before = link
        return left, loose

    def power(self, base: ast.expr, link: Binary) -> ast.expr:
        exponent = literal(link.right)
        if exponent is not None and exponent.is_integer() and exponent > 0:  # can only overflow, and says so itself
            return self.placed(_binary(base, ast.Pow(), _constant(exponent)), link)
        return _call("power", base, self.finite_value(link.right))

    def call(self, node: Call) -> tuple[ast.expr, bool]:
        if node.function == "given" and isinstance(name := node.arguments[0], Name):
            return _call("f_given", _load("v"), _constant(name.name)), False
        if not FUNCTIONS[node.function].drops_absent:
            return _call(f"f_{node.function}", *(self.finite_value(argument) for argument in node.arguments)), False
        weights: list[float] = []
        arguments = node.arguments
        if node.function == "weighted":
            weights = [literal(weight) or 0.0 for weight in arguments[::2]]
            arguments = arguments[1::2]
        return self.inline(node.function, weights, arguments) or (
            self.aggregate(node.function, weights, arguments),
            False,
        )

    def aggregate(self, function: str, weights: list[float], arguments: tuple[Node, ...]) -> ast.expr:
        """A call that leaves out the absent."""
        given: list[ast.expr] = [_constants(weights)] if weights else []
        for argument in arguments:
            if isinstance(argument, Name):
                given.append(self.read(argument, finite=True, otherwise="argument"))
            else:
                given.append(self.finite_value(argument))
        return _call(f"f_{function}", *given)

    def inline(self, function: str, weights: list[float], arguments: tuple[Node, ...]) -> tuple[ast.expr, bool] | None:
        """The aggregate as plain arithmetic, for when every name in it holds a float and nothing is to drop.

        Only over names and numbers: otherwise the branch for absent names would repeat whole expressions.
        """
        ordering = function in ("min", "max")
        names = sum(isinstance(argument, Name) for argument in arguments)
        if ordering and len(arguments) == 2 and names == 0:
            return self.pick(function, self.finite_value(arguments[0]), self.finite_value(arguments[1])), False
        adding = function in ("sum", "mean", "weighted")
        if names == 0 or not (adding or (ordering and len(arguments) == 2)):
            return None
        tests: list[ast.expr] = []
        terms: list[ast.expr] = []
        for argument in arguments:
            match argument:
                case Name():
                    test, name = self.is_float(argument, finite=ordering)
                    tests += test
                    terms.append(_load(name))
                case Number(value=value):
                    terms.append(_constant(value))
                case _:
                    return None
        plain = self.pick(function, *terms) if ordering else _sum_node(function, weights, terms)
        return _choose(_all_of(tests), plain, self.aggregate(function, weights, arguments)), adding

    def pick(self, function: str, left: ast.expr, right: ast.expr) -> ast.expr:
        """The smaller or larger of two finite numbers; when they are equal, the first, as min() does."""
        first, one = self.kept(left)
        second, two = self.kept(right)
        sign = ast.LtE() if function == "min" else ast.GtE()
        return _choose(_compare(first, sign, second), _load(one), _load(two))


def _sum_node(function: str, weights: list[float], terms: list[ast.expr]) -> ast.expr:
    divisor = float(len(terms)) if function == "mean" else 1.0
    if weights:
        divisor = arithmetic.scale(weights)
        terms = [_binary(_constant(w), ast.Mult(), term) for w, term in zip(weights, terms, strict=True)]
    total = terms[0]
    for term in terms[1:]:
        total = _binary(total, ast.Add(), term)
    return total if divisor == 1 else _binary(total, ast.Div(), _constant(divisor))
