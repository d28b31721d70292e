"""Games on both databases: weights, versions, rounds and their history, composites, leaderboards, who may what."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import msgspec
import pytest
from sqlalchemy import select

from databases import Opened
from games_table import Table
from older_databases import make_older
from rubrica.errors import ConflictError, DeniedError, InputError, MissingError, RubricError
from rubrica.games import attachments, games, leaderboard_access, players, rounds
from rubrica.games.attachments import AttachmentRequest
from rubrica.games.board_cache import BoardCache
from rubrica.games.execution import ExecutionDraft, open_surroundings
from rubrica.games.turns import MovedError
from rubrica.model.context import Context
from rubrica.model.evaluation import Evaluation
from rubrica.store.scores import ScoreQuery
from rubrica.store.tables import game_players
from rubrica.store.upgrade import upgrade
from rubrica.workspace import catalogue, scores
from rubrica.workspace.access import Caller
from rubrica.workspace.draft import read_draft
from rubrica.workspace.entry import ANYTHING

NORM, SPEED, RIGOR = "norm-macdonald-classic", "speed-demon", "scientific-rigor-pro"
JUDGED = {
    "name": "needs-a-judge",
    "on_unscored": "inconclusive",
    "dimensions": {
        "brief": {"weight": 0.5, "formula": "1 if word_count < 9 else 0"},
        "wise": {"weight": 0.5, "asks": "Is it wise?", "scorer": "judge"},
    },
    "verdicts": [{"label": "pass", "when": "score >= 0.9"}, {"label": "fail"}],
}


@pytest.fixture
def table(database: Opened) -> Table:
    found = Table(database)
    for name, role in (("ann", "author"), ("pat", "player"), ("vic", "viewer"), ("eve", "author"), ("root", "admin")):
        found.person(name, role)  # type: ignore[arg-type]
    found.bundled(found.people["ann"])
    return found


@pytest.fixture
def ann(table: Table) -> Caller:
    return table.people["ann"]


@pytest.fixture
def pat(table: Table) -> Caller:
    return table.people["pat"]


# --- attaching --------------------------------------------------------------------------------------------


def test_attached_weights_sum_to_one_or_nothing_is_attached(table: Table, ann: Caller) -> None:
    game = table.game(ann)
    with pytest.raises(InputError, match=r"would sum to 0\.6, not 1: .*renormalise"):
        table.attach(ann, game, AttachmentRequest(NORM, 0.6))
    assert table.database.read(attachments.attached, ann, game).rubrics == []
    done = table.attach(ann, game, AttachmentRequest(NORM, 0.6, "style"), AttachmentRequest(SPEED, 0.4, "speed"))
    assert [(a.slug, a.weight, a.dimension, a.version) for a in done.rubrics] == [
        (NORM, 0.6, "style", "1.0"),
        (SPEED, 0.4, "speed", "1.0"),
    ]
    assert done.sum == 1.0
    with pytest.raises(InputError, match=r"would sum to 1\.5"):
        table.attach(ann, game, AttachmentRequest(RIGOR, 0.5))


@pytest.mark.parametrize("weights", [(0.333, 0.333, 0.333), (0.3335, 0.3335, 0.334)])
def test_a_sum_within_the_tolerance_will_do(table: Table, ann: Caller, weights: tuple[float, ...]) -> None:
    wishes = [AttachmentRequest(slug, weight) for slug, weight in zip((NORM, SPEED, RIGOR), weights, strict=True)]
    assert table.attach(ann, table.game(ann), *wishes).sum == pytest.approx(1, abs=0.0011)


def test_renormalising_scales_all_that_is_attached(table: Table, ann: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    done = table.attach(ann, game, AttachmentRequest(SPEED, 0.5), AttachmentRequest(RIGOR, 0.5), weights="renormalise")
    assert [a.weight for a in done.rubrics] == [0.5, 0.25, 0.25]
    with pytest.raises(InputError, match="every weight is 0"):
        table.replace(ann, game, AttachmentRequest(SPEED, 0), weights="renormalise")


def test_all_problems_of_a_request_are_told_at_once(table: Table, ann: Caller) -> None:
    with pytest.raises(RubricError) as refused:
        table.attach(
            ann,
            table.game(ann),
            AttachmentRequest(NORM, 1.5),
            AttachmentRequest(SPEED, -0.5, None, {"max_score": "much"}),
        )
    places = {problem.where for problem in refused.value.problems}
    assert places == {"rubrics[0].weight", "rubrics[1].weight", "rubrics[1].config_overrides.max_score"}


def test_the_dimension_is_the_slug_unless_it_is_named(table: Table, ann: Caller) -> None:
    done = table.attach(ann, table.game(ann), AttachmentRequest(NORM))
    assert done.rubrics[0].dimension == NORM


def test_replacing_keeps_what_was_attached_just_so_with_its_scores(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    before = table.attach(ann, game, AttachmentRequest(NORM, 0.5), AttachmentRequest(SPEED, 0.5))
    table.say(pat, game, "In 1974.", metadata={"response_time": 5})
    after = table.replace(ann, game, AttachmentRequest(NORM, 0.9), AttachmentRequest(RIGOR, 0.1))
    assert [(a.slug, a.weight) for a in after.rubrics] == [(NORM, 0.9), (RIGOR, 0.1)]
    assert after.rubrics[0].id == before.rubrics[0].id
    (line,) = table.database.read(rounds.list_rounds, pat, game, None, None, 9)
    assert line.composite.by_dimension == {NORM: 0.1, RIGOR: None}
    assert [missing.reason for missing in line.composite.missing] == ["not judged yet"]


def test_taking_one_off_leaves_a_sum_of_one(table: Table, ann: Caller) -> None:
    game = table.game(ann)
    one, other = table.attach(ann, game, AttachmentRequest(NORM, 0.5), AttachmentRequest(SPEED, 0.5)).rubrics
    with pytest.raises(InputError, match=r"would sum to 0\.5"):
        table.database.write(attachments.detach, ann, game, one.id, "exact", table.now)
    left = table.database.write(attachments.detach, ann, game, one.id, "renormalise", table.now)
    assert [(a.id, a.weight) for a in left.rubrics] == [(other.id, 1.0)]
    assert table.database.write(attachments.detach, ann, game, other.id, "exact", table.now).rubrics == []
    with pytest.raises(MissingError):
        table.database.write(attachments.detach, ann, game, other.id, "exact", table.now)


def test_a_game_stays_at_the_version_it_was_given(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(SPEED))
    entry = table.database.read(catalogue.entry, ann, SPEED)
    changed = {**entry.version.definition, "rules": [{"type": "custom_expression", "expression": "7"}], "max_score": 10}
    newer = table.database.write(catalogue.update, ann, SPEED, read_draft(changed), ANYTHING, table.now)
    assert newer.version.version == "1.1"
    given = table.say(pat, game, "Done.", metadata={"response_time": 20})
    assert (given.scores[0].version, given.scores[0].normalized_score) == ("1.0", 0.5)
    assert table.replace(ann, game, AttachmentRequest(SPEED)).rubrics[0].version == "1.1"
    assert table.say(pat, game, "Done.").scores[0].normalized_score == 0.7
    table.database.write(catalogue.delete, ann, SPEED, ANYTHING, table.now)
    assert table.say(pat, game, "Done.").scores[0].version == "1.1"
    kept = table.database.read(attachments.attached, ann, game).rubrics[0]
    again = table.replace(ann, game, AttachmentRequest(str(kept.rubric_id), 1.0, None, None, "1.1"))
    assert again.rubrics[0].id == kept.id


def test_an_older_version_can_be_asked_for(table: Table, ann: Caller) -> None:
    entry = table.database.read(catalogue.entry, ann, SPEED)
    draft = read_draft({**entry.version.definition, "max_score": 500})
    table.database.write(catalogue.update, ann, SPEED, draft, ANYTHING, table.now)
    game = table.game(ann)
    assert table.attach(ann, game, AttachmentRequest(SPEED, 1.0, version="1.0")).rubrics[0].revision == 1
    assert table.replace(ann, game, AttachmentRequest(f"{SPEED}@1.0")).rubrics[0].revision == 1


def test_overrides_change_the_game_and_nothing_else(table: Table, ann: Caller, pat: Caller) -> None:
    plain, halved = table.game(ann), table.game(ann)
    table.attach(ann, plain, AttachmentRequest(NORM))
    table.attach(ann, halved, AttachmentRequest(NORM, 1.0, None, {"max_score": 50}))
    assert table.say(pat, plain, "In 1974.").composite.score == 0.1
    assert table.say(pat, halved, "In 1974.").composite.score == 0.2


# --- rounds -----------------------------------------------------------------------------------------------


def test_rounds_are_numbered_and_judged_beside_the_players_own_history(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    first = table.say(pat, game, "In 1974 I met Gerald Fitzwilliam, a podiatrist.")
    assert (first.round_number, first.player, first.composite.score) == (1, "pat", 0.25)
    table.play(ann, game, {"player": "somebody else", "round": {"response": "My moth, Bernard, was there."}})
    second = table.say(pat, game, "And then Gerald came back.")
    rules = {line.rule: line.points for line in second.scores[0].rule_breakdown}
    assert second.round_number == 2
    assert rules == {"entity_mentions: callback": 25, "entity_mentions: consistency": 20}
    third = table.say(pat, game, "Bernard said nothing, which is a joke.")
    assert {line.rule for line in third.scores[0].rule_breakdown} == {"funny, humor, joke, comedy"}
    assert (third.scores[0].raw_score, third.composite.score) == (0, 0)


def test_what_was_found_in_a_round_is_kept_with_it(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    table.say(
        pat, game, "In 1974 I met Gerald, in 1975 a doctor. That was a joke.", prompt="Go on.", metadata={"mood": 3}
    )
    view = table.database.read(rounds.view_round, pat, game, "pat", 1)
    assert view.content["entities_mentioned"] == ["gerald"]
    assert view.content["patterns_detected"] == {
        "year_mention_1970s": 1,
        "medical_reference": 1,
        "funny, humor, joke, comedy": 1,
    }
    assert (view.content["prompt"], view.content["metadata"]) == ("Go on.", {"mood": 3, "round_number": 1})
    assert [score.raw_score for score in view.scores] == [0]
    assert {line["rule"] for line in view.scores[0].rule_breakdown} == view.content["patterns_detected"].keys()


def test_a_score_keeps_its_context_and_refers_to_earlier_rounds(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann, mood="dry")
    table.attach(ann, game, AttachmentRequest(NORM))
    table.say(pat, game, "In 1974 I met Gerald.")
    given = table.say(pat, game, "Gerald again.")
    score = table.database.read(scores.view_score, pat, given.scores[0].id)
    context = Context.of(score.context_snapshot)
    assert (context.response, context.game_config, context.session_id) == ("Gerald again.", {"mood": "dry"}, str(game))
    assert context.metadata.round_number == 2
    assert [(r.round_number, r.scores) for r in context.round_history] == [(1, {"composite": 0.1, NORM: 0.1})]
    assert Evaluation.from_json(msgspec.json.encode(score.record)).score == given.scores[0].normalized_score


def test_earlier_scores_can_be_tracked_by_dimension(table: Table, ann: Caller, pat: Caller) -> None:
    rising = {
        "name": "Rising",
        "scoring_type": "cumulative",
        "max_score": 10,
        "rules": [{"type": "cross_round_analysis", "track": "style", "scoring": {"escalation_detected": 10}}],
    }
    table.rubric(ann, rising)
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM, 0.5, "style"), AttachmentRequest("rising", 0.5))
    table.say(pat, game, "Nothing.")
    table.say(pat, game, "In 1974.")
    third = table.say(pat, game, "A doctor in 1974.", custom_metrics={"style": 0.25})
    assert third.composite.by_dimension == {"style": 0.25, "rising": 1.0}


def test_several_rounds_are_judged_in_turn_and_see_each_other(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    sent = [
        {"response": "I met Gerald."},
        {"response": "Gerald again.", "round_number": 5},
        {"response": "And Gerald."},
    ]
    given = table.play(pat, game, {"rounds": sent})
    assert [(r.round_number, r.composite.score) for r in given] == [(1, 0.0), (5, 0.45), (6, 0.45)]


def test_a_round_without_a_number_follows_the_highest_one(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.say(pat, game, "Five.", round_number=5)
    given = table.play(pat, game, {"rounds": [{"response": "Two.", "round_number": 2}, {"response": "Six."}]})
    assert [r.round_number for r in given] == [2, 6]


def test_a_late_round_is_judged_beside_what_came_before_it_only(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    table.say(pat, game, "I met Gerald.", round_number=7)
    assert table.say(pat, game, "Gerald again.", round_number=3).composite.score == 0.0
    assert table.say(pat, game, "Gerald, Gerald.").round_number == 8


def test_a_number_that_is_taken_is_refused_and_nothing_is_kept(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    table.say(pat, game, "One.", metadata={"round_number": 1})
    with pytest.raises(ConflictError, match="pat has played round 1 already"):
        table.play(pat, game, {"rounds": [{"response": "Two."}, {"response": "One again.", "round_number": 1}]})
    assert len(table.database.read(rounds.list_rounds, pat, game, None, None, 9)) == 1


def test_who_was_quicker_makes_the_other_judge_again(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    table.say(pat, game, "I met Gerald.")
    waiting = table.judged(pat, game, {"round": {"response": "Gerald?"}})
    table.say(pat, game, "Nobody.")
    with pytest.raises(MovedError):
        table.database.write(rounds.keep_rounds, waiting)
    assert [r.round_number for r in table.database.read(rounds.list_rounds, pat, game, None, None, 9)] == [1, 2]


def test_a_changed_set_of_rubrics_makes_a_waiting_round_be_judged_again(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    waiting = table.judged(pat, game, {"round": {"response": "A doctor."}})
    table.replace(ann, game, AttachmentRequest(SPEED))
    with pytest.raises(MovedError):
        table.database.write(rounds.keep_rounds, waiting)
    assert table.database.read(players.list_players, pat, None, 9) == []


def test_two_who_make_the_same_player_do_not_make_two(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    one, other = (table.judged(pat, game, {"round": {"response": text}}) for text in ("One.", "Other."))
    table.database.write(rounds.keep_rounds, one)
    with pytest.raises(MovedError):
        table.database.write(rounds.keep_rounds, other)
    assert [player.name for player in table.database.read(players.list_players, pat, None, 9)] == ["pat"]


def test_rounds_kept_before_anything_was_attached_are_judged_later(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    assert table.say(pat, game, "I met Gerald.").composite.score is None
    table.say(pat, game, "Gerald, a doctor.")
    table.attach(ann, game, AttachmentRequest(NORM, 0.5, "style"), AttachmentRequest(SPEED, 0.5))
    caught_up = table.play(ann, game, {})
    assert [(r.round_number, len(r.scores)) for r in caught_up] == [(1, 2), (2, 2)]
    assert caught_up[1].composite.by_dimension["style"] == 0.6
    assert table.play(ann, game, {}) == []
    table.attach(ann, game, AttachmentRequest(RIGOR, 1.0), weights="renormalise")
    again = table.play(pat, game, {})
    assert [[score.rubric for score in r.scores] for r in again] == [[RIGOR], [RIGOR]]


def test_catching_up_is_for_ones_own_rounds_unless_one_made_the_game(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.say(pat, game, "Mine.")
    table.play(ann, game, {"player": "bot", "round": {"response": "Its."}})
    table.attach(ann, game, AttachmentRequest(NORM))
    assert [r.player for r in table.judged(pat, game, {}).told] == ["pat"]
    assert [r.player for r in table.judged(ann, game, {"player": "bot"}).told] == ["bot"]
    assert sorted(r.player for r in table.judged(ann, game, {}).told) == ["bot", "pat"]


def test_two_who_catch_up_at_once_do_not_score_twice(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.say(pat, game, "Mine.")
    table.attach(ann, game, AttachmentRequest(NORM))
    one, other = table.judged(ann, game, {}), table.judged(pat, game, {})
    table.database.write(rounds.keep_rounds, one)
    with pytest.raises(MovedError):
        table.database.write(rounds.keep_rounds, other)


def test_a_missing_score_leaves_the_composite_open_within_bounds(table: Table, ann: Caller, pat: Caller) -> None:
    table.rubric(ann, JUDGED)
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM, 0.5), AttachmentRequest("needs-a-judge", 0.5, "wisdom"))
    given = table.say(pat, game, "In 1974.")
    assert (given.composite.score, given.composite.bounds) == (None, (0.3, 0.55))
    assert [missing.dimension for missing in given.composite.missing] == ["wisdom"]
    view = table.database.read(rounds.view_round, pat, game, "pat", 1)
    assert view.composite == given.composite
    board = table.database.read(leaderboard_access.of_game, pat, game, "composite", None)
    assert [(e.rank, e.score, e.by_dimension) for e in board.items] == [(None, None, {NORM: 0.1, "wisdom": None})]


# --- leaderboards -----------------------------------------------------------------------------------------


def test_a_leaderboard_ranks_players_overall_and_by_dimension(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM, 0.75, "style"), AttachmentRequest(SPEED, 0.25, "speed"))
    for name, text, seconds in (("bo", "A doctor in 1974.", 30), ("cy", "Hm.", 5), ("di", "A doctor in 1974.", 30)):
        table.play(ann, game, {"player": name, "round": {"response": text, "metadata": {"response_time": seconds}}})
    board = table.database.read(leaderboard_access.of_game, pat, game, "composite", None)
    assert [(e.player, e.rank, e.tied, e.score) for e in board.items] == [
        ("cy", 1, False, 0.25),
        ("bo", 2, True, 0.1875),
        ("di", 2, True, 0.1875),
    ]
    assert board.dimensions == ["speed", "style"]
    by_style = table.database.read(leaderboard_access.of_game, pat, game, "composite", "style")
    assert [(e.player, e.score) for e in by_style.items] == [("bo", 0.25), ("di", 0.25), ("cy", 0.0)]
    korgym = table.database.read(leaderboard_access.of_game, pat, game, "korgym", None)
    assert [(e.player, e.score, e.by_dimension) for e in korgym.items] == [
        ("bo", 0.5, {"style": 1.0, "speed": 0.0}),
        ("cy", 0.5, {"style": 0.0, "speed": 1.0}),
        ("di", 0.5, {"style": 1.0, "speed": 0.0}),
    ]
    with pytest.raises(MissingError, match="speed, style"):
        table.database.read(leaderboard_access.of_game, pat, game, "composite", "charm")


def test_games_that_one_may_not_see_do_not_count_across_games(table: Table, ann: Caller, pat: Caller) -> None:
    for public, winner in ((True, "bo"), (False, "cy")):
        game = table.game(ann, public=public)
        table.vouch(game)
        table.attach(ann, game, AttachmentRequest(NORM, 1.0, "style"))
        for name in ("bo", "cy"):
            text = "In 1974." if name == winner else "Hm."
            table.play(ann, game, {"player": name, "round": {"response": text}})
    seen = table.database.read(leaderboard_access.across_games, pat, None)
    assert [(e.player, e.score, e.games) for e in seen.items] == [("bo", 1.0, 1), ("cy", 0.0, 1)]
    own = table.database.read(leaderboard_access.across_games, ann, None)
    assert [(e.player, e.rank, e.tied, e.score, e.games) for e in own.items] == [
        ("bo", 1, True, 0.5, 2),
        ("cy", 1, True, 0.5, 2),
    ]


def test_a_large_board_across_games_is_kept_for_a_little_but_not_who_sees_it(
    table: Table, ann: Caller, pat: Caller
) -> None:
    game = table.game(ann, public=True)
    table.vouch(game)
    table.attach(ann, game, AttachmentRequest(NORM, 1.0, "style"))
    table.play(ann, game, {"player": "bo", "round": {"response": "In 1974."}})
    seconds = [0.0]
    cache = BoardCache(lambda: seconds[0], large=0)

    def names(caller: Caller) -> list[str]:
        board = table.database.read(leaderboard_access.across_games, caller, None, cache)
        return sorted(row.player for row in board.items)

    assert names(pat) == ["bo"]
    table.play(ann, game, {"player": "cy", "round": {"response": "Hm."}})
    assert names(pat) == ["bo"]
    seconds[0] = 2.0
    assert names(pat) == ["bo", "cy"]
    table.database.write(games.change_game, ann, game, {"is_public": False}, table.now)
    assert names(pat) == []


def test_what_was_taken_off_counts_no_more(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM, 0.5, "style"), AttachmentRequest(SPEED, 0.5, "speed"))
    table.say(pat, game, "In 1974.", metadata={"response_time": 1})
    table.replace(ann, game, AttachmentRequest(SPEED, 1.0, "speed"))
    (entry,) = table.database.read(leaderboard_access.of_game, pat, game, "composite", None).items
    assert (entry.score, entry.by_dimension) == (1.0, {"speed": 1.0})
    found = table.database.read(scores.list_scores, pat, ScoreQuery(game_id=game), None, 9)
    assert sorted(score.rubric for score in found) == [NORM, SPEED]


# --- who may what -----------------------------------------------------------------------------------------


def test_a_private_game_is_not_there_for_others_until_they_play_in_it(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann, public=False)
    for name in ("pat", "vic", "eve"):
        with pytest.raises(MissingError):
            table.database.read(games.view_game, table.people[name], game)
        assert table.database.read(games.list_games, table.people[name], False, None, 9) == []
    assert table.database.read(games.view_game, table.people["root"], game).game.id == game
    made = table.database.write(players.create_player, ann, "Pat's moth", {}, "pat", table.now)
    table.play(ann, game, {"player": str(made.id), "round": {"response": "Hm."}})
    assert table.database.read(games.view_game, pat, game).game.id == game
    assert [found.id for found in table.database.read(games.list_games, pat, False, None, 9)] == [game]
    assert table.say(pat, game, "Mine.").player == "Pat's moth"
    with pytest.raises(MissingError):
        table.database.read(games.view_game, table.people["vic"], game)


def test_only_who_made_a_game_attaches_and_changes(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    for name, why in (("pat", "needs the role author"), ("eve", "for whoever made it")):
        with pytest.raises(DeniedError, match=why):
            table.attach(table.people[name], game, AttachmentRequest(NORM))
        with pytest.raises(DeniedError, match=why):
            table.database.write(games.change_game, table.people[name], game, {"name": "Mine now"}, table.now)
    with pytest.raises(DeniedError, match="needs the role author"):
        table.game(pat)
    assert table.attach(table.people["root"], game, AttachmentRequest(NORM)).sum == 1.0
    changed = table.database.write(
        games.change_game, ann, game, {"name": "Moth day", "is_public": False}, table.now
    ).game
    assert (changed.name, changed.is_public) == ("Moth day", False)


def test_somebody_elses_private_rubric_cannot_be_attached(table: Table, ann: Caller) -> None:
    secret = table.rubric(table.people["eve"], {**JUDGED, "name": "secret"})
    with pytest.raises(MissingError):
        table.attach(ann, table.game(ann), AttachmentRequest(str(secret)))


def test_a_player_plays_as_themselves_only(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    table.play(ann, game, {"player": "bot", "round": {"response": "Its."}})
    bot = table.database.read(rounds.list_rounds, ann, game, None, None, 9)[0].player_id
    for wanted in ("bot", "somebody"):
        with pytest.raises(DeniedError):
            table.play(pat, game, {"player": wanted, "round": {"response": "Mine."}})
    with pytest.raises(MissingError, match="that you may submit for"):
        table.play(pat, game, {"player": str(bot), "round": {"response": "Mine."}})
    assert table.play(pat, game, {"player": "pat", "round": {"response": "Mine."}})[0].player == "pat"
    with pytest.raises(DeniedError, match="needs the role player"):
        table.play(table.people["vic"], game, {"round": {"response": "Hm."}})
    with pytest.raises(MissingError):
        table.play(ann, game, {"player": str(UUID(int=9)), "round": {"response": "Hm."}})


def test_nobody_submits_for_a_player_who_did_not_join(table: Table, ann: Caller, pat: Caller) -> None:
    secret = table.database.write(players.create_player, pat, "pat", {"secret": "likes moths"}, None, table.now)
    game, evil = table.game(ann), table.game(table.people["eve"])
    for host, own in ((ann, game), (table.people["eve"], evil)):
        table.attach(host, own, AttachmentRequest(NORM))
        told = []
        for wanted in (secret.id, UUID(int=9)):
            with pytest.raises(MissingError, match="that you may submit for") as caught:
                table.play(host, own, {"player": str(wanted), "round": {"response": "In 1974."}})
            told.append(str(caught.value).replace(str(wanted), "ID"))
            draft = ExecutionDraft({"response": "Hm."}, own, wanted)
            with pytest.raises(MissingError):
                table.database.read(open_surroundings, host, draft)
        assert told[0] == told[1]  # whether there is such a player is told to nobody
        with pytest.raises(MissingError):
            table.database.read(players.view_player, host, secret.id)
    table.say(pat, game, "Mine.")  # which joins ann's game, and not eve's
    (given,) = table.play(ann, game, {"player": "pat", "round": {"response": "For pat."}})
    assert given.player_id == secret.id
    assert table.database.read(players.view_player, ann, secret.id).info == {"secret": "likes moths"}
    with pytest.raises(MissingError):
        table.database.read(players.view_player, table.people["eve"], secret.id)
    for take in (
        lambda: table.play(table.people["eve"], evil, {"player": "pat", "round": {"response": "In 1974."}}),
        lambda: table.database.write(players.create_player, table.people["eve"], "pat", {}, None, table.now),
    ):
        with pytest.raises(ConflictError, match="pat has a key here and plays for themselves"):
            take()  # nobody would see that it is another pat


def test_a_player_joins_and_leaves_by_whoever_stands_behind_it(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    mine = table.database.write(players.create_player, pat, "pat", {"secret": 1}, None, table.now)
    with pytest.raises(MissingError):
        table.database.write(players.join_game, ann, game, mine.id, table.now)
    for _ in range(2):
        assert table.database.write(players.join_game, pat, game, mine.id, table.now) == mine
    score = table.play(ann, game, {"player": str(mine.id), "round": {"response": "In 1974."}})[0].scores[0].id
    assert table.database.read(scores.view_score, ann, score).context_snapshot["player_info"] == {"secret": 1}
    table.database.write(players.leave_game, pat, game, mine.id)
    with pytest.raises(MissingError, match="has not joined"):
        table.database.write(players.leave_game, pat, game, mine.id)
    with pytest.raises(MissingError):
        table.play(ann, game, {"player": str(mine.id), "round": {"response": "In 1974."}})
    assert "player_info" not in table.database.read(scores.view_score, ann, score).context_snapshot
    assert table.database.read(scores.view_score, pat, score).context_snapshot["player_info"] == {"secret": 1}
    table.attach(ann, game, AttachmentRequest(SPEED), weights="renormalise")
    assert table.judged(ann, game, {}).told == []  # kept rounds of who left are not judged again for the host
    made = table.database.write(players.create_player, ann, "Pat's moth", {}, "pat", table.now)
    with pytest.raises(DeniedError, match="who joins and leaves games by themselves"):
        table.database.write(players.join_game, ann, game, made.id, table.now)
    with pytest.raises(DeniedError, match="needs the role player"):
        table.database.write(players.join_game, table.people["vic"], game, made.id, table.now)


def test_across_games_only_rounds_count_that_the_player_agreed_to(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.vouch(game)
    table.attach(ann, game, AttachmentRequest(NORM))
    made = table.database.write(players.create_player, ann, "Pat's moth", {}, "pat", table.now)
    table.play(ann, game, {"player": str(made.id), "round": {"response": "Hm."}})
    table.play(ann, game, {"player": "bot", "round": {"response": "In 1974."}})

    def names(caller: Caller) -> set[str]:
        return {entry.player for entry in table.database.read(leaderboard_access.across_games, caller, None).items}

    for caller in (ann, pat, table.people["root"]):
        assert names(caller) == {"bot"}
    board = table.database.read(leaderboard_access.of_game, ann, game, "composite", None)
    assert {entry.player for entry in board.items} == {"bot", "Pat's moth"}
    table.database.write(players.join_game, pat, game, made.id, table.now)
    assert names(ann) == {"bot", "Pat's moth"}
    table.database.write(players.leave_game, pat, game, made.id)
    table.play(table.people["root"], game, {"player": str(made.id), "round": {"response": "By an admin."}})
    assert names(ann) == {"bot"}


def test_whoever_played_before_players_joined_has_joined_by_playing(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    mine = table.database.write(players.create_player, pat, "pat", {}, None, table.now)
    model = table.play(ann, game, {"player": "bot", "round": {"response": "Its."}})[0].player_id
    table.play(table.people["root"], game, {"player": str(mine.id), "round": {"response": "Not by pat."}})

    table.database.write(make_older, "0002")
    asyncio.run(upgrade(table.database.url))
    joined = table.database.read(lambda conn: conn.execute(select(game_players.c.player_id)).scalars().all())
    assert joined == [model]


def test_names_are_of_the_game_first_and_then_of_who_gives_them(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    theirs = table.database.write(players.create_player, pat, "llama", {}, None, table.now).id
    table.database.write(players.join_game, pat, game, theirs, table.now)
    assert table.play(ann, game, {"player": "llama", "round": {"response": "Pat's."}})[0].player_id == theirs
    other = table.game(ann)
    own = table.play(ann, other, {"player": "llama", "round": {"response": "Another one."}})[0].player_id
    assert own != theirs
    table.play(ann, game, {"player": str(own), "round": {"response": "Both here now."}})
    with pytest.raises(ConflictError, match="several players here are called llama"):
        table.play(ann, game, {"player": "llama", "round": {"response": "Which?"}})


def test_scores_are_for_who_made_them_who_played_and_who_made_the_game(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    score = table.say(pat, game, "In 1974.").scores[0].id
    for name in ("ann", "pat", "root"):
        assert table.database.read(scores.view_score, table.people[name], score).rubric == NORM
        listed = table.database.read(scores.list_scores, table.people[name], ScoreQuery(game_id=game), None, 9)
        assert [line.id for line in listed] == [score]
    for name in ("vic", "eve"):
        with pytest.raises(MissingError):
            table.database.read(scores.view_score, table.people[name], score)
        assert table.database.read(scores.list_scores, table.people[name], ScoreQuery(game_id=game), None, 9) == []


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"surprise": 1}, "surprise"),
        ({"rounds": 5}, "rounds"),
        ({"round": "Hm."}, "round"),
        ({"round": {"response": 5}}, "round"),
        ({"round": {"round_number": 0}}, "round.round_number"),
        ({"round": {"round_number": 10**12}}, "round.round_number"),
        ({"round": {"round_number": 1, "metadata": {"round_number": 2}}}, "round.round_number"),
        ({"round": {"round_history": []}}, "round.round_history"),
        ({"round": {}}, "round"),
        ({"rounds": [{"response": "x"}, {"custom_metrics": {"x": 10**30}}]}, "rounds[1].custom_metrics.x"),
        ({"rounds": [{"round_number": 1}, {"round_number": 1}]}, "rounds"),
        ({"round": {"response": "x" * 500_000}}, "round"),
        ({"player": 5}, "player"),
    ],
)
def test_a_submission_that_makes_no_sense_is_refused(table: Table, ann: Caller, body: Any, where: str) -> None:
    with pytest.raises(RubricError) as refused:
        table.play(ann, table.game(ann), body)
    assert [problem.where for problem in refused.value.problems] == [where]


def test_a_text_may_hold_a_nul_and_a_name_may_not(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann)
    table.attach(ann, game, AttachmentRequest(NORM))
    assert table.say(pat, game, "In\0 1974 Gerald\0.").composite.score == 0.1
    assert table.database.read(rounds.view_round, pat, game, "pat", 1).content["response"] == "In\0 1974 Gerald\0."
    with pytest.raises(InputError, match="NUL"):
        table.play(ann, game, {"player": "a\0b", "round": {"response": "Hm."}})
    with pytest.raises(InputError, match="NUL"):
        table.database.write(games.change_game, ann, game, {"name": "a\0b"}, table.now)
