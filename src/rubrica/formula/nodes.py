"""The formula tree: plain data, so that each reading (a value, an interval, a column) is a function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias, assert_never

import msgspec

BinaryOp = Literal["+", "-", "*", "/", "//", "%", "**"]
CompareOp = Literal["<", "<=", ">", ">=", "==", "!="]
UnaryOp = Literal["-", "+"]
LogicOp = Literal["and", "or"]


class Number(msgspec.Struct, frozen=True):
    """A number written in the formula; ``True`` is 1.0 and ``False`` is 0.0."""

    value: float


class Name(msgspec.Struct, frozen=True):
    """Something the formula asks for by name."""

    name: str


class Unary(msgspec.Struct, frozen=True):
    """A sign in front of an operand."""

    op: UnaryOp
    operand: Node


class Binary(msgspec.Struct, frozen=True):
    """Arithmetic between two operands. Long chains lean to the left: read them with `left_chain`."""

    op: BinaryOp
    left: Node
    right: Node


class Compare(msgspec.Struct, frozen=True):
    """A chain of comparisons, each between neighbours: ``first op node op node …``."""

    first: Node
    rest: tuple[tuple[CompareOp, Node], ...]


class Logic(msgspec.Struct, frozen=True):
    """``and`` or ``or`` over two or more operands, read from the left until it is decided."""

    op: LogicOp
    operands: tuple[Node, ...]


class Not(msgspec.Struct, frozen=True):
    """1.0 when the operand is zero, else 0.0."""

    operand: Node


class Choose(msgspec.Struct, frozen=True):
    """``yes if condition else no``; only the chosen branch is read."""

    condition: Node
    yes: Node
    no: Node


class Call(msgspec.Struct, frozen=True):
    """One of the fixed functions with its arguments, by position."""

    function: str
    arguments: tuple[Node, ...]


Node: TypeAlias = Number | Name | Unary | Binary | Compare | Logic | Not | Choose | Call


def left_chain(node: Binary) -> tuple[Node, list[Binary]]:
    """The leftmost operand of ``a + b + c + …`` and its links, innermost first, for readers to loop over.

    >>> chain = Binary("-", Binary("+", Name("a"), Name("b")), Name("c"))
    >>> first, links = left_chain(chain)
    >>> first.name, [link.op for link in links]
    ('a', ['+', '-'])
    """
    links = [node]
    left = node.left
    while isinstance(left, Binary):
        links.append(left)
        left = left.left
    links.reverse()
    return left, links


def children(node: Node) -> tuple[Node, ...]:
    """The nodes directly under this one, in the order they are written."""
    match node:
        case Number() | Name():
            return ()
        case Unary(operand=operand) | Not(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case Compare(first=first, rest=rest):
            return (first, *(operand for _, operand in rest))
        case Logic(operands=operands):
            return operands
        case Choose(condition=condition, yes=yes, no=no):
            return (yes, condition, no)
        case Call(arguments=arguments):
            return arguments
        case _:
            assert_never(node)


def walk(node: Node) -> Iterator[Node]:
    """Every node of the tree, parents before children.

    >>> [n.name for n in walk(Binary("+", Name("a"), Name("b"))) if isinstance(n, Name)]
    ['a', 'b']
    """
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(children(current)))


def literal(node: Node) -> float | None:
    """The number a node is, when it is a plain number or a signed one.

    >>> literal(Unary("-", Number(2.0)))
    -2.0
    """
    match node:
        case Number(value=value):
            return value
        case Unary(op="-", operand=Number(value=value)):
            return -value
        case Unary(op="+", operand=Number(value=value)):
            return value
        case _:
            return None


# How tightly each form binds; an operand that binds less tightly than its place asks for gets brackets.
_CHOOSE, _OR, _AND, _NOT, _COMPARE, _ADD, _MULTIPLY, _UNARY, _POWER, _ATOM = range(10)
_BINARY: dict[BinaryOp, int] = {
    "+": _ADD,
    "-": _ADD,
    "*": _MULTIPLY,
    "/": _MULTIPLY,
    "//": _MULTIPLY,
    "%": _MULTIPLY,
    "**": _POWER,
}


def text_of(node: Node) -> str:
    """The formula text of a tree, with no more brackets than it needs. Parsing it gives the tree back.

    >>> text_of(Binary("*", Binary("+", Name("a"), Number(1.0)), Unary("-", Name("b"))))
    '(a + 1) * -b'
    """
    return _render(node)[0]


def _within(node: Node, least: int) -> str:
    text, binds = _render(node)
    return text if binds >= least else f"({text})"


def _render(node: Node) -> tuple[str, int]:
    match node:
        case Number(value=value):
            return repr(value).removesuffix(".0"), _ATOM
        case Name(name=name):
            return name, _ATOM
        case Unary(op=op, operand=operand):
            return op + _within(operand, _UNARY), _UNARY
        case Binary():
            return _render_chain(node)
        case Compare(first=first, rest=rest):
            links = "".join(f" {op} {_within(operand, _ADD)}" for op, operand in rest)
            return _within(first, _ADD) + links, _COMPARE
        case Logic(op=op, operands=operands):
            binds = _AND if op == "and" else _OR
            return f" {op} ".join(_within(operand, binds + 1) for operand in operands), binds
        case Not(operand=operand):
            return "not " + _within(operand, _NOT), _NOT
        case Choose(condition=condition, yes=yes, no=no):
            return f"{_within(yes, _OR)} if {_within(condition, _OR)} else {_within(no, _CHOOSE)}", _CHOOSE
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(text_of(argument) for argument in arguments)})", _ATOM
        case _:
            assert_never(node)


def _render_chain(node: Binary) -> tuple[str, int]:
    first, links = left_chain(node)
    text, binds = _render(first)
    for link in links:
        power = link.op == "**"  # binds to the right, and more tightly than a sign on its left
        place = _BINARY[link.op]
        if binds < place + power:
            text = f"({text})"
        right = _within(link.right, _UNARY if power else place + 1)
        text, binds = f"{text} {link.op} {right}", place
    return text, binds
