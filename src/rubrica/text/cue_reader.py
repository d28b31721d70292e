"""Reads what cues a text has, by a sentence model whose upper layers have learnt to tell dangers from look-alikes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rubrica.text.adapted_layers import AdaptedLayers, Adapters, batches, mean_of, side_by_side
from rubrica.text.minilm import Floats, MiniLm

FILE = "cues.adapters.npz"
TOKENS = 96  # pieces of a text that are read, from its beginning


class CueReader:
    """Scores texts; above 0 is rather so than not."""

    def __init__(self, model: MiniLm, adapters: Adapters) -> None:
        self._model = model
        self._layers = AdaptedLayers(model, adapters)
        self._weight, self._bias = (adapters[f"head.{part}"].astype(np.float32) for part in ("weight", "bias"))

    def scores(self, texts: Sequence[str]) -> Floats:
        """A row for each text, a column for each cue."""
        tokens = [text_tokens(self._model, each) for each in texts]
        found = np.zeros((len(texts), len(self._bias)), np.float32)
        for batch in batches([len(ids) for ids, _ in tokens]):
            ids, segments = side_by_side([tokens[at] for at in batch])
            read = mean_of(self._layers.read(ids, segments), segments >= 0)
            found[batch] = read @ self._weight.T + self._bias
        return found


def text_tokens(model: MiniLm, text: str) -> tuple[list[int], list[int]]:
    """The pieces of a text with its marks, and their segments: all are of one."""
    first, last = model.marks
    ids = [first, *model.pieces(text, TOKENS), last]
    return ids, [0] * len(ids)
