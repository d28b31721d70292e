"""The upper layers of the sentence model as they are after a task was learnt; the lower ones stay as they come.

What was learnt is stored as adapters: for every matrix of the upper layers two thin ones whose product is added to it,
and new offsets, and a head that reads what the layers make of a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def side_by_side(texts: Sequence[tuple[list[int], list[int]]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
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


def stored_adapters(name: str) -> Adapters:
    """The adapters in a file of this package."""
    path = files(__package__).joinpath(name)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            return {key: stored[key] for key in stored.files}
    except (OSError, ValueError, BadZipFile) as error:
        raise StoredError(f"{path}: not the adapters of a model: {error} (train it again)") from None
