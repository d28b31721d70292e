"""Trains the reader of cues: what a danger is, and what only sounds like one, by near twins. Needs torch."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import torch
from numpy.typing import NDArray

from rubrica.text.adapted_layers import Adapters
from rubrica.text.cue_reader import CueReader, text_tokens
from rubrica.text.minilm import WIDTH, MiniLm

from .adapters import Learner, SeenText, Tensor, mean_of, needed_model
from .cues import CuePart, CueText

EPOCHS = 8
BATCH_TEXTS = 48
POOL = 1_500  # texts that are sorted by length together
FORGET = 0.1  # of the numbers that the head reads are left out at a time
SOFT = 0.02  # how far from 0 and 1 a label is: some are wrong
BALANCE, MOST = 0.5, 6.0  # how far a rare cue counts more where a text has it, and how much at most
SCALE = 3.0  # cues that a text tells of, on average


def read_parts(parts: Sequence[CuePart]) -> list[tuple[Adapters, NDArray[np.float32]]]:
    """For each part, what it teaches and what a reader then says of what was kept apart; one on each core."""
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(_read_part, parts))


def _read_part(part: CuePart) -> tuple[Adapters, NDArray[np.float32]]:
    model = needed_model()
    adapters = learn(model, part.learnt, part.seed)
    return adapters, CueReader(model, [adapters]).scores(part.apart)


def learn(model: MiniLm, texts: Sequence[CueText], seed: int = 0) -> Adapters:
    """What these texts teach."""
    chooser = random.Random(seed)  # noqa: S311 - the order of texts is no secret
    labels = torch.tensor([each.labels for each in texts], dtype=torch.float32)
    counts = torch.tensor([each.counts for each in texts])[:, None] * (labels >= 0)
    has = (labels > 0).float()
    rare = ((counts * (1 - has)).sum(0) / (counts * has).sum(0).clamp(min=1)) ** BALANCE
    counts = counts * (1 + (rare.clamp(1, MOST) - 1) * has)
    wanted = has * (1 - 2 * SOFT) + SOFT
    tokens = [text_tokens(model, each.text) for each in texts]
    steps = [batch for _ in range(EPOCHS) for batch in _batches([len(ids) for ids, _ in tokens], chooser)]
    learner = Learner(model, (labels.shape[1], WIDTH), len(steps), seed)
    seen: dict[int, SeenText] = {}
    for batch in steps:
        if new := [row for row in batch if row not in seen]:
            seen |= zip(new, learner.look([tokens[row] for row in new]), strict=True)
        hidden, segments = learner.read([seen[row] for row in batch])
        scores = learner.scores(mean_of(hidden, segments >= 0), FORGET)
        learner.step(_error(scores, wanted[batch], counts[batch]))
    return learner.adapters()


def _batches(lengths: Sequence[int], chooser: random.Random) -> Iterator[list[int]]:
    """Rows to learn from in one epoch, in batches of much the same length."""
    rows = list(range(len(lengths)))
    chooser.shuffle(rows)
    for start in range(0, len(rows), POOL):
        pool = sorted(rows[start : start + POOL], key=lengths.__getitem__)
        batches = [pool[at : at + BATCH_TEXTS] for at in range(0, len(pool), BATCH_TEXTS)]
        chooser.shuffle(batches)
        yield from batches


def _error(scores: Tensor, wanted: Tensor, counts: Tensor) -> Tensor:
    """How far the scores are from the labels."""
    error = torch.nn.functional.binary_cross_entropy_with_logits(scores, wanted, counts, reduction="sum")
    return error / BATCH_TEXTS / SCALE
