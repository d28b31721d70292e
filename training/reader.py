"""Trains the reader of exchanges: the upper layers of the sentence model learn to tell what is unsafe.

Both questions are learnt at once, whether an answer helps with harm and whether a reply is unsafe, and beside them what
kind of exchange it is: what makes a reply unsafe differs with what is at stake. Every matrix of the upper layers gets
an adapter of low rank; the lower layers stay as they are, so what they make of a text is worked out once. Needs torch,
which nothing else here does: ``pip install torch``.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from rubrica.text.adapted_layers import ADAPTED, FROZEN, Adapters, side_by_side
from rubrica.text.exchange import Exchange
from rubrica.text.exchange_reader import ExchangeReader, pair_tokens
from rubrica.text.minilm import HEADS, LAYERS, WIDTH, MiniLm, layer_weights
from rubrica.text.sentence_model import INSTALL, sentence_model

from .exchanges import Labelled, ReaderPart, ReaderText, Source

Tensor = Any  # torch is not installed where types are checked
Tensors = dict[str, Tensor]

RANK = 16
EPOCHS = 3
RATE, WARM_UP, DECAY = 2e-3, 0.06, 0.01
BATCH_TOKENS, BATCH_TEXTS = 2_400, 32  # of a step at most; what the sum of its errors is divided by
POOL = 1_500  # texts that are sorted by length together
ALONE = 0.15  # of the answers are read without their prompt: it hides nothing then
FORGET = 0.1  # of the numbers that the head reads are left out at a time
SOFT = 0.02  # how far from 0 and 1 a label is: some are wrong
KIND = 0.2  # what the kind of a reply counts beside the label
IN_TURN = 3  # of the examples in forms and the parts of texts, one in so many is read in an epoch
COUNTS: Mapping[Source, float] = {
    "own": 0.5,
    "sums": 0.3,
    "everyday": 0.7,
    "attacks": 1.0,
    "conversations": 1.0,
    "framed": 1.0,
    "written": 1.5,
    "gate": 1.5,
    "twins": 1.5,
}
"""How much a text of each source teaches."""
WRITTEN_REPLY = 0.5  # the same for a reply that was written for the models: people say worse, and differently


class _Seen(NamedTuple):
    """What the lower layers make of a text."""

    hidden: Tensor  # a row for each piece
    segments: list[int]


def read_parts(parts: Sequence[ReaderPart]) -> list[tuple[Adapters, NDArray[np.float32]]]:
    """For each part, what it teaches and what a reader then says of what was kept apart; one on each core."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(_read_part, parts))


def _read_part(part: ReaderPart) -> tuple[Adapters, NDArray[np.float32]]:
    model = sentence_model()
    if model is None:
        raise ModuleNotFoundError(f"the sentence model is not installed: {INSTALL}")
    adapters = learn(model, part.learnt)
    return adapters, ExchangeReader(model, adapters).scores(part.apart)


def learn(model: MiniLm, texts: Sequence[ReaderText], seed: int = 0) -> Adapters:
    """What these texts teach."""
    torch.set_num_threads(1)  # one training a core is faster than one on two
    torch.manual_seed(seed)
    chooser = random.Random(seed)  # noqa: S311 - the order of texts is no secret
    kinds = sorted({each.text.kind for each in texts} - {""})
    base = {number: _tensors(layer_weights(model.weights, number)) for number in range(LAYERS)}
    learnt = _begin(base, 1 + 2 * len(kinds))
    seen: dict[tuple[int, bool], _Seen] = {}
    steps = [batch for epoch in range(EPOCHS) for batch in _batches(model, texts, epoch, chooser)]
    optimiser = torch.optim.AdamW(learnt.values(), lr=RATE, weight_decay=DECAY, betas=(0.9, 0.98))
    warm = max(1, int(WARM_UP * len(steps)))
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, (len(steps) - step) / (len(steps) - warm))
    )
    for number, batch in enumerate(steps):
        _look(model, base, texts, [each for each in batch if each not in seen], seen)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            scores = _forward(base, learnt, [seen[each] for each in batch])
        error = _error(scores.float(), [texts[row] for row, _ in batch], kinds)
        optimiser.zero_grad()
        error.backward()
        torch.nn.utils.clip_grad_norm_(learnt.values(), 1.0)
        optimiser.step()
        rates.step()
        if number % 100 == 0:
            print(f"step {number} of {len(steps)}: error {error.item():.3f}", flush=True)
    return {name: each.detach().numpy().astype(np.float16) for name, each in learnt.items()}


def _begin(base: Mapping[int, Tensors], outputs: int) -> Tensors:
    """What is learnt, as it begins: adapters that add nothing, the offsets as they are, a head that says nothing."""
    learnt: Tensors = {"head.weight": torch.zeros(outputs, 2 * WIDTH), "head.bias": torch.zeros(outputs)}
    for number in range(FROZEN, LAYERS):
        for name, weights in base[number].items():
            matrix = name.removesuffix(".weight")
            if matrix in ADAPTED:
                rows, columns = weights.shape
                learnt[f"{number}.{matrix}.down"] = torch.randn(RANK, columns) / columns**0.5
                learnt[f"{number}.{matrix}.up"] = torch.zeros(rows, RANK)
            else:
                learnt[f"{number}.{name}"] = weights.clone()
    for each in learnt.values():
        each.requires_grad_(True)
    return learnt


