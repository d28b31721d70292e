"""MiniLM-L6, a small sentence model, in numpy: texts become vectors whose nearness is nearness in meaning.

The weights come as a package of their own (`text.sentence_model` finds them); here is only the arithmetic. Texts that
mean about the same point about the same way: the product of two vectors is 1 for the same text and near 0 for
strangers. The model reads English best, and the first `TOKENS` pieces of a text. A short text takes about ten
milliseconds, so vectors are kept for texts that come again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rubrica.lru_cache import LruCache

from .wordpiece import WordPieces

Floats = NDArray[np.float32]

TOKENS = 128
LAYERS, HEADS, WIDTH = 6, 12, 384
BATCH_TOKENS = 2_048  # that are worked on at once: bounds memory
VECTORS_KEPT = 8_192
_EPSILON = 1e-12


class MiniLm:
    """Turns texts into vectors of length 1. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        self._pieces = WordPieces(folder / "vocab.txt")
        self.weights = _read_weights(folder / "model.safetensors")
        self._layers = tuple(EncoderLayer(layer_weights(self.weights, number)) for number in range(LAYERS))
        self._kept: LruCache[bytes, Floats] = LruCache(VECTORS_KEPT)
        self._lock = Lock()

    def encode(self, texts: Sequence[str]) -> Floats:
        """A row for each text. What was asked for lately is not worked out again."""
        keys = [_key(text) for text in texts]
        found = {key: self._kept.get(key) for key in keys}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if found[key] is None}
        with self._lock:  # one at a time: the processor is the same, and memory stays bounded
            for key, vector in zip(missing, self._vectors(list(missing.values())), strict=True):
                found[key] = vector
                self._kept.put(key, vector)
        rows = [row for key in keys if (row := found[key]) is not None]
        return np.stack(rows) if rows else np.zeros((0, WIDTH), np.float32)

    def similarity(self, one: str, other: str) -> float:
        """How near two texts are in meaning: 1 for the same text, about 0 for texts on different things."""
        first, second = self.encode([one, other])
        return min(max(float(first @ second), -1.0), 1.0)

    @property
    def marks(self) -> tuple[int, int]:
        """The pieces that stand at the beginning and at the end of a text."""
        first, last = self._pieces.tokens("", 2)
        return first, last

    def pieces(self, text: str, most: int) -> list[int]:
        """The pieces of a text without marks: at most so many."""
        return self._pieces.tokens(text, most + 2)[1:-1]

    def _vectors(self, texts: Sequence[str]) -> list[Floats]:
        tokens = [self._pieces.tokens(text, TOKENS) for text in texts]
        order = sorted(range(len(texts)), key=lambda at: len(tokens[at]))  # texts of one length go well together
        vectors: dict[int, Floats] = {}
        batch: list[int] = []
        for at in order:
            if batch and (len(batch) + 1) * len(tokens[at]) > BATCH_TOKENS:
                vectors |= zip(batch, self._forward([tokens[each] for each in batch]), strict=True)
                batch = []
            batch.append(at)
        if batch:
            vectors |= zip(batch, self._forward([tokens[each] for each in batch]), strict=True)
        return [vectors[at] for at in range(len(texts))]

    def _forward(self, tokens: Sequence[Sequence[int]]) -> Floats:
        """Vectors of some texts, side by side, each filled up to the longest."""
        length = max(map(len, tokens))
        ids = np.zeros((len(tokens), length), np.int64)
        there = np.zeros((len(tokens), length), np.float32)
        for row, each in enumerate(tokens):
            ids[row, : len(each)], there[row, : len(each)] = each, 1
        hidden_from = ((1 - there) * -1e9)[:, None, None, :]  # nobody looks at what fills up
        hidden = self.read(ids, np.zeros_like(ids), hidden_from, LAYERS)
        return _mean(hidden.reshape(len(tokens), length, WIDTH), there)

    def read(self, ids: NDArray[np.int64], segments: NDArray[np.int64], mask: Floats, layers: int) -> Floats:
        """The pieces of some texts after the first layers, a row for each piece: one large product is faster.

        A segment is 0 for the first text of a pair, 1 for the second. The mask is 0 where a piece stands.
        """
        weights = self.weights
        hidden = weights["embeddings.word_embeddings.weight"][ids]
        hidden = hidden + weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        hidden += weights["embeddings.token_type_embeddings.weight"][segments]
        norm = (weights[f"embeddings.LayerNorm.{part}"] for part in ("weight", "bias"))
        hidden = _normalise(hidden, *norm).reshape(-1, WIDTH)
        for layer in self._layers[:layers]:
            hidden = layer(hidden, mask)
        return hidden


