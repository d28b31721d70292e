"""The weights in the package are what the examples make, and do well on examples that were kept apart."""

from __future__ import annotations

import numpy as np
import pytest
from training.examples import Example, read_examples
from training.question_types import EXAMPLES, HELD_OUT, LABELS, WEIGHTS, right_by_label, train

from rubrica.gateway.classifier import TYPES, weights
from rubrica.text.linear import LinearModel

# A processor may round a sum differently in its last digit, which moves a weight that lies between two bytes by one.
MOST_MOVED = 0.001


@pytest.fixture(scope="module")
def trained() -> LinearModel:
    return train()


def test_the_weights_are_made_from_these_examples(trained: LinearModel) -> None:
    assert weights().made_from == trained.made_from, "run `python -m training.question_types`"


def test_training_again_gives_the_same_weights(trained: LinearModel) -> None:
    kept, made = (np.frombuffer(model.weights, np.int8).astype(int) for model in (weights(), trained))
    assert np.abs(kept - made).max() <= 1
    assert (kept != made).mean() <= MOST_MOVED
    assert weights().scale == pytest.approx(trained.scale, rel=1e-6)


def test_the_weights_are_small() -> None:
    assert WEIGHTS.stat().st_size <= 200_000


def test_examples_that_were_kept_apart_get_their_type() -> None:
    found = right_by_label(weights(), read_examples(HELD_OUT, LABELS))
    assert min(found.values()) >= 0.85, found


def test_no_example_is_both_learnt_and_kept_apart() -> None:
    learnt = [example.text.lower().strip(" ?.!") for example in read_examples(EXAMPLES, LABELS)]
    apart = {example.text.lower().strip(" ?.!") for example in read_examples(HELD_OUT, LABELS)}
    assert len(learnt) == len(set(learnt)), "an example stands twice"
    assert apart.isdisjoint(learnt)


@pytest.mark.parametrize(
    "text",
    [
        "Analyze the competitive advantages of subscription vs one-time purchase business models",
        "Create a pricing strategy for our new product line",
        "Write a marketing plan for a dentist",
        "Brainstorm ways to grow revenue in a weak market",
        "Design a sales strategy for a software company",
        "Develop a business plan for a food truck",
    ],
)
def test_business_questions_are_analytical_however_they_are_put(text: str) -> None:
    assert right_by_label(weights(), [Example(text, "ANALYTICAL")]) == {"ANALYTICAL": 1.0}


def test_the_labels_are_the_gateways_question_types() -> None:
    assert weights().labels == LABELS == TYPES
