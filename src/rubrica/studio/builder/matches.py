"""Finds a pattern's matches in a sample text as it is typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape
from pydantic import ValidationError

from rubrica.errors import PatternError
from rubrica.model.rules import Pattern
from rubrica.text.patterns import compile_keywords, compile_regex

LONGEST_SAMPLE = 20_000
"""Characters of a sample that patterns are tried on while one types."""
MOST_MATCHES = 500

PATTERN_KEYS = frozenset(Pattern.model_fields)


@dataclass(frozen=True, slots=True)
class PatternMatches:
    """The places of one pattern in a text, or why it cannot be looked for."""

    spans: tuple[tuple[int, int], ...] = ()
    error: str = ""


def find_matches(pattern: Mapping[str, Any], text: str) -> PatternMatches:
    """Where a pattern of a document is found.

    >>> find_matches({"keywords": ["moth"]}, "A moth, a Moth, mothballs").spans
    ((2, 6), (10, 14))
    >>> find_matches({"regex": "("}, "x").error
    "pattern '(': a ( is never closed (add the missing ))"
    """
    try:
        read = Pattern.model_validate({key: value for key, value in pattern.items() if key in PATTERN_KEYS})
    except ValidationError:
        return PatternMatches(error="write a pattern, or at least one keyword")
    try:
        if read.regex is not None:
            regex = compile_regex(read.regex, ignore_case=read.ignore_case)
        else:
            regex = compile_keywords(read.keywords, read.match)
        return PatternMatches(tuple(regex.spans(text[:LONGEST_SAMPLE], MOST_MATCHES)))
    except PatternError as error:
        return PatternMatches(error=str(error))


def mark_matches(text: str, places: Sequence[tuple[Sequence[tuple[int, int]], str]]) -> Markup:
    """The text with places marked: each is a list of spans and the class of their mark. Everything is escaped.

    Where two overlap, the one that starts first is marked, and the rest of the other after it.

    >>> mark_matches("a < b", [([(0, 1)], "tone-plus")])
    Markup('<mark class="tone-plus">a</mark> &lt; b')
    """
    shown = Markup("")
    at = 0
    for start, end, tone in sorted((start, end, tone) for spans, tone in places for start, end in spans):
        start = max(start, at)
        if start < end:
            shown += escape(text[at:start]) + Markup('<mark class="{}">{}</mark>').format(tone, text[start:end])
            at = end
    return shown + escape(text[at:])


def words_of(text: str) -> list[str]:
    """Keywords as they are typed: one on each line, or separated by commas.

    >>> words_of("thank you, thanks\\n\\n cheers ")
    ['thank you', 'thanks', 'cheers']
    """
    return [word.strip() for line in text.split("\n") for word in line.split(",") if word.strip()]
