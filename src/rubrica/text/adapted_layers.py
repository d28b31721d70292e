"""The upper layers of the sentence model as they are after a task was learnt; the lower ones stay as they come.

What was learnt is stored as adapters: for every matrix of the upper layers two thin ones whose product is added to it,
and new offsets, and a head that reads what the layers make of a text. One training differs from the next in single
texts, so a task is learnt several times, with the texts in another order, and what comes out is averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from rubrica.errors import StoredError
from rubrica.text.minilm import LAYERS, WIDTH, EncoderLayer, Floats, MiniLm, layer_weights

FROZEN = 3  # layers that stay as they come
ADAPTED = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
"""The matrices of a layer that have adapters."""
BATCH_TOKENS = 4_096  # that are worked on at once: bounds memory

Adapters = Mapping[str, NDArray[np.float16]]
"""By name: ``LAYER.MATRIX.down`` and ``.up`` for the thin matrices, ``LAYER.NAME`` for what is replaced, ``head.…``."""


TextTokens = tuple[list[int], list[int]]
"""The pieces of a text, and for each the segment that it is of."""


def lower_layers(model: MiniLm, ids: NDArray[np.int64], segments: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """What the layers that stay as they come make of pieces, and which are there; a segment of -1 is nothing."""
    mask = np.where(segments < 0, np.float32(-1e9), np.float32(0))[:, None, None, :]
    return model.read(ids, np.maximum(segments, 0), mask, FROZEN), mask


class AdaptedLayers:
    """The upper layers, with what was learnt."""

    def __init__(self, model: MiniLm, adapters: Adapters) -> None:
        self._layers = [EncoderLayer(_adapted(model, adapters, number)) for number in range(FROZEN, LAYERS)]

    def __call__(self, hidden: Floats, mask: Floats) -> Floats:
        """A row of numbers for each piece of each text, from what the lower layers made of them."""
        for layer in self._layers:
            hidden = layer(hidden, mask)
        return hidden.reshape(len(mask), -1, WIDTH)


class AdaptedReader:
    """Scores texts by what several trainings make of them, on average."""

    def __init__(
        self,
        model: MiniLm,
        several: Sequence[Adapters],
        numbers_of: Callable[[Floats, NDArray[np.int64]], Floats],
        scores_of: Callable[[Floats], Floats],
    ) -> None:
        """`numbers_of` says what a head reads of the pieces and their segments, `scores_of` what its numbers mean."""
        self._model, self._numbers_of, self._scores_of = model, numbers_of, scores_of
        self._trained = [
            (AdaptedLayers(model, each), each["head.weight"].astype(np.float32), each["head.bias"].astype(np.float32))
            for each in several
        ]

    def scores(self, texts: Sequence[TextTokens]) -> Floats:
        """A row for each text."""
        if not texts:
            return self._scores_of(np.zeros((0, len(self._trained[0][2])), np.float32))
        order = list(batches([len(ids) for ids, _ in texts]))
        read = np.concatenate([self._read([texts[at] for at in batch]) for batch in order])
        return np.asarray(read[np.argsort(np.concatenate(order))])

    def _read(self, texts: Sequence[TextTokens]) -> Floats:
        ids, segments = side_by_side(texts)
        seen = lower_layers(self._model, ids, segments)
        read = [
            self._scores_of(self._numbers_of(layers(*seen), segments) @ weight.T + bias)
            for layers, weight, bias in self._trained
        ]
        return np.asarray(np.mean(read, axis=0))


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of texts of such lengths, in batches of much the same length."""
    batch: list[int] = []
    for at in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[at] > BATCH_TOKENS:
            yield batch
            batch = []
        batch.append(at)
    if batch:
        yield batch


def side_by_side(texts: Sequence[TextTokens]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The pieces of some texts as one table, and their segments; where a row is filled up, its segment is -1."""
    length = max(len(ids) for ids, _ in texts)
    table, segments = np.zeros((len(texts), length), np.int64), np.full((len(texts), length), -1, np.int64)
    for row, (ids, parts) in enumerate(texts):
        table[row, : len(ids)], segments[row, : len(ids)] = ids, parts
    return table, segments


def mean_of(hidden: Floats, there: NDArray[np.bool_]) -> Floats:
    """The mean over the pieces of each text that are there."""
    weights = there[:, :, None].astype(np.float32)
    return np.asarray((hidden * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1))


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


def in_one(several: Sequence[Adapters]) -> Adapters:
    """The adapters of several trainings under names that begin with the number of each, as they are stored."""
    return {f"{number}/{name}": each for number, own in enumerate(several) for name, each in own.items()}


def stored_adapters(name: str) -> list[Adapters]:
    """The adapters in a file of this package, those of each training."""
    path = files(__package__).joinpath(name)
    found: dict[str, dict[str, NDArray[np.float16]]] = {}
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            for key in stored.files:
                number, _, own = key.partition("/")
                found.setdefault(number, {})[own] = stored[key]
            return list(found.values())
    except (OSError, ValueError, BadZipFile) as error:
        raise StoredError(f"{path}: not the adapters of a model: {error} (train it again)") from None
