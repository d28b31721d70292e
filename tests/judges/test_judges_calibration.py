"""Corrections from human labels: learned, cross-validated, refused, stored and applied."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from rubrica.errors import ContextError
from rubrica.judges.calibration import (
    CalibratedJudge,
    CalibrationOutcome,
    apply,
    calibrate,
)
from rubrica.judges.labels import Label, read_labels
from rubrica.model.calibration import Calibration
from rubrica.model.context import Context
from rubrica.model.dimensions import Axis
from rubrica.model.evaluation import Score, Unscored
from rubrica.model.scale import Scale

SCALES = {"tone": Scale(min=1, max=10), "facts": Scale(min=0, max=1)}
TODAY = date(2026, 11, 15)


def kind_judge(count: int, seed: int = 3, lift: float = 2.0, judge: str = "a") -> list[Label]:
    """A judge who ranks well but gives about `lift` too much."""
    chance = random.Random(seed)  # noqa: S311
    labels = []
    for number in range(count):
        human = chance.uniform(1, 8)
        score = min(max(human + lift + chance.gauss(0, 0.7), 1), 10)
        labels.append(Label("tone", score, human, f"t{number}", judge))
    return labels


def learn(labels: list[Label], seed: int = 0) -> CalibrationOutcome:
    return calibrate(labels, SCALES, version=1, on=TODAY, seed=seed)


def learned(labels: list[Label]) -> Calibration:
    found = learn(labels).calibration
    assert found is not None
    return found


def test_a_judge_who_is_too_kind_is_corrected_and_the_figures_say_so() -> None:
    correction = learned(kind_judge(60)).dimensions["tone"]
    assert correction.labels == 60
    assert correction.before is not None
    assert correction.after is not None
    assert correction.before.bias == pytest.approx(2, abs=0.3)
    assert abs(correction.after.bias) < 0.2
    assert correction.after.mae < 0.5 * correction.before.mae
    assert correction.after.rmse < 0.5 * correction.before.rmse
    assert correction.before.spearman is not None
    assert correction.before.spearman > 0.8
    assert correction.after.kendall is not None


def test_figures_are_of_labels_that_were_not_learned_from() -> None:
    """A curve through every point has no error on its own labels; the figures must not say so."""
    chance = random.Random(1)  # noqa: S311
    labels = [
        Label("tone", 1 + n / 10, min(max(1 + n / 10 - 2 + chance.gauss(0, 1), 1), 10), f"{n}") for n in range(90)
    ]
    calibration = learned(labels)
    own = [abs(apply(calibration, "tone", "judge", x.score) - x.human) for x in labels]
    after = calibration.dimensions["tone"].after
    assert after is not None
    assert after.mae > sum(own) / len(own)


@given(st.integers(0, 50), st.floats(1, 10), st.floats(1, 10), st.sampled_from(["a", "b", "unknown"]))
def test_a_correction_never_falls_and_stays_on_the_scale(seed: int, x: float, y: float, judge: str) -> None:
    labels = kind_judge(30, seed) + kind_judge(30, seed, lift=0.5, judge="b")
    calibration = learn(labels).calibration
    if calibration is not None:
        low, high = sorted((x, y))
        below, above = apply(calibration, "tone", judge, low), apply(calibration, "tone", judge, high)
        assert 1 <= below <= above <= 10


def test_a_harsher_judge_gets_an_offset_and_a_noisier_one_less_weight() -> None:
    chance = random.Random(5)  # noqa: S311
    labels = []
    for number in range(80):
        human = chance.uniform(2, 9)
        for judge, lift, noise in (("even", 1.0, 0.3), ("harsh", -1.0, 0.3), ("noisy", 0.0, 2.0)):
            score = min(max(human + lift + chance.gauss(0, noise), 1), 10)
            labels.append(Label("tone", score, human, f"t{number}", judge))
    calibration = calibrate(labels, SCALES, version=1, on=TODAY, how="weighted").calibration
    assert calibration is not None
    judges = calibration.dimensions["tone"].judges
    assert judges["harsh"].offset == pytest.approx(1, abs=0.3)
    assert judges["even"].offset == pytest.approx(-1, abs=0.3)
    assert judges["noisy"].weight < 0.5 < 1 < judges["even"].weight
    assert {known.labels for known in judges.values()} == {80}
    assert calibration.weights["tone"]["noisy"] == judges["noisy"].weight
    assert apply(calibration, "tone", "harsh", 5) > apply(calibration, "tone", "even", 5)


def test_too_few_labels_are_refused_in_words() -> None:
    found = learn(kind_judge(19))
    assert found.calibration is None
    assert found.refused["tone"].reason == "tone has 19 labelled items; 20 are the fewest to learn from"


def test_many_judges_of_one_text_are_one_labelled_item() -> None:
    labels = [Label("tone", 5.0 + j, 4.0, f"t{n}", f"j{j}") for n in range(10) for j in range(3)]
    assert "10 labelled items" in learn(labels).refused["tone"].reason


def test_a_judge_who_is_right_already_is_left_alone() -> None:
    chance = random.Random(2)  # noqa: S311
    labels = []
    for number in range(50):
        human = chance.uniform(2, 9)
        labels.append(Label("tone", human + chance.uniform(-0.3, 0.3), human, f"{number}"))
    refusal = learn(labels).refused["tone"]
    assert "does not clearly help" in refusal.reason
    assert refusal.before is not None
    assert refusal.after is not None
    assert refusal.before.mae < 0.3


def test_a_gain_in_squared_error_is_not_bought_with_a_larger_mean_error() -> None:
    """Most labels equal the score, a few lie far below: lowering every score would suit the few alone."""
    chance = random.Random(6)  # noqa: S311
    scores = [chance.uniform(5, 10) for _ in range(200)]
    labels = [Label("tone", x, x - 4 * (n % 5 == 0), f"{n}") for n, x in enumerate(scores)]
    refusal = learn(labels).refused["tone"]
    assert refusal.before is not None
    assert refusal.after is not None
    assert refusal.after.rmse < refusal.before.rmse
    assert refusal.after.mae > refusal.before.mae


def test_a_gain_that_may_be_luck_is_refused() -> None:
    lucky = 0
    for seed in range(40):
        labels = kind_judge(25, seed, lift=0.25)
        refusal = learn(labels).refused.get("tone")
        if refusal is not None and refusal.before is not None and refusal.after is not None:
            lucky += refusal.after.mae < refusal.before.mae and refusal.after.rmse < refusal.before.rmse
    assert lucky > 0


def test_two_labels_move_a_judge_only_a_little() -> None:
    labels = kind_judge(40, lift=0.0, judge="a")
    labels += [Label("tone", 4.0, 8.0, f"t{n}", "new") for n in range(2)]
    labels += kind_judge(40, lift=3.0, judge="kind")
    judges = learned(labels).dimensions["tone"].judges
    assert judges["new"].labels == 2
    assert 0 < judges["new"].offset < 1.5
    assert judges["kind"].offset < -1.5


@pytest.mark.parametrize("seed", range(5))
def test_scores_that_go_against_the_labels_or_do_not_vary_are_not_corrected(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311
    pairs = [(chance.uniform(1, 10), chance.uniform(1, 4)) for _ in range(100)]
    ordered = zip(sorted(x for x, _ in pairs), sorted((y for _, y in pairs), reverse=True), strict=True)
    refusal = learn([Label("tone", x, y, f"{n}") for n, (x, y) in enumerate(ordered)]).refused["tone"]
    assert "fall where people's rise (rank correlation -1.00)" in refusal.reason
    flat = learn([Label("tone", 5.0, y, f"{n}") for n, (_, y) in enumerate(pairs)]).refused["tone"]
    assert "do not vary" in flat.reason


def test_folds_never_split_a_group() -> None:
    """Every text stands there ten times under its own id: only by splitting a group could its label be learned."""
    chance = random.Random(4)  # noqa: S311
    labels = []
    for group in range(12):
        score = 2.0 + group / 2
        human = min(max(score + chance.choice((-2.5, 2.5)), 1), 10)
        labels += [Label("tone", score, human, f"{group}-{n}", group=f"g{group}") for n in range(10)]
    loose = [Label("tone", x.score, x.human, x.item) for x in labels]
    grouped, split = learn(labels).refused["tone"].after, learned(loose).dimensions["tone"].after
    assert grouped is not None
    assert split is not None
    assert grouped.mae > 1.2 * split.mae


def test_fewer_groups_than_folds_are_refused() -> None:
    few = [Label("tone", x.score, x.human, x.item, group=f"g{n % 4}") for n, x in enumerate(kind_judge(40))]
    assert "labels of 4 groups" in learn(few).refused["tone"].reason


def test_the_seed_deals_the_folds_and_nothing_else() -> None:
    labels = kind_judge(40)
    one, same, other = learn(labels, seed=9), learn(labels, seed=9), learn(labels, seed=10)
    assert one == same
    assert one.calibration is not None
    assert other.calibration is not None
    mine, theirs = one.calibration.dimensions["tone"], other.calibration.dimensions["tone"]
    assert (mine.knots, mine.judges) == (theirs.knots, theirs.judges)
    assert mine.after != theirs.after


def test_dimensions_are_kept_or_refused_one_by_one() -> None:
    labels = [*kind_judge(40), Label("facts", 0.5, 0.4, "t1")]
    found = learn(labels)
    assert found.calibration is not None
    assert set(found.calibration.dimensions) == {"tone"}
    assert set(found.refused) == {"facts"}
    assert apply(found.calibration, "facts", "a", 0.5) == 0.5


def test_a_calibration_survives_json_and_yaml() -> None:
    calibration = learned(kind_judge(40))
    assert Calibration.model_validate_json(calibration.model_dump_json()) == calibration
    text = yaml.safe_dump(calibration.model_dump(mode="json", exclude_defaults=True))
    assert Calibration.model_validate(yaml.safe_load(text)) == calibration
    assert str(calibration) == "calibration 1 of 2026-11-15"


@pytest.mark.parametrize(
    ("knots", "says"),
    [([[5, 5], [4, 6]], "must rise"), ([[4, 6], [5, 5]], "must rise"), ([[4, 11]], "leaves the scale")],
)
def test_a_stored_curve_that_falls_or_leaves_the_scale_is_refused(knots: list[list[float]], says: str) -> None:
    plain = learned(kind_judge(40)).model_dump(mode="json")
    plain["dimensions"]["tone"]["knots"] = knots
    with pytest.raises(ValidationError, match=says):
        Calibration.model_validate(plain)


def test_a_calibrated_judge_says_what_was_changed() -> None:
    async def judge(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        return {"tone": Score(8, "warm", 0.7, "llm"), "facts": Score(0.5), "wit": Unscored("refused")}

    calibration = learned(kind_judge(60))
    found = asyncio.run(CalibratedJudge(judge, "a", calibration)({"tone": Axis()}, Context()))
    fixed = found["tone"]
    assert isinstance(fixed, Score)
    assert fixed.value == apply(calibration, "tone", "a", 8) == pytest.approx(6, abs=0.7)
    assert fixed.reason == f"warm (8 corrected to {fixed.value:.4g} by calibration 1 of 2026-11-15)"
    assert fixed.confidence == 0.7
    assert found["facts"] == Score(0.5)
    assert found["wit"] == Unscored("refused")


def test_a_score_off_the_scale_is_not_bent_onto_it() -> None:
    async def judge(axes: Mapping[str, Axis], context: Context) -> Mapping[str, Score | Unscored]:
        return {"tone": Score(80)}

    found = asyncio.run(CalibratedJudge(judge, "a", learned(kind_judge(60)))({"tone": Axis()}, Context()))
    assert found["tone"] == Score(80)


def test_labels_are_read_in_both_forms() -> None:
    lines = [
        json.dumps({"dimension": "tone", "judge": "a", "score": 7, "human": 6, "id": 12, "group": "g"}),
        "",
        json.dumps({"scores": {"tone": 5, "facts": None}, "human": {"tone": 4.5, "facts": 1, "wit": 2}}),
    ]
    assert read_labels(lines, SCALES).scores == [
        Label("tone", 7.0, 6.0, "12", "a", "g"),
        Label("tone", 5.0, 4.5, "line 3"),
    ]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{", "labels.jsonl:1:"),
        ("[1]", "an object with `human`"),
        ({"score": 1, "human": 2}, "lacks the name"),
        ({"dimension": "tune", "score": 5, "human": 5}, "did you mean 'tone'"),
        ({"dimension": "tone", "score": 11, "human": 5}, "11 is not a number on its scale 1–10"),
        ({"dimension": "tone", "score": 5, "human": "good"}, "'good' is not a number"),
        ({"dimension": "tone", "score": True, "human": 5}, "True is not a number"),
        ({"scores": {"tone": 5}, "human": 4}, "objects by dimension"),
        ({"scores": {"tune": 5}, "human": {"tune": 1}}, "did you mean 'tone'"),
        ({"scores": {}, "human": {"wit": 1}}, "no dimension has both a score and a human label (of tone, facts"),
    ],
)
def test_labels_that_cannot_be_used_are_refused_with_their_line(row: Any, says: str) -> None:
    with pytest.raises(ContextError, match=r"labels\.jsonl:1") as caught:
        read_labels([row if isinstance(row, str) else json.dumps(row)], SCALES)
    assert says in str(caught.value)


def test_every_bad_line_is_told_up_to_twenty() -> None:
    with pytest.raises(ContextError) as caught:
        read_labels([f'{{"dimension": "d{n}", "score": 5, "human": 5}}' for n in range(25)], SCALES, "mine.jsonl")
    told = str(caught.value).splitlines()
    assert len(told) == 21
    assert told[1].startswith("mine.jsonl:2:")
    assert told[-1] == "and 5 more"


def test_the_same_fault_of_many_lines_is_told_once() -> None:
    with pytest.raises(ContextError) as caught:
        read_labels(["{}"] * 25, SCALES, "mine.jsonl")
    (told,) = str(caught.value).splitlines()
    assert told.startswith("mine.jsonl:1: a label is an object")
    assert told.endswith(", and so on 24 more lines")


def test_a_line_on_which_the_judge_or_the_person_gave_nothing_is_left_out() -> None:
    rows = [
        {"dimension": "tone", "score": None, "human": 5},
        {"dimension": "tone", "score": 5, "human": None},
        {"scores": {"tone": None}, "human": {"tone": 4}},
        {"scores": {"tone": 5}, "human": {"facts": 1}},
        {"scores": {"tone": 5}, "human": {"tone": 4}},
    ]
    found = read_labels(map(json.dumps, rows), SCALES)
    assert found.scores == [Label("tone", 5.0, 4.0, "line 5")]
    assert found.left_out == 4
