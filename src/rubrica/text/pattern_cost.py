"""What a pattern costs: how many of its positions can be alive at once, before it is compiled or meets a text.

When the states of a pattern do not fit in memory, re2 falls back to following every position at once that the text
read so far can have led to, for each byte anew. After a character, those are at most the positions that accept this
character; a literal also needs the literals before it. Counted repetitions are written out: ``.{1000}`` is a thousand
positions, which are all alive in any text. Cost is an upper bound: the largest number of positions that one character
can leave alive, where a position with a large character class (``\\pL``) counts for several.
"""

from __future__ import annotations

import re
from functools import lru_cache

import re2

from rubrica.text.lazy_pattern import lazy_pattern

CONTEXT = 15  # literals before a literal that must have been read too for it to be alive
CLASS_STEPS = 200  # instructions of a character class that cost as much as one position more

_TOKEN = lazy_pattern(
    r"""\\Q(?P<quoted>.*?)(?:\\E|\Z)
    | (?P<code>\\x\{[0-9A-Fa-f]{1,6}\}|\\x[0-9A-Fa-f]{2}|\\[0-7]{1,3})
    | (?P<class>\\[pP](?:\{[^}]*\}|.)|\\[dDsSwWC]|\.|\[\^?\]?(?:\\Q.*?\\E|\\.|\[:\^?[a-z]+:\]|[^\]\\])*\])
    | \\[bBAzE]|[\^$|]
    | \\(?P<escaped>.)
    | (?P<open>\((?:\?(?:P?<[^>]*>|[imsU-]*:?))?)
    | (?P<close>\))
    | (?P<repeat>[*+?]\??|\{(?P<least>\d+)(?:,(?P<most>\d*))?\}\??)
    | (?P<literal>.)""",
    re.VERBOSE | re.DOTALL,
)
_ASCII_SET = lazy_pattern(r"\[(?!\^)(?:\\[dsw]|\\[^a-zA-Z0-9]|\[:[a-z]+:\]|[\x00-\x5a\x5e-\x7f])*\]")
_ASCII_KINDS = frozenset({r"\d", r"\s", r"\w"})
_ASCII = "".join(map(chr, range(128)))
_BEYOND_ASCII = "\u0080"  # stands for every character beyond ASCII that a pattern does not name


Positions = dict[tuple[bool, str], int]
"""How many there are, by whether it is a literal, and its source: the literal with those before it."""


def steps_per_character(regex: str) -> int:
    """The most positions of a pattern that can be alive after a character, in any text.

    >>> [steps_per_character(regex) for regex in ("colou?r", "[0-9]+%", ".{1000}x", "(?:ab|cd){20}", "the|this|those")]
    [1, 1, 1056, 20, 3]
    """
    literals, classes = _positions(regex)
    beyond_ascii = {literal[-1] for literal in literals if not literal[-1].isascii()} | {_BEYOND_ASCII}
    by_class = dict.fromkeys([*_ASCII, *beyond_ascii], 0.0)
    for source, count in classes.items():
        steps = (1 + _instructions(source) / CLASS_STEPS) * count
        accepted = _accepted(source)
        for character in accepted if _is_ascii_only(source) else (*accepted, *beyond_ascii):
            by_class[character] += steps
    from_classes = max(by_class.values())
    from_literals = max(
        (
            by_class[literal[-1]] + sum(literals.get(literal[start:], 0) for start in range(len(literal)))
            for literal in literals
        ),
        default=0,
    )
    return max(1, round(max(from_classes, from_literals)))


def _positions(regex: str) -> tuple[dict[str, int], dict[str, int]]:
    """The literals of a pattern, each after up to `CONTEXT` others, and its classes; repetitions are written out."""
    around: list[Positions] = []  # the groups that are open
    group: Positions = {}  # the innermost of them
    atom: Positions = {}  # what a repetition would repeat
    run = ""  # the literals just before
    for token in _TOKEN.finditer(regex):
        kind = token.lastgroup
        if kind == "repeat":
            if (times := _times(token)) != 1:
                atom = {position: count * times for position, count in atom.items()}
            run = ""
            continue
        _add(group, atom)
        atom = {}
        if said := _literals(token, kind):
            for character in said:
                _add(group, atom)
                run = (run + character)[-CONTEXT - 1 :]
                atom = {(True, run): 1}
            continue
        run = ""
        if kind == "open":
            around.append(group)
            group = {}
        elif kind == "close" and around:
            group, atom = around.pop(), group
        elif kind == "class":
            atom = {(False, token[0]): 1}
    for outer in [*around, atom]:
        _add(group, outer)
    literals = {source: count for (literal, source), count in group.items() if literal}
    return literals, {source: count for (literal, source), count in group.items() if not literal}


def _add(group: Positions, atom: Positions) -> None:
    for position, count in atom.items():
        group[position] = group.get(position, 0) + count


def _times(token: re.Match[str]) -> int:
    """How many copies of an atom a repetition stands for."""
    if token["least"] is None:
        return 1
    return max(1, int(token["least"]), int(token["most"] or 0))


def _literals(token: re.Match[str], kind: str | None) -> str:
    """The literals that a token stands for, in lower case: case is ignored, which can only raise the cost."""
    match kind:
        case "code":
            digits = token["code"].removeprefix("\\").strip("x{}")
            code = int(digits, 16 if "x" in token["code"] else 8)
            return chr(code).lower()[0] if code <= 0x10FFFF else "x"
        case "escaped" | "literal":
            return token[kind].lower()[0]
        case "quoted":
            return "".join(character.lower()[0] for character in token[kind])
        case _:
            return ""


def _is_ascii_only(source: str) -> bool:
    """Whether a character class accepts nothing beyond ASCII for sure."""
    return source in _ASCII_KINDS or _ASCII_SET.fullmatch(source) is not None


@lru_cache(maxsize=512)
def _accepted(source: str) -> frozenset[str]:
    """The ASCII characters of a character class, in either case: found as few stretches of neighbours."""
    pattern = _class(f"{source}+")
    if pattern is None:
        return frozenset(_ASCII)
    return frozenset(chr(code) for match in pattern.finditer(_ASCII.encode()) for code in match[0])


@lru_cache(maxsize=512)
def _instructions(source: str) -> int:
    pattern = _class(source)
    return 0 if pattern is None else int(pattern.programsize)


def _class(source: str) -> re2._Regexp | None:
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = False
    options.dot_nl = True
    try:
        return re2.compile(source, options)
    except re2.error:
        return None  # not a pattern: re2 tells why when it is compiled
