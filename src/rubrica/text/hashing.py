"""A text as rows of a table of weights: hashed words, word pairs and letter groups, and what it looks like.

What a text is turned into:

- its distinct words, each with the letter groups in it; scripts without spaces give every letter and pair of letters;
- its distinct pairs of neighbouring words;
- its first and its last words once more, because that is where people say what they want;
- flags: the word groups of the model that occur (anywhere, several times, at either end), and the shape of the text,
  such as length, lines, code, formulas, digits and question marks.

Each is a row of the weight table, found by CRC-32, so that a text gives the same numbers on every machine. Words, pairs
and ends are each divided by the root of their number: a long text does not shout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from math import sqrt
from typing import NamedTuple
from zlib import crc32

from rubrica.text.lazy_pattern import lazy_pattern

LONGEST = 4000
"""Characters of a text that are read: of a longer one, three quarters from its start and the rest from its end."""
LONGEST_WORD = 40  # letters
NEIGHBOURS = 300  # words of which pairs are made
ENDS = 12  # words that count as the first, and as the last ones
SEVERAL = 3  # distinct words of a group that are more than a mention
FLAG = 0.25  # what a flag counts against a word of a one-word text
WORDS_KEPT = 30_000  # words whose weights are kept ready

TOKEN = lazy_pattern(r"\\[a-z]+|[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[^\w\s]")
# Scripts that put no spaces between words: Thai and Lao, Burmese, Khmer, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u9fff\uf900-\ufaff"
_RUN = lazy_pattern(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")
_STARTS_UNSPACED = lazy_pattern(f"[{_UNSPACED}]")
_FORMULA = lazy_pattern(r"\\[a-z]{2,}|\$[^$\n]{1,200}\$|\w\^[\w{(]|[∫∑√≤≥π∞∈∠]|\b[a-z] ?= ?-?\w|\d ?[+*/×·] ?[\da-z]")
_MAY_BE_FORMULA = lazy_pattern(r"[\\$^=+*/×·∫∑√≤≥π∞∈∠]")
_ASKS = lazy_pattern(r"[?？؟\u037e][\s\"'”’)*]*\Z")
_DIGITS, _CODE = "0123456789", "{}();=<>[]_/\\"


class TextFeatures(NamedTuple):
    """A text taken apart: keys into the weight table, by kind."""

    words: list[str]  # each once, as everywhere here, in the order of the text: sums must not depend on chance
    pairs: list[str]
    ends: list[str]
    flags: list[str]


@dataclass(frozen=True)
class FeatureLayout:
    """How texts become rows of a weight table: what a model may choose, kept with its weights.

    `groups` are words that mean about the same to the model, in whatever language, by name. A word that ends in ``*``
    stands for every word that begins so.
    """

    bits: int  # the table has 2 ** bits rows
    grams: tuple[int, int]  # letters in a letter group, from and to
    groups: Mapping[str, Sequence[str]]

    def row(self, key: str) -> int:
        """The row of a key, the same in every process."""
        return crc32(key.encode("utf-8", "replace")) & ((1 << self.bits) - 1)

    def vector(self, text: str) -> dict[int, float]:
        """The rows that a text touches, and how much: what a model is trained on.

        >>> len(FeatureLayout(bits=18, grams=(3, 4), groups={}).vector("Why?"))
        24
        """
        reading = self.read(text)
        found: dict[int, float] = {}
        for keys, share in self._weighed(reading):
            for key in keys:
                row = self.row(key)
                found[row] = found.get(row, 0.0) + share
        return found

    def _weighed(self, reading: TextFeatures) -> Iterator[tuple[Sequence[str], float]]:
        """All keys of a text, with what each of them counts."""
        share = share_of(reading.words)
        for word in reading.words:
            grams = self.grams_of(word)
            yield (f"w {word}",), share
            yield grams, share * share_of(grams)
        yield reading.pairs, share_of(reading.pairs)
        yield reading.ends, share_of(reading.ends)
        yield reading.flags, FLAG

    def grams_of(self, word: str) -> list[str]:
        """The keys of a word's letter groups; together they count as much as the word itself."""
        if len(word) < 2 or not word[0].isalpha() or _STARTS_UNSPACED.match(word):
            return []
        closed, (low, high) = f"<{word}>", self.grams
        return [f"g {closed[at : at + size]}" for size in range(low, high + 1) for at in range(len(closed) - size + 1)]

    def read(self, text: str) -> TextFeatures:
        """The text taken apart."""
        if len(text) > LONGEST:
            text = f"{text[: LONGEST * 3 // 4]}\n{text[-LONGEST // 4 :]}"
        text = text.lower()
        tokens = list(_tokens(text))
        words = _once(tokens)
        first, last = tokens[:ENDS], tokens[-ENDS:]
        ends = [f"^^ {token}" for token in first[:1]]
        ends += [f"^ {token}" for token in _once(first)]
        ends += [f"$ {token}" for token in _once(last)]
        pairs = _once(f"{one} {two}" for one, two in pairwise(tokens[:NEIGHBOURS]))
        flags = [*_shape(text, tokens), *self._mentions(words, first, last)]
        return TextFeatures(words, pairs, ends, flags)

    def groups_in(self, words: Iterable[str]) -> Counter[str]:
        """How many distinct words of each group occur."""
        groups_of = self._groups_of
        return Counter(group for word in dict.fromkeys(words) for group in groups_of(word))

    def _mentions(self, words: Iterable[str], first: Sequence[str], last: Sequence[str]) -> Iterator[str]:
        if not self.groups:
            return
        groups_of = self._groups_of
        for group, count in self.groups_in(words).items():
            yield f"f any {group}"
            if count >= SEVERAL:
                yield f"f many {group}"
        for place, tokens in (("first", first), ("last", last), ("start", first[:1])):
            yield from _once(f"f {place} {group}" for token in tokens for group in groups_of(token))

    @cached_property
    def _groups_of(self) -> Callable[[str], tuple[str, ...]]:
        """The groups that a word is in."""
        whole: dict[str, set[str]] = {}
        begun: dict[str, set[str]] = {}
        for group, members in self.groups.items():
            for member in members:
                into = begun if member.endswith("*") else whole
                into.setdefault(member.rstrip("*"), set()).add(group)

        @lru_cache(maxsize=WORDS_KEPT)
        def groups_of(word: str) -> tuple[str, ...]:
            found = set(whole.get(word, ()))
            for size in range(2, len(word) + 1):
                found |= begun.get(word[:size], set())
            return tuple(sorted(found))

        return groups_of


