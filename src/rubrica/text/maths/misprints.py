"""Equations that are meant well and lost something on the way to plain text: brackets, raised powers, percent signs.

An equation that one of these would mend is no proof of a wrong calculation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.maths.expression import ArithmeticToken, value_of

MOST_TERMS = 5  # numbers of an expression in which brackets are looked for: there are 14 ways to set them
MOST_RAISED = 3  # numbers of an equation that may hide a power
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2}


def is_misprinted(left: Sequence[ArithmeticToken], right: Sequence[ArithmeticToken]) -> bool:
    """Whether an equation holds with brackets, raised digits or a percent sign put back.

    >>> from rubrica.text.maths.expression import tokens_of
    >>> tell = lambda one, two: is_misprinted(tokens_of(one), tokens_of(two))
    >>> tell("10 + 20 / 2", "15"), tell("62 + 82", "100"), tell("45 / 60", "75"), tell("10 + 20 / 2", "17")
    (True, True, True, False)
    """
    wanted = _value(right)
    if wanted is not None and not _adds_fractions(left) and wanted in _bracketed(left):
        return True
    if wanted is not None and any("/" in token.text for token in left):
        found = _value(left)
        if found is not None and found * 100 == wanted:
            return True
    return any(value is not None and value == other for value, other in _raised(left, right))


def with_bars(tokens: Sequence[ArithmeticToken], *, broadly: bool = False) -> Iterator[tuple[ArithmeticToken, ...]]:
    """A slash read as a long fraction bar, as on paper: 100/9*5 as 100/(9*5), and 8+6/120+80 as (8+6)/(120+80).

    Broadly, 8+6/2 may be (8+6)/2 as well.
    """
    slashes = [index for index, token in enumerate(tokens) if token.kind == "operator" and token.text == "/"]
    if len(slashes) != 1 or any(token.kind in {"open", "close"} for token in tokens):
        return
    over, under = tokens[: slashes[0]], tokens[slashes[0] + 1 :]
    opening, closing = ArithmeticToken("open", "(", 0, 0), ArithmeticToken("close", ")", 0, 0)
    product = next((i for i, token in enumerate(under) if token.text in {"+", "-"}), len(under))
    if any(token.text == "*" for token in under[:product]):
        yield (*over, tokens[slashes[0]], opening, *under[:product], closing, *under[product:])
    if (broadly or product < len(under)) and any(token.text in {"+", "-"} for token in over[1:]):
        yield (opening, *over, closing, tokens[slashes[0]], opening, *under, closing)


def with_bound_products(tokens: Sequence[ArithmeticToken]) -> tuple[ArithmeticToken, ...]:
    """A product without a sign read as one divisor, as some do: 6/2(3) as 6/(2(3)); the tokens as they are without."""
    found: list[ArithmeticToken] = []
    closing: list[int] = []  # depths of the brackets that end such a product
    depth = 0
    for place, token in enumerate(tokens):
        before = tokens[place - 1].text if place else ""
        follows = tokens[place + 1].kind if place + 1 < len(tokens) else "other"
        if token.kind == "number" and before == "/" and follows == "open":
            found.append(ArithmeticToken("open", "(", 0, 0))
            closing.append(depth)
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        found.append(token)
        if token.kind == "close" and closing and closing[-1] == depth:
            closing.pop()
            found.append(ArithmeticToken("close", ")", 0, 0))
    return tuple(found)


def _value(tokens: Sequence[ArithmeticToken]) -> Fraction | None:
    kept = [token for token in tokens if token.kind not in {"money", "percent"}]
    try:
        return Fraction(value_of(kept, "")) if kept else None
    except (FormulaError, FormulaFault, OverflowError):
        return None


def _bracketed(tokens: Sequence[ArithmeticToken]) -> set[Fraction]:
    """What a sum of numbers without brackets may come to with some, where its operations are of both ranks."""
    kept = [token for token in tokens if token.kind not in {"money", "percent"}]
    numbers, operators = kept[::2], kept[1::2]
    plain = all(token.kind == "number" for token in numbers) and all(token.text in _PRECEDENCE for token in operators)
    ranks = {_PRECEDENCE[token.text] for token in operators} if plain else set()
    if len(ranks) != 2 or len(kept) % 2 == 0 or len(numbers) > MOST_TERMS:
        return set()
    values = [token.value for token in numbers if token.value is not None]
    return _ways(values, [token.text for token in operators]) if len(values) == len(numbers) else set()


def _adds_fractions(tokens: Sequence[ArithmeticToken]) -> bool:
    """Whether several fractions are added, by the space around the signs: 1/2 + 2/3."""
    signs = [place for place, token in enumerate(tokens) if token.kind == "operator" and 0 < place < len(tokens) - 1]
    gaps = [
        (tokens[at].text, tokens[at].start - tokens[at - 1].end, tokens[at + 1].start - tokens[at].end) for at in signs
    ]
    tight = [before == after == 0 for text, before, after in gaps if text == "/"]
    apart = [before > 0 < after for text, before, after in gaps if text != "/"]
    return len(tight) > 1 and all(tight) and all(apart)


def _ways(values: Sequence[Fraction], operators: Sequence[str]) -> set[Fraction]:
    if not operators:
        return {values[0]}
    found: set[Fraction] = set()
    for place, operator in enumerate(operators):
        before = _ways(values[: place + 1], operators[:place])
        after = _ways(values[place + 1 :], operators[place + 1 :])
        found |= {_applied(operator, one, two) for one, two in product(before, after) if two or operator != "/"}
    return found


def _applied(operator: str, one: Fraction, two: Fraction) -> Fraction:
    match operator:
        case "+":
            return one + two
        case "-":
            return one - two
        case "*":
            return one * two
        case _:
            return one / two


def _raised(
    left: Sequence[ArithmeticToken], right: Sequence[ArithmeticToken]
) -> Iterator[tuple[Fraction | None, Fraction | None]]:
    """Both sides with a last 2 or 3 of some numbers as the power it may have been: 122 as 12 squared."""
    both = [*left, *right]
    places = [place for place, token in enumerate(both) if _power(token) is not None]
    if not 0 < len(places) <= MOST_RAISED:
        return
    for chosen in product((False, True), repeat=len(places)):
        if any(chosen):
            raised = {place for place, picked in zip(places, chosen, strict=True) if picked}
            tokens = [
                token._replace(value=_power(token)) if place in raised else token for place, token in enumerate(both)
            ]
            yield _value(tokens[: len(left)]), _value(tokens[len(left) :])


def _power(token: ArithmeticToken) -> Fraction | None:
    plain = token.kind == "number" and token.text.isdecimal() and 2 <= len(token.text) <= 4
    return Fraction(int(token.text[:-1])) ** int(token.text[-1]) if plain and token.text[-1] in "23" else None
