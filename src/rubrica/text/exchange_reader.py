"""Reads a prompt together with its response, by a sentence model whose upper layers have learnt what is unsafe.

Prompt and response are one text to it, so each is seen in the light of the other: "I agree" is harmless after a wish,
and is not after abuse. So a reply is scored once for each kind of exchange that was learnt (abuse of others, abuse of
the user, bias, danger, medical advice), and each counts as much as the exchange is of its kind.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rubrica.text.adapted_layers import AdaptedReader, Adapters, TextTokens, mean_of
from rubrica.text.exchange import Exchange
from rubrica.text.minilm import Floats, MiniLm

FILE = "risk.adapters.npz"
PROMPT_TOKENS, PROMPT_TAIL = 64, 24  # pieces of a prompt that are read, and how many of them from its end
RESPONSE_TOKENS, RESPONSE_TAIL = 128, 32
END_LETTERS = 12  # of the end of a text that are cut into pieces, for each that is wanted


class ExchangeReader:
    """Scores exchanges; above 0 is unsafe rather than safe."""

    def __init__(self, model: MiniLm, several: Sequence[Adapters]) -> None:
        self._model = model
        self._reader = AdaptedReader(model, several, _of_both, by_kind)

    def scores(self, exchanges: Sequence[Exchange]) -> Floats:
        """A row for each exchange: how unsafe its response is as an answer, and as a reply in a conversation."""
        return self._reader.scores([pair_tokens(self._model, each) for each in exchanges])


def _of_both(hidden: Floats, segments: NDArray[np.int64]) -> Floats:
    """What the head reads: what the layers make of the prompt, and of the response."""
    return np.concatenate([mean_of(hidden, segments == segment) for segment in (0, 1)], axis=1)


def pair_tokens(model: MiniLm, exchange: Exchange) -> TextTokens:
    """The pieces of prompt and response as one text, and for each whether it is of the first or of the second."""
    prompt = _ends(model, exchange.prompt, PROMPT_TOKENS, PROMPT_TAIL)
    response = _ends(model, exchange.response, RESPONSE_TOKENS, RESPONSE_TAIL)
    first, last = model.marks
    ids = [first, *prompt, last, *response, last]
    return ids, [0] * (len(prompt) + 2) + [1] * (len(response) + 1)


def _ends(model: MiniLm, text: str, most: int, tail: int) -> list[int]:
    """The pieces of a text; of a long one those of its beginning and of its end."""
    found = model.pieces(text, most + 1)
    if len(found) <= most:
        return found
    end = model.pieces(text[-tail * END_LETTERS :], tail * END_LETTERS)
    return found[: most - tail] + end[-tail:]


def by_kind(scores: Floats) -> Floats:
    """The score of the answer, and that of the reply: the mean over its kinds, each by how much it is of that kind.

    The first column is the answer's; then come the kinds of replies, and then the score of the reply in each kind.
    """
    kinds, replies = np.split(scores[:, 1:], 2, axis=1)
    shares = np.exp(kinds - kinds.max(axis=1, keepdims=True))
    return np.column_stack([scores[:, 0], (shares * replies).sum(axis=1) / shares.sum(axis=1)])
