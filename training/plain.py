"""A plain bag of words: what the words of a response alone tell, to measure the safety model against.

Every word counts by how rare it is among the texts that are learnt from; no pairs, no prompt, no own examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log, sqrt

import numpy as np

from rubrica.text.hashing import tokens_of

from .exchanges import Labelled
from .fit import Recipe, Sparse, descend

RECIPE = Recipe(shrink=0.1, balance=0, steps=300)


def plain_scores(texts: Sequence[Labelled]) -> list[tuple[float, bool]]:
    """The score of every text that is kept apart, and whether it is unsafe."""
    words = {half: [tokens_of(each.exchange.response) for each in texts if each.half == half] for half in _HALVES}
    unsafe = {half: [each.unsafe for each in texts if each.half == half] for half in _HALVES}
    spread = Counter(word for text in words["learnt"] for word in set(text))
    columns = {word: number for number, word in enumerate(spread)}
    rare = {word: log((1 + len(words["learnt"])) / (1 + count)) + 1 for word, count in spread.items()}

    def vector(text: Sequence[str]) -> dict[int, float]:
        counts = {word: count * rare[word] for word, count in Counter(text).items() if word in rare}
        length = sqrt(sum(count * count for count in counts.values())) or 1.0
        return {columns[word]: count / length for word, count in counts.items()} | {len(columns): 1.0}

    learnt, apart = (Sparse.of([vector(text) for text in words[half]], len(columns) + 1) for half in _HALVES)
    found = descend(learnt, np.array(unsafe["learnt"], dtype=np.int64), 2, RECIPE)
    scores = apart.times(found[:, 1:] - found[:, :1])[:, 0].tolist()
    return list(zip(scores, unsafe["apart"], strict=True))


_HALVES = ("learnt", "apart")
