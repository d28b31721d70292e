"""Trains the safety models: `python -m training.safety DATA`, with the folder of the public sets.

Writes the weights into the package, learnt from all texts, beside how far they can be relied on: measured by
cross-validation over groups (`training.folds`). It needs torch for the reader (`training.reader`), and about an hour on
two cores. `python -m training.safety DATA third` writes nothing; it learns from
two thirds of every set and tells once how it does on the last third and on the twins that are kept apart.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

from rubrica.text.adapted_layers import Adapters, in_one
from rubrica.text.exchange import vector_of
from rubrica.text.exchange_reader import FILE as ADAPTERS_FILE
from rubrica.text.linear import FeatureLayout, LinearModel, to_bytes
from rubrica.text.risk import COLUMNS, FILE, HEADS, NO_DOUBT, SingleWords
from rubrica.text.risk import scores as word_scores
from rubrica.text.sentence_risk import FILE as SENTENCE_FILE
from rubrica.text.sentence_risk import READINGS, WORDS_SHARE, Glance, Head, Reading, RiskReliability, SentenceRisk

from .examples import digest, read_groups
from .exchanges import (
    EXAMPLES,
    Labelled,
    ReaderPart,
    ReaderText,
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
from .written import framed, written

PACKAGE = Path(__file__).parents[1] / "src" / "rubrica" / "text"
WEIGHTS, SENTENCES, ADAPTERS = (PACKAGE / name for name in (FILE, SENTENCE_FILE, ADAPTERS_FILE))
BITS = 19
ANSWER, REPLY = Recipe(shrink=0.1, balance=0, steps=100), Recipe(shrink=2.0, balance=0, steps=100)
SEEN = 2  # texts that a row must occur in to count: nothing is kept that only one text has
FRAMED_OF = 2  # one in so many prompts that were written for the models is learnt from in a frame too
RARITY = 0.08  # what one step of a row's rarity is worth; a byte has 127
READERS = 2  # that learn the same, each in another order
GLANCE_FROM = -1.0  # the score of all words from which an answer deserves more than a glance
GLANCE_MISSED = 0.01  # of the answers that do, so many do not get it

ReadParts = Callable[[Sequence[ReaderPart]], list[tuple[Adapters, NDArray[np.float32]]]]
"""Trains the reader on each part, and scores what was kept apart from it: a column for each head."""


@dataclass(frozen=True)
class Lesson:
    """What one head learns from."""

    texts: Sequence[Labelled]
    recipe: Recipe
    words: Sparse  # of the texts; the last column is 1

    @classmethod
    def of(cls, layout: FeatureLayout, rarity: NDArray[np.int8], recipe: Recipe, texts: Sequence[Labelled]) -> Lesson:
        """The lesson on these texts."""
        width, rare = 1 << layout.bits, rarity.tolist().__getitem__
        vectors = [{**vector_of(layout, each.exchange, rare), width: 1.0} for each in texts]
        return cls(texts, recipe, Sparse.of(vectors, width + 1))

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

    def scored(self, scores: Floats, rows: Rows) -> Scored:
        """The scores with what is known of the texts."""
        return Scored(scores, self.unsafe[rows] == 1, tuple(self.texts[row].source for row in rows))


def rarities(layout: FeatureLayout, texts: Sequence[Labelled]) -> NDArray[np.int8]:
    """How rare each row is, in steps of `RARITY`: the usual logarithm, and 0 where hardly any text has it."""
    seen = np.zeros(1 << layout.bits)
    for each in texts:
        seen[list(vector_of(layout, each.exchange, lambda _: 1.0))] += 1
    rare = np.log((1 + len(texts)) / (1 + seen)) + 1
    return np.where(seen < SEEN, 0, np.clip(np.rint(rare / RARITY), 1, 127)).astype(np.int8)


def lessons(
    answered: Sequence[Labelled], replied: Sequence[Labelled]
) -> tuple[FeatureLayout, NDArray[np.int8], list[Lesson]]:
    """The lessons of both heads, and what they share."""
    layout = FeatureLayout(bits=BITS, grams=(3, 4), groups=read_groups(EXAMPLES / "groups.yaml"))
    rarity = rarities(layout, [each for each in (*answered, *replied) if not each.part])
    pairs = ((ANSWER, answered), (REPLY, replied))
    return layout, rarity, [Lesson.of(layout, rarity, recipe, texts) for recipe, texts in pairs]


def reader_part(both: Sequence[Lesson], learnt: Sequence[Rows], apart: Sequence[Rows]) -> ReaderPart:
    """The texts of both heads that the reader learns from, and those that it is asked about, one head after the other.

    The tails of answers are left out: it reads the end of a long text anyway.
    """
    known = [
        ReaderText(lesson.texts[row], question)
        for question, (lesson, rows) in enumerate(zip(both, learnt, strict=True))
        for row in rows
        if not (lesson.texts[row].part and lesson.texts[row].attack)
    ]
    asked = [lesson.texts[row].exchange for lesson, rows in zip(both, apart, strict=True) for row in rows]
    return ReaderPart(known, asked)


def averaged(read: ReadParts, parts: Sequence[ReaderPart]) -> Iterator[tuple[Adapters, NDArray[np.float32]]]:
    """For each part, what several readers learnt, as it is stored, and their mean scores of what was kept apart."""
    found = read([part._replace(seed=seed) for part in parts for seed in range(READERS)])
    for first in range(0, len(found), READERS):
        adapters, scores = zip(*found[first : first + READERS], strict=True)
        yield in_one(adapters), np.mean(scores, axis=0)


def train(
    answered: Sequence[Labelled], replied: Sequence[Labelled], read: ReadParts | None
) -> tuple[LinearModel, SentenceRisk, Adapters]:
    """Both heads, learnt from all texts, with limits and errors that were measured by cross-validation.

    `read` trains the reader; without it, what stands for the words and the reader together is the words alone.
    """
    layout, rarity, both = lessons(answered, replied)
    made_from = digest(answered, replied)
    by_head = [folds(lesson.texts) for lesson in both]
    everything = [np.arange(len(lesson.texts)) for lesson in both]
    nothing = [np.arange(0)] * len(both)
    parts = [
        reader_part(both, [learnt for learnt, _ in fold], [apart for _, apart in fold])
        for fold in zip(*by_head, strict=True)
    ]
    readings = list(averaged(read, [*parts, reader_part(both, everything, nothing)])) if read else []
    in_words: list[tuple[Floats, float]] = []
    offsets: dict[Head, float] = {}
    known: dict[Reading, dict[Head, RiskReliability]] = {"words": {}, "both": {}}
    for column, (head, lesson) in enumerate(zip(HEADS, both, strict=True)):
        words, shared = [], []
        for number, (learnt, apart) in enumerate(by_head[column]):
            scores = lesson.word_scores(lesson.word_weights(learnt), apart)
            first = 0 if column == 0 else len(by_head[0][number][1])  # the answers stand before the replies
            read_scores = readings[number][1][first : first + len(apart), column] if readings else scores
            words.append(lesson.scored(scores, apart))
            shared.append(lesson.scored(_shared(scores, read_scores), apart))
        by_words, by_both = _together(words), _together(shared)
        limit, limit_of_both = by_words.threshold(ALLOWED), by_both.threshold(ALLOWED)
        weights = lesson.word_weights(everything[column])
        in_words.append((weights[:-1], float(weights[-1]) - limit))
        offsets[head] = round((WORDS_SHARE * limit - limit_of_both) / (1 - WORDS_SHARE), 4)
        alone = by_words.scores - limit
        read_by = {"words": alone, "both": np.where(alone < NO_DOUBT, alone, by_both.scores - limit_of_both)}
        for reading, folded in zip(READINGS, (words, shared), strict=True):
            scored = Scored(read_by[reading], by_words.unsafe, by_words.sources)
            known[reading][head] = scored.reliability(_measured(folded))
    model = in_columns(layout, in_words, rarity, made_from)
    result = SentenceRisk(made_from, fit_glance(model, answered), offsets, known)
    return model, result, readings[-1][0] if readings else {}


def _shared(by_words: Floats, by_reader: NDArray[np.floating[Any]]) -> Floats:
    """The scores of words and reader together."""
    return WORDS_SHARE * by_words + (1 - WORDS_SHARE) * by_reader


def fit_glance(model: LinearModel, answered: Sequence[Labelled]) -> Glance:
    """What single words say of the score of all words (least squares), and where they leave no doubt."""
    texts = [each.exchange for each in answered if each.group and not each.part]
    single = SingleWords(model)
    columns = np.array([(*single.scores(each), 1.0) for each in texts])
    wanted = np.array([word_scores(model, each)[0] for each in texts])
    weights, *_ = np.linalg.lstsq(columns, wanted, rcond=None)
    no_doubt = np.quantile((columns @ weights)[wanted >= GLANCE_FROM], GLANCE_MISSED)
    response, prompt, base = (round(float(each), 3) for each in weights)
    return Glance(response, prompt, base, round(float(no_doubt), 3))


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
        if any(part.tells for part in of_source):
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
    some = [each for each in ours if crc32(each.group.encode()) % FRAMED_OF == 0]
    return [*answered, *ours, *framed(some), *written("roles")], [*replies(folder), *replied, *sums(folder)]


def tell_third(folder: Path, read: ReadParts) -> None:
    """What weights do that were learnt from two thirds, on the third and on what was written to be kept apart."""
    texts = texts_to_learn(folder)
    kept = ([*twins("apart"), *written("apart"), *written("roles_apart")], written("replies_apart"))
    _, _, both = lessons(*([*each, *more] for each, more in zip(texts, kept, strict=True)))
    rows = [_thirds(lesson, len(known)) for lesson, known in zip(both, texts, strict=True)]
    asked = [np.concatenate([third, written_apart]) for _, third, written_apart in rows]
    ((_, read_scores),) = averaged(read, [reader_part(both, [learnt for learnt, _, _ in rows], asked)])
    first = 0
    for column, (head, lesson, (learnt, third, written_apart)) in enumerate(zip(HEADS, both, rows, strict=True)):
        weights = lesson.word_weights(learnt)
        for name, some in (("the third", third), ("written apart", written_apart)):
            by_words = lesson.word_scores(weights, some)
            by_both = _shared(by_words, read_scores[first : first + len(some), column])
            first += len(some)
            for reading, scores in (("words", by_words), ("both", by_both)):
                print(head, name, reading, _measured([lesson.scored(scores, some)]))


def _thirds(lesson: Lesson, known: int) -> tuple[Rows, Rows, Rows]:
    """The rows to learn from, the third that is kept, and the texts that were written to be kept apart."""
    third = np.array([row for row in range(known) if in_third(lesson.texts[row]) and not lesson.texts[row].part])
    learnt = np.array([row for row in range(known) if not in_third(lesson.texts[row])])
    return without_near(lesson.texts, learnt, third), third, np.arange(known, len(lesson.texts))


def main() -> None:
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: python -m training.safety DATA [third]   (the folder that has safety_responses.jsonl.gz)")
    folder = Path(sys.argv[1])
    from .reader import read_parts  # needs torch, and nothing else here does

    if len(sys.argv) == 3:
        tell_third(folder, read_parts)
        return
    weights, sentences, adapters = train(*texts_to_learn(folder), read_parts)
    WEIGHTS.write_bytes(to_bytes(weights))
    SENTENCES.write_bytes(msgspec.json.format(msgspec.json.encode(sentences), indent=0) + b"\n")
    np.savez(ADAPTERS, allow_pickle=False, **adapters)
    for file in (WEIGHTS, SENTENCES, ADAPTERS):
        print(f"{file.name}: {file.stat().st_size:,} bytes")
    for reading, heads in sentences.reliability.items():
        for head, found in heads.items():
            print(reading, head, found.low, found.high, found.measured)


if __name__ == "__main__":
    main()
