"""Texts as the word pieces that a sentence model was trained on: lower case, no accents, longest pieces first."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from rubrica.text.lazy_pattern import lazy_pattern

LONGEST_WORD = 100  # characters; a longer word is an unknown one
WORDS_KEPT = 30_000  # words whose pieces are kept ready
CHARACTERS_PER_TOKEN = 40  # of a text that are looked at for each piece that is wanted

# Scripts of which every character is a word of its own, as the model learnt them.
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f"
_WORD = lazy_pattern(f"[{_IDEOGRAPHS}]|[^\\s{_IDEOGRAPHS}]+")
_ASCII = lazy_pattern(r"[^\W_]+|[^\s\w]|_")


class WordPieces:
    """A vocabulary of pieces, and how texts are cut into them."""

    def __init__(self, vocabulary: Path) -> None:
        lines = vocabulary.read_text(encoding="utf-8").splitlines()
        self._ids = {piece: number for number, piece in enumerate(lines)}
        self._unknown, self._first, self._last = (self._ids[name] for name in ("[UNK]", "[CLS]", "[SEP]"))
        self._pieces = lru_cache(maxsize=WORDS_KEPT)(self._cut)

    def tokens(self, text: str, most: int) -> list[int]:
        """The pieces of a text by number, with the marks of its beginning and end: at most so many."""
        found: list[int] = [self._first]
        for word in _words(text[: most * CHARACTERS_PER_TOKEN]):
            found.extend(self._pieces(word))
            if len(found) >= most - 1:
                break
        return [*found[: most - 1], self._last]

    def _cut(self, word: str) -> tuple[int, ...]:
        if len(word) > LONGEST_WORD:
            return (self._unknown,)
        pieces: list[int] = []
        start = 0
        while start < len(word):
            lead = "##" if start else ""
            end = next((end for end in range(len(word), start, -1) if lead + word[start:end] in self._ids), None)
            if end is None:
                return (self._unknown,)
            pieces.append(self._ids[lead + word[start:end]])
            start = end
        return tuple(pieces)


def _words(text: str) -> Iterator[str]:
    """Words and single marks, in small letters without accents."""
    if text.isascii() and text.isprintable():
        yield from _ASCII.findall(text.lower())
        return
    kept = "".join(" " if character in "\t\n\r" else character for character in text if not _is_control(character))
    for word in _WORD.findall(kept):
        yield from _at_marks(_plain(word))


def _plain(word: str) -> str:
    """In small letters, without accents."""
    letters = unicodedata.normalize("NFD", word)
    return "".join(character.lower() for character in letters if unicodedata.category(character) != "Mn")


def _at_marks(word: str) -> Iterator[str]:
    """A word, cut before and after each mark in it."""
    run = ""
    for character in word:
        if _is_mark(character):
            if run:
                yield run
            yield character
            run = ""
        else:
            run += character
    if run:
        yield run


def _is_control(character: str) -> bool:
    return character not in "\t\n\r" and (
        character in "\x00\ufffd" or unicodedata.category(character) in {"Cc", "Cf", "Cn", "Co", "Cs"}
    )


def _is_mark(character: str) -> bool:
    """Whether it stands alone: punctuation of any script, and every ASCII sign."""
    if character.isascii():
        return not character.isalnum() and not character.isspace()
    return unicodedata.category(character).startswith("P")