def layer_weights(weights: Mapping[str, Floats], number: int) -> dict[str, Floats]:
    """The weights of one layer, by the names that they have in it."""
    start = f"encoder.layer.{number}."
    return {name.removeprefix(start): each for name, each in weights.items() if name.startswith(start)}


class EncoderLayer:
    """One layer: each piece looks at the others, then is worked on by itself."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        parts = [f"attention.self.{part}" for part in ("query", "key", "value")]
        self._look = np.concatenate([weights[f"{part}.weight"] for part in parts]).T.copy()
        self._look_bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
        self._weights = {name: each for name, each in weights.items() if not name.startswith("attention.self.")}

    def __call__(self, hidden: Floats, mask: Floats) -> Floats:
        texts, _, _, length = mask.shape
        seen = (hidden @ self._look + self._look_bias).reshape(texts, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = seen.transpose(2, 0, 3, 1, 4)
        looks = query @ key.swapaxes(-1, -2) / np.float32((WIDTH // HEADS) ** 0.5) + mask
        looks = np.exp(looks - looks.max(axis=-1, keepdims=True))
        looks /= looks.sum(axis=-1, keepdims=True)
        heard = (looks @ value).transpose(0, 2, 1, 3).reshape(texts * length, WIDTH)
        hidden = self._added(hidden, self._dense(heard, "attention.output.dense"), "attention.output.LayerNorm")
        inner = _gelu(self._dense(hidden, "intermediate.dense"))
        return self._added(hidden, self._dense(inner, "output.dense"), "output.LayerNorm")

    def _dense(self, values: Floats, name: str) -> Floats:
        product: Floats = values @ self._weights[f"{name}.weight"].T
        product += self._weights[f"{name}.bias"]
        return product

    def _added(self, hidden: Floats, more: Floats, norm: str) -> Floats:
        return _normalise(hidden + more, self._weights[f"{norm}.weight"], self._weights[f"{norm}.bias"])


def _normalise(values: Floats, weight: Floats, bias: Floats) -> Floats:
    centred = values - values.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + _EPSILON)
    return np.asarray(centred / spread * weight + bias)


def _mean(hidden: Floats, there: Floats) -> Floats:
    """The direction of each text: the mean of its pieces, with length 1."""
    total = (hidden * there[:, :, None]).sum(axis=1)
    return np.asarray(total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), _EPSILON))


def _gelu(values: Floats) -> Floats:
    """The smooth step that the model was trained with; the error function is that of Abramowitz and Stegun, 7.1.26."""
    size = np.abs(values) * np.float32(0.5**0.5)
    near = 1 / (1 + np.float32(0.3275911) * size)
    factors = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
    tail = np.zeros_like(near)
    for factor in factors:
        tail = (tail + np.float32(factor)) * near
    tail *= np.exp(-size * size)
    return np.asarray(np.where(values >= 0, values * (1 - tail / 2), values * tail / 2))


def _read_weights(path: Path) -> dict[str, Floats]:
    """The arrays of a safetensors file: the length of a description in JSON, the description, the numbers."""
    data = np.memmap(path, np.uint8, "r")
    size = int.from_bytes(data[:8].tobytes(), "little")
    described: Mapping[str, Any] = json.loads(data[8 : 8 + size].tobytes())
    numbers = data[8 + size :]
    return {
        name: np.frombuffer(numbers[slice(*each["data_offsets"])].tobytes(), np.float32).reshape(each["shape"])
        for name, each in described.items()
        if each.get("dtype") == "F32"
    }


def _key(text: str) -> bytes:
    return blake2b(text[: TOKENS * 40].encode("utf-8", "replace"), digest_size=16).digest()
