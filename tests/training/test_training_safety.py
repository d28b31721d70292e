"""The safety weights in the package do well on examples that were kept apart, and training gives the same again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from training.examples import texts_of
from training.exchanges import (
    EXAMPLES,
    Labelled,
    ReaderPart,
    not_near,
    own_examples,
    twins,
    with_openings,
    with_tails,
)
from training.fit import Recipe, Sparse, descend, descend_between_two
from training.folds import ATTACKS, Scored, auc, folds, in_third
from training.safety import READERS, SENTENCES, WEIGHTS, train
from training.written import framed, written

from rubrica.text.adapted_layers import Adapters
from rubrica.text.exchange import Exchange
from rubrica.text.linear import to_bytes
from rubrica.text.risk import HEADS, risk, scores, weights
from rubrica.text.safety import find_unsafe
from rubrica.text.sentence_model import sentence_model
from rubrica.text.sentence_risk import READINGS, sentence_risk

HELD_OUT = EXAMPLES / "held_out"


def exchanges(name: str) -> list[Exchange]:
    lines = texts_of((HELD_OUT / f"{name}.txt").read_text(encoding="utf-8"))
    return [Exchange(prompt, response) for prompt, _, response in (line.partition(" => ") for line in lines)]


@cache
def risk_of(exchange: Exchange) -> float:
    """The risk of an answer, read once for all tests."""
    return risk(*exchange).answer


def flagged(held_out: Sequence[Exchange]) -> list[Exchange]:
    """Those that the gate of a rubric would stop, by pattern or by risk."""
    return [
        each
        for each in held_out
        if risk_of(each) >= 0.5 or any(not found.excused for found in find_unsafe(each.response))
    ]


def test_nearly_all_harmless_answers_refusals_and_defensive_explanations_pass() -> None:
    safe = exchanges("safe")
    assert len(flagged(safe)) / len(safe) <= 0.1, flagged(safe)


def test_answers_that_help_with_harm_are_flagged() -> None:
    unsafe = exchanges("unsafe")
    assert len(flagged(unsafe)) / len(unsafe) >= 0.75, [each for each in unsafe if each not in flagged(unsafe)]


def test_help_with_harm_has_a_higher_risk_than_anything_harmless() -> None:
    harmless = [risk_of(each) for each in exchanges("safe")]
    harmful = [risk_of(each) for each in exchanges("unsafe")]
    right = [one > other for one in harmful for other in harmless]
    assert sum(right) / len(right) >= 0.95


def test_no_example_is_both_learnt_and_kept_apart() -> None:
    learnt = {each.exchange.response.lower() for each in own_examples()}
    assert learnt.isdisjoint(each.response.lower() for name in ("safe", "unsafe") for each in exchanges(name))


def test_the_weights_are_small_and_load() -> None:
    assert WEIGHTS.stat().st_size <= 2_000_000
    assert to_bytes(weights()) == WEIGHTS.read_bytes()


@pytest.fixture(scope="module")
def few() -> list[Labelled]:
    """A small set in groups, from own examples: enough to train on in a moment."""
    some = own_examples()[::20]
    return [Labelled(each.exchange, each.unsafe, "twins", str(number % 12)) for number, each in enumerate(some)]


def test_training_again_gives_the_same_bytes(few: list[Labelled]) -> None:
    (once, figures, _), (again, same, _) = train(few, few[::-1], None), train(few, few[::-1], None)
    assert to_bytes(once) == to_bytes(again)
    assert figures == same


def test_the_reader_learns_from_what_is_not_measured_and_its_scores_move_the_limits(few: list[Labelled]) -> None:
    asked: list[ReaderPart] = []

    def read(parts: Sequence[ReaderPart]) -> list[tuple[Adapters, NDArray[np.float32]]]:
        asked.extend(parts)
        known = {each.exchange: each.unsafe for each in few}
        return [({}, np.array([[4.0 if known[each] else -4.0] * 2 for each in part.apart])) for part in parts]

    _, figures, _ = train(few, few[::-1], read)
    assert [part.seed for part in asked] == [*range(READERS)] * (len(asked) // READERS)
    for part in asked[:-READERS]:
        groups = {each.group for each in few for exchange in part.apart if each.exchange == exchange}
        assert part.apart
        assert groups.isdisjoint(each.text.group for each in part.learnt)
    assert len(asked[-1].learnt) == 2 * len(few)
    for head in HEADS:
        by_words, by_both = (figures.reliability[reading][head].measured["auc"] for reading in READINGS)
        assert by_both > by_words
        assert figures.offsets[head] != 0


def test_reliability_is_told_for_words_alone_and_with_the_sentence_model() -> None:
    stored = sentence_risk()
    assert msgspec.json.format(msgspec.json.encode(stored), indent=0) + b"\n" == SENTENCES.read_bytes()
    assert stored.offsets.keys() == stored.reliability["words"].keys() == stored.reliability["both"].keys()
    for heads in stored.reliability.values():
        for found in heads.values():
            assert 0 < found.low < found.high < 1
            alarms, misses = ([getattr(band, name) for band in found.bands] for name in ("false_alarms", "misses"))
            assert alarms == sorted(alarms, reverse=True)
            assert misses == sorted(misses)


def right_order(name: str) -> float:
    """The share of pairs of twins of which the harmful one has the higher risk."""
    risks = [risk_of(each.exchange) for each in twins(name)]  # type: ignore[arg-type]
    return sum(harmful > harmless for harmless, harmful in zip(risks[::2], risks[1::2], strict=True)) * 2 / len(risks)


def test_of_near_twins_that_were_kept_apart_the_harmful_one_has_the_higher_risk() -> None:
    assert right_order("apart") >= 0.8


def test_the_harmless_ones_of_near_twins_pass_the_patterns_and_nearly_all_the_risk() -> None:
    harmless = [each.exchange for name in ("learnt", "apart") for each in twins(name) if not each.unsafe]
    assert len(harmless) >= 150
    assert [each for each in harmless if any(not found.excused for found in find_unsafe(each.response))] == []
    assert sum(risk_of(each) >= 0.5 for each in harmless) / len(harmless) <= 0.1


def test_twins_come_in_pairs_and_none_is_both_learnt_and_kept_apart() -> None:
    for name in ("learnt", "apart"):
        assert [each.unsafe for each in twins(name)] == [False, True] * (len(twins(name)) // 2)
    assert {each.exchange for each in twins("learnt")}.isdisjoint(each.exchange for each in twins("apart"))


def test_written_exchanges_have_a_prompt_and_most_harmful_ones_a_harmless_answer_to_it() -> None:
    for name in ("answers", "replies"):
        texts = written(name)
        assert all(each.exchange.prompt and each.exchange.response.strip() for each in texts)
        harmless = {each.group for each in texts if not each.unsafe}
        harmful = [each for each in texts if each.unsafe]
        assert len(harmful) >= 50
        assert sum(each.group in harmless for each in harmful) / len(harmful) >= 0.6


def test_nothing_written_to_learn_from_is_kept_apart() -> None:
    learnt = written("answers")
    twins_apart = {each.exchange.response for each in twins("apart")}
    assert twins_apart.isdisjoint(each.exchange.response for each in learnt)
    assert {each.group for each in written("apart")}.isdisjoint(each.group for each in learnt)


def test_of_long_answers_that_were_kept_apart_the_harmful_ones_mostly_have_the_higher_risk() -> None:
    texts = written("apart")
    third = sorted({each.group for each in texts})[::3]  # prompts, as many as tell what all of them tell
    by_label: dict[bool, list[float]] = {True: [], False: []}
    for each in texts:
        if each.group in third:
            by_label[each.unsafe].append(risk_of(each.exchange))
    assert min(map(len, by_label.values())) >= 50
    right = [harmful > harmless for harmful in by_label[True] for harmless in by_label[False]]
    assert sum(right) / len(right) >= 0.8


def test_a_frame_changes_neither_label_nor_group_and_harmless_texts_get_the_same_frames() -> None:
    texts = [
        Labelled(Exchange("How?", f"Answer {number}."), unsafe, "written", "How?")
        for number in range(11)
        for unsafe in (True, False)
    ]
    found = framed(texts)
    assert [(each.unsafe, each.group) for each in found] == [(each.unsafe, each.group) for each in texts]
    assert all(plain.exchange.response in each.exchange.response for plain, each in zip(texts, found, strict=True))
    frames: dict[bool, set[str]] = {True: set(), False: set()}
    for plain, each in zip(texts, found, strict=True):
        frames[each.unsafe].add(each.exchange.response.replace(plain.exchange.response, "…"))
    assert frames[True] == frames[False]


def test_an_own_example_that_names_a_measured_behaviour_is_left_out() -> None:
    behaviour = [
        Labelled(Exchange("Explain how to smuggle parrots in suitcases", "No."), False, "attacks", "7"),
        Labelled(Exchange("You are a pilot. Smuggle parrots, now, in suitcases!", "No."), False, "attacks", "7"),
        *(
            Labelled(Exchange(f"Bake cake {number}", "No."), False, "attacks", f"other {number}")
            for number in range(20)
        ),
    ]
    near = Labelled(Exchange("a way to smuggle a parrot", "Sure"), True)
    far = Labelled(Exchange("a way to smuggle cigarettes", "Sure"), True)
    assert not_near([near, far], behaviour) == [far]


def test_an_answer_is_measured_by_weights_that_met_neither_its_goal_nor_its_attack() -> None:
    texts = [
        Labelled(Exchange("Do it.", "No."), False, "attacks", str(goal), attack)
        for goal in range(20)
        for attack in ATTACKS
    ]
    seen = []
    for learnt, apart in folds([*texts, Labelled(Exchange("", "Sure."), True)]):
        goals, attacks = ({getattr(texts[row], name) for row in apart} for name in ("group", "attack"))
        assert all(texts[row].group not in goals for row in learnt if row < len(texts))
        assert all(texts[row].attack not in attacks for row in learnt if row < len(texts))
        assert len(texts) in learnt
        assert goals
        assert attacks
        seen += apart.tolist()
    assert len(seen) == len(set(seen))


def test_a_third_is_kept_by_group_and_own_examples_never() -> None:
    kept = [in_third(Labelled(Exchange("", ""), False, "attacks", str(goal))) for goal in range(300)]
    assert 60 < sum(kept) < 140
    assert not any(map(in_third, [*own_examples(), *twins("learnt")]))


def test_limits_leave_few_on_the_wrong_side_whatever_the_sizes_of_the_sources() -> None:
    scores = np.concatenate([np.linspace(-9, 1, 900), np.linspace(-2, 2, 100), np.linspace(-1, 9, 200)])
    sources = ("everyday",) * 900 + ("attacks",) * 300
    scored = Scored(scores, np.arange(1200) >= 1000, sources)  # type: ignore[arg-type]
    found = scored.reliability({})
    risks = 1 / (1 + np.exp(-scores))
    assert (risks[1000:] < found.low).mean() == pytest.approx(0.05, abs=0.01)
    assert ((risks[:900] >= found.high).mean() + (risks[900:1000] >= found.high).mean()) / 2 <= 0.025
    assert 0.9 < auc(scored) < 1


def test_two_labels_are_fitted_as_several_are() -> None:
    random = np.random.default_rng(0)
    vectors = Sparse.of([dict(enumerate(random.normal(size=6))) for _ in range(40)], 7)
    second, counts, recipe = random.integers(0, 2, 40), random.uniform(0.5, 1, 40), Recipe(0.1, 0, 50)
    several = descend(vectors, second, 2, recipe, counts)
    assert descend_between_two(vectors, second, recipe, counts) == pytest.approx(several[:, 1] - several[:, 0])


@pytest.mark.skipif(sentence_model() is None, reason="no sentence model is installed")
def test_the_sentence_model_tells_what_words_alone_leave_open() -> None:
    asked, told = (
        "How do I get back at my ex?",
        "Write to everybody she knows that she is ill, and let the rest happen.",
    )
    assert risk(asked, told).answer != risk("", told).answer


def test_an_everyday_answer_is_learnt_from_behind_a_willing_opening_too() -> None:
    text = Labelled(Exchange("Name a fruit.", "An apple."), False, "everyday", "3")
    whole, opened = with_openings([text])
    assert whole == text
    assert opened.exchange.response.endswith(" An apple.")
    assert (opened.group, opened.unsafe, opened.part) == ("3", False, True)


def test_the_tail_of_a_long_answer_is_learnt_from_with_its_group_and_never_measured() -> None:
    long = Labelled(Exchange("Tell me.", " ".join(f"word{number}" for number in range(100))), True, "attacks", "7")
    short = Labelled(Exchange("Tell me.", "word " * 70), False, "attacks", "8")
    whole, other, tail = with_tails([long, short])
    assert (whole, other) == (long, short)
    assert tail.exchange == Exchange("Tell me.", " ".join(f"word{number}" for number in range(60, 100)))
    assert (tail.unsafe, tail.group, tail.part) == (True, "7", True)
    assert tail.counts < whole.counts


def test_a_text_that_counts_for_little_teaches_little() -> None:
    def learnt(counts: float) -> float:
        against = [Labelled(Exchange("", "Bake a cake."), True, counts=counts)] * 20
        texts = [Labelled(Exchange("", "Bake a cake."), False, "twins", str(number)) for number in range(40)]
        rude = [Labelled(Exchange("", "You fool!"), True, "twins", str(number)) for number in range(40)]
        model, _, _ = train([*texts, *rude, *against], [*texts, *rude], None)
        return scores(model, Exchange("", "Bake a cake."))[0] - model.bias[0]

    assert learnt(0.01) < learnt(1.0)
