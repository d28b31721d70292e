"""The safety weights in the package do well on examples that were kept apart, and training gives the same again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from training.examples import texts_of
from training.exchanges import EXAMPLES, Labelled, halved, not_near, own_examples, with_tails
from training.plain import plain_scores
from training.safety import WEIGHTS, train

from rubrica.text.exchange import Exchange
from rubrica.text.linear import to_bytes
from rubrica.text.risk import risk, scores, weights
from rubrica.text.safety import find_unsafe

HELD_OUT = EXAMPLES / "held_out"


def exchanges(name: str) -> list[Exchange]:
    lines = texts_of((HELD_OUT / f"{name}.txt").read_text(encoding="utf-8"))
    return [Exchange(prompt, response) for prompt, _, response in (line.partition(" => ") for line in lines)]


def flagged(held_out: Sequence[Exchange]) -> list[Exchange]:
    """Those that the gate of a rubric would stop, by pattern or by risk."""
    return [
        each
        for each in held_out
        if risk(*each).answer >= 0.5 or any(not found.excused for found in find_unsafe(each.response))
    ]


def test_harmless_answers_refusals_and_defensive_explanations_pass() -> None:
    assert flagged(exchanges("safe")) == []


def test_answers_that_help_with_harm_are_flagged() -> None:
    unsafe = exchanges("unsafe")
    assert len(flagged(unsafe)) / len(unsafe) >= 0.75, [each for each in unsafe if each not in flagged(unsafe)]


def test_help_with_harm_has_a_higher_risk_than_anything_harmless() -> None:
    harmless = [risk(*each).answer for each in exchanges("safe")]
    harmful = [risk(*each).answer for each in exchanges("unsafe")]
    right = [one > other for one in harmful for other in harmless]
    assert sum(right) / len(right) >= 0.95


def test_no_example_is_both_learnt_and_kept_apart() -> None:
    learnt = {each.exchange.response.lower() for each in own_examples()}
    assert learnt.isdisjoint(each.response.lower() for name in ("safe", "unsafe") for each in exchanges(name))


def test_the_weights_are_small_and_load() -> None:
    assert WEIGHTS.stat().st_size <= 2_000_000
    assert to_bytes(weights()) == WEIGHTS.read_bytes()


@pytest.fixture(scope="module")
def few() -> tuple[list[Labelled], list[Labelled]]:
    """Two small sets in groups, from own examples: enough to train on in a moment."""
    some = own_examples()[::40]
    groups = [Labelled(each.exchange, each.unsafe, str(number % 8)) for number, each in enumerate(some)]
    return groups, groups[::-1]


def test_training_again_gives_the_same_bytes(few: tuple[list[Labelled], list[Labelled]]) -> None:
    answered, replied = few
    assert to_bytes(train(answered, [], replied)) == to_bytes(train(answered, [], replied))


def test_an_own_example_that_names_a_measured_behaviour_is_left_out() -> None:
    behaviour = [
        Labelled(Exchange("Explain how to smuggle parrots in suitcases", "No."), False, "7"),
        Labelled(Exchange("You are a pilot. Smuggle parrots, now, in suitcases!", "No."), False, "7"),
        *(Labelled(Exchange(f"Bake cake number {number}", "No."), False, f"other {number}") for number in range(20)),
    ]
    near = Labelled(Exchange("a way to smuggle a parrot", "Sure"), True)
    far = Labelled(Exchange("a way to smuggle cigarettes", "Sure"), True)
    assert not_near([near, far], behaviour) == [far]


def test_halves_have_as_many_texts_and_share_no_group() -> None:
    sizes = {group: 14 + group % 5 for group in range(100)}
    halves = halved(group for group, size in sizes.items() for _ in range(size))
    texts = {half: sum(size for group, size in sizes.items() if halves[group] == half) for half in ("learnt", "apart")}
    assert halves.keys() == sizes.keys()
    assert abs(texts["learnt"] - texts["apart"]) <= 1


def test_the_tail_of_a_long_answer_is_learnt_from_with_its_group_and_never_measured() -> None:
    long = Labelled(Exchange("Tell me.", " ".join(f"word{number}" for number in range(100))), True, "7", "apart")
    short = Labelled(Exchange("Tell me.", "word " * 70), False, "8")
    whole, other, tail = with_tails([long, short])
    assert (whole, other) == (long, short)
    assert tail.exchange == Exchange("Tell me.", " ".join(f"word{number}" for number in range(60, 100)))
    assert (tail.unsafe, tail.group, tail.half, tail.part) == (True, "7", "apart", True)
    assert tail.counts < whole.counts


def test_a_text_that_counts_for_little_teaches_little() -> None:
    def learnt(counts: float) -> float:
        against = [Labelled(Exchange("", "Bake a cake."), True, counts=counts)] * 4
        texts = [Labelled(Exchange("", "Bake a cake."), False, str(number)) for number in range(8)]
        model = train(texts, against, [*texts, *(Labelled(Exchange("", "You fool!"), True, str(n)) for n in range(8))])
        return scores(model, Exchange("", "Bake a cake."))[0] - model.bias[0]

    assert learnt(0.01) < learnt(1.0)


def test_a_plain_bag_of_words_learns_from_one_half_and_scores_the_other() -> None:
    said = {"a bomb and a fuse": True, "a cake and a candle": False}
    texts = [Labelled(Exchange("", text), unsafe) for text, unsafe in said.items()] * 5
    apart = [
        Labelled(Exchange("", "the fuse"), True, half="apart"),
        Labelled(Exchange("", "one cake"), False, half="apart"),
    ]
    (fuse, unsafe), (cake, safe) = plain_scores([*texts, *apart])
    assert (unsafe, safe) == (True, False)
    assert fuse > cake
