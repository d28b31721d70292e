"""From text to tree: Python's parser reads the expression, and only what the language has is let through."""

from __future__ import annotations

import ast
import keyword
import math
from collections.abc import Mapping
from itertools import pairwise

from rubrica.errors import FormulaError
from rubrica.formula.arithmetic import MAX_EXPONENT
from rubrica.formula.bounds import bounds
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
    literal,
)
from rubrica.formula.tokens import MAX_DEPTH, MAX_LENGTH, Token, refused, scan
from rubrica.hints import did_you_mean

MAX_NODES = 500
MAX_NUMBER = 10**15
MAX_DIGITS = 15

_BINARY: Mapping[type[ast.operator], BinaryOp] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}
_COMPARE: Mapping[type[ast.cmpop], CompareOp] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
# Python that is not in the language but gets past the token scan.
_REFUSED: Mapping[type[ast.AST], tuple[str, str]] = {
    ast.Tuple: (
        "a comma belongs between the arguments of a function",
        "remove it, or name the function: mean(a, b)",
    ),
    ast.GeneratorExp: ("formulas have no loops", "give functions their arguments one by one: mean(a, b)"),
    ast.Starred: (
        "arguments cannot be unpacked with *",
        "give functions their arguments one by one: mean(a, b)",
    ),
    ast.Yield: ("'yield' is not part of the formula language", "remove it"),
    ast.YieldFrom: ("'yield' is not part of the formula language", "remove it"),
    ast.Await: ("'await' is not part of the formula language", "remove it"),
    ast.Lambda: ("formulas define no functions", "write the expression itself"),
}
_SHOUTED = {"AND": "and", "OR": "or", "NOT": "not", "IF": "if", "ELSE": "else"}


def read(text: str, longest: int = MAX_LENGTH) -> Node:
    """The tree of a formula, or a FormulaError that says where the text is wrong and what to write.

    >>> read("a >= 0.5")
    Compare(first=Name(name='a'), rest=(('>=', Number(value=0.5)),))
    >>> read("mini(a, 1)")
    Traceback (most recent call last):
    rubrica.errors.FormulaError: line 1, column 1: there is no function 'mini' (did you mean 'min'?)
    """
    if not isinstance(text, str):
        raise FormulaError(f"a formula is text, not {type(text).__name__}", fix="put it in quotes")
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    tokens = scan(plain, longest)
    try:
        # The brackets let a formula go on over several lines; scan() has made sure that its own are balanced.
        body = ast.parse(f"({plain}\n)", mode="eval").body
    except SyntaxError as error:
        raise _explained(plain, tokens, error) from None
    except (RecursionError, MemoryError, ValueError):
        raise FormulaError("the formula is nested too deeply", fix="split it into several formulas") from None
    return _Reader(plain).node(body, 1)


def _explained(text: str, tokens: list[Token], error: SyntaxError) -> FormulaError:
    """Python's complaint, told in terms of the formula's own tokens."""
    line, offset = error.lineno or 1, error.offset or 1
    starts = [0, *(index + 1 for index, character in enumerate(text) if character == "\n"), len(text) + 1]
    at = starts[min(line, len(starts)) - 1] + offset - (2 if line == 1 else 1)  # the added bracket is in line 1
    for token in tokens:
        if token.text in _SHOUTED:
            return refused(text, token.at, f"'{token.text}' is not an operator", f"write {_SHOUTED[token.text]}")
    ifs = [token for token in tokens if token.text == "if"]
    if len(ifs) > sum(token.text == "else" for token in tokens):
        return refused(text, ifs[-1].at, "this 'if' has no 'else'", "write: yes if condition else no")
    for left, right in pairwise(tokens):
        if _operand_ends(left) and _operand_starts(right) and not (right.text == "(" and left.kind == "name"):
            message = f"something is missing between '{left.text}' and '{right.text}'"
            return refused(text, right.at, message, "put an operator or a comma there")
    here = next((token for token in tokens if token.at + len(token.text) > at), None)
    if here is None or at < 0:
        return refused(
            text, len(text.rstrip()), "the formula ends too early", "complete it, or remove the last operator"
        )
    return refused(text, here.at, f"'{here.text}' is not expected here", "check what stands before and after it")


