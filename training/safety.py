"""Trains the safety models: `python -m training.safety DATA`, with the folder of the public sets.

Writes the weights into the package, and says how well they do on what was kept apart: behaviours and conversations that
no weight has seen. To change what the models do, add examples and run this again.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from rubrica.text.exchange import vector_of
from rubrica.text.linear import FeatureLayout, LinearModel, to_bytes
from rubrica.text.risk import COLUMNS, FILE

from .examples import digest, read_groups
from .exchanges import EXAMPLES, Half, Labelled, answers, everyday, not_near, own_examples, replies, sums, with_tails
from .fit import Floats, Recipe, Sparse, descend, in_bytes

WEIGHTS = Path(__file__).parents[1] / "src" / "rubrica" / "text" / FILE
BITS = 19
ANSWER, REPLY = Recipe(shrink=0.1, balance=0, steps=100), Recipe(shrink=2.0, balance=0, steps=100)
SEEN = 2  # texts that a row must occur in to count: nothing is kept that only one text has
RARITY = 0.08  # what one step of a row's rarity is worth; a byte has 127
FOLDS = 4
ALLOWED = 0.05  # of the safe texts lie above 0.5, when none of their group was learnt from

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Lesson:
    """What one head learns from: labelled texts in groups, and others that are learnt from in any case."""

    texts: Sequence[Labelled]
    recipe: Recipe
    vectors: Sparse  # of the texts and then the others; the last column is 1
    unsafe: NDArray[np.int64]  # of the same
    counts: Floats  # of the same

    @classmethod
    def of(cls, layout: FeatureLayout, rarity: NDArray[np.int8], recipe: Recipe, *texts: Sequence[Labelled]) -> Lesson:
        """A lesson on the first texts, helped by all others."""
        width, everything = 1 << layout.bits, [each for part in texts for each in part]
        rare = rarity.tolist().__getitem__
        vectors = [{**vector_of(layout, each.exchange, rare), width: 1.0} for each in everything]
        unsafe = np.array([int(each.unsafe) for each in everything])
        counts = np.array([each.counts for each in everything])
        return cls(texts[0], recipe, Sparse.of(vectors, width + 1), unsafe, counts)

    def where(self, fits: Callable[[Labelled], bool]) -> Rows:
        """The texts that fit."""
        return np.array([at for at, each in enumerate(self.texts) if fits(each)], dtype=np.int64)

    def weights(self, texts: Rows) -> Floats:
        """What these texts and all others teach: a weight for every row, and at the end what every text has."""
        learnt = np.concatenate([texts, np.arange(len(self.texts), self.vectors.height)])
        found = descend(self.vectors.chosen(learnt), self.unsafe[learnt], 2, self.recipe, self.counts[learnt])
        return np.asarray(found[:, 1] - found[:, 0])

    def scores(self, weights: Floats, texts: Rows) -> Floats:
        """The score of each text, before weights are rounded."""
        return np.asarray(self.vectors.chosen(texts).times(weights[:, None])[:, 0])

    def threshold(self, half: Half) -> float:
        """The score that `ALLOWED` of the safe texts exceed, each measured by weights that have not met its group."""
        groups = sorted({each.group for each in self.texts if each.half == half})
        fold_of = {group: number % FOLDS for number, group in enumerate(groups)}
        found: list[Floats] = []
        for fold in range(FOLDS):
            learnt = self.where(lambda each, fold=fold: each.half == half and fold_of[each.group] != fold)  # type: ignore[misc]
            safe = self.where(
                lambda each, fold=fold: (  # type: ignore[misc]
                    each.half == half and fold_of[each.group] == fold and not each.unsafe and not each.part
                )
            )
            found.append(self.scores(self.weights(learnt), safe))
        return float(np.quantile(np.concatenate(found), 1 - ALLOWED))


def rarities(layout: FeatureLayout, texts: Sequence[Labelled]) -> NDArray[np.int8]:
    """How rare each row is, in steps of `RARITY`: the usual logarithm, and 0 where hardly any text has it."""
    seen = np.zeros(1 << layout.bits)
    for each in texts:
        seen[list(vector_of(layout, each.exchange, lambda _: 1.0))] += 1
    rare = np.log((1 + len(texts)) / (1 + seen)) + 1
    return np.where(seen < SEEN, 0, np.clip(np.rint(rare / RARITY), 1, 127)).astype(np.int8)


def train(answered: Sequence[Labelled], others: Sequence[Labelled], replied: Sequence[Labelled]) -> LinearModel:
    """Both heads: answers with what helps to judge them, and replies; of each set, the half that is learnt from."""
    layout = FeatureLayout(bits=BITS, grams=(3, 4), groups=read_groups(EXAMPLES / "groups.yaml"))
    answered = with_tails(answered)
    learnt = [each for each in (*answered, *others, *replied) if each.half == "learnt"]
    rarity = rarities(layout, learnt)
    heads: list[tuple[Floats, float]] = []
    for lesson in (Lesson.of(layout, rarity, ANSWER, answered, others), Lesson.of(layout, rarity, REPLY, replied)):
        weights = lesson.weights(lesson.where(lambda each: each.half == "learnt"))
        heads.append((weights[:-1], float(weights[-1]) - lesson.threshold("learnt")))
    return in_columns(layout, heads, rarity, digest(learnt))


def in_columns(
    layout: FeatureLayout, heads: Sequence[tuple[Floats, float]], rarity: NDArray[np.int8], made_from: str
) -> LinearModel:
    """The heads and the rarity as one table of bytes."""
    whole, scale = in_bytes(np.stack([weights for weights, _ in heads], axis=1))
    table = np.column_stack([np.frombuffer(whole, np.int8).reshape(-1, len(heads)), rarity])
    bias = tuple(bias for _, bias in heads)
    return LinearModel(COLUMNS, layout, array("b", table.astype(np.int8).tobytes()), scale, made_from, bias)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: python -m training.safety DATA   (the folder that has safety_responses.jsonl.gz)")
    folder = Path(sys.argv[1])
    answered = answers(folder)
    own = not_near(own_examples(), [each for each in answered if each.half == "apart"])
    print(f"{len(own):,} of {len(own_examples()):,} own examples name no behaviour that is kept apart")
    harmless = [each for each in everyday(folder) if each.half == "learnt"]
    model = train(answered, [*own, *harmless], [*replies(folder), *sums(folder)[::4]])
    WEIGHTS.write_bytes(to_bytes(model))
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes; `python -m benchmarks.quality` says what they do")


if __name__ == "__main__":
    main()
