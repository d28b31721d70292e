"""Combining judges by labels, without labels, and taking out the harshness of people: properties."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.scoring.combination import learn_combination, solve
from rubrica.scoring.dawid_skene import dawid_skene
from rubrica.scoring.raters import RaterEffects, rater_effects

sides = st.sampled_from([-1.0, 0.0, 1.0])


@given(st.lists(st.tuples(sides, sides, sides, sides), min_size=10, max_size=40))
def test_weights_are_finite_and_do_not_depend_on_the_order_of_judges(rows: list[tuple[float, ...]]) -> None:
    truth = [row[0] for row in rows]
    folds = [list(range(start, len(rows), 5)) for start in range(5)]
    named = [dict(zip("abc", row[1:], strict=True)) for row in rows]
    turned = [dict(zip("cba", row[1:], strict=True)) for row in rows]
    one, other = learn_combination(named, truth, folds), learn_combination(turned, truth, folds)
    for judge, mirror in zip("abc", "cba", strict=True):
        assert one.weights[judge] == pytest.approx(other.weights[mirror], abs=1e-6)
        assert abs(one.weights[judge]) < 10


def test_a_judge_who_is_always_wrong_counts_below_nothing() -> None:
    truth = [1.0, -1.0] * 20
    rows = [{"liar": -true, "coin": 1.0 if place % 3 else -1.0} for place, true in enumerate(truth)]
    found = learn_combination(rows, truth, [list(range(start, 40, 5)) for start in range(5)], sides=True)
    assert found.weights["liar"] < -1
    assert found.value({"liar": 1.0, "coin": 1.0}) < 0


def echoed(count: int, seed: int) -> tuple[list[dict[str, float]], list[float]]:
    """Three judges, each right four times in five on its own, and eight that share one view, right three in four."""
    chance = random.Random(seed)  # noqa: S311
    rows, truth = [], []
    for _ in range(count):
        true = chance.choice((-1.0, 1.0))
        view = true if chance.random() < 0.75 else -true
        rows.append(
            {judge: true if chance.random() < 0.8 else -true for judge in "abc"} | dict.fromkeys("klmnopqr", view)
        )
        truth.append(true)
    return rows, truth


@pytest.mark.parametrize("seed", range(3))
def test_judges_who_repeat_each_other_do_not_outvote_those_who_think_for_themselves(seed: int) -> None:
    rows, truth = echoed(60, seed)
    found = learn_combination(rows, truth, [list(range(start, 60, 5)) for start in range(5)], sides=True)
    new, true = echoed(1000, seed=99)
    right = sum(found.value(row) * side > 0 for row, side in zip(new, true, strict=True)) / 1000
    best = max(sum(row[judge] * side > 0 for row, side in zip(new, true, strict=True)) / 1000 for judge in new[0])
    assert right > best + 0.03


@given(st.lists(st.tuples(sides, sides, sides), min_size=10, max_size=30))
def test_weights_of_sides_turn_with_the_names_of_the_sides(rows: list[tuple[float, ...]]) -> None:
    folds = [list(range(start, len(rows), 5)) for start in range(5)]
    named = [dict(zip("ab", row[1:], strict=True)) for row in rows]
    turned = [{judge: -value for judge, value in row.items()} for row in named]
    truth = [row[0] for row in rows]
    one = learn_combination(named, truth, folds, sides=True)
    other = learn_combination(turned, [-side for side in truth], folds, sides=True)
    assert dict(one.weights) == pytest.approx(dict(other.weights), abs=1e-6)


def test_a_judge_who_gave_nothing_moves_nothing() -> None:
    found = learn_combination([{"a": 1.0}, {"b": -1.0}] * 10, [1.0, -1.0] * 10, [list(range(10)), list(range(10, 20))])
    assert found.value({}) == found.level


@given(st.lists(st.lists(st.floats(-3, 3), min_size=4, max_size=4), min_size=4, max_size=4), st.data())
def test_linear_equations_are_solved(base: list[list[float]], data: st.DataObject) -> None:
    right = data.draw(st.lists(st.floats(-5, 5), min_size=4, max_size=4))
    matrix = [
        [sum(a * b for a, b in zip(x, y, strict=True)) + (i == j) for j, y in enumerate(base)]
        for i, x in enumerate(base)
    ]
    found = solve(matrix, right)
    for row, wanted in zip(matrix, right, strict=True):
        assert sum(a * b for a, b in zip(row, found, strict=True)) == pytest.approx(wanted, abs=1e-6)


@given(
    st.lists(
        st.dictionaries(st.sampled_from("abcd"), st.sampled_from(["x", "y", "?"]), max_size=4), min_size=1, max_size=20
    )
)
def test_chances_sum_to_one_and_nobody_is_certain(answers: list[dict[str, str]]) -> None:
    found = dawid_skene(answers, ("x", "y"))
    for chances in found.chances:
        assert sum(chances.values()) == pytest.approx(1)
    assert all(0 < right < 1 for right in found.accuracy.values())
    assert found.weights().keys() == found.accuracy.keys()


def test_judges_who_are_alike_stay_about_alike_without_labels_and_a_liar_is_found() -> None:
    chance = random.Random(2)  # noqa: S311
    right: dict[str, list[bool]] = {"weighed": [], "majority": []}
    for _ in range(30):

        def item() -> tuple[str, dict[str, str]]:
            true = chance.choice("xy")
            return true, {judge: true if chance.random() < 0.75 else "xy"[true == "x"] for judge in "abcde"}

        weights = dawid_skene([item()[1] for _ in range(40)], ("x", "y")).weights()
        for true, said in (item() for _ in range(200)):
            sides = {judge: 1 if answer == "x" else -1 for judge, answer in said.items()}
            right["weighed"].append((sum(weights[j] * side for j, side in sides.items()) > 0) == (true == "x"))
            right["majority"].append((sum(sides.values()) > 0) == (true == "x"))
    assert sum(right["weighed"]) > 0.985 * sum(right["majority"])
    liar = [{"a": side, "b": side, "c": side, "liar": "xy"[side == "x"]} for side in "xyyx" * 10]
    assert dawid_skene(liar, ("x", "y")).weights()["liar"] < -0.5


@given(st.sampled_from(["ann", "bob", "new"]), st.floats(1, 10))
def test_adjusting_undoes_what_is_expected(rater: str, value: float) -> None:
    effects = rater_effects([("1", "ann", 3), ("1", "bob", 7), ("2", "ann", 2), ("2", "bob", 9), ("3", "ann", 4)])
    assert effects.adjusted(rater, effects.expected(rater, value)) == pytest.approx(value)


def test_few_ratings_move_a_person_little_and_none_nobody() -> None:
    many = [(str(n), who, 5.0 + (who == "kind")) for n in range(40) for who in ("kind", "even")]
    few = rater_effects([*many, ("1", "new", 9.0)])
    assert 0 < few.offsets["new"] < 1
    assert rater_effects([]) == RaterEffects()
