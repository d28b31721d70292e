"""Schedules of tournaments: everybody meets everybody, seeds meet late, byes, ties, and who never came."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest

from rubrica.games.schedule import MatchRules, play_elimination, play_round_robin, round_robin, seeded_places


@pytest.mark.parametrize("count", range(2, 12))
def test_in_a_round_robin_everybody_meets_everybody_once_and_nobody_twice_in_a_stage(count: int) -> None:
    stages = round_robin(range(count))
    met = [frozenset(pair) for stage in stages for pair in stage]
    assert sorted(map(sorted, met)) == sorted(map(sorted, combinations(range(count), 2)))
    for stage in stages:
        playing = [each for pair in stage for each in pair]
        assert len(playing) == len(set(playing))
    assert len(stages) == count - 1 + count % 2


@pytest.mark.parametrize("size", [2, 4, 8, 16, 64])
def test_in_a_bracket_the_strongest_meet_as_late_as_they_can(size: int) -> None:
    places = seeded_places(size)
    assert sorted(places) == list(range(1, size + 1))
    while len(places) > 1:  # the stronger of each pair goes on: the strongest half is left each time
        assert all(one + two == len(places) + 1 for one, two in zip(places[::2], places[1::2], strict=True))
        places = [min(pair) for pair in zip(places[::2], places[1::2], strict=True)]


def test_the_strongest_rest_where_a_bracket_has_places_left() -> None:
    matches, winner = play_elimination("abcdef", {}, MatchRules())
    first = [(match.home, match.away, match.state) for match in matches if match.stage == 1]
    assert first == [("a", None, "bye"), ("d", "e", "playing"), ("b", None, "bye"), ("c", "f", "playing")]
    assert [(match.home, match.state) for match in matches if match.stage == 2] == [("a", "waiting"), ("b", "waiting")]
    assert winner is None


def test_a_match_takes_the_next_rounds_of_both() -> None:
    scores: dict[str, Sequence[float]] = {"a": [0.5, 0.9], "b": [0.4, 1.0], "c": [0.8, 0.3], "d": [0.9]}
    matches, winner = play_elimination("abcd", scores, MatchRules())
    assert [(m.home, m.away, m.winner) for m in matches] == [("a", "d", "d"), ("b", "c", "c"), ("d", "c", None)]
    assert (matches[2].state, matches[2].away_score, winner) == ("playing", 0.3, None)
    scores["d"] = [0.9, 0.2]
    assert play_elimination("abcd", scores, MatchRules())[1] == "c"


@pytest.mark.parametrize(
    ("tiebreak", "one", "two", "state", "winner"),
    [
        ("seed", [0.5], [0.5], "decided", "a"),
        ("next_round", [0.5], [0.5], "playing", None),
        ("next_round", [0.5, 0.5, 0.1], [0.5, 0.5, 0.2], "decided", "b"),
    ],
)
def test_equal_scores_are_decided_by_the_rule(
    tiebreak: str, one: list[float], two: list[float], state: str, winner: str | None
) -> None:
    (match,), won = play_elimination("ab", {"a": one, "b": two}, MatchRules(1, tiebreak))  # type: ignore[arg-type]
    assert (match.state, match.winner, won) == (state, winner, winner)


def test_who_has_not_played_loses_once_no_more_rounds_come() -> None:
    matches, winner = play_elimination("abcd", {"d": [0.1], "c": [0.2, 0.3]}, MatchRules(over=True))
    assert [(m.winner, m.reason) for m in matches] == [
        ("d", "the other did not play"),
        ("c", "the other did not play"),
        ("c", "the other did not play"),
    ]
    assert winner == "c"
    (match,), _ = play_elimination("ab", {}, MatchRules(over=True))
    assert (match.winner, match.reason) == ("a", "nobody played; the stronger seed")


def test_a_round_robin_counts_wins_and_draws() -> None:
    scores = {"a": [0.5, 0.5], "b": [0.5, 0.1], "c": [0.9, 0.9]}
    matches, table = play_round_robin("abc", scores, MatchRules(1, "draw"))
    assert [(m.home, m.away, m.winner) for m in matches] == [("b", "c", "c"), ("c", "a", "c"), ("a", "b", "a")]
    assert [(row.entrant, row.points, row.won, row.lost) for row in table] == [
        ("c", 2.0, 2, 0),
        ("a", 1.0, 1, 1),
        ("b", 0.0, 0, 2),
    ]
    _, level = play_round_robin("ab", {"a": [0.5], "b": [0.5]}, MatchRules(1, "draw"))
    assert [(row.entrant, row.points, row.drawn) for row in level] == [("a", 0.5, 1), ("b", 0.5, 1)]
