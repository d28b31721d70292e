"""Trains the gateway's offline classifier of questions: `python -m training.question_types`.

Reads the examples beside it, writes the weights into the package, and says how well they do on the examples that were
kept apart. To change what the classifier does, add examples and run this again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rubrica.text.linear import FeatureLayout, LinearModel, to_bytes

from .examples import Example, read_examples, read_groups
from .fit import Recipe, fit

EXAMPLES = Path(__file__).parent / "examples" / "question_types"
HELD_OUT = EXAMPLES / "held_out"
WEIGHTS = Path(__file__).parents[1] / "src" / "rubrica" / "gateway" / "question_types.weights"

LABELS = ("FACTUAL", "ANALYTICAL", "TECHNICAL", "CREATIVE", "ETHICAL")
RECIPE = Recipe(shrink=0.1, balance=0.5, steps=150)


def train() -> LinearModel:
    """The classifier as the examples make it."""
    layout = FeatureLayout(bits=15, grams=(3, 4), groups=read_groups(EXAMPLES / "groups.yaml"))
    return fit(layout, read_examples(EXAMPLES, LABELS), LABELS, RECIPE)


def right_by_label(model: LinearModel, examples: Sequence[Example]) -> dict[str, float]:
    """The share of each label's examples that get it."""
    right: Counter[str] = Counter()
    for example in examples:
        chances = model.chances(example.text)
        right[example.label] += max(chances, key=chances.__getitem__) == example.label
    asked = Counter(example.label for example in examples)
    return {label: right[label] / asked[label] for label in asked}


def main() -> None:
    model = train()
    WEIGHTS.write_bytes(to_bytes(model))
    print(f"{WEIGHTS.name}: {WEIGHTS.stat().st_size:,} bytes")
    for label, share in right_by_label(model, read_examples(HELD_OUT, LABELS)).items():
        print(f"{label:12}{share:.0%} of the examples kept apart")


if __name__ == "__main__":
    main()
