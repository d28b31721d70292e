"""The cues are learnt from their examples, the halves are kept apart, and training gives the same weights again."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path

import msgspec
import pytest
from training.cues import WEIGHTS, digest_of, empathy_examples, exchanges, fit_cue, learnt_examples, turn_examples

from rubrica.text.cues import cue, weights
from rubrica.text.lexicon import lexicon
from rubrica.text.texts import Texts
from rubrica.text.words import WORD

RUN = 3  # words in a row that two halves must not share
LONG_RUN = 6  # the same for sets that were written without a look at what is learnt
TALK = Path(__file__).parents[2] / "benchmarks" / "sets" / "companion_talk.jsonl"
MEASURING = [TALK.with_name(f"{name}.jsonl") for name in ("companion_cues", "cue_contrasts", "companion_apart")]


def runs(text: str, length: int = RUN) -> set[tuple[str, ...]]:
    """Runs of words of a text that have at least two words with content."""
    stop, words = lexicon("stopwords"), WORD.findall(text.lower())
    every = (tuple(words[at : at + length]) for at in range(len(words) - length + 1))
    return {run for run in every if sum(word not in stop for word in run) >= 2}


def test_there_are_enough_examples_and_a_third_of_the_replies_is_kept_apart() -> None:
    replies = empathy_examples()
    assert len(replies) >= 300
    assert 0.3 <= sum(each.apart for each in replies) / len(replies) <= 0.36
    assert len(exchanges()) >= 200
    assert {each.apart for each in exchanges()} == {True, False}
    assert {each.danger for each in exchanges() if each.apart} == {
        each.danger for each in exchanges() if not each.apart
    }


def test_the_halves_of_the_companions_examples_share_no_run_of_words() -> None:
    learnt, apart = (
        [each for each in exchanges() if each.apart is wanted and each.does != "safe"] for wanted in (False, True)
    )
    shared = set().union(*(runs(each.reply) for each in learnt)) & set().union(*(runs(each.reply) for each in apart))
    assert shared == set()
    turns = [each for each in turn_examples() if each.group.startswith(("learnt", "apart", "turn"))]
    one, other = (
        set(chain.from_iterable(runs(t.text) for t in turns if t.apart is wanted)) for wanted in (False, True)
    )
    assert one & other == set()


def test_the_forms_share_no_run_of_words_with_the_set_that_measures_everyday_talk() -> None:
    forms = set(chain.from_iterable(runs(each.text) for each in turn_examples() if each.group.startswith("form ")))
    said = {json.loads(line)["prompt"] for line in TALK.read_text(encoding="utf-8").splitlines()}
    assert len(said) == 100
    assert forms & set(chain.from_iterable(map(runs, said))) == set()


def test_nothing_learnt_has_a_text_or_a_long_run_of_words_of_the_sets_that_measure_cues() -> None:
    learnt = {each.text for several in learnt_examples().values() for each in several}
    kept = [json.loads(line)["text"] for path in MEASURING for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(set(kept)) == 696
    assert learnt & set(kept) == set()
    shared = set(chain.from_iterable(runs(text, LONG_RUN) for text in kept))
    assert {text for text in learnt if runs(text, LONG_RUN) & shared} == set()


def test_training_gives_the_weights_of_the_package() -> None:
    learnt, kept = learnt_examples(), weights()
    assert digest_of(learnt) == kept.made_from, f"run python -m training.cues to write {WEIGHTS.name} anew"
    found = fit_cue("distress", learnt["prompt"])  # the reader takes minutes, and torch
    assert found.bias == pytest.approx(kept.by_phrase["distress"].bias, abs=0.01)


def test_the_weights_are_small_and_load() -> None:
    assert WEIGHTS.stat().st_size <= 100_000
    assert msgspec.json.encode(weights()) == WEIGHTS.read_bytes().strip()


def test_what_was_kept_apart_is_mostly_told_apart() -> None:
    apart = [each for each in empathy_examples() if each.apart]
    for name in ("warmth", "understanding", "asking_on"):
        has = [cue(Texts(response=each.text), name) for each in apart if name in each.has]
        not_it = [cue(Texts(response=each.text), name) for each in apart if name in each.has_not]
        right = [one > other for one in has for other in not_it]
        assert sum(right) / len(right) >= 0.85, name
