"""The word lists that the text features count with, read once from ``lexicon.txt``."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal

from rubrica.text.patterns import Regex, compile_keywords

Lexicon = Literal[
    "stopwords",
    "hedges",
    "fillers",
    "formal",
    "casual",
    "transitions",
    "examples",
    "distress",
    "joy",
    "positive",
    "negative",
    "profanity",
    "honorifics",
    "short honorifics",
    "connectors",
    "dates",
    "never names",
    "openers",
    "abbreviations",
    "negators",
    "intensifiers",
    "jargon",
]


@cache
def lexicon(name: Lexicon) -> frozenset[str]:
    """The entries of one list.

    >>> "for example" in lexicon("examples")
    True
    """
    return _lexicons()[name]


@cache
def lexicon_regex(name: Lexicon) -> Regex:
    """One list as a pattern that finds its entries as whole words and phrases.

    >>> lexicon_regex("hedges").spans("Perhaps it will rain.")
    [(0, 7)]
    """
    return compile_keywords(sorted(lexicon(name)))


@cache
def _lexicons() -> dict[str, frozenset[str]]:
    lists: dict[str, set[str]] = {}
    entries: set[str] = set()
    for line in files("rubrica.text").joinpath("lexicon.txt").read_text("utf-8").splitlines():
        if line.startswith("=="):
            entries = lists.setdefault(line.removeprefix("==").strip(), set())
        elif not line.startswith("#"):
            entries.update(entry for part in line.split(",") if (entry := part.strip()))
    return {name: frozenset(found) for name, found in lists.items()}
