"""Trains the safety models: `python -m training.safety DATA`, with the folder of the public sets.

Writes the weights into the package, learnt from all texts, beside how far they can be relied on: measured by
cross-validation over groups (`training.folds`). `python -m training.safety DATA third` writes nothing; it learns from
two thirds of every set and tells once how it does on the last third and on the twins that are kept apart.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from rubrica.text.exchange import vector_of
from rubrica.text.linear import FeatureLayout, LinearModel, to_bytes
from rubrica.text.risk import COLUMNS, FILE, HEADS, NO_DOUBT
from rubrica.text.sentence_model import INSTALL, SentenceModel, sentence_model
from rubrica.text.sentence_risk import FILE as SENTENCE_FILE
from rubrica.text.sentence_risk import READINGS, SentenceRisk

from .examples import digest, read_groups
from .exchanges import (
    EXAMPLES,
    Labelled,
    answers,
    everyday,
    own_examples,
    replies,
    sums,
    twins,
    with_openings,
    with_tails,
)
from .fit import Floats, Recipe, Sparse, descend_between_two, in_bytes
from .folds import ALLOWED, Rows, Scored, figures, folds, in_third, without_near
from .gate_twins import gate_lessons
from .sentence_head import KindWeights, KnownTexts, Vectors, fit_kinds, kind_scores, to_heads, vectors_of
from .written import framed, written

PACKAGE = Path(__file__).parents[1] / "src" / "rubrica" / "text"
WEIGHTS, SENTENCES = PACKAGE / FILE, PACKAGE / SENTENCE_FILE
BITS = 19
ANSWER, REPLY = Recipe(shrink=0.1, balance=0, steps=100), Recipe(shrink=2.0, balance=0, steps=100)
MEANING_SHRINK = {ANSWER: (1.0, 0.3), REPLY: (0.7, 0.7)}  # the same for the last and the middle vectors
SEEN = 2  # texts that a row must occur in to count: nothing is kept that only one text has
RARITY = 0.08  # what one step of a row's rarity is worth; a byte has 127


@dataclass(frozen=True)
class Lesson:
    """What one head learns from."""

    texts: Sequence[Labelled]
    recipe: Recipe
    words: Sparse  # of the texts; the last column is 1
    meaning: Vectors | None  # of the texts, where a sentence model is at hand

    @classmethod
    def of(cls, layout: FeatureLayout, rarity: NDArray[np.int8], recipe: Recipe, texts: Sequence[Labelled]) -> Lesson:
        """A lesson on words alone."""
        width, rare = 1 << layout.bits, rarity.tolist().__getitem__
        vectors = [{**vector_of(layout, each.exchange, rare), width: 1.0} for each in texts]
        return cls(texts, recipe, Sparse.of(vectors, width + 1), None)

    @property
    def unsafe(self) -> NDArray[np.int64]:
        """Which of the texts are unsafe: 1, else 0."""
        return np.array([int(each.unsafe) for each in self.texts])

    def word_weights(self, learnt: Rows) -> Floats:
        """What these texts teach: a weight for every row, and at the end what every text has."""
        counts = np.array([self.texts[row].counts for row in learnt])
        return descend_between_two(self.words.chosen(learnt), self.unsafe[learnt], self.recipe, counts)

    def word_scores(self, weights: Floats, rows: Rows) -> Floats:
        """The score of each text by its words, before weights are rounded."""
        return np.asarray(self.words.chosen(rows).times(weights[:, None])[:, 0])

    def vectors(self, rows: Rows) -> Vectors:
        """The vectors of some texts."""
        if self.meaning is None:
            raise ValueError("a lesson on words alone has no vectors")
        return self.meaning[rows]

    def heads(self, learnt: Rows) -> list[KindWeights]:
        """What the meaning of these texts teaches; parts of texts are left out."""
        whole = np.array([row for row in learnt if not self.texts[row].part])
        counts, kinds = zip(*((self.texts[row].counts, self.texts[row].kind) for row in whole), strict=True)
        known = KnownTexts(self.unsafe[whole], np.array(counts), kinds)
        return fit_kinds(self.vectors(whole), known, MEANING_SHRINK[self.recipe])

    def scored(self, scores: Floats, rows: Rows) -> Scored:
        """The scores with what is known of the texts."""
        return Scored(scores, self.unsafe[rows] == 1, tuple(self.texts[row].source for row in rows))

    def by_fold(self) -> list[tuple[Scored, Scored]]:
        """The texts of each fold, scored by words and by words and meaning, by weights that have not met them."""
        found = []
        for learnt, apart in folds(self.texts):
            by_words = self.word_scores(self.word_weights(learnt), apart)
            by_meaning = by_words if self.meaning is None else kind_scores(self.heads(learnt), self.vectors(apart))
            found.append((self.scored(by_words, apart), self.scored((by_words + by_meaning) / 2, apart)))
        return found


def rarities(layout: FeatureLayout, texts: Sequence[Labelled]) -> NDArray[np.int8]:
    """How rare each row is, in steps of `RARITY`: the usual logarithm, and 0 where hardly any text has it."""
    seen = np.zeros(1 << layout.bits)
    for each in texts:
        seen[list(vector_of(layout, each.exchange, lambda _: 1.0))] += 1
    rare = np.log((1 + len(texts)) / (1 + seen)) + 1
    return np.where(seen < SEEN, 0, np.clip(np.rint(rare / RARITY), 1, 127)).astype(np.int8)


def lessons(
    answered: Sequence[Labelled], replied: Sequence[Labelled], model: SentenceModel | None
) -> tuple[FeatureLayout, NDArray[np.int8], list[Lesson]]:
    """The lessons of both heads, and what they share."""
    layout = FeatureLayout(bits=BITS, grams=(3, 4), groups=read_groups(EXAMPLES / "groups.yaml"))
    rarity = rarities(layout, [each for each in (*answered, *replied) if not each.part])
    found = [Lesson.of(layout, rarity, recipe, texts) for recipe, texts in ((ANSWER, answered), (REPLY, replied))]
    if model is not None:
        found = [Lesson(each.texts, each.recipe, each.words, vectors_of(model, each.texts)) for each in found]
    return layout, rarity, found


def train(
    answered: Sequence[Labelled], replied: Sequence[Labelled], model: SentenceModel | None
) -> tuple[LinearModel, SentenceRisk]:
    """Both heads, learnt from all texts, with limits and errors that were measured by cross-validation."""
    layout, rarity, both_lessons = lessons(answered, replied, model)
    made_from = digest(answered, replied)
    in_words: list[tuple[Floats, float]] = []
    result = SentenceRisk(made_from, {}, {"words": {}, "both": {}})
    for head, lesson in zip(HEADS, both_lessons, strict=True):
        parts = lesson.by_fold()
        by_words, by_both = (_together([part[at] for part in parts]) for at in (0, 1))
        limit, limit_of_both = by_words.threshold(ALLOWED), by_both.threshold(ALLOWED)
        everything = np.arange(len(lesson.texts))
        weights = lesson.word_weights(everything)
        in_words.append((weights[:-1], float(weights[-1]) - limit))
        if lesson.meaning is not None:  # so that the mean of both scores is above 0 where it passes its own limit
            result.heads[head] = to_heads(lesson.heads(everything), limit - 2 * limit_of_both)
        alone = by_words.scores - limit
        read = {"words": alone, "both": np.where(alone < NO_DOUBT, alone, by_both.scores - limit_of_both)}
        for at, reading in enumerate(READINGS):
            scored = Scored(read[reading], by_words.unsafe, by_words.sources)
            result.reliability[reading][head] = scored.reliability(_measured([part[at] for part in parts]))
    return in_columns(layout, in_words, rarity, made_from), result


def _together(parts: Sequence[Scored]) -> Scored:
    return Scored(
        np.concatenate([part.scores for part in parts]),
        np.concatenate([part.unsafe for part in parts]),
        tuple(source for part in parts for source in part.sources),
    )


def _measured(parts: Sequence[Scored]) -> dict[str, float]:
    """Figures over everything, and for each source that has safe and unsafe texts."""
    found = figures(parts)
    for source in sorted({source for part in parts for source in part.sources}):
        of_source = [part.chosen(np.array([each == source for each in part.sources])) for part in parts]
        if any(part.unsafe.any() and not part.unsafe.all() for part in of_source):
            found |= {f"{source}_{name}": value for name, value in figures(of_source).items()}
    return found


def in_columns(
    layout: FeatureLayout, heads: Sequence[tuple[Floats, float]], rarity: NDArray[np.int8], made_from: str
) -> LinearModel:
    """The heads and the rarity as one table of bytes."""
    whole, scale = in_bytes(np.stack([weights for weights, _ in heads], axis=1))
    table = np.column_stack([np.frombuffer(whole, np.int8).reshape(-1, len(heads)), rarity])
    bias = tuple(bias for _, bias in heads)
    return LinearModel(COLUMNS, layout, array("b", table.astype(np.int8).tobytes()), scale, made_from, bias)


def texts_to_learn(folder: Path) -> tuple[list[Labelled], list[Labelled]]:
    """What the two heads learn from."""
    harmless = [*with_openings(everyday(folder)), *sums(folder)]
    answered = [*with_tails(answers(folder)), *own_examples(), *twins("learnt"), *gate_lessons(), *harmless]
    ours, replied = written("answers"), written("replies")
    return [*answered, *ours, *framed(ours)], [*replies(folder), *replied, *sums(folder)]


def tell_third(folder: Path, model: SentenceModel) -> None:
    """What weights do that were learnt from two thirds, on the third and on the twins kept apart."""
    answered, replied = texts_to_learn(folder)
    _, _, both = lessons([*answered, *twins("apart")], replied, model)
    for head, lesson, known in zip(HEADS, both, (len(answered), len(replied)), strict=True):
        third = np.array([row for row in range(known) if in_third(lesson.texts[row]) and not lesson.texts[row].part])
        learnt = np.array([row for row in range(known) if not in_third(lesson.texts[row])])
        learnt = without_near(lesson.texts, learnt, third)
        weights, meaning = lesson.word_weights(learnt), lesson.heads(learnt)
        for name, rows in (("the third", third), ("twins kept apart", np.arange(known, len(lesson.texts)))):
            if len(rows):
                by_words = lesson.word_scores(weights, rows)
                by_both = (by_words + kind_scores(meaning, lesson.vectors(rows))) / 2
                for reading, scores in (("words", by_words), ("both", by_both)):
                    print(head, name, reading, _measured([lesson.scored(scores, rows)]))


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m training.safety DATA [third]   (the folder that has safety_responses.jsonl.gz)")
    folder, model = Path(sys.argv[1]), sentence_model()
    if model is None:
        sys.exit(f"the sentence model is not installed: {INSTALL}")
    if len(sys.argv) == 3:
        tell_third(folder, model)
        return
    weights, sentences = train(*texts_to_learn(folder), model)
    WEIGHTS.write_bytes(to_bytes(weights))
    SENTENCES.write_bytes(msgspec.json.format(msgspec.json.encode(sentences), indent=0) + b"\n")
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes; {SENTENCES.name}: {SENTENCES.stat().st_size:,} bytes")
    for reading, heads in sentences.reliability.items():
        for head, found in heads.items():
            print(reading, head, found.low, found.high, found.measured)


if __name__ == "__main__":
    main()
