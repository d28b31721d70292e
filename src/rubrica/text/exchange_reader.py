"""Reads a prompt together with its response, by a sentence model whose upper layers have learnt what is unsafe.

Prompt and response are one text to it, so each is seen in the light of the other: "I agree" is harmless after a wish,
and is not after abuse. So a reply is scored once for each kind of exchange that was learnt (abuse of others, abuse of
the user, bias, danger, medical advice), and each counts as much as the exchange is of its kind.

What was learnt is stored as adapters: for every matrix of the upper layers two thin ones whose product is added to it,
and new offsets. The lower layers are those of the sentence model as it comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from rubrica.errors import StoredError
from rubrica.text.exchange import Exchange
from rubrica.text.minilm import LAYERS, WIDTH, EncoderLayer, Floats, MiniLm, layer_weights

FILE = "risk.adapters.npz"
FROZEN = 3  # layers that stay as they come
PROMPT_TOKENS, PROMPT_TAIL = 64, 24  # pieces of a prompt that are read, and how many of them from its end
RESPONSE_TOKENS, RESPONSE_TAIL = 128, 32
ADAPTED = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
"""The matrices of a layer that have adapters."""
END_LETTERS = 12  # of the end of a text that are cut into pieces, for each that is wanted
BATCH_TOKENS = 4_096  # that are worked on at once: bounds memory

Adapters = Mapping[str, NDArray[np.float16]]
"""By name: ``LAYER.MATRIX.down`` and ``.up`` for the thin matrices, ``LAYER.NAME`` for what is replaced, ``head.…``."""


class ExchangeReader:
    """Scores exchanges; above 0 is unsafe rather than safe."""

    def __init__(self, model: MiniLm, adapters: Adapters) -> None:
        self._model = model
        self._layers = [EncoderLayer(_adapted(model, adapters, number)) for number in range(FROZEN, LAYERS)]
        self._weight, self._bias = (adapters[f"head.{part}"].astype(np.float32) for part in ("weight", "bias"))

    def scores(self, exchanges: Sequence[Exchange]) -> Floats:
        """A row for each exchange: how unsafe its response is as an answer, and as a reply in a conversation."""
        pairs = [pair_tokens(self._model, each) for each in exchanges]
        order = sorted(range(len(pairs)), key=lambda at: len(pairs[at][0]))  # those of one length go well together
        found = np.zeros((len(pairs), 2), np.float32)
        batch: list[int] = []
        for at in order:
            if batch and (len(batch) + 1) * len(pairs[at][0]) > BATCH_TOKENS:
                found[batch] = self._read([pairs[each] for each in batch])
                batch = []
            batch.append(at)
        if batch:
            found[batch] = self._read([pairs[each] for each in batch])
        return found

    def _read(self, pairs: Sequence[tuple[list[int], list[int]]]) -> Floats:
        ids, segments = side_by_side(pairs)
        mask = np.where(segments < 0, np.float32(-1e9), np.float32(0))[:, None, None, :]
        hidden = self._model.read(ids, np.maximum(segments, 0), mask, FROZEN)
        for layer in self._layers:
            hidden = layer(hidden, mask)
        hidden = hidden.reshape(*ids.shape, WIDTH)
        parts = [_mean_of(hidden, segments == segment) for segment in (0, 1)]
        return _by_kind(np.concatenate(parts, axis=1) @ self._weight.T + self._bias)


def pair_tokens(model: MiniLm, exchange: Exchange) -> tuple[list[int], list[int]]:
    """The pieces of prompt and response as one text, and for each whether it is of the first or of the second."""
    prompt = _ends(model, exchange.prompt, PROMPT_TOKENS, PROMPT_TAIL)
    response = _ends(model, exchange.response, RESPONSE_TOKENS, RESPONSE_TAIL)
    first, last = model.marks
    ids = [first, *prompt, last, *response, last]
    return ids, [0] * (len(prompt) + 2) + [1] * (len(response) + 1)


def side_by_side(pairs: Sequence[tuple[list[int], list[int]]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pieces of some pairs as one table, and their segments; where a row is filled up, its segment is -1."""
    length = max(len(ids) for ids, _ in pairs)
    table, segments = np.zeros((len(pairs), length), np.int64), np.full((len(pairs), length), -1, np.int64)
    for row, (ids, parts) in enumerate(pairs):
        table[row, : len(ids)], segments[row, : len(ids)] = ids, parts
    return table, segments


def _ends(model: MiniLm, text: str, most: int, tail: int) -> list[int]:
    """The pieces of a text; of a long one those of its beginning and of its end."""
    found = model.pieces(text, most + 1)
    if len(found) <= most:
        return found
    end = model.pieces(text[-tail * END_LETTERS :], tail * END_LETTERS)
    return found[: most - tail] + end[-tail:]


def _mean_of(hidden: Floats, there: NDArray[np.bool_]) -> Floats:
    weights = there[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1))


def _by_kind(scores: Floats) -> Floats:
    """The score of the answer, and that of the reply: the mean over its kinds, each by how much it is of that kind.

    The first column is the answer's; then come the kinds of replies, and then the score of the reply in each kind.
    """
    kinds, replies = np.split(scores[:, 1:], 2, axis=1)
    shares = np.exp(kinds - kinds.max(axis=1, keepdims=True))
    return np.column_stack([scores[:, 0], (shares * replies).sum(axis=1) / shares.sum(axis=1)])


def _adapted(model: MiniLm, adapters: Adapters, number: int) -> dict[str, Floats]:
    """The weights of a layer with what was learnt."""
    start = f"{number}."
    own = {name.removeprefix(start): each for name, each in adapters.items() if name.startswith(start)}
    replaced = {name: each.astype(np.float32) for name, each in own.items() if not name.endswith((".up", ".down"))}
    found = layer_weights(model.weights, number) | replaced
    for name in ADAPTED:
        up, down = (own[f"{name}.{part}"].astype(np.float32) for part in ("up", "down"))
        found[f"{name}.weight"] = found[f"{name}.weight"] + up @ down
    return found


def stored_adapters() -> Adapters:
    """The adapters that come with the package."""
    path = files(__package__).joinpath(FILE)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise StoredError(f"{path}: not the adapters of a model: {error} (train it again)") from None
