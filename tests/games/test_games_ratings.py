"""Ratings against values worked out by hand, and a simulation: intervals cover what is true."""

from __future__ import annotations

import math
import random
from statistics import fmean

import pytest

from rubrica.games.ratings import MEAN, SCALE, bradley_terry, elo_ratings, rate


def test_elo_moves_by_the_surprise() -> None:
    first = elo_ratings([{"ann": 1.0, "bo": 0.0}])
    assert first == {"ann": 1516, "bo": 1484}  # 32 points, half of them expected
    second = elo_ratings([{"ann": 1.0, "bo": 0.0}, {"ann": 1.0, "bo": 0.0}])
    expected = 1 / (1 + 10 ** (-32 / 400))
    assert second["ann"] == pytest.approx(1516 + 32 * (1 - expected))
    tied = elo_ratings([{"ann": 1.0, "bo": 0.0}, {"ann": 0.5, "bo": 0.5}])
    assert tied["ann"] == pytest.approx(1516 + 32 * (0.5 - expected))


def test_a_round_of_several_players_is_one_game() -> None:
    found = elo_ratings([{"ann": 0.9, "bo": 0.5, "cy": 0.1}])
    assert found == {"ann": 1516, "bo": 1500, "cy": 1484}


def test_bradley_terry_is_the_likeliest_fit() -> None:
    """Of two, with one tie each against a strength of 0, the slope of the likelihood is 0: n1 - n p - (q - 1/2)."""
    rounds = [{"ann": 1.0, "bo": 0.0}] * 3 + [{"ann": 0.0, "bo": 1.0}] + [{"ann": 0.5, "bo": 0.5}] * 2
    found = bradley_terry(rounds)
    strength = found["ann"]
    assert found["bo"] == pytest.approx(-strength, abs=1e-5)
    won = 1 / (1 + math.exp(-2 * strength))
    drawn = 1 / (1 + math.exp(-strength))
    assert 4 - 6 * won + (0.5 - drawn) == pytest.approx(0, abs=1e-5)


def test_who_ties_with_everybody_is_average_and_who_wins_everything_has_a_finite_rating() -> None:
    assert {each.bradley_terry for each in rate([{"ann": 0.5, "bo": 0.5}] * 4)} == {MEAN}
    best, worst = rate([{"ann": 1.0, "bo": 0.0}] * 20)
    assert (best.player, best.wins, worst.losses) == ("ann", 20, 20)
    assert MEAN < best.bradley_terry < 2500
    assert best.bradley_terry_bounds[0] > worst.bradley_terry_bounds[1]


def test_a_rating_is_provisional_until_there_are_enough_rounds_against_somebody() -> None:
    alone = [{"ann": 0.5}] * 20
    assert rate(alone) == []
    assert [each.provisional for each in rate([*alone, *[{"ann": 0.9, "bo": 0.1}] * 9])] == [True, True]
    assert [each.provisional for each in rate([{"ann": 0.9, "bo": 0.1}] * 10)] == [False, False]


def test_intervals_cover_what_is_true() -> None:
    """Performances are a strength and noise whose differences are logistic: then Bradley and Terry are right."""
    draw = random.Random(3)  # noqa: S311 - not a secret
    covered, covered_by_elo = [], []
    for _ in range(60):
        strengths = [draw.gauss(0, 0.8) for _ in range(4)]
        rounds = [{i: s - math.log(-math.log(draw.random())) for i, s in enumerate(strengths)} for _ in range(25)]
        for each in rate(rounds):
            true = MEAN + SCALE * (strengths[each.player] - fmean(strengths))
            covered.append(each.bradley_terry_bounds[0] <= true <= each.bradley_terry_bounds[1])
            covered_by_elo.append(each.elo_bounds[0] <= true <= each.elo_bounds[1])
    assert 0.90 <= fmean(covered) <= 0.99
    assert fmean(covered_by_elo) >= 0.93
