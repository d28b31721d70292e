"""Reads what cues a text has, by a sentence model whose upper layers have learnt to tell dangers from look-alikes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rubrica.text.adapted_layers import AdaptedLayers, Adapters, batches, lower_layers, mean_of, side_by_side
from rubrica.text.minilm import Floats, MiniLm

FILE = "cues.adapters.npz"
TOKENS = 96  # pieces of a text that are read, from its beginning


class CueReader:
    """Scores texts; above 0 is rather so than not. The score is the mean of several that learnt in another order."""

    def __init__(self, model: MiniLm, several: Sequence[Adapters]) -> None:
        self._model = model
        self._readers = [
            (AdaptedLayers(model, each), each["head.weight"].astype(np.float32), each["head.bias"].astype(np.float32))
            for each in several
        ]

    def scores(self, texts: Sequence[str]) -> Floats:
        """A row for each text, a column for each cue."""
        tokens = [text_tokens(self._model, each) for each in texts]
        found = np.zeros((len(texts), len(self._readers[0][2])), np.float32)
        for batch in batches([len(ids) for ids, _ in tokens]):
            ids, segments = side_by_side([tokens[at] for at in batch])
            seen = lower_layers(self._model, ids, segments)
            for layers, weight, bias in self._readers:
                read = mean_of(layers(*seen), segments >= 0)
                found[batch] += (read @ weight.T + bias) / np.float32(len(self._readers))
        return found


def in_one(several: Sequence[Adapters]) -> Adapters:
    """The adapters of several readers under names that begin with the number of each, as they are stored."""
    return {f"{number}/{name}": each for number, own in enumerate(several) for name, each in own.items()}


def by_reader(stored: Adapters) -> list[Adapters]:
    """The adapters of each reader again."""
    found: dict[str, dict[str, NDArray[np.float16]]] = {}
    for name, each in stored.items():
        number, _, own = name.partition("/")
        found.setdefault(number, {})[own] = each
    return list(found.values())


def text_tokens(model: MiniLm, text: str) -> tuple[list[int], list[int]]:
    """The pieces of a text with its marks, and their segments: all are of one."""
    first, last = model.marks
    ids = [first, *model.pieces(text, TOKENS), last]
    return ids, [0] * len(ids)
