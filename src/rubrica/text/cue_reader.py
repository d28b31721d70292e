"""Reads what cues a text has, by a sentence model whose upper layers have learnt to tell dangers from look-alikes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rubrica.text.adapted_layers import AdaptedReader, Adapters, TextTokens, mean_of
from rubrica.text.minilm import Floats, MiniLm

FILE = "cues.adapters.npz"
TOKENS = 96  # pieces of a text that are read, from its beginning


class CueReader:
    """Scores texts; above 0 is rather so than not."""

    def __init__(self, model: MiniLm, several: Sequence[Adapters]) -> None:
        self._model = model
        self._reader = AdaptedReader(model, several, _of_all, np.asarray)

    def scores(self, texts: Sequence[str]) -> Floats:
        """A row for each text, a column for each cue."""
        return self._reader.scores([text_tokens(self._model, each) for each in texts])


def _of_all(hidden: Floats, segments: NDArray[np.int64]) -> Floats:
    """What the head reads: what the layers make of the text."""
    return mean_of(hidden, segments >= 0)


def text_tokens(model: MiniLm, text: str) -> TextTokens:
    """The pieces of a text with its marks, and their segments: all are of one."""
    first, last = model.marks
    ids = [first, *model.pieces(text, TOKENS), last]
    return ids, [0] * len(ids)
