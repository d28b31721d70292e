"""The weights in the package are what the examples make, and do well on examples that were kept apart."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from training.crossed import Crossing
from training.examples import Example, digest, read_examples, read_groups
from training.question_types import (
    EXAMPLES,
    HEAD_RECIPE,
    HELD_OUT,
    LABELS,
    WEIGHTS,
    all_lessons,
    crossing,
    everyday,
    right_by_label,
    train,
    types_by_words,
)

from rubrica.text.linear import LinearModel
from rubrica.text.question_type import TYPES, sentence_head
from rubrica.text.question_type import word_weights as weights

# A processor may round a sum differently in its last digit, which moves a weight that lies between two bytes by one.
MOST_MOVED = 0.001
SETS = Path(__file__).parents[2] / "benchmarks" / "sets"
RUN = 6  # words in a row


@pytest.fixture(scope="module")
def trained() -> LinearModel:
    return train(all_lessons())


def test_the_weights_are_made_from_these_examples(trained: LinearModel) -> None:
    assert weights().made_from == trained.made_from, "run `python -m training.question_types`"
    assert sentence_head().made_from == digest(all_lessons(), HEAD_RECIPE), "run it where the sentence model is"


def test_training_again_gives_the_same_weights(trained: LinearModel) -> None:
    kept, made = (np.frombuffer(model.weights, np.int8).astype(int) for model in (weights(), trained))
    assert np.abs(kept - made).max() <= 1
    assert (kept != made).mean() <= MOST_MOVED
    assert weights().scale == pytest.approx(trained.scale, rel=1e-6)


def test_the_weights_are_small() -> None:
    assert WEIGHTS.stat().st_size <= 200_000


def test_examples_that_were_kept_apart_get_their_type() -> None:
    for folder in HELD_OUT:
        found = right_by_label(types_by_words(weights()), read_examples(folder, LABELS))
        assert min(found.values()) >= 0.8, (folder.name, found)


def test_no_example_is_both_learnt_and_kept_apart() -> None:
    learnt = [example.text.lower().strip(" ?.!") for example in read_examples(EXAMPLES, LABELS)]
    for made in (crossing(), everyday()):
        learnt += [each.example.text.lower().strip(" ?.!") for each in made.examples(1)]
    apart = {example.text.lower().strip(" ?.!") for folder in HELD_OUT for example in read_examples(folder, LABELS)}
    sets = ("question_types", EVERYDAY, "instruction_questions")
    measured = {example.text.lower().strip(" ?.!") for name in sets for example in own_set(name)}
    assert len(learnt) == len(set(learnt)), "an example stands twice"
    assert apart.isdisjoint(learnt)
    assert measured.isdisjoint(learnt)


EVERYDAY = "everyday_questions"


def own_set(name: str) -> list[Example]:
    """One of the sets that only measure."""
    lines = (SETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Example(row["prompt"], row["type"]) for row in map(json.loads, lines)]


def test_most_everyday_questions_get_their_type_by_words_alone() -> None:
    classify, asked = types_by_words(weights()), own_set(EVERYDAY)
    assert len(asked) == 58
    assert sum(classify(example.text) == example.label for example in asked) / len(asked) >= 0.75


def test_no_learnt_example_shares_several_words_in_a_row_with_an_everyday_question() -> None:
    asked = set().union(*(runs(example.text) for example in own_set(EVERYDAY)))
    learnt = [*read_examples(EXAMPLES, LABELS), *(each.example for each in everyday().examples(4))]
    assert asked
    assert {run: text.text for text in learnt for run in runs(text.text) & asked} == {}


def runs(text: str) -> set[tuple[str, ...]]:
    """Words in a row, at least two of which have four letters or more."""
    words = re.findall(r"[\w']+", text.lower())
    every = (tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1))
    return {run for run in every if sum(len(word) > 3 for word in run) >= 2}


def test_words_of_permission_alone_are_not_moral() -> None:
    groups = read_groups(EXAMPLES / "groups.yaml")
    permission = {"should", "ok", "okay", "allowed", "legal", "darf", "можно"}
    assert permission <= set(groups["permission"])
    assert permission.isdisjoint(groups["morals"])
    assert {"wrong", "fair", "unethical"} <= set(groups["morals"])


@pytest.mark.parametrize(
    ("form", "label"),
    [
        ("Can I freeze {}?", "FACTUAL"),
        ("How do I clean {}?", "TECHNICAL"),
        ("Should I buy {} or save the money?", "ANALYTICAL"),
        ("Write a funny rhyme about {}.", "CREATIVE"),
        ("Is it wrong to steal {}?", "ETHICAL"),
    ],
)
def test_the_task_decides_and_not_the_thing(form: str, label: str) -> None:
    asked = [Example(form.format(thing), label) for thing in ("pea soup", "a rucksack", "bread rolls")]
    assert right_by_label(types_by_words(weights()), asked) == {label: 1.0}


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
    assert right_by_label(types_by_words(weights()), [Example(text, "ANALYTICAL")]) == {"ANALYTICAL": 1.0}


def test_a_crossing_asks_about_the_same_things_in_every_way() -> None:
    found = crossing().examples(6)
    about: dict[str, set[str]] = {label: set() for label in TYPES}
    for each in found:
        about[each.example.label] |= each.fields
    assert all(fields == about["FACTUAL"] for fields in about.values()), about


def test_a_template_is_filled_and_said_politely() -> None:
    fillings = {"thing": {"a": ["tea"], "b": ["jazz"]}}
    made = Crossing(fillings, {"before": ["Hi! "], "after": [" Thanks."]}, {"X": ["{thing} now"]})
    texts = [each.example.text for each in made.examples(2)]
    assert {text.lower() for text in texts} == {"hi! tea now. thanks.", "hi! jazz now. thanks."}


def test_the_labels_are_the_gateways_question_types() -> None:
    assert weights().labels == LABELS == TYPES