def _tensors(weights: Mapping[str, NDArray[np.float32]]) -> Tensors:
    return {name: torch.from_numpy(each.copy()) for name, each in weights.items()}


# --- batches ------------------------------------------------------------------------------------------------


def _batches(
    model: MiniLm, texts: Sequence[ReaderText], epoch: int, chooser: random.Random
) -> Iterator[list[tuple[int, bool]]]:
    """Rows to learn from in one epoch, each with whether its prompt is read, in batches of much the same length."""
    rows = [row for row, each in enumerate(texts) if not _waits(each.text, row, epoch)]
    chooser.shuffle(rows)
    found = []
    for start in range(0, len(rows), POOL):
        pool = [(row, texts[row].question == 1 or chooser.random() >= ALONE) for row in rows[start : start + POOL]]
        sized = sorted((len(pair_tokens(model, _exchange(texts[row], whole))[0]), row, whole) for row, whole in pool)
        batch: list[tuple[int, bool]] = []
        batches = [batch]
        for length, row, whole in sized:
            if batch and (len(batch) + 1) * length > BATCH_TOKENS:
                batch = []
                batches.append(batch)
            batch.append((row, whole))
        chooser.shuffle(batches)
        found += batches
    yield from found


def _waits(text: Labelled, row: int, epoch: int) -> bool:
    """Whether a text is left for another epoch: there are many in a few forms."""
    return (text.source == "own" or text.part) and row % IN_TURN != epoch % IN_TURN


def _exchange(text: ReaderText, whole: bool) -> Exchange:
    return text.text.exchange if whole else text.text.exchange._replace(prompt="")


# --- the model ----------------------------------------------------------------------------------------------


def _look(
    model: MiniLm,
    base: Mapping[int, Tensors],
    texts: Sequence[ReaderText],
    wanted: Sequence[tuple[int, bool]],
    seen: dict[tuple[int, bool], _Seen],
) -> None:
    """Adds what the lower layers make of some texts."""
    if not wanted:
        return
    pairs = [pair_tokens(model, _exchange(texts[row], whole)) for row, whole in wanted]
    ids, segments = side_by_side(pairs)
    mask = _mask(torch.from_numpy(segments))
    hidden = torch.from_numpy(model.read(ids, np.maximum(segments, 0), mask.numpy(), 0)).reshape(*ids.shape, WIDTH)
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        for number in range(FROZEN):
            hidden = _layer(base[number], {}, hidden, mask)
    for key, row, (_, parts) in zip(wanted, hidden, pairs, strict=True):
        seen[key] = _Seen(row[: len(parts)].to(torch.bfloat16).clone(), parts)


def _forward(base: Mapping[int, Tensors], learnt: Tensors, batch: Sequence[_Seen]) -> Tensor:
    """The scores of some texts: of the answer, of each kind that a reply may be of, and of the reply in each kind."""
    length = max(len(each.segments) for each in batch)
    hidden, segments = torch.zeros(len(batch), length, WIDTH), torch.full((len(batch), length), -1)
    for row, each in enumerate(batch):
        hidden[row, : len(each.segments)] = each.hidden.float()
        segments[row, : len(each.segments)] = torch.tensor(each.segments)
    mask = _mask(segments)
    for number in range(FROZEN, LAYERS):
        start = f"{number}."
        own = {name.removeprefix(start): each for name, each in learnt.items() if name.startswith(start)}
        hidden = _layer(base[number], own, hidden, mask)
    parts = []
    for segment in (0, 1):
        there = (segments == segment).float().unsqueeze(-1)
        parts.append((hidden * there).sum(1) / there.sum(1).clamp(min=1))
    read = torch.nn.functional.dropout(torch.cat(parts, -1), FORGET)
    return torch.nn.functional.linear(read, learnt["head.weight"], learnt["head.bias"])


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


def _error(scores: Tensor, batch: Sequence[ReaderText], kinds: Sequence[str]) -> Tensor:
    """How far the scores are from the labels, and from the kinds where they are known."""
    by_kind = scores[:, 1 : 1 + len(kinds)]
    replies = (torch.softmax(by_kind, -1) * scores[:, 1 + len(kinds) :]).sum(-1)
    asked = torch.where(torch.tensor([each.question for each in batch]) == 0, scores[:, 0], replies)
    labels = torch.tensor([1 - SOFT if each.text.unsafe else SOFT for each in batch])
    counts = torch.tensor([_counts(each) for each in batch])
    error = torch.nn.functional.binary_cross_entropy_with_logits(asked, labels, counts, reduction="sum")
    of_kind = [row for row, each in enumerate(batch) if each.text.kind]
    if of_kind:
        known = torch.tensor([kinds.index(batch[row].text.kind) for row in of_kind])
        error = error + KIND * torch.nn.functional.cross_entropy(by_kind[of_kind], known, reduction="sum")
    return error / BATCH_TEXTS


def _counts(each: ReaderText) -> float:
    return WRITTEN_REPLY if each.question == 1 and each.text.source == "written" else COUNTS[each.text.source]