def _operand_ends(token: Token) -> bool:
    return token.kind == "number" or token.text == ")" or (token.kind == "name" and not keyword.iskeyword(token.text))


def _operand_starts(token: Token) -> bool:
    return token.kind == "number" or token.text == "(" or (token.kind == "name" and not keyword.iskeyword(token.text))


class _Reader:
    """Turns Python's tree into ours; counts what it makes."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.made = 0

    def error(self, where: ast.expr, message: str, fix: str) -> FormulaError:
        shift = 1 if where.lineno == 1 else 0  # the bracket that read() added
        line = self.lines[min(where.lineno, len(self.lines)) - 1]
        before = line.encode()[: max(where.col_offset - shift, 0)].decode(errors="ignore")
        return FormulaError(message, line=min(where.lineno, len(self.lines)), column=len(before) + 1, fix=fix)

    def node(self, source: ast.expr, depth: int) -> Node:
        self.made += 1
        if self.made > MAX_NODES:
            raise self.error(source, f"the formula has more than {MAX_NODES} parts", "split it into several formulas")
        if depth > MAX_DEPTH:
            message = f"more than {MAX_DEPTH} operations are nested"
            raise self.error(source, message, "split it into several formulas")
        match source:
            case ast.Constant():
                return self.number(source)
            case ast.Name():
                return self.name(source)
            case ast.UnaryOp():
                return self.unary(source, depth)
            case ast.BinOp():
                return self.binary(source, depth)
            case ast.Compare():
                return self.compare(source, depth)
            case ast.BoolOp(op=op, values=values):
                return Logic("and" if isinstance(op, ast.And) else "or", tuple(self.node(v, depth + 1) for v in values))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return Choose(self.node(test, depth + 1), self.node(body, depth + 1), self.node(orelse, depth + 1))
            case ast.Call():
                return self.call(source, depth)
            case _:
                fallback = ("this is not part of the formula language", "remove it")
                raise self.error(source, *_REFUSED.get(type(source), fallback))

    def number(self, source: ast.Constant) -> Number:
        value = source.value
        if value is None:
            raise self.error(source, "None is not a number", "leave it out: a name without a value is seen as absent")
        if not isinstance(value, bool | int | float):
            raise self.error(source, f"{value!r} is not a number", "formulas have only numbers and names")
        if not abs(value) <= MAX_NUMBER:
            raise self.error(source, "this number is too large", "write a number up to 1e15")
        return Number(float(value))

    def name(self, source: ast.Name) -> Name:
        if source.id.startswith("_"):
            raise self.error(source, f"the name '{source.id}' starts with an underscore", "start it with a letter")
        if keyword.iskeyword(source.id):  # letters that only turn into a keyword when normalised
            raise self.error(
                source, f"'{source.id}' cannot be a name", "write it with plain letters, or choose another"
            )
        return Name(source.id)

    def unary(self, source: ast.UnaryOp, depth: int) -> Node:
        operand = self.node(source.operand, depth + 1)
        match source.op:
            case ast.Not():
                return Not(operand)
            case ast.USub():
                return Unary("-", operand)
            case ast.UAdd():
                return Unary("+", operand)
            case _:
                raise self.error(source, "'~' is not part of the formula language", "write not")

    def binary(self, source: ast.BinOp, depth: int) -> Node:
        links = [source]
        while isinstance(links[-1].left, ast.BinOp):  # a + b + c + … leans left: walk down, do not recurse
            links.append(links[-1].left)
        self.made += len(links) - 1
        tree = self.node(links[-1].left, depth + 1)
        for link in reversed(links):
            op = _BINARY.get(type(link.op))
            if op is None:
                raise self.error(link, "this operator is not part of the formula language", "use + - * / // % or **")
            right = self.node(link.right, depth + 1)
            if op == "**":
                self.check_exponent(link.right, right)
            tree = Binary(op, tree, right)
        return tree

    def check_exponent(self, source: ast.expr, exponent: Node) -> None:
        """Refuse what can only fail: the exponent of 9 ** 9 ** 9 is out of range whatever the names are."""
        reach = bounds(exponent, {})
        if reach.lo > MAX_EXPONENT or reach.hi < -MAX_EXPONENT:
            least = reach.lo if reach.lo > MAX_EXPONENT else reach.hi
            message = f"the exponent {least:g} is out of range"
            raise self.error(source, message, f"use one from -{MAX_EXPONENT} to {MAX_EXPONENT}")

    def compare(self, source: ast.Compare, depth: int) -> Node:
        first = self.node(source.left, depth + 1)
        rest: list[tuple[CompareOp, Node]] = []
        for sign, operand in zip(source.ops, source.comparators, strict=True):
            op = _COMPARE.get(type(sign))
            if op is None:
                message = "'is' and 'in' are not part of the formula language"
                raise self.error(operand, message, "compare with == or !=, joined by and / or")
            rest.append((op, self.node(operand, depth + 1)))
        return Compare(first, tuple(rest))

    def call(self, source: ast.Call, depth: int) -> Call:
        if not isinstance(source.func, ast.Name):
            raise self.error(source, "only a function can be called", "to multiply, write * before the bracket")
        name = source.func.id
        function = FUNCTIONS.get(name)
        if function is None:
            raise self.error(source, f"there is no function '{name}'", _instead_of(name))
        if source.keywords:
            raise self.error(source, f"{name} takes its arguments by position", f"write {function.usage}")
        arguments = tuple(self.node(argument, depth + 1) for argument in source.args)
        given = len(arguments)
        if given < function.least or (function.most is not None and given > function.most):
            raise self.error(source, f"{name} takes {function.takes}, not {given}", f"write {function.usage}")
        self.check_arguments(source, name, arguments)
        return Call(name, arguments)

    def check_arguments(self, source: ast.Call, name: str, arguments: tuple[Node, ...]) -> None:
        match name:
            case "weighted":
                self.check_weights(source, arguments)
            case "share_of_points":
                self.check_points(source, arguments)
            case "given" if not isinstance(arguments[0], Name):
                raise self.error(source.args[0], "given asks about a name, not about a value", "write given(name)")
            case "round" if len(arguments) == 2:
                digits = literal(arguments[1])
                if digits is None or not digits.is_integer() or abs(digits) > MAX_DIGITS:
                    message = f"round takes its digits as a whole number from -{MAX_DIGITS} to {MAX_DIGITS}"
                    raise self.error(source.args[1], message, "write for example round(x, 2)")
            case "clamp":
                low, high = literal(arguments[1]), literal(arguments[2])
                if low is not None and high is not None and low > high:
                    message = f"clamp goes from {low:g} down to {high:g}"
                    raise self.error(source, message, "give the lower bound first: clamp(x, lo, hi)")

    def check_pairs(self, source: ast.Call, arguments: tuple[Node, ...], function: str) -> None:
        if len(arguments) % 2:
            message = f"{function} takes pairs, but {len(arguments)} arguments are an odd number"
            raise self.error(source, message, f"write {FUNCTIONS[function].usage}")

    def check_points(self, source: ast.Call, arguments: tuple[Node, ...]) -> None:
        self.check_pairs(source, arguments, "share_of_points")
        given = [literal(points) for points in arguments[::2]]
        for at, points in enumerate(given):
            if points is None and not isinstance(arguments[2 * at], Name):
                fix = "for example share_of_points(5, a, -2, b)"
                raise self.error(source.args[2 * at], "points are a number or a name", fix)
        if all(points is not None and points <= 0 for points in given):
            raise self.error(source, "no points are above zero, so nothing can be earned", "give one points above zero")

    def check_weights(self, source: ast.Call, arguments: tuple[Node, ...]) -> None:
        self.check_pairs(source, arguments, "weighted")
        weights: list[float] = []
        for at in range(0, len(arguments), 2):
            weight = literal(arguments[at])
            if weight is None or weight < 0:
                message = "a weight of weighted is a number, zero or more"
                raise self.error(
                    source.args[at],
                    message,
                    "write weighted(w1, x1, …), for example weighted(0.7, a, 0.3, b)",
                )
            weights.append(weight)
        if not math.fsum(weights) > 0:
            raise self.error(source, "every weight of weighted is zero", "give at least one a weight above zero")


def _instead_of(name: str) -> str:
    return did_you_mean(name, FUNCTIONS, "there are: " + ", ".join(FUNCTIONS))
