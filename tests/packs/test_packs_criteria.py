"""The packs that show criteria: points of each case by tag, and a tree; without a judge, no number is invented."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import rubrica
from rubrica import Context, Evaluation, Score
from rubrica.model.dimensions import Axis
from rubrica.packs.library import examples

CLINICAL, PAPER = "clinical-answer", "paper-replication"
CASES = {case.id: case.context for pack in (CLINICAL, PAPER) for case in examples(pack)}
LEAVES = {
    "data_source": 4 * 1 / 4 * 2 / 5,
    "data_split": 4 * 1 / 4 * 3 / 5,
    "method_core": 4 * 3 / 4 * 3 / 6,
    "method_settings": 4 * 3 / 4 * 1 / 6,
    "method_baseline": 4 * 3 / 4 * 2 / 6,
    "runs_start": 3 * 1 / 4,
    "runs_finish": 3 * 2 / 4,
    "runs_repeat": 3 * 1 / 4,
    "results_measure": 3 * 1 / 5,
    "results_direction": 3 * 3 / 5,
    "results_said": 3 * 1 / 5,
}
"""What each leaf is worth of the ten points of the three branches, worked out by hand."""


class Reader:
    """A judge that answers met where it was told to, and not met elsewhere."""

    def __init__(self, *met: str) -> None:
        self.met = met

    async def __call__(self, axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score]:
        return {name: self._score(name) for name in axes}

    def _score(self, name: str) -> Score:
        met = name in self.met
        return Score(float(met), reason="read", source="llm", label="met" if met else "not_met")


def judged(pack: str, case: str, *met: str) -> Evaluation:
    return rubrica.evaluate(pack, context=CASES[case], judge=Reader(*met))


@pytest.mark.parametrize(
    ("met", "score", "verdict"),
    [
        (("c1", "c2", "c3"), 100.0, "good"),  # 6 + 4 + 7 of 17
        (("c1", "c2"), 58.8, "poor"),
        (("c1", "c2", "c5"), 47.1, "poor"),  # and 2 for a term that is not explained
        (("c1", "c2", "c3", "c5"), 88.2, "good"),
        (("c2", "c4"), 0.0, "poor"),  # 4 - 8 counts 0
        ((), 0.0, "poor"),
    ],
)
def test_points_of_a_case_make_its_score(met: tuple[str, ...], score: float, verdict: str) -> None:
    found = judged(CLINICAL, "sore-throat-complete", *met)
    assert (found.score, found.verdict) == (score, verdict)


def test_what_was_earned_is_told_by_tag() -> None:
    found = judged(CLINICAL, "sore-throat-complete", "c1", "c3", "c4").tags
    assert (found["accuracy"].earned, found["accuracy"].possible, found["accuracy"].met) == (6, 6, 1)
    assert (found["safety"].earned, found["safety"].possible) == (7 - 8, 7)
    assert (found["completeness"].earned, found["completeness"].possible) == (7, 11)


def test_leaves_weigh_what_their_branches_give_them() -> None:
    for leaf, worth in LEAVES.items():
        assert judged(PAPER, "complete", leaf).score == pytest.approx(10 * worth, abs=0.051), leaf
    assert sum(LEAVES.values()) == pytest.approx(10)


@pytest.mark.parametrize(
    ("missed", "verdict"),
    [
        ((), "replicated"),
        (("data_source", "runs_repeat", "results_said"), "replicated"),  # 0.4 + 0.75 + 0.6 of 10
        (("runs_start", "runs_finish", "runs_repeat"), "partly"),
        (("method_core", "data_split", "runs_finish", "results_direction"), "partly"),
        (tuple(name for name in LEAVES if name.startswith(("data", "method", "runs"))), "not replicated"),
    ],
)
def test_verdicts_follow_from_the_tree(missed: tuple[str, ...], verdict: str) -> None:
    found = judged(PAPER, "complete", *(name for name in LEAVES if name not in missed))
    assert found.verdict == verdict, found.score


@pytest.mark.parametrize(("pack", "case"), [(CLINICAL, "burn-cooled"), (PAPER, "complete")])
def test_without_a_judge_nothing_is_scored_and_the_verdict_is_open(pack: str, case: str) -> None:
    found = rubrica.evaluate(pack, context=CASES[case])
    assert (found.score, found.verdict) == (None, "inconclusive")
    assert all(result.value is None for result in found.dimensions.values())


@pytest.mark.parametrize(("pack", "case"), [(CLINICAL, "nosebleed-unanswered"), (PAPER, "nothing-submitted")])
def test_nothing_needs_no_judge(pack: str, case: str) -> None:
    asked = Reader()
    assert rubrica.evaluate(pack, context=CASES[case], judge=asked).verdict in ("poor", "not replicated")


def test_a_case_without_criteria_is_left_open() -> None:
    found = rubrica.evaluate(CLINICAL, prompt="My knee hurts.", response="Rest it.", judge=Reader())
    assert found.verdict == "inconclusive"
    assert "the case has no criteria" in found.dimensions["answer"].why
