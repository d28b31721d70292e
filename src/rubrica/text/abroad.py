"""Phrases of other languages than English, found whether or not their letters have the marks that belong to them.

People leave out accents, umlauts and dots, so phrases and texts are compared without. Many phrases make one pattern:
each pattern costs its time to compile and to search, however short it is.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import re2

from rubrica.text.encoded import encoded

MOST_TOGETHER = 2_000  # characters of phrases in one pattern
LETTER = "a-zÀ-ɏͰ-ͽΆΈ-ϿЀ-ԯء-ۓऀ-ॣḀ-ỿ"  # of the scripts with spaces; \pL takes many times as long to compile
_OTHER_LETTERS = str.maketrans(
    {"ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ø": "o", "Ø": "O", "ı": "i", "ß": "ss", "œ": "oe", "æ": "ae"}
)
_KANA_MARKS = "\u3099\u309a"  # make another letter of the one before


class PhrasesAbroad:
    """Phrases that stand between other characters than letters, and such that stand anywhere.

    >>> phrases = PhrasesAbroad(["tengo miedo de mi (?:papá|mamá)"], ["想死"])
    >>> [phrases.count(text) for text in ("Tengo miedo de mi papa.", "好想死", "Tengo miedo de mi paparazzo.")]
    [1, 1, 0]
    """

    __slots__ = ("_patterns",)

    def __init__(self, spaced: Sequence[str], anywhere: Sequence[str] = ()) -> None:
        self._patterns = [
            *(_compiled(f"(?:^|[^{LETTER}])(?:{several})(?:$|[^{LETTER}])") for several in _together(spaced)),
            *map(_compiled, _together(anywhere)),
        ]

    def count(self, text: str, limit: int | None = None) -> int:
        """How many of its patterns occur in a text; counting stops at `limit`."""
        data = encoded(plain_letters(text))
        found = 0
        for pattern in self._patterns:
            found += pattern.search(data) is not None
            if found == limit:
                break
        return found


@lru_cache(maxsize=1_024)
def plain_letters(text: str) -> str:
    """A text without the marks of its letters.

    >>> plain_letters("Çok üzgünüm, żyć, ждёт, أريد, が")
    'Cok uzgunum, zyc, ждет, اريد, が'
    """
    if text.isascii():
        return text
    bare = (c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c) or c in _KANA_MARKS)
    return unicodedata.normalize("NFC", "".join(bare)).translate(_OTHER_LETTERS)


def _together(phrases: Sequence[str]) -> Iterator[str]:
    """Patterns of as many phrases as make `MOST_TOGETHER` characters."""
    several: list[str] = []
    for phrase in map(plain_letters, phrases):
        if several and sum(map(len, several)) + len(phrase) > MOST_TOGETHER:
            yield "|".join(several)
            several = []
        several.append(phrase)
    if several:
        yield "|".join(several)


def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.case_sensitive = False
    options.never_capture = True
    return re2.compile(pattern, options)
