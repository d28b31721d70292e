"""The text of a pattern: building one from keywords, and saying what is wrong with one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

import re2

from rubrica.text.lazy_pattern import lazy_pattern

KeywordMatch = Literal["word", "prefix", "substring"]
Edges = tuple[bool, bool]
"""Whether a boundary must stand before and after a keyword."""

# What may stand next to a whole word. The exact class, [^\pL\pM\pN_], makes a program 27 times as large, so
# this names what does occur beside words: ASCII and Latin-1 punctuation, the marks of other scripts,
# punctuation and symbols U+2000-2BFF without the joiners that live inside words, CJK punctuation, and emoji.
# All else counts as a letter.
_BOUNDARY = (
    r"[\x00-/:-@\[-^`{-\x{a9}\x{ab}-\x{b4}\x{b6}-\x{b9}\x{bb}-\x{bf}\x{d7}\x{f7}"
    r"\x{37e}\x{387}\x{55a}-\x{55f}\x{589}\x{58a}\x{5be}\x{5c0}\x{5c3}\x{5f3}\x{5f4}\x{60c}\x{61b}\x{61f}\x{6d4}"
    r"\x{964}\x{965}\x{1361}-\x{1368}\x{1680}\x{2000}-\x{200b}\x{200e}-\x{2bff}\x{2e00}-\x{2e7f}"
    r"\x{3000}-\x{3004}\x{3008}-\x{3020}\x{30fb}\x{fe10}-\x{fe1f}\x{fe30}-\x{fe6f}\x{feff}-\x{ff0f}\x{ff1a}-\x{ff20}"
    r"\x{ff3b}-\x{ff40}\x{ff5b}-\x{ff65}\x{fffd}\x{1f000}-\x{1faff}]"
)
_SPACELESS = lazy_pattern(  # Thai, Lao, Burmese, Khmer, kana and Han are written without spaces
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_APOSTROPHE = lazy_pattern("['’ʼ]")
_INERT = lazy_pattern(  # quoted stretches, escapes and character classes: what holds no operators
    r"\\Q.*?(?:\\E|\Z)|(?P<escape>\\.)|\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]", re.DOTALL
)

_UNKNOWN_GROUPS: tuple[tuple[str, str], ...] = (
    ("(?<=", "re2 has no lookbehind, so that matching stays linear-time (match the context too, and put what "
     "counts in a group named span: x(?P<span>y))"),
    ("(?<!", "re2 has no negative lookbehind, so that matching stays linear-time (name what may come before, "
     "as in (?:^|[^x])(?P<span>y))"),
    ("(?=", "re2 has no lookahead, so that matching stays linear-time (match the context too, and put what "
     "counts in a group named span: (?P<span>x)y)"),
    ("(?!", "re2 has no negative lookahead, so that matching stays linear-time (name what may follow, as in "
     "(?P<span>x)(?:$|[^y]), or use a second pattern with a penalty)"),
    ("(?>", "re2 has no atomic groups and needs none: matching is linear-time anyway (write (?:...))"),
    ("(?(", "re2 has no conditional groups (write both cases with |)"),
    ("(?P=", "re2 has no backreferences, so that matching stays linear-time (write out what may repeat)"),
    ("(?P>", "re2 has no recursion, so that matching stays linear-time (write out the depth you need)"),
    ("(?R", "re2 has no recursion, so that matching stays linear-time (write out the depth you need)"),
    ("(?#", "re2 has no comments inside a pattern (remove it)"),
)  # fmt: skip


def keyword_source(keywords: Sequence[str], match: KeywordMatch, group: str) -> str:
    """An alternation of escaped keywords; boundaries stand outside of the groups `group`, …

    Those that begin alike stand together, which makes their program small, the longer before the shorter.
    """
    by_edges: dict[Edges, list[str]] = {}
    for keyword in sorted(set(_variants(keywords)), reverse=True):
        by_edges.setdefault(_edges(keyword, match), []).append(_escaped(keyword))
    branches = []
    for number, ((left, right), sources) in enumerate(by_edges.items(), start=1):
        name = group if number == 1 else f"{group}{number}"
        before = rf"(?:\A|{_BOUNDARY})" if left else ""
        after = rf"(?:\z|{_BOUNDARY})" if right else ""
        branches.append(f"{before}(?P<{name}>{'|'.join(sources)}){after}")
    return "(?i)" + "|".join(branches)


def keyword_edges(keywords: Sequence[str], match: KeywordMatch) -> Edges | None:
    """Whether a boundary belongs to each match before and after the keyword; None where keywords differ in that."""
    kinds = {_edges(keyword, match) for keyword in _variants(keywords)}
    return kinds.pop() if len(kinds) == 1 else None


def without_edges(data: bytes, start: int, end: int, edges: Edges) -> tuple[int, int]:
    """The keyword itself in a match: without the boundary on each side that has one, in UTF-8.

    >>> without_edges(b"a moth.", 1, 7, (True, True)), without_edges(b"moth", 0, 4, (True, True))
    ((2, 6), (0, 4))
    """
    before, after = edges
    if before:
        second = start + 1
        while second < end and data[second] & 0xC0 == 0x80:  # the rest of a character
            second += 1
        if start > 0 or not needs_edge(data[:second].decode()):
            start = second
    if after:
        last = end - 1
        while data[last] & 0xC0 == 0x80:
            last -= 1
        if end < len(data) or not needs_edge(data[last:].decode()):
            end = last
    return start, end


def escapes_of(regex: str) -> list[str]:
    """The escapes of a valid pattern outside of quoted stretches and character classes.

    >>> escapes_of(r"a[\\s]b+\\d\\+")
    ['\\\\d', '\\\\+']
    """
    return [match["escape"] for match in _INERT.finditer(regex) if match["escape"]]


def explain(reason: str) -> str:
    """What re2 said about a pattern, in words that help its author."""
    what, _, detail = reason.partition(": ")
    detail = detail[:40]
    match what:
        case "invalid perl operator" | "invalid named capture group":
            return _unknown_group(detail)
        case "invalid escape sequence":
            return _unknown_escape(detail)
        case "bad repetition operator" if detail.endswith("+"):
            return f"re2 has no possessive {detail} and needs none: matching is linear-time (drop the last +)"
        case "bad repetition operator":
            return f"{detail} repeats a repetition (keep one of the two)"
        case "invalid repetition size":
            return f"the repetition {detail} is too large, alone or nested: the most is 1,000 (make it smaller)"
        case "pattern too large - compile failed":
            return "the pattern is too large once its repetitions are written out (repeat less, or split it)"
        case "missing )":
            return "a ( is never closed (add the missing ))"
        case "unexpected )":
            return "a ) closes nothing (remove it, or write \\) for the character)"
        case "missing ]":
            return "a [ is never closed (add the missing ], or write \\[ for the character)"
        case "no argument for repetition operator":
            return f"nothing stands before {detail} for it to repeat (write \\{detail} for the character)"
        case "trailing \\":
            return "it ends in a lone \\ (write \\\\ for the character)"
        case _:
            return f"{what}{f': {detail}' if detail else ''} (see the syntax of google/re2)"


def _unknown_group(operator: str) -> str:
    for start, words in _UNKNOWN_GROUPS:
        if operator.startswith(start):
            return words
    if operator == "(?P":  # all that re2 quotes of a named backreference or recursion
        return "re2 has no named backreference (write out what may repeat; a named group is (?P<name>...))"
    return f"{operator} is not known to re2 (the flags are i, m, s and U; a named group is (?P<name>...))"


def _unknown_escape(escape: str) -> str:
    if re.match(r"\\[1-9gk]", escape):
        return f"re2 has no backreference {escape}, to stay linear-time (write out what may repeat)"
    if escape.startswith(r"\Z"):
        return r"\Z is not known to re2 (write \z)"
    if re.match(r"\\[uUN]", escape):
        return rf"{escape} is not known to re2 (write the character itself, or \x{{e9}})"
    return f"the escape {escape} is not known to re2 (see the syntax of google/re2)"


def _variants(keywords: Sequence[str]) -> Iterable[str]:
    """Each keyword with its accents as single characters and as combining marks: texts have both."""
    for keyword in keywords:
        plain = " ".join(keyword.split())
        yield unicodedata.normalize("NFC", plain)
        yield unicodedata.normalize("NFD", plain)


def _edges(keyword: str, match: KeywordMatch) -> Edges:
    return match != "substring" and needs_edge(keyword[0]), match == "word" and needs_edge(keyword[-1])


def needs_edge(character: str) -> bool:
    """Whether a character at the end of a keyword could go on as a longer word."""
    if _SPACELESS.match(character):
        return False
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def _escaped(keyword: str) -> str:
    pieces = ("['’ʼ]".join(map(re2.escape, _APOSTROPHE.split(word))) for word in keyword.split())
    return r"[\s\pZ]+".join(pieces)
