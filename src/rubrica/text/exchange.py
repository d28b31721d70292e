"""A prompt and its response as rows of a table of weights, for models that judge an answer by its question too.

What an exchange is turned into, each a row found by CRC-32:

- passages: the words and word pairs of the response, of its opening and of its body once more, and of the prompt; the
  beginnings of the response's longer words, and pairs of these that stand close to each other. A
  word counts the more the rarer it is (`rarity`, learnt with the weights), and a passage has the same length as a
  whole however long the text is, so that a long one does not shout;
- flags: the word groups of the model that occur in the response, its opening, its body and the prompt; which groups of
  the prompt meet which stance of the response (groups named ``says_…``); and the shape of the response.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import log, sqrt
from typing import NamedTuple

from rubrica.text.hashing import FeatureLayout, tokens_of

PROMPT_LONGEST, RESPONSE_LONGEST = (
    2000,
    4000,
)  # characters that are read, from the start and the last quarter from the end
OPENING = 12  # words that are the opening of a response
BODY = 25  # words after which its body begins
LONG, STEM = 4, 5  # letters of a longer word, and of the beginning that stands for it in all its forms
BODY_STRESS, STEM_STRESS = 1.3, 0.9  # what follows counts a little more than how it is announced
FLAG = 0.1  # what a flag counts against a whole passage
MEETING = 0.05  # the same for a meeting of two groups: there are many
STANCE = "says_"

_OFTEN = [0.0, *(1 + log(count) for count in range(1, 1000))]  # what a word counts that occurs so often


class Exchange(NamedTuple):
    """What was asked, and what was answered."""

    prompt: str
    response: str


class Passage(NamedTuple):
    """Keys into the weight table that count by how rare they are, against each other."""

    counts: dict[str, float]  # before their rarity
    stress: float = 1.0  # the length of the whole


class ExchangeFeatures(NamedTuple):
    """An exchange taken apart: keys into the weight table."""

    passages: list[Passage]
    flags: dict[str, float]


def read(layout: FeatureLayout, exchange: Exchange) -> ExchangeFeatures:
    """The exchange taken apart, always in the same order, so that sums never differ."""
    said = tokens_of(clipped(exchange.response, RESPONSE_LONGEST))
    asked = tokens_of(clipped(exchange.prompt, PROMPT_LONGEST))
    opening, body = said[:OPENING], said[BODY:]
    stems = [word[:STEM] for word in said if len(word) >= LONG]
    close = [*pairwise(stems), *zip(stems, stems[2:], strict=False)]
    passages = [
        Passage(_count_words("", said)),
        Passage(_count_words("^ ", opening)),
        Passage(_count_words("b ", body), BODY_STRESS),
        Passage(_count_words("p ", asked)),
        Passage(dict.fromkeys((f"k {stem}" for stem in stems), 1.0), STEM_STRESS),
        Passage(dict.fromkeys((f"s {one} {two}" for one, two in close), 1.0), STEM_STRESS),
    ]
    in_prompt, in_response = layout.groups_in(asked), layout.groups_in(said)
    flags = [
        *_shape(exchange.response, said, asked),
        *_mentions(in_response),
        *(f"f o {group}" for group in layout.groups_in(said[:BODY])),
        *(f"f b {group}" for group in layout.groups_in(body)),
        *(f"f p {group}" for group in in_prompt),
    ]
    stances = [group for group in in_response if group.startswith(STANCE)]
    meetings = [f"x {group} {stance}" for group in in_prompt for stance in stances]
    return ExchangeFeatures(passages, dict.fromkeys(flags, FLAG) | dict.fromkeys(meetings, MEETING))


def vector_of(layout: FeatureLayout, exchange: Exchange, rarity: Callable[[int], float]) -> dict[int, float]:
    """The rows that an exchange touches, and how much: what a model is trained on.

    >>> len(vector_of(FeatureLayout(bits=18, grams=(3, 4), groups={}), Exchange("Why?", "No."), lambda row: 1.0))
    12
    """
    found: dict[int, float] = {}
    reading = read(layout, exchange)
    for passage in reading.passages:
        parts = [(layout.row(key), count) for key, count in passage.counts.items()]
        length = sqrt(sum((count * rarity(row)) ** 2 for row, count in parts)) or 1.0
        for row, count in parts:
            found[row] = found.get(row, 0.0) + passage.stress * count * rarity(row) / length
    for key, count in reading.flags.items():
        row = layout.row(key)
        found[row] = found.get(row, 0.0) + count
    return found


def clipped(text: str, longest: int) -> str:
    """The text, or its start and its end where it is too long to be read.

    >>> clipped("abcdefghij", 8)
    'abcdef\\nij'
    """
    return text if len(text) <= longest else f"{text[: longest * 3 // 4]}\n{text[-(longest // 4) :]}"


def _count_words(place: str, words: Sequence[str]) -> dict[str, float]:
    """Words and word pairs as keys; what occurs often counts a little more than what occurs once."""
    keys = [f"{place}{word}" for word in words]
    keys += [f"{place}{one} {two}" for one, two in pairwise(words)]
    last = len(_OFTEN) - 1
    return {key: _OFTEN[min(count, last)] for key, count in Counter(keys).items()}


def _mentions(groups: Counter[str]) -> Iterator[str]:
    for group, count in groups.items():
        yield f"f r {group}"
        if count >= 2:
            yield f"f r2 {group}"
        if count >= 4:
            yield f"f r4 {group}"


def _shape(response: str, said: Sequence[str], asked: Sequence[str]) -> Iterator[str]:
    yield f"f length {len(said).bit_length()}"
    yield f"f lines {min(5, response.count(chr(10)).bit_length())}"
    taken_up = {word for word in asked if len(word) > 3}.intersection(said[:40])
    yield f"f taken up {min(6, len(taken_up))}"
    if response.rstrip().endswith("?"):
        yield "f asks"
