"""A small linear model that sorts texts by label, in plain Python: weights learnt beforehand, kept in a small file."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources.abc import Traversable
from math import exp

import msgspec

from rubrica.errors import StoredError
from rubrica.text.hashing import FLAG, WORDS_KEPT, FeatureLayout, share_of

__all__ = ["FeatureLayout", "LinearModel", "load", "to_bytes"]

FORMAT = 1
"""Of the file, and of how texts are read: weights learnt on one reading are of no use to another."""


@dataclass(frozen=True)
class LinearModel:
    """A weight for every row and label, learnt beforehand. May be shared between threads.

    `weights` are the rows of the layout one after the other, a signed byte per label; times `scale` they are real.
    """

    labels: tuple[str, ...]
    layout: FeatureLayout
    weights: array[int]
    scale: float
    made_from: str = ""  # a digest of what it was trained with
    bias: tuple[float, ...] = ()  # what each label has before anything is read; none: 0

    def chances(self, text: str) -> dict[str, float]:
        """How likely each label is; they add up to 1.

        >>> layout = FeatureLayout(bits=10, grams=(3, 4), groups={})
        >>> weights = array("b", bytes(2 << 10))
        >>> weights[2 * layout.row("w hello") + 1] = 100
        >>> model = LinearModel(("question", "greeting"), layout, weights, scale=0.02)
        >>> {label: round(chance, 2) for label, chance in model.chances("Hello").items()}
        {'question': 0.12, 'greeting': 0.88}
        """
        scores = self.scores(text)
        top = max(scores)
        raised = [exp(score - top) for score in scores]
        total = sum(raised)
        return {label: each / total for label, each in zip(self.labels, raised, strict=True)}

    def scores(self, text: str) -> list[float]:
        """The score of each label: the text's vector times the weights."""
        reading = self.layout.read(text)
        blocks = (
            ([self._word_weights(word) for word in reading.words], share_of(reading.words)),
            (self.rows(reading.pairs), share_of(reading.pairs)),
            (self.rows(reading.ends), share_of(reading.ends)),
            (self.rows(reading.flags), FLAG),
        )
        totals = [0.0] * len(self.labels)
        for rows, share in blocks:
            for at, column in enumerate(zip(*rows, strict=True)):
                totals[at] += share * sum(column)
        bias = self.bias or (0.0,) * len(totals)
        return [start + self.scale * total for start, total in zip(bias, totals, strict=True)]

    def rows(self, keys: Sequence[str]) -> list[array[int]]:
        """The weights of each key, a signed byte per label."""
        weights, labels, mask, crc32 = self.weights, len(self.labels), (1 << self.layout.bits) - 1, zlib.crc32
        places = [(crc32(key.encode("utf-8", "replace")) & mask) * labels for key in keys]
        return [weights[place : place + labels] for place in places]

    @cached_property
    def _word_weights(self) -> Callable[[str], tuple[float, ...]]:
        """What a word adds to each label: words come again and again, so this is where time is won."""

        @lru_cache(maxsize=WORDS_KEPT)
        def word_weights(word: str) -> tuple[float, ...]:
            grams = self.layout.grams_of(word)
            whole, share = self.rows([f"w {word}"])[0], share_of(grams)
            parts = zip(*self.rows(grams), strict=True) if grams else [(0,)] * len(whole)
            return tuple(own + share * sum(part) for own, part in zip(whole, parts, strict=True))

        return word_weights


class _Header(msgspec.Struct, frozen=True):
    labels: tuple[str, ...]
    bits: int
    grams: tuple[int, int]
    groups: dict[str, list[str]]
    scale: float
    made_from: str
    bias: tuple[float, ...] = ()
    format: int = FORMAT


def to_bytes(model: LinearModel) -> bytes:
    """A model as the bytes of a file, for `load`: a line of JSON and the weights, compressed."""
    layout = model.layout
    groups = {name: list(words) for name, words in layout.groups.items()}
    header = _Header(model.labels, layout.bits, layout.grams, groups, model.scale, model.made_from, model.bias)
    return zlib.compress(msgspec.json.encode(header) + b"\n" + model.weights.tobytes(), 9)


def load(path: Traversable) -> LinearModel:
    """The model in a file; a StoredError says what is wrong with it."""
    try:
        head, _, rest = zlib.decompress(path.read_bytes()).partition(b"\n")
        header = msgspec.json.decode(head, type=_Header)
    except (OSError, zlib.error, msgspec.DecodeError) as error:
        raise StoredError(f"{path}: not the weights of a model: {error} (train it again)") from None
    if header.format != FORMAT or len(rest) != len(header.labels) << header.bits:
        raise StoredError(f"{path}: the weights do not fit this version (train the model again)")
    layout = FeatureLayout(header.bits, header.grams, header.groups)
    return LinearModel(header.labels, layout, array("b", rest), header.scale, header.made_from, header.bias)
