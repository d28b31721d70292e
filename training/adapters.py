"""Trains adapters: the upper layers of the sentence model learn a task, the lower ones stay as they are.

Every matrix of the upper layers gets an adapter of low rank, and their offsets are learnt anew. Needs torch, which
nothing else here does: ``pip install torch``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rubrica.text.adapted_layers import ADAPTED, FROZEN, Adapters, side_by_side
from rubrica.text.minilm import HEADS, LAYERS, WIDTH, MiniLm, layer_weights
from rubrica.text.sentence_model import INSTALL, sentence_model

Tensor = Any  # torch is not installed where types are checked
Tensors = dict[str, Tensor]

RANK = 16
RATE, WARM_UP, DECAY = 2e-3, 0.06, 0.01
BETAS = (0.9, 0.98)
STEEPEST = 1.0  # length that a step's slope has at most
AVERAGED = 0.3  # of the steps, the last ones: what they end in is averaged, which one step alone tells less of
TOLD_EVERY = 100  # steps


class SeenText(NamedTuple):
    """What the lower layers make of a text."""

    hidden: Tensor  # a row for each piece
    segments: list[int]


class Learner:
    """What is learnt, and the layers that it is added to."""

    def __init__(self, model: MiniLm, head: tuple[int, int], steps: int, seed: int = 0) -> None:
        """`head` is how many scores there are, and of how many numbers each is made; 0 before anything is learnt."""
        torch.set_num_threads(1)  # one training a core is faster than one on two
        torch.manual_seed(seed)
        self._model = model
        self._base = {number: _tensors(layer_weights(model.weights, number)) for number in range(LAYERS)}
        self.learnt: Tensors = {"head.weight": torch.zeros(*head), "head.bias": torch.zeros(head[0])}
        for number in range(FROZEN, LAYERS):
            for name, weights in self._base[number].items():
                matrix = name.removesuffix(".weight")
                if matrix in ADAPTED:
                    rows, columns = weights.shape
                    self.learnt[f"{number}.{matrix}.down"] = torch.randn(RANK, columns) / columns**0.5
                    self.learnt[f"{number}.{matrix}.up"] = torch.zeros(rows, RANK)
                else:
                    self.learnt[f"{number}.{name}"] = weights.clone()
        for own in self._base.values():  # matrices that stay as they are: rounded once, not at every step
            own.update({name: each.to(torch.bfloat16) for name, each in own.items() if each.dim() == 2})
        for each in self.learnt.values():
            each.requires_grad_(True)
        self._optimiser = torch.optim.AdamW(self.learnt.values(), lr=RATE, weight_decay=DECAY, betas=BETAS)
        warm = max(1, int(WARM_UP * steps))
        self._rates = torch.optim.lr_scheduler.LambdaLR(
            self._optimiser, lambda step: min((step + 1) / warm, (steps - step) / (steps - warm))
        )
        self._step, self._steps = 0, steps
        self._mean = {name: torch.zeros_like(each) for name, each in self.learnt.items()}
        self._in_mean = 0  # steps that are averaged so far

    def look(self, texts: Sequence[tuple[list[int], list[int]]]) -> list[SeenText]:
        """What the lower layers make of texts, given as pieces and their segments."""
        ids, segments = side_by_side(texts)
        mask = _mask(torch.from_numpy(segments))
        read = self._model.read(ids, np.maximum(segments, 0), mask.numpy(), 0)
        hidden = torch.from_numpy(read).reshape(*ids.shape, WIDTH)
        with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
            for number in range(FROZEN):
                hidden = _layer(self._base[number], {}, hidden, mask)
        rows = zip(hidden, texts, strict=True)
        return [SeenText(row[: len(parts)].to(torch.bfloat16).clone(), parts) for row, (_, parts) in rows]

    def read(self, batch: Sequence[SeenText]) -> tuple[Tensor, Tensor]:
        """What the upper layers make of texts, a row for each piece, and the segments of the pieces."""
        length = max(len(each.segments) for each in batch)
        hidden, segments = torch.zeros(len(batch), length, WIDTH), torch.full((len(batch), length), -1)
        for row, each in enumerate(batch):
            hidden[row, : len(each.segments)] = each.hidden.float()
            segments[row, : len(each.segments)] = torch.tensor(each.segments)
        mask = _mask(segments)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for number in range(FROZEN, LAYERS):
                start = f"{number}."
                own = {name.removeprefix(start): each for name, each in self.learnt.items() if name.startswith(start)}
                hidden = _layer(self._base[number], own, hidden, mask)
        return hidden.float(), segments

    def scores(self, numbers: Tensor, forget: float) -> Tensor:
        """The head's scores; so many of the numbers that it reads are left out at a time."""
        read = torch.nn.functional.dropout(numbers, forget)
        return torch.nn.functional.linear(read, self.learnt["head.weight"], self.learnt["head.bias"])

    def step(self, error: Tensor) -> None:
        """Learns from an error."""
        self._optimiser.zero_grad()
        error.backward()
        torch.nn.utils.clip_grad_norm_(self.learnt.values(), STEEPEST)
        self._optimiser.step()
        self._rates.step()
        if self._step >= (1 - AVERAGED) * self._steps:
            self._in_mean += 1
            for name, each in self.learnt.items():
                self._mean[name] += (each.detach() - self._mean[name]) / self._in_mean
        if self._step % TOLD_EVERY == 0:
            print(f"step {self._step} of {self._steps}: error {error.item():.3f}", flush=True)
        self._step += 1
        if self._step == self._steps:
            self.learnt = self._mean

    def adapters(self) -> Adapters:
        """What was learnt, as it is stored: after the last step, on average over the last ones."""
        return {name: each.detach().numpy().astype(np.float16) for name, each in self.learnt.items()}


