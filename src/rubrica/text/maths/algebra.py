"""Expressions and relations with letters: read from a text, worked out for values of the letters, and compared.

Only what can be read in one way is read: 12x/y and 3(a - 5), but neither 1/2x nor f(x).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, pairwise

import msgspec

from rubrica.errors import FormulaError, FormulaFault
from rubrica.text.lazy_pattern import lazy_pattern
from rubrica.text.maths.expression import ArithmeticToken, Number, tokens_of, value_of
from rubrica.text.maths.latex import plain_maths

LONGEST = 160  # characters of a relation
MOST_UNREAD = 3  # sides at the start of a relation that may be anything: "V = πr²h = π * 9 * 10"
MOST_PIECES = 80  # relations read in one text

_SAMPLES = (Fraction(7, 3), Fraction(19, 7), Fraction(31, 11), Fraction(41, 13), Fraction(53, 17), Fraction(61, 23))
_SIGN = lazy_pattern(r"<=|>=|=<|[=<>≤≥]")
_FLIPPED = {"=": "=", "<": ">", ">": "<", "≤": "≥", "≥": "≤"}
_WRITTEN = {"<=": "≤", ">=": "≥", "=<": "≤"}
_LETTERS = lazy_pattern(r"([a-zA-Zπ]{1,3})([²³]|\^[23])?")
_UNKNOWN = lazy_pattern(
    r"(?<![A-Za-zπ'’.])([a-zA-Zπ])(?!/(?:s(?:ec)?|hr?|min)\b)(?=[²³^]|[ ]?[-+*/=<>≤≥)])(?![A-Za-z'’])"
    r"|(?<![A-Za-z])[=+(*/<>≤≥-][ ]?([a-zA-Zπ])(?![A-Za-z'’.)])"
    r"|(?<![\d.,A-Za-z])\d{1,4}([a-zA-Zπ])(?=[ ]?[-+=<>≤≥)]|[²³^])"
)
_IMAGINARY = lazy_pattern(r"\d\s?i\b|(?<![A-Za-z])i(?:²|\^2|\s?=\s?√)")  # i² = -1: no letter that has a value
_BREAK = lazy_pattern(
    r"[^\W\d_π²³⁴]{2,}(?:['’.-][^\W\d_]+)*|[\n;:?!&|]|,(?!\d{3}(?!\d))|\.(?!\d)|[⇒→⟹⟶⇔⟺]|=>|->|[:∴~≈≠±]"
)
_GOES_ON = lazy_pattern(r"(?<=\w)\s?([-+*/×÷^(])")  # "30 feet / 6"
_HANGING = lazy_pattern(r"\s*[-+*/×÷−–]\s")
_DOUBLED = lazy_pattern(r"(.{5,})\1")  # pasted twice
_HYPHEN = lazy_pattern(r"(?<![A-Za-z]{2})(?<=[A-Za-z])-(?=[A-Za-z](?![A-Za-z]))")
_UNITS = frozenset("mglshkpdcLNJWVK")  # letters that may be units right after a number


class Relation(msgspec.Struct, frozen=True):
    """Expressions with signs between them, as `text[start:end]`: one expression alone, an equation, a range."""

    text: str
    sides: tuple[tuple[ArithmeticToken, ...], ...]
    signs: tuple[str, ...]
    before: str = ""  # the word or sign that it follows
    after: str = ""  # and the one that follows it, or the operator behind a unit
    end: int = 0

    @property
    def letters(self) -> frozenset[str]:
        return frozenset().union(*map(letters_of, self.sides))


def letters_of(side: Sequence[ArithmeticToken]) -> frozenset[str]:
    """The letters of an expression."""
    return frozenset(token.text for token in side if token.kind == "word")


def unknowns_of(*texts: str) -> frozenset[str]:
    """The letters that stand for numbers in some texts.

    >>> sorted(unknowns_of("A box of 5 m costs x dollars: 3x + y = 7."))
    ['x', 'y']
    """
    imaginary = {"i"} if any(_IMAGINARY.search(text) for text in texts) else set()
    found = (group for text in texts for match in _UNKNOWN.finditer(plain_maths(text)) for group in match.groups())
    pi = {"π"} if any("π" in text or "\\pi" in text for text in texts) else set()
    return frozenset(letter for letter in found if letter) - imaginary | pi


def read_relation(written: str, unknowns: frozenset[str]) -> Relation | None:
    """A whole text as a relation or an expression; None where it is none.

    >>> found = read_relation("-1 < 2x ≤ 3", frozenset("x"))
    >>> len(found.sides), found.signs
    (3, ('<', '≤'))
    """
    plain = plain_maths(written).strip(" $").rstrip(" .,")
    if not plain or len(plain) > LONGEST or _DOUBLED.fullmatch(plain):
        return None
    signs = [match[0] for match in _SIGN.finditer(plain)]
    sides = [_terms(part, unknowns) for part in _SIGN.split(plain)]
    kept = [side for side in sides if side]
    if len(kept) != len(sides):
        return None
    return Relation(plain, tuple(kept), tuple(_WRITTEN.get(sign, sign) for sign in signs))


def relations_in(text: str, unknowns: frozenset[str]) -> Iterator[Relation]:
    """The relations and expressions that stand in a text, each between words, commas or arrows.

    >>> [each.text for each in relations_in("Add 7: 5y = 25. So y = 5", frozenset("y"))]
    ['7', '5y = 25', 'y = 5']
    """
    start, before = 0, ""
    read = 0
    plain = plain_maths(text)
    stops = [match for match in _BREAK.finditer(plain) if not _is_product(match[0], unknowns)]
    for stop in (*stops, None):
        end = len(plain) if stop is None else stop.start()
        piece = plain[start:end]
        if re.search(r"[\dπ]|(?<![A-Za-z])[A-Za-z](?![A-Za-z])", piece) and read < MOST_PIECES:
            read += 1
            lead = re.match(r"\s*=", piece)  # "Area = 5 * 4": the word before is a side that cannot be read
            if before and _HANGING.match(piece):
                piece = ""  # "Lily + D + 2D = 43"
            piece = piece[lead.end() :] if lead else piece
            found = read_relation(piece, unknowns)
            for sign in islice(re.finditer(r"(?<![<>])=(?![<>=])", piece), MOST_UNREAD if found is None else 0):
                found, lead = read_relation(piece[sign.end() :], unknowns), sign
                if found is not None:
                    break
            if found is not None:
                goes_on = stop and _GOES_ON.match(plain, stop.end())
                after = "" if stop is None else goes_on[1] if goes_on else stop[0]
                yield msgspec.structs.replace(found, before="=" if lead else before, after=after, end=end)
        if stop is not None:
            start, before = stop.end(), stop[0]


def _is_product(word: str, unknowns: frozenset[str]) -> bool:
    return 1 < len(word) <= 3 and all(letter in unknowns for letter in word)


def _terms(written: str, unknowns: frozenset[str]) -> tuple[ArithmeticToken, ...] | None:
    """The tokens of an expression with every product spelt out; None where it is none."""
    split: list[ArithmeticToken] = []
    for token in tokens_of(_HYPHEN.sub(" - ", written)):
        if token.kind == "money" or token.text[0] == "°":
            continue
        if token.text == "π":
            token = token._replace(kind="word")
        if token.kind != "word":
            split.append(token)
            continue
        match = _LETTERS.fullmatch(token.text)
        if match is None:
            return None
        if not all(letter in unknowns for letter in match[1]):
            glued = split and split[-1].kind == "number" and match[1] in _UNITS and not match[2]
            if token.text == "x" and split:
                split.append(token._replace(kind="operator", text="*"))
                continue
            if not glued:
                return None
            continue  # a unit
        for place, letter in enumerate(match[1]):
            split.append(ArithmeticToken("word", letter, token.start + place, token.start + place + 1))
        if match[2]:
            power = {"²": "2", "³": "3"}.get(match[2], match[2][-1])
            split.append(ArithmeticToken("power", power, token.end - 1, token.end))
    if not split or any(token.kind == "other" for token in split):
        return None
    return _multiplied(split)


def _multiplied(tokens: Sequence[ArithmeticToken]) -> tuple[ArithmeticToken, ...] | None:
    found = list(tokens[:1])
    for place, (one, two) in enumerate(pairwise(tokens)):
        ends = one.kind in {"number", "close", "word", "power", "percent"}
        begins = two.kind in {"number", "open", "word", "root"}
        if ends and begins:
            if two.kind == "number" or (one.kind == "word" and one.text in "fghP" and two.kind == "open"):
                return None  # x2, 5 7; f(x)
            if one.kind != "close" and place and tokens[place - 1].text == "/" and tokens[place - 1].kind == "operator":
                return None  # 1/2x is read in two ways
            found.append(ArithmeticToken("operator", "*", two.start, two.start))
        found.append(two)
    return tuple(found) if found[-1].kind != "operator" and found[0].text not in "*/^" else None


def worth(side: Sequence[ArithmeticToken], values: Mapping[str, Number]) -> Number | None:
    """What an expression comes to where its letters have values."""
    filled: list[ArithmeticToken] = []
    for token in side:
        if token.kind != "word":
            filled.append(token)
        elif token.text in values:
            filled.append(token._replace(kind="number", value=Fraction(values[token.text])))
        else:
            return None
    try:
        return value_of(filled, "")
    except (FormulaError, FormulaFault, OverflowError):
        return None


def are_same(one: Relation, other: Relation) -> bool:
    """Whether two relations say the same of the same letters: side for side, or turned round.

    >>> tell = lambda one, two: are_same(*(read_relation(each, frozenset("ab")) for each in (one, two)))
    >>> tell("2(a + b)", "2b + 2a"), tell("a < 3", "3 > a"), tell("a + b", "ab")
    (True, True, False)
    """
    if len(one.sides) != len(other.sides):
        return False
    turned = tuple(_FLIPPED[sign] for sign in reversed(other.signs))
    straight = one.signs == other.signs and all(map(are_equal, one.sides, other.sides))
    return straight or (one.signs == turned and all(map(are_equal, one.sides, reversed(other.sides))))


def are_equal(one: Sequence[ArithmeticToken], other: Sequence[ArithmeticToken]) -> bool:
    """Whether two expressions come to the same for all values of their letters, as far as a few can tell."""
    letters = sorted({token.text for token in (*one, *other) if token.kind == "word"})
    tried = False
    for shift in range(3):
        values: dict[str, Number] = {
            letter: _SAMPLES[(place + shift) % len(_SAMPLES)] + shift for place, letter in enumerate(letters)
        }
        gap = gap_of(one, other, values)
        if gap is None:
            continue
        if gap > 1e-9:
            return False
        tried = True
    return tried


def gap_of(
    one: Sequence[ArithmeticToken], other: Sequence[ArithmeticToken], values: Mapping[str, Number]
) -> float | None:
    """How far two expressions are apart, as a share of the larger; None where one has no value."""
    left, right = worth(one, values), worth(other, values)
    if left is None or right is None:
        return None
    if left == right:
        return 0.0
    one_size, other_size = Fraction(left), Fraction(right)
    return float(abs(one_size - other_size) / max(abs(one_size), abs(other_size)))
