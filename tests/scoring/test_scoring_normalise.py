"""Normalisation alone and over a set."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.scoring.normalise import dimension_means, log_scores, min_max, over_set, share_of_max, z_scores

scores = st.dictionaries(st.text(min_size=1, max_size=3), st.floats(-1e6, 1e6), min_size=1, max_size=8)


@given(scores, st.sampled_from(["min_max", "log"]))
def test_a_normalised_set_lies_between_0_and_1_and_keeps_the_order(values: dict[str, float], method: str) -> None:
    result = over_set(values, method)  # type: ignore[arg-type]
    assert all(0 <= value <= 1 for value in result.values())
    clipped = (
        {key: max(value, 0.0) for key, value in values.items()}
        if method == "log" and max(values.values()) > 1
        else values
    )
    for a in values:
        for b in values:
            if clipped[a] < clipped[b]:
                assert result[a] <= result[b]


@given(scores)
def test_the_order_of_players_does_not_matter(values: dict[str, float]) -> None:
    backwards = dict(reversed(list(values.items())))
    assert over_set(values, "log") == over_set(backwards, "log")


def test_equal_scores_are_all_one_half() -> None:
    assert min_max({"a": 3.0, "b": 3.0}) == {"a": 0.5, "b": 0.5}


def test_the_log_applies_to_a_whole_game_or_not_at_all() -> None:
    assert log_scores({"a": 0.2, "b": 1.0}) == {"a": 0.2, "b": 1.0}
    assert log_scores({"a": 0.2, "b": 3.0}) == {"a": math.log1p(0.2), "b": math.log1p(3.0)}


def test_a_dimension_is_the_mean_over_its_games() -> None:
    games = {"g1": {"ann": 1.0, "bo": 3.0}, "g2": {"ann": 9.0, "bo": 4.0, "cy": 4.0}, "g3": {"ann": 1.0}}
    means = dimension_means(games, {"g1": "wit", "g2": "wit", "g3": "pace"})
    assert means["wit"] == {"ann": 0.5, "bo": 0.5, "cy": 0.0}
    assert means["pace"] == {"ann": 0.5}


def test_z_scores_take_out_a_judges_harshness() -> None:
    harsh, kind = z_scores({"a": 2.0, "b": 4.0}), z_scores({"a": 7.0, "b": 9.0})
    assert harsh == kind == {"a": -1.0, "b": 1.0}
    assert z_scores({"a": 5.0, "b": 5.0}) == {"a": 0.0, "b": 0.0}


def test_what_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="1 of 2"):
        over_set({"a": math.nan, "b": 1.0}, "min_max")
    with pytest.raises(ValueError, match="above 0"):
        share_of_max(1.0, 0.0)
