"""Leaderboards: ranks, ties, and KORGym's comparison against a plain reading of its definition."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrica.games.comparison import PlayerComparison, comparison_of
from rubrica.games.leaderboard import LeaderboardRow, by_composite, by_korgym, ranked
from rubrica.server.rubric_shapes import SPEED
from rubrica.store.games import Attachment
from rubrica.store.scores import PlayerMean

NOW = datetime(2026, 5, 1, tzinfo=UTC)
PLAYERS = {UUID(int=i): name for i, name in enumerate(("ann", "bo", "cy", "di"), 1)}
ANN, BO, CY, DI = PLAYERS


def attached(number: int, game: int, dimension: str, weight: float = 1.0) -> Attachment:
    id, slug = UUID(int=1000 + number), f"e{number}"
    return Attachment(id, UUID(int=100 + game), UUID(int=number), id, slug, slug, "1.0", 1, weight, dimension, {}, NOW)


def standing(
    attachment: Attachment, player: UUID, raw: float | None, share: float | None = None, rounds: int = 1
) -> PlayerMean:
    scored = rounds if raw is not None else 0
    return PlayerMean(
        attachment.game_id, attachment.id, player, raw, share if share is not None else raw, rounds, scored
    )


@st.composite
def tournaments(draw: st.DrawFn) -> tuple[list[Attachment], list[PlayerMean]]:
    """A few games with a few rubrics each, some players absent, some scores missing."""
    attachments, standings = [], []
    for number in range(draw(st.integers(1, 6))):
        game, dimension = draw(st.integers(1, 3)), draw(st.sampled_from(("speed", "style")))
        attachment = attached(number, game, dimension, draw(st.sampled_from((0.0, 0.25, 0.5, 1.0))))
        attachments.append(attachment)
        most = draw(st.sampled_from((1.0, 100.0)))
        for player in PLAYERS:
            if draw(st.booleans()):
                raw = draw(st.one_of(st.none(), st.sampled_from((0.0, most / 2, most)), st.floats(0, most)))
                share = None if raw is None else raw / most
                standings.append(
                    PlayerMean(attachment.game_id, attachment.id, player, raw, share, 1, 0 if raw is None else 1)
                )
    return attachments, standings


def korgym_by_hand(
    attachments: list[Attachment], standings: list[PlayerMean]
) -> dict[UUID, tuple[float | None, dict[str, float]]]:
    """Overall and per dimension, written down step by step from the definition."""
    laid_out: dict[tuple[UUID, UUID], float] = {}
    for attachment in attachments:
        scores = {
            s.player_id: s.raw_mean for s in standings if s.attachment_id == attachment.id and s.raw_mean is not None
        }
        if scores and max(scores.values()) > 1:
            scores = {player: math.log(1 + score) for player, score in scores.items()}
        for player, score in scores.items():
            low, high = min(scores.values()), max(scores.values())
            laid_out[attachment.id, player] = 0.5 if low == high else (score - low) / (high - low)
    found = {}
    for player in {s.player_id for s in standings}:
        dimensions = {}
        for dimension in sorted({a.dimension for a in attachments}):
            of_games = []
            for game in {a.game_id for a in attachments}:
                pairs = [
                    (a.weight, laid_out[a.id, player])
                    for a in attachments
                    if (a.game_id, a.dimension) == (game, dimension) and (a.id, player) in laid_out
                ]
                if pairs:
                    weights = (
                        [weight for weight, _ in pairs] if any(weight for weight, _ in pairs) else [1.0] * len(pairs)
                    )
                    of_games.append(sum(w * v for w, (_, v) in zip(weights, pairs, strict=True)) / sum(weights))
            if of_games:
                dimensions[dimension] = sum(of_games) / len(of_games)
        overall = sum(dimensions.values()) / len(dimensions) if dimensions else None
        found[player] = (overall, dimensions)
    return found


@given(tournaments())
def test_korgym_is_what_its_definition_says(tournament: tuple[list[Attachment], list[PlayerMean]]) -> None:
    expected = korgym_by_hand(*tournament)
    lines = by_korgym(*tournament)
    assert {line.player_id for line in lines} == set(expected)
    for line in lines:
        overall, dimensions = expected[line.player_id]
        assert line.score == (None if overall is None else pytest.approx(overall, abs=1e-8))
        assert line.by_dimension == pytest.approx(dimensions, abs=1e-8)


@given(tournaments(), st.data())
def test_leaderboards_are_bounded_and_free_of_order(
    tournament: tuple[list[Attachment], list[PlayerMean]], data: st.DataObject
) -> None:
    attachments, standings = tournament
    shuffled = data.draw(st.permutations(standings))
    one_game = [a for a in attachments if a.game_id == attachments[0].game_id]
    ids = {a.id for a in one_game}
    for make, over in ((by_korgym, attachments), (by_composite, one_game)):
        here = [[s for s in each if over is attachments or s.attachment_id in ids] for each in (standings, shuffled)]
        entries, again = (ranked(make(over, each), PLAYERS) for each in here)
        assert entries == again
        for entry in entries:
            values = [entry.score, entry.overall, *entry.by_dimension.values()]
            assert all(value is None or 0 <= value <= 1 for value in values)
        check_ranks(entries)


def check_ranks(entries: list[LeaderboardRow]) -> None:
    scored = [entry for entry in entries if entry.score is not None]
    assert entries[len(scored) :] == [entry for entry in entries if entry.score is None]
    for entry in scored:
        assert entry.rank == 1 + sum(other.score > entry.score for other in scored)  # type: ignore[operator]
        assert entry.tied == (sum(other.score == entry.score for other in scored) > 1)
    assert all(entry.rank is None and not entry.tied for entry in entries[len(scored) :])


def test_players_with_the_same_score_share_a_rank() -> None:
    only = attached(1, 1, "style")
    lines = by_composite([only], [standing(only, p, s) for p, s in ((ANN, 0.5), (BO, 0.9), (CY, 0.9), (DI, None))])
    entries = ranked(lines, PLAYERS)
    assert [(entry.player, entry.rank, entry.tied) for entry in entries] == [
        ("bo", 1, True),
        ("cy", 1, True),
        ("ann", 3, False),
        ("di", None, False),
    ]


def test_a_dimension_can_be_ranked_by() -> None:
    speed, style = attached(1, 1, "speed", 0.2), attached(2, 1, "style", 0.8)
    standings = [
        standing(speed, ANN, 1.0),
        standing(style, ANN, 0.0),
        standing(speed, BO, 0.0),
        standing(style, BO, 1.0),
    ]
    lines = by_composite([speed, style], standings)
    assert [entry.player for entry in ranked(lines, PLAYERS)] == ["bo", "ann"]
    first, _ = ranked(lines, PLAYERS, "speed")
    assert (first.player, first.score, first.overall) == ("ann", 1.0, 0.2)


def test_a_player_without_any_score_of_something_that_counts_is_not_ranked_and_told_why() -> None:
    speed, style = attached(1, 1, "speed", 0.25), attached(2, 1, "style", 0.75)
    (line,) = by_composite([speed, style], [standing(speed, ANN, 1.0, rounds=3)])
    assert (line.score, line.by_dimension, line.bounds) == (None, {"speed": 1.0, "style": None}, (0.25, 1.0))
    assert [missing.reason for missing in line.missing] == ["none of 3 rounds has a score"]


def test_rounds_without_a_score_are_told_and_the_mean_is_over_the_others() -> None:
    only = attached(1, 1, "style")
    (line,) = by_composite([only], [PlayerMean(only.game_id, only.id, ANN, 30.0, 0.3, 5, 4)])
    assert (line.score, line.rounds, line.missing[0].reason) == (0.3, 5, "provisional: 1 of 5 rounds has no score yet")
    assert line.open == 1
    assert line.bounds == pytest.approx((0.24, 0.44))  # 4 × 0.3 and 0 or 1, by 5


def test_points_are_compared_on_a_logarithm_and_shares_are_not() -> None:
    points, share = attached(1, 1, "points"), attached(2, 2, "share")
    standings = [standing(points, p, s) for p, s in ((ANN, 0.0), (BO, 9.0), (CY, 99.0))]
    standings += [standing(share, p, s) for p, s in ((ANN, 0.0), (BO, 0.1), (CY, 1.0))]
    values = {line.player_id: line.by_dimension for line in by_korgym([points, share], standings)}
    assert values[BO] == {"points": 0.5, "share": 0.1}


def test_a_game_that_a_player_did_not_play_does_not_count_against_them() -> None:
    one, other = attached(1, 1, "style"), attached(2, 2, "style")
    standings = [standing(one, ANN, 0.9), standing(one, BO, 0.1), standing(other, BO, 0.9), standing(other, CY, 0.1)]
    lines = {line.player_id: line for line in by_korgym([one, other], standings)}
    assert (lines[ANN].score, lines[ANN].games) == (1.0, 1)
    assert (lines[BO].score, lines[BO].games) == (0.5, 2)


CONFIGURATIONS = {  # points 10, 15 and 40 of at most 50: what each lays out, and what is weighed, worked out by hand
    ("none", False): ((10, 15, 40), (0.2, 0.3, 0.8)),
    ("percentage_of_max", False): ((0.2, 0.3, 0.8), (0.2, 0.3, 0.8)),
    ("percentage_of_max", True): ((0.609868, 0.705166, 0.944490),) * 2,  # ln 11, ln 16 and ln 41, by ln 51
    ("min_max", False): ((0, 1 / 6, 1),) * 2,
    ("log", False): ((0, 0.284792, 1),) * 2,  # (ln 16 - ln 11) / (ln 41 - ln 11)
    # the mean is 65/3, the variance (35² + 20² + 55²) / 27; then the normal distribution below
    ("z_score", False): ((-0.889001, -0.508001, 1.397001), (0.187001, 0.305726, 0.918793)),
}


@pytest.mark.parametrize("asked", CONFIGURATIONS, ids=lambda asked: "-".join(map(str, asked)))
def test_each_normalisation_gives_what_is_worked_out_by_hand(asked: tuple[str, bool]) -> None:
    only = attached(1, 1, "points")
    definition = {
        "scoring_type": "cumulative",
        "max_score": 50,
        "normalization_config": {"method": asked[0], "apply_log": asked[1]},
    }
    means = [standing(only, player, raw, raw / 50) for player, raw in ((ANN, 10.0), (BO, 15.0), (CY, 40.0))]
    lines = by_composite([only], means, {only.id: comparison_of(definition)})
    shown, weighed = CONFIGURATIONS[asked]
    assert [line.scores[0].raw for line in lines] == [10, 15, 40]
    assert [line.scores[0].normalized for line in lines] == pytest.approx(shown, abs=1e-6)
    assert [line.score for line in lines] == pytest.approx(weighed, abs=1e-6)
    assert {line.scores[0].method for line in lines} == {asked[0]}


def test_rubrics_that_compare_differently_are_weighed_together() -> None:
    speed, style = attached(1, 1, "speed", 0.4), attached(2, 1, "style", 0.6)
    means = [standing(speed, p, raw, raw / 100) for p, raw in ((ANN, 50.0), (BO, 100.0))]
    means += [standing(style, p, raw, raw / 100) for p, raw in ((ANN, 25.0), (BO, 10.0))]
    said = {speed.id: PlayerComparison("min_max", maximum=100), style.id: PlayerComparison("none", maximum=100)}
    lines = {line.player_id: line for line in by_composite([speed, style], means, said)}
    assert [lines[ANN].score, lines[BO].score] == pytest.approx([0.15, 0.46])
    assert lines[ANN].bounds is None  # it hangs on the others
    assert by_composite([speed, style], means)[0].score == pytest.approx(0.35)


def test_a_lone_player_has_nobody_to_be_compared_with() -> None:
    only = attached(1, 1, "style")
    for method in ("min_max", "log", "z_score"):
        (line,) = by_composite(
            [only], [standing(only, ANN, 40.0, 0.4)], {only.id: PlayerComparison(method, maximum=100)}
        )
        assert line.score == 0.4


@pytest.mark.parametrize(
    ("definition", "maximum"),
    [
        ({"name": "n", "dimensions": {}, "score": {"out_of": 10}, "normalization": {"method": "z_score"}}, 10),
        ({"name": "n", "dimensions": {}}, 1),
        ({"scoring_type": "binary", "rules": []}, 1),
        (SPEED, 100),  # worked out from its rules
    ],
)
def test_the_most_points_are_read_off_a_definition(definition: dict[str, Any], maximum: float) -> None:
    assert comparison_of(definition).maximum == maximum


def test_a_lone_player_is_neither_best_nor_worst() -> None:
    only = attached(1, 1, "style")
    assert by_korgym([only], [standing(only, ANN, 40.0)])[0].score == 0.5
