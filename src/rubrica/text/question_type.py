"""Which type a question is of, by its wording: FACTUAL, ANALYTICAL, TECHNICAL, CREATIVE or ETHICAL.

What is asked for decides, not what it is about, and people say it in the first line, before the material that something
is to be done with. So a text is read twice, as a whole and by its task alone, and both readings count the same. Where
words leave a doubt, a linear head on the sentence model reads the task too, if that model is installed.

The chances are what training made them: held against labelled questions, a chance of 0.8 is right in about 8 of 10.
"""

from __future__ import annotations

import hashlib
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from math import exp

import msgspec

from rubrica.errors import StoredError
from rubrica.lru_cache import LruCache

from .linear import LinearModel, load
from .sentence_model import SentenceModel, sentence_model

TYPES = ("FACTUAL", "ANALYTICAL", "TECHNICAL", "CREATIVE", "ETHICAL")
SURE_BY_WORDS = 0.9
"""The chance from which on the words decide alone: the sentence model takes a hundred times as long."""
MEANING = 0.4
"""What the sentence model counts where it is asked; the words count the rest."""
TASK_LINE = (15, 300)
"""Letters of a first line that can say what is wanted; a shorter one greets, a longer one is part of the material."""
OPENING, CLOSING = 240, 160
"""Letters of the two ends of a text that has no such line."""
VERY_SHORT = (2, 20)
"""Words and letters (a wide one counts as four) up to which a question is read together with the one before it."""
KEPT = 2000  # texts whose types are remembered


class TypeChances(msgspec.Struct, frozen=True):
    """How likely each type is, the likeliest first; the chances add up to 1."""

    chances: Mapping[str, float]
    by: str  # words, or words and meaning

    @property
    def type(self) -> str:
        return next(iter(self.chances))

    @property
    def confidence(self) -> float:
        return self.chances[self.type]


def classify_question(text: str) -> TypeChances | None:
    """The chances of each type; None for a text without words.

    >>> found = classify_question("Write a poem about quantum computing")
    >>> found.type
    'CREATIVE'
    """
    if not text.strip():
        return None
    key = hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()  # texts are not kept
    found = _FOUND.get(key)
    if found is None:
        found = by_words(text)
        if found.confidence < SURE_BY_WORDS and (model := sentence_model()) is not None:
            found = _with_meaning(text, model)
        _FOUND.put(key, found)
    return found


def by_words(text: str) -> TypeChances:
    """The chances by words and letters alone."""
    return _chances(_word_scores(text), "words")


def task_of(text: str) -> str:
    r"""The part of a text that says what is wanted: its first line, where more follows, or else its two ends.

    >>> task_of("Sum this up in a sentence.\nThe ship left at nine.\nIt came back.")
    'Sum this up in a sentence.'
    >>> task_of("Hi!\nWhat is a fjord?")
    'Hi!\nWhat is a fjord?'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [text]
    first, last = lines[0], lines[-1]
    if len(lines) > 1 and TASK_LINE[0] <= len(first) <= TASK_LINE[1]:
        return first
    if len(lines) == 1 and len(text) <= OPENING + CLOSING:
        return text
    if len(first) > OPENING:
        first = first[:OPENING].rsplit(" ", 1)[0]
    if len(last) > CLOSING:
        last = last[-CLOSING:].split(" ", 1)[-1]
    return f"{first}\n{last}"


def question_before(text: str, earlier: Sequence[str]) -> str:
    """What a question leans on: of a very short one ("and why?") the last of the earlier that was not; else nothing.

    >>> question_before("And why?", ["Who won the battle?", "Really?"])
    'Who won the battle?'
    """
    if stands_alone(text):
        return ""
    return next((before for before in reversed(earlier) if stands_alone(before)), "")


def stands_alone(text: str) -> bool:
    """Whether a question says enough to be read by itself."""
    words, letters = VERY_SHORT
    text = text.strip()
    if len(text) > letters or len(text.split()) > words:
        return True
    return sum(4 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text) > letters


class SentenceHead(msgspec.Struct, frozen=True):
    """A linear model over sentence vectors: a row of weights for each label."""

    labels: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]
    bias: tuple[float, ...]
    made_from: str = ""  # a digest of what it was trained with

    def scores(self, vector: Sequence[float]) -> list[float]:
        """The score of each label."""
        return [
            start + sum(weight * value for weight, value in zip(row, vector, strict=True))
            for row, start in zip(self.rows, self.bias, strict=True)
        ]

    def to_bytes(self) -> bytes:
        return zlib.compress(msgspec.json.encode(self), 9)

    @classmethod
    def read(cls, path: Traversable) -> SentenceHead:
        """The head in a file; a StoredError says what is wrong with it."""
        try:
            return msgspec.json.decode(zlib.decompress(path.read_bytes()), type=cls)
        except (OSError, zlib.error, msgspec.DecodeError) as error:
            raise StoredError(f"{path}: not the weights of a model: {error} (train it again)") from None


@cache
def word_weights() -> LinearModel:
    """The trained model of words, read when it is first needed."""
    return load(resources.files("rubrica.text") / "question_types.weights")


@cache
def sentence_head() -> SentenceHead:
    """The trained head on the sentence model, read when it is first needed."""
    return SentenceHead.read(resources.files("rubrica.text") / "question_types.head")


def _word_scores(text: str) -> list[float]:
    model, task = word_weights(), task_of(text)
    whole = model.scores(text)
    return whole if task == text else [(one + two) / 2 for one, two in zip(whole, model.scores(task), strict=True)]


def _with_meaning(text: str, model: SentenceModel) -> TypeChances:
    vector = [float(value) for value in model.encode([task_of(text)])[0]]
    meant = sentence_head().scores(vector)
    scores = [one + MEANING * (two - one) for one, two in zip(_word_scores(text), meant, strict=True)]
    return _chances(scores, "words and meaning")


def _chances(scores: Sequence[float], by: str) -> TypeChances:
    top = max(scores)
    raised = [exp(score - top) for score in scores]
    total = sum(raised)
    ranked = sorted(zip(TYPES, raised, strict=True), key=lambda pair: -pair[1])
    return TypeChances({label: each / total for label, each in ranked}, by)


_FOUND = LruCache[bytes, TypeChances](KEPT)