def needed_model() -> MiniLm:
    """The sentence model; nothing is learnt without it."""
    model = sentence_model()
    if model is None:
        raise ModuleNotFoundError(f"the sentence model is not installed: {INSTALL}")
    return model


def mean_of(hidden: Tensor, there: Tensor) -> Tensor:
    """The mean over the pieces of each text that are there."""
    weights = there.float().unsqueeze(-1)
    return (hidden * weights).sum(1) / weights.sum(1).clamp(min=1)


def _tensors(weights: Mapping[str, NDArray[np.float32]]) -> Tensors:
    return {name: torch.from_numpy(each.copy()) for name, each in weights.items()}


def _mask(segments: Tensor) -> Tensor:
    return torch.where(segments < 0, -1e9, 0.0)[:, None, None, :]


def _layer(base: Tensors, own: Tensors, hidden: Tensor, mask: Tensor) -> Tensor:
    """One layer, with its adapters where it has any."""

    def dense(values: Tensor, name: str) -> Tensor:
        bias = own.get(f"{name}.bias", base[f"{name}.bias"])
        product = torch.nn.functional.linear(values, base[f"{name}.weight"], bias)
        if f"{name}.up" in own:
            down = torch.nn.functional.linear(values, own[f"{name}.down"])
            product = product + torch.nn.functional.linear(down, own[f"{name}.up"])
        return product

    def added(values: Tensor, more: Tensor, name: str) -> Tensor:
        weight, bias = (own.get(f"{name}.{part}", base[f"{name}.{part}"]) for part in ("weight", "bias"))
        return torch.nn.functional.layer_norm(values + more, (WIDTH,), weight, bias, 1e-12)

    def heads(values: Tensor) -> Tensor:
        return values.view(*values.shape[:2], HEADS, WIDTH // HEADS).transpose(1, 2)

    query, key, value = (heads(dense(hidden, f"attention.self.{part}")) for part in ("query", "key", "value"))
    looks = torch.softmax(query @ key.transpose(-1, -2) / (WIDTH // HEADS) ** 0.5 + mask, -1)
    heard = (looks @ value).transpose(1, 2).reshape(hidden.shape)
    hidden = added(hidden, dense(heard, "attention.output.dense"), "attention.output.LayerNorm")
    inner = torch.nn.functional.gelu(dense(hidden, "intermediate.dense"))
    return added(hidden, dense(inner, "output.dense"), "output.LayerNorm")
