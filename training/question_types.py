"""Trains the offline classifier of questions: `python -m training.question_types`.

Reads the examples beside it, writes the weights into the package, and says how well they do on the examples that were
kept apart. To change what the classifier does, add examples or templates and run this again.

The head on the sentence model is trained where that model is installed, and left as it is elsewhere. With `--cross`
nothing is written: templates and fields of knowledge are kept apart by thirds, and what is learnt from the others is
held against them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

from rubrica.text.linear import FeatureLayout, LinearModel, to_bytes
from rubrica.text.question_type import TYPES, SentenceHead, classify_question, task_of
from rubrica.text.sentence_model import INSTALL, SentenceModel, sentence_model

from .crossed import CrossedExample, Crossing
from .examples import Example, digest, read_examples, read_groups
from .fit import Floats, Recipe, Sparse, descend, descend_dense, in_bytes

EXAMPLES = Path(__file__).parent / "examples" / "question_types"
HELD_OUT = (EXAMPLES / "held_out", EXAMPLES / "held_out_crossed")
WEIGHTS = Path(__file__).parents[1] / "src" / "rubrica" / "text" / "question_types.weights"
HEAD = WEIGHTS.with_suffix(".head")

LABELS = TYPES
RECIPE = Recipe(shrink=0.3, balance=0.5, steps=150)
HEAD_RECIPE = Recipe(shrink=3, balance=0.5, steps=300)
STRETCH = 5.0  # of the vectors, so that their numbers are about as large as the constant beside them
TIMES = 4  # that each template is filled
CROSSED = 0.4  # what a filled template counts against an example that somebody wrote
BATCH = 32
FOLDS = 3


@dataclass(frozen=True, slots=True)
class Lessons:
    """Examples, and how much each counts."""

    examples: tuple[Example, ...]
    counts: tuple[float, ...]

    @classmethod
    def of(cls, written: Sequence[Example], crossed: Sequence[CrossedExample]) -> Lessons:
        counts = (1.0,) * len(written) + (CROSSED,) * len(crossed)
        return cls((*written, *(each.example for each in crossed)), counts)

    @property
    def labels(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array([LABELS.index(example.label) for example in self.examples], dtype=np.int64)


def all_lessons() -> Lessons:
    """Everything that is learnt from."""
    return Lessons.of(read_examples(EXAMPLES, LABELS), [*crossing().examples(TIMES), *everyday().examples(TIMES)])


def crossing() -> Crossing:
    """Fields of knowledge, crossed with tasks."""
    return Crossing.read(EXAMPLES / "crossed.yaml")


def everyday() -> Crossing:
    """Household, travel and family, crossed with tasks."""
    return Crossing.read(EXAMPLES / "everyday.yaml")


def train(lessons: Lessons) -> LinearModel:
    """The model of words: each text counts half as a whole, and half by its task."""
    layout = FeatureLayout(bits=15, grams=(3, 4), groups=read_groups(EXAMPLES / "groups.yaml"))
    texts = [example.text for example in lessons.examples]
    vectors = Sparse.of([layout.vector(text) for text in (*texts, *map(task_of, texts))], 1 << layout.bits)
    counts = np.array([*lessons.counts, *lessons.counts]) / 2
    weights = descend(vectors, np.tile(lessons.labels, 2), len(LABELS), RECIPE, counts)
    weights -= weights.mean(axis=1, keepdims=True)  # a row that adds the same to every label says nothing
    made_from = digest(lessons, LABELS, layout, RECIPE)
    return LinearModel(tuple(LABELS), layout, *in_bytes(weights), made_from)


def train_head(lessons: Lessons, model: SentenceModel) -> SentenceHead:
    """The head on the sentence model, by the tasks of the texts."""
    vectors = np.column_stack([STRETCH * encoded(lessons.examples, model), np.ones(len(lessons.examples))])
    weights = descend_dense(vectors, lessons.labels, len(LABELS), HEAD_RECIPE, np.array(lessons.counts))
    weights -= weights.mean(axis=1, keepdims=True)
    rows = tuple(tuple(float(f"{STRETCH * value:.4f}") for value in column) for column in weights[:-1].T)
    return SentenceHead(tuple(LABELS), rows, tuple(float(value) for value in weights[-1]), digest(lessons, HEAD_RECIPE))


def encoded(examples: Sequence[Example], model: SentenceModel) -> Floats:
    """The vectors of the tasks, in batches of about the same length."""
    tasks = [task_of(example.text) for example in examples]
    order = sorted(range(len(tasks)), key=lambda at: len(tasks[at]))
    found: list[Floats] = [np.empty(0)] * len(tasks)
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        for at, vector in zip(chosen, model.encode([tasks[at] for at in chosen]), strict=True):
            found[at] = np.asarray(vector, dtype=np.float64)
    return np.stack(found)


def right_by_label(classify: Callable[[str], str], examples: Sequence[Example]) -> dict[str, float]:
    """The share of each label's examples that get it."""
    right: Counter[str] = Counter()
    for example in examples:
        right[example.label] += classify(example.text) == example.label
    asked = Counter(example.label for example in examples)
    return {label: right[label] / asked[label] for label in asked}


def types_by_words(model: LinearModel) -> Callable[[str], str]:
    """What a model of words alone says."""

    def classify(text: str) -> str:
        both = np.array(model.scores(text)) + np.array(model.scores(task_of(text)))
        return model.labels[int(both.argmax())]

    return classify


def type_of(text: str) -> str:
    """What the package says, with all that is installed."""
    found = classify_question(text)
    return "" if found is None else found.type


def cross() -> None:
    """What is learnt from some templates and fields, held against the others."""
    made = crossing()
    filled, written = made.examples(TIMES), read_examples(EXAMPLES, LABELS)
    fields = list(made.fillings["topic"])
    for fold in range(FOLDS):
        away = set(fields[fold::FOLDS])
        own = [each for each in filled if crc32(each.template.encode()) % FOLDS == fold]
        others = [each for each in filled if each not in own and not each.fields & away]
        tested = [each.example for each in own if each.fields & away or each.fields <= {"all"}]
        for name, lessons in (("written", Lessons.of(written, ())), ("and crossed", Lessons.of(written, others))):
            classify = types_by_words(train(lessons))
            share = np.mean([classify(example.text) == example.label for example in tested])
            print(f"third {fold + 1}, by words, from examples {name:12}{share:.3f} of {len(tested)} right")


def main() -> None:
    if sys.argv[1:] == ["--cross"]:
        cross()
        return
    lessons, model = all_lessons(), sentence_model()
    WEIGHTS.write_bytes(to_bytes(train(lessons)))
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes")
    if model is None:
        print(f"{HEAD.name}: left as it is, the sentence model is not installed ({INSTALL})")
    else:
        HEAD.write_bytes(train_head(lessons, model).to_bytes())
        print(f"{HEAD.name}: {HEAD.stat().st_size:,} bytes")
    for folder in HELD_OUT:
        for label, share in right_by_label(type_of, read_examples(folder, LABELS)).items():
            print(f"{folder.name:18}{label:12}{share:.0%} of the examples kept apart")


if __name__ == "__main__":
    main()
