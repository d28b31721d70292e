"""Checks the text of a formula before it is parsed, with errors that say what to write instead."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from rubrica.errors import FormulaError

MAX_LENGTH = 2000  # characters
MAX_COMPOSED = 40_000  # of a formula that Rubrica writes: over as many dimensions as a rubric may have
MAX_DEPTH = 50  # brackets or operators inside one another
MAX_NAME = 100  # characters

Kind = Literal["number", "name", "operator"]


class Token(msgspec.Struct, frozen=True):
    """A piece of the text: a number, a name or keyword, or an operator, comma or bracket."""

    kind: Kind
    text: str
    at: int  # index into the text


_DIGITS = r"[0-9](?:_?[0-9])*"
# Letters, _ and all beyond ASCII, told by what they are not: `re` takes 5 ms to compile a range up to U+10FFFF.
_LETTER, _LETTER_OR_DIGIT = r"[^\x00-@\[-^`{-\x7f]", r"[^\x00-/:-@\[-^`{-\x7f]"
# What other languages have, and what to write here. Longest first: the first that fits is reported.
_FOREIGN: dict[str, str] = {
    "===": "write == to compare",
    "!==": "write != for 'differs from'",
    "&&": "write and",
    "||": "write or",
    "=>": "write >= for 'at least'",
    "=<": "write <= for 'at most'",
    "<>": "write != for 'differs from'",
    "<<": "formulas have no bit operations; to multiply by a power of two, write x * 2 ** n",
    ">>": "formulas have no bit operations; to divide by a power of two, write x / 2 ** n",
    ":=": "a formula only reads names, it cannot set one",
}
_TOKEN = re.compile(
    rf"(?P<space>[ \t\n]+)"
    rf"|(?P<number>(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?)"
    rf"|(?P<name>{_LETTER}{_LETTER_OR_DIGIT}*)"
    rf"|(?P<foreign>{'|'.join(map(re.escape, _FOREIGN))})"
    r"|(?P<operator>\*\*|//|<=|>=|==|!=|[-+*/%<>(),])"
)
_GLUED = re.compile(rf"\.|{_LETTER_OR_DIGIT}")  # cannot follow a number directly
_FOREIGN_CHARACTERS: dict[str, str] = {
    "&": "write and",
    "|": "write or",
    "!": "write not",
    "~": "write not",
    "?": "write: yes if condition else no",
    ":": "to choose, write: yes if condition else no",
    "^": "write ** for a power",
    "=": "write == to compare; arguments are given by position only",
    ".": "a name has no dots, and nothing is looked up inside a value",
    "[": "nothing can be looked up inside a value; give functions their arguments one by one: mean(a, b)",
    "]": "remove it",
    "{": "remove it; use round brackets to group",
    "}": "remove it; use round brackets to group",
    "'": "formulas have no text, only numbers and names",
    '"': "formulas have no text, only numbers and names",
    "`": "remove it",
    "#": "write remarks beside the formula, not in it",
    "\\": "remove it; a formula may simply go on in the next line",
    ";": "a formula is a single expression",
    "@": "remove it",
    "$": "write the name without $",
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    "×": "write *",
    "·": "write *",
    "÷": "write /",
    "−": "write a plain hyphen -",
    "–": "write a plain hyphen -",
    "²": "write ** 2",
    "³": "write ** 3",
    "√": "write sqrt(x)",
    "∧": "write and",
    "∨": "write or",
    "¬": "write not",
    "“": "formulas have no text, only numbers and names",
    "”": "formulas have no text, only numbers and names",
    "\u00a0": "replace this no-break space with a plain space",
    "\x00": "remove this NUL character",
}


def position(text: str, at: int) -> tuple[int, int]:
    """The line and column, both from 1, of an index into the text.

    >>> position("a +\\n  b", 6)
    (2, 3)
    """
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def refused(text: str, at: int, message: str, fix: str = "") -> FormulaError:
    """The error for what stands at an index of the text."""
    line, column = position(text, at)
    return FormulaError(message, line=line, column=column, fix=fix)


def scan(text: str, longest: int = MAX_LENGTH) -> list[Token]:
    """The tokens of a formula whose lines end in plain newlines, or a FormulaError for the first misfit.

    >>> [token.text for token in scan("min(a, 1) * 30")]
    ['min', '(', 'a', ',', '1', ')', '*', '30']
    """
    if len(text) > longest:
        message = f"the formula has {len(text)} characters; at most {longest} are read"
        raise refused(text, longest, message, "split it into several formulas")
    tokens: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _foreign_character(text, at)
        if match.lastgroup != "space":
            tokens.append(_token(text, match))
        at = match.end()
    if not tokens:
        raise FormulaError("the formula is empty", fix="write an expression, for example: score >= 7")
    _check_brackets(text, tokens)
    return tokens


def _token(text: str, match: re.Match[str]) -> Token:
    """The token that was found in a text."""
    found, at = match.group(), match.start()
    match match.lastgroup:
        case "number":
            end = match.end()
            if _GLUED.match(text, end):
                raise refused(text, at, f"'{found}{text[end]}…' is not a number", _after_number(text[end]))
            return Token("number", found, at)
        case "name":
            _check_name(text, found, at)
            return Token("name", found, at)
        case "foreign":
            raise refused(text, at, f"'{found}' is not part of the formula language", _FOREIGN[found])
        case _:
            return Token("operator", found, at)


def _after_number(character: str) -> str:
    if character == ".":
        return "a number has one decimal point"
    return _FOREIGN_CHARACTERS.get(
        character, "put an operator between the number and what follows; write 2 * x, not 2x"
    )


def _check_name(text: str, name: str, at: int) -> None:
    if name.isidentifier():
        if len(name) > MAX_NAME:
            message = f"a name of {len(name)} characters is too long"
            raise refused(text, at, message, f"use at most {MAX_NAME} characters")
        return
    # Everything past ASCII was taken into the run: report the first character that cannot be part of a name.
    length = 1
    while length < len(name) and name[:length].isidentifier():
        length += 1
    raise _foreign_character(text, at + length - 1)


def _foreign_character(text: str, at: int) -> FormulaError:
    character = text[at]
    shown = f"'{character}'" if character.isprintable() else f"U+{ord(character):04X}"
    if character.isdigit() and not character.isascii() and character not in _FOREIGN_CHARACTERS:
        return refused(text, at, f"{shown} is not one of the digits 0 to 9", "write numbers with the digits 0 to 9")
    fix = _FOREIGN_CHARACTERS.get(character, "remove it")
    return refused(text, at, f"{shown} is not part of the formula language", fix)


def _check_brackets(text: str, tokens: list[Token]) -> None:
    opened: list[int] = []
    for token in tokens:
        if token.text == "(":
            opened.append(token.at)
            if len(opened) > MAX_DEPTH:
                message = f"more than {MAX_DEPTH} brackets are open at once"
                raise refused(text, token.at, message, "split it into several formulas")
        elif token.text == ")":
            if not opened:
                raise refused(text, token.at, "this ')' closes nothing", "remove it, or open a bracket before it")
            opened.pop()
    if opened:
        raise refused(text, opened[-1], "this '(' is never closed", "add the missing ')'")
