"""Criteria that two careful readers may take differently."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from .criterion_words import criterion_words

_EXPLAINED = re.compile(
    r"\b(?:such as|for example|for instance|e\.g\.|i\.e\.|that is|namely|meaning|in that|so that|according to"
    r"|as defined|measured by|compared (?:with|to))\b|[:(\"“]",
    re.IGNORECASE,
)
_FOR_WHAT = re.compile(r"\s+(?:for|to|in|at|as|with|enough to|than|that)\b", re.IGNORECASE)
_FIXED = re.compile(
    r"\b(?:good (?:morning|evening|day|night|faith|deal|practice|luck|news|cause)|(?:air|water|sound|picture) quality"
    r"|as well|well[- ](?:known|being|defined|formed)|common good|proper (?:noun|fraction|name)s?|great[- ]\w+"
    r"|(?:not|no) good|poor (?:people|countr)\w*|solid (?:state|line|geometry)|bad (?:debt|faith|luck|news))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class VagueWord:
    """A word that does not say what is meant, and what to say instead."""

    word: str
    wording: str  # the criterion with a gap to fill in, which says what belongs there


def vague_word(text: str) -> VagueWord | None:
    """The first word of a criterion that leaves open what is meant; None where it is explained, or there is none.

    >>> vague_word("Is the tone suitable?")
    VagueWord(word='suitable', wording='Is the tone [say for whom or for what]?')
    >>> vague_word("Suggests clothing that is appropriate for minus ten degrees.") is None
    True
    """
    open_ended = _open_ended().search(text)
    if open_ended:
        return _with_gap(text, open_ended, "name all that count, or say how many of a list have to be there")
    heading = _heading(text)
    if heading is not None:
        return heading
    if _EXPLAINED.search(text):
        return None
    fixed = [match.span() for match in _FIXED.finditer(text)]
    for match in _vague().finditer(text):
        word = match[0].lower()
        is_explained = not word.endswith("ly") and _FOR_WHAT.match(text, match.end()) is not None
        if is_explained or any(start <= match.start() < end for start, end in fixed):
            continue
        return _with_gap(text, match, criterion_words().vague[word])
    if (manner := _in_a_manner().search(text)) and not _FOR_WHAT.match(text, manner.end()):
        return _with_gap(text, manner, "say what the response does")
    if at_end := _vague_at_end().search(text):
        return _with_gap(text, at_end, criterion_words().vague_at_end[at_end[0].lower()])
    return None


def _with_gap(text: str, match: re.Match[str], instead: str) -> VagueWord:
    return VagueWord(match[0].lower(), f"{text[: match.start()]}[{instead}]{text[match.end() :]}")


def _heading(text: str) -> VagueWord | None:
    """A heading in place of a criterion: ``Accuracy``."""
    words = _WORD.findall(text)
    if not text.isascii() or not words or len(words) > (2 if text.rstrip().endswith(".") else 3):
        return None
    if text.rstrip().endswith("?") or any(word.lower() in criterion_words().third_persons for word in words):
        return None
    heading = text.strip(" .:")
    return VagueWord(heading, f"Does the response … [say in a sentence what {heading.lower()} asks for]?")


@cache
def _vague() -> re.Pattern[str]:
    return _alternatives(tuple(criterion_words().vague))


@cache
def _vague_at_end() -> re.Pattern[str]:
    return re.compile(_alternatives(tuple(criterion_words().vague_at_end)).pattern + r"(?=[.?!]?$)", re.IGNORECASE)


@cache
def _in_a_manner() -> re.Pattern[str]:
    """A quality as a way to do something: ``in a professional manner``."""
    qualities = _alternatives(tuple(criterion_words().qualities)).pattern
    return re.compile(rf"\bin an? {qualities} (?:manner|way|fashion)\b", re.IGNORECASE)


@cache
def _open_ended() -> re.Pattern[str]:
    return _alternatives(criterion_words().open_ended)


def _alternatives(words: tuple[str, ...]) -> re.Pattern[str]:
    longest_first = sorted(words, key=len, reverse=True)
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, longest_first))})\b", re.IGNORECASE)