def share_of(items: Sequence[str]) -> float:
    """What each of several keys counts, so that all of them together have length 1."""
    return 1 / sqrt(len(items)) if items else 0.0


def _once(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


def tokens_of(text: str) -> list[str]:
    """The words, numbers and marks of a text, in small letters; numbers as noughts.

    >>> tokens_of("Don't pay 300!")
    ["don't", 'pay', '000', '!']
    """
    return list(_tokens(text.lower()))


def _tokens(text: str) -> Iterator[str]:
    for token in TOKEN.findall(text):
        if token.isascii():
            yield "0" * min(len(token), 4) if token[0] in _DIGITS else token[:LONGEST_WORD]
            continue
        for run in _RUN.findall(token):
            if _STARTS_UNSPACED.match(run):
                yield from (run[at : at + 2] for at in range(len(run) - 1))
                yield from run
            else:
                yield run[:LONGEST_WORD]


def _shape(text: str, tokens: Sequence[str]) -> Iterator[str]:
    """What can be seen of a text from afar."""
    size = max(len(text), 1)
    digits = sum(map(text.count, _DIGITS))
    formulas = len(_FORMULA.findall(text)) if _MAY_BE_FORMULA.search(text) else 0  # most texts have none: save time
    yield f"f length {_doublings(size)}"
    yield f"f lines {_doublings(text.count(chr(10)) + 1)}"
    yield f"f code {min(8, 40 * sum(map(text.count, _CODE)) // size)}"
    yield f"f formulas {min(4, _doublings(formulas + 1))}"
    yield f"f formula share {min(5, 100 * formulas // size)}"
    yield f"f digit share {min(6, 30 * digits // size)}"
    yield f"f numbers {min(4, _doublings(sum(token[0] == '0' for token in tokens) + 1))}"
    yield f"f questions {min(3, text.count('?') + text.count('？'))}"
    yield "f always"
    if not digits:
        yield "f no digits"
    if "```" in text:
        yield "f fence"
    if _ASKS.search(text):
        yield "f asks"


def _doublings(number: int) -> int:
    """The next power of two's exponent: 1 is 0, 2 is 1, 3 and 4 are 2."""
    return (number - 1).bit_length()
