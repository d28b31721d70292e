"""Pooling values and choices, levelling judges, and the rising curve of a calibration."""

from __future__ import annotations

import random
from itertools import pairwise
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.model.scale import Scale
from rubrica.scoring.isotonic import fit_rising, interpolate
from rubrica.scoring.pooling import Pool, level_judges, pool, weights_from_errors

SCALE = Scale(min=1, max=10)
on_scale = st.floats(1, 10)
ways = st.sampled_from(["mean", "median", "trimmed"])
weighted_values = st.lists(st.tuples(on_scale, st.floats(0.01, 100)), min_size=1, max_size=9)
points = st.lists(st.tuples(on_scale, on_scale), min_size=1, max_size=40)


@given(st.lists(on_scale, min_size=1, max_size=9), ways, st.randoms(use_true_random=False))
def test_a_pooled_value_lies_within_the_votes_whatever_their_order(
    values: list[float], how: Pool, chance: random.Random
) -> None:
    pooled = pool(values, how)
    assert min(values) <= pooled <= max(values)
    shuffled = values[:]
    chance.shuffle(shuffled)
    assert pool(shuffled, how) == pooled


@given(weighted_values, st.randoms(use_true_random=False))
def test_a_weighted_value_lies_within_the_votes_whatever_their_order(
    votes: list[tuple[float, float]], chance: random.Random
) -> None:
    def pooled() -> float:
        return pool([value for value, _ in votes], "weighted", [weight for _, weight in votes])

    first = pooled()
    assert min(votes)[0] <= first <= max(votes)[0]
    chance.shuffle(votes)
    assert pooled() == first


@pytest.mark.parametrize(
    ("values", "trimmed"),
    [
        ([4, 8], 6.0),  # too few to drop any
        ([1, 7, 8], 7.0),  # one at each end
        ([1, 6, 7, 8, 10], 7.0),
        ([0, 1, 5, 5, 5, 5, 5, 5, 9, 10], 5.0),  # two at each end of ten
    ],
)
def test_trimming_drops_the_same_number_at_both_ends(values: list[float], trimmed: float) -> None:
    assert pool(values, "trimmed") == trimmed


def test_weights_decide_between_two_votes() -> None:
    assert pool([10, 4], "weighted", [3, 1]) == 8.5
    assert pool([10, 4], "weighted", [0, 1]) == 4


@pytest.mark.parametrize(
    ("values", "weights", "says"),
    [
        ([], [], "nothing to pool"),
        ([1, 2], None, "as many weights"),
        ([1, 2], [1], "as many weights"),
        ([1, 2], [0, 0], "all 0"),
        ([1, 2], [1, -1], "from 0 up"),
        ([1, 2], [1, float("nan")], "from 0 up"),
    ],
)
def test_what_cannot_be_pooled_is_refused(values: list[float], weights: list[float] | None, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        pool(values, "weighted", weights)


def test_levelling_takes_out_harshness_and_spread_but_keeps_each_judges_order() -> None:
    given_scores = {"harsh": {"x": 2, "y": 3, "z": 4}, "kind": {"x": 6, "y": 9, "z": 8}}
    levelled = level_judges(given_scores, SCALE)
    assert levelled.notes == ()
    assert fmean(levelled.scores["harsh"].values()) == pytest.approx(fmean(levelled.scores["kind"].values()))
    kind = levelled.scores["kind"]
    assert kind["x"] < kind["z"] < kind["y"]


@given(st.dictionaries(st.sampled_from("abcd"), st.dictionaries(st.integers(0, 5), on_scale, max_size=6), max_size=4))
def test_levelled_scores_stay_on_the_scale(scores: dict[str, dict[int, float]]) -> None:
    levelled = level_judges(scores, SCALE)
    assert {judge: set(own) for judge, own in levelled.scores.items()} == {j: set(own) for j, own in scores.items()}
    assert all(SCALE.holds(value) for own in levelled.scores.values() for value in own.values())


def test_a_judge_that_cannot_be_levelled_keeps_its_scores_and_is_named() -> None:
    scores = {"a": {1: 2.0, 2: 4.0}, "b": {1: 6.0, 2: 8.0, 3: 9.0}, "once": {1: 5.0}, "flat": {1: 7.0, 2: 7.0}}
    levelled = level_judges(scores, SCALE)
    assert levelled.scores["once"] == {1: 5.0}
    assert levelled.scores["flat"] == {1: 7.0, 2: 7.0}
    assert [note.split(" gave")[0] for note in levelled.notes[:2]] == ["once", "flat"]
    assert "did not score the same items" in levelled.notes[2]
    alone = level_judges({"a": {1: 2.0, 2: 4.0}}, SCALE)
    assert (alone.scores, alone.notes) == ({"a": {1: 2.0, 2: 4.0}}, ("nothing was normalised",))


def test_weights_follow_errors_but_few_labels_barely_move_them() -> None:
    many = weights_from_errors({"good": [0.5] * 40, "poor": [2.0] * 40})
    few = weights_from_errors({"good": [0.5], "poor": [2.0]})
    assert many["good"] > few["good"] > 1 > few["poor"] > many["poor"]
    assert fmean(many.values()) == pytest.approx(1, abs=1e-3)
    assert weights_from_errors({"a": [], "b": []}) == {"a": 1.0, "b": 1.0}
    assert weights_from_errors({"a": [0.0], "b": [0.0]}) == {"a": 1.0, "b": 1.0}


@given(points, on_scale, on_scale)
def test_the_curve_never_falls_and_stays_on_the_scale(data: list[tuple[float, float]], a: float, b: float) -> None:
    knots = fit_rising(data)
    low, high = sorted((a, b))
    below, above = interpolate(knots, low, 1, 10), interpolate(knots, high, 1, 10)
    assert 1 <= below <= above <= 10
    assert all(x0 < x1 and y0 <= y1 for (x0, y0), (x1, y1) in pairwise(knots))


@given(points)
def test_the_curve_keeps_the_mean_and_beats_every_constant(data: list[tuple[float, float]]) -> None:
    knots = dict(fit_rising(data))
    xs = [round(x, 4) for x, _ in data]
    fitted = [interpolate(tuple(knots.items()), x, 1, 10) for x in xs]
    mean = fmean(y for _, y in data)
    assert fmean(fitted) == pytest.approx(mean, abs=1e-3)
    flat = sum((y - mean) ** 2 for _, y in data)
    assert sum((y - f) ** 2 for (_, y), f in zip(data, fitted, strict=True)) <= flat + 1e-2


def test_a_worked_example_of_pooling_adjacent_violators() -> None:
    knots = fit_rising([(1, 1), (2, 4), (3, 3), (4, 2), (5, 6), (5, 8)])
    assert knots == ((1, 1), (2, 3), (4, 3), (5, 7))
    assert interpolate(knots, 1.5, 0, 10) == 2
    assert interpolate(knots, 3.3, 0, 10) == 3
    assert interpolate(knots, 4.5, 0, 10) == 5


def test_beyond_the_labels_the_last_correction_is_carried_on_within_the_scale() -> None:
    knots = ((4.0, 5.0), (8.0, 7.0))
    assert interpolate(knots, 2, 1, 10) == 3
    assert interpolate(knots, 10, 1, 10) == 9
    assert interpolate(((4.0, 2.0),), 1, 1, 10) == 1
    assert interpolate((), 6.5, 1, 10) == 6.5
