"""Trains the reader of exchanges: the upper layers of the sentence model learn to tell what is unsafe.

Both questions are learnt at once, whether an answer helps with harm and whether a reply is unsafe, and beside them what
kind of exchange it is: what makes a reply unsafe differs with what is at stake. What the lower layers make of a text is
worked out once. Needs torch (`training.adapters`).
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from rubrica.text.adapted_layers import Adapters, batches
from rubrica.text.exchange import Exchange
from rubrica.text.exchange_reader import by_kind, pair_tokens
from rubrica.text.minilm import WIDTH, MiniLm

from .adapters import Learner, SeenText, Tensor, mean_of, needed_model
from .exchanges import Labelled, ReaderPart, ReaderText, Source

EPOCHS = 3
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


def read_parts(parts: Sequence[ReaderPart]) -> list[tuple[Adapters, NDArray[np.float32]]]:
    """For each part, what it teaches and what a reader then says of what was kept apart; one on each core."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(_read_part, parts))


def _read_part(part: ReaderPart) -> tuple[Adapters, NDArray[np.float32]]:
    model = needed_model()
    learner = learn(model, part.learnt, part.seed)
    return learner.adapters(), _scores(model, learner, part.apart)


def _scores(model: MiniLm, learner: Learner, exchanges: Sequence[Exchange]) -> NDArray[np.float32]:
    """What `ExchangeReader` would say, in the rounded numbers of training, which are quicker."""
    pairs = [pair_tokens(model, each) for each in exchanges]
    found = np.zeros((len(pairs), 2), np.float32)
    with torch.no_grad():
        for batch in batches([len(ids) for ids, _ in pairs]):
            read = learner.read(learner.look([pairs[at] for at in batch]))
            found[batch] = by_kind(learner.scores(_numbers(*read), 0).numpy())
    return found


def learn(model: MiniLm, texts: Sequence[ReaderText], seed: int = 0) -> Learner:
    """Learns what these texts teach."""
    chooser = random.Random(seed)  # noqa: S311 - the order of texts is no secret
    kinds = sorted({each.text.kind for each in texts} - {""})
    steps = [batch for epoch in range(EPOCHS) for batch in _batches(model, texts, epoch, chooser)]
    learner = Learner(model, (1 + 2 * len(kinds), 2 * WIDTH), len(steps), seed)
    seen: dict[tuple[int, bool], SeenText] = {}
    for batch in steps:
        if wanted := [each for each in batch if each not in seen]:
            pairs = [pair_tokens(model, _exchange(texts[row], whole)) for row, whole in wanted]
            seen |= zip(wanted, learner.look(pairs), strict=True)
        numbers = _numbers(*learner.read([seen[each] for each in batch]))
        learner.step(_error(learner.scores(numbers, FORGET), [texts[row] for row, _ in batch], kinds))
    return learner


def _numbers(hidden: Tensor, segments: Tensor) -> Tensor:
    """What the head reads: what the layers make of the prompt, and of the response."""
    return torch.cat([mean_of(hidden, segments == segment) for segment in (0, 1)], -1)


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
