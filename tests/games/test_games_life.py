"""The life of a game on both databases: status, limits, invitations, teams, seasons, tournaments, copies."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from databases import Opened
from games_table import Table
from rubrica.errors import ConflictError, DeniedError, InputError, MissingError
from rubrica.games import board_pages, copies, games, invitations, players, rounds, seasons, teams, tournaments
from rubrica.games.attachments import AttachmentRequest
from rubrica.games.board_pages import BoardQuery
from rubrica.games.invitations import InvitationRequest
from rubrica.games.leaderboard_access import Leaderboard, of_game
from rubrica.games.tournaments import TournamentRequest
from rubrica.store.database import Database
from rubrica.store.standings import TimeRange
from rubrica.workspace.access import Caller

LENGTH = {
    "name": "Length",
    "scoring_type": "cumulative",
    "max_score": 100,
    "rules": [{"type": "custom_expression", "name": "words", "expression": "word_count"}],
    "is_public": True,
}


@pytest.fixture
def table(database: Opened) -> Table:
    found = Table(database)
    for name, role in (("ann", "author"), ("pat", "player"), ("kim", "player"), ("vic", "viewer"), ("eve", "author")):
        found.person(name, role)  # type: ignore[arg-type]
    found.rubric(found.people["ann"], LENGTH)
    return found


@pytest.fixture
def ann(table: Table) -> Caller:
    return table.people["ann"]


@pytest.fixture
def pat(table: Table) -> Caller:
    return table.people["pat"]


@pytest.fixture
def game(table: Table, ann: Caller) -> UUID:
    made = table.game(ann)
    table.attach(ann, made, AttachmentRequest("length"))
    return made


def change(table: Table, caller: Caller, game: UUID, **changes: Any) -> None:
    table.database.write(games.change_game, caller, game, changes, table.now)


def board(table: Table, caller: Caller, game: UUID, **asked: Any) -> Leaderboard:
    return table.database.read(board_pages.board_page, caller, game, BoardQuery(**asked), table.now)


def names(found: Leaderboard) -> list[tuple[int | None, str]]:
    return [(row.rank, row.player) for row in found.items]


# --- status and limits --------------------------------------------------------------------------------------


def test_rounds_are_taken_while_a_game_is_open(table: Table, ann: Caller, pat: Caller) -> None:
    made = table.database.write(
        games.make_game, ann, {"name": "Moth night", "is_public": True, "status": "draft"}, table.now
    )
    game = made.game.id
    with pytest.raises(MissingError):
        table.say(pat, game, "a moth")
    assert table.database.read(games.list_games, pat, False, None, 9) == []
    with pytest.raises(ConflictError, match="draft"):
        table.say(ann, game, "a moth")
    with pytest.raises(ConflictError, match="has not begun"):
        change(table, ann, game, status="closed")
    change(table, ann, game, status="open")
    table.say(pat, game, "a moth")
    change(table, ann, game, status="closed")
    with pytest.raises(ConflictError, match="is closed"):
        table.say(pat, game, "a moth")
    with pytest.raises(DeniedError):
        change(table, table.people["eve"], game, status="open")
    with pytest.raises(ConflictError, match="does not become a draft"):
        change(table, ann, game, status="draft")
    change(table, ann, game, status="open")
    assert table.say(pat, game, "a moth").round_number == 2


def test_a_deadline_goes_by_the_servers_clock(table: Table, ann: Caller, pat: Caller, game: UUID) -> None:
    change(table, ann, game, deadline=table.time + timedelta(seconds=60))
    table.say(pat, game, "in time")
    table.time += timedelta(seconds=60)
    with pytest.raises(ConflictError, match="deadline of Moth night was 2026-05-01 12:0"):
        table.say(pat, game, "too late")
    with pytest.raises(InputError, match="has passed"):
        change(table, ann, game, deadline=table.time)
    with pytest.raises(InputError, match="has passed"):  # it would take no round
        change(table, ann, game, status="open")
    change(table, ann, game, deadline=None)
    table.say(pat, game, "again")


def test_rounds_and_players_are_limited(table: Table, ann: Caller, pat: Caller, game: UUID) -> None:
    change(table, ann, game, most_rounds=2, most_players=2)
    table.play(pat, game, {"rounds": [{"response": "one"}, {"response": "two"}]})
    with pytest.raises(ConflictError, match="pat has played 2 of 2 rounds"):
        table.say(pat, game, "three")
    table.say(ann, game, "one")
    with pytest.raises(ConflictError, match="is full: it has 2 players"):
        table.say(table.people["kim"], game, "one")
    with pytest.raises(InputError, match="most_rounds"):
        change(table, ann, game, most_rounds=0)


def test_many_who_come_at_once_do_not_overfill_a_game(table: Table, ann: Caller, game: UUID) -> None:
    change(table, ann, game, most_players=5)
    judged = [table.judged(table.person(f"guest {i}", "player"), game, {"round": {"response": "hi"}}) for i in range(9)]

    async def all_at_once(database: Database) -> list[object]:
        work = (database.write(rounds.keep_rounds, each) for each in judged)
        return await asyncio.gather(*work, return_exceptions=True)

    done = table.database.run(all_at_once)
    assert sum(isinstance(each, ConflictError) for each in done) == 4
    assert board(table, ann, game).total == 5


# --- invitations --------------------------------------------------------------------------------------------


def test_a_link_leads_into_a_private_game_until_it_is_used_up(table: Table, ann: Caller, pat: Caller) -> None:
    game, kim = table.game(ann, public=False), table.people["kim"]
    link = table.database.write(invitations.invite, ann, game, InvitationRequest(most_uses=1), table.now)
    assert link.token is not None
    with pytest.raises(MissingError):
        table.say(pat, game, "not yet")
    with pytest.raises(DeniedError):
        table.database.write(invitations.accept_link, table.people["vic"], link.token, table.now)
    came = table.database.write(invitations.accept_link, pat, link.token, table.now)
    assert (came.game, came.player) == ("Moth night", "pat")
    (left,) = table.database.read(invitations.list_invitations, ann, game)
    assert left.uses == 1
    table.say(pat, game, "here I am")
    assert table.database.write(invitations.accept_link, pat, link.token, table.now) == came  # the link is opened again
    assert table.database.read(invitations.joined_by, pat, link.token) == game
    assert table.database.read(invitations.joined_by, kim, link.token) is None
    with pytest.raises(ConflictError, match="was used once"):
        table.database.write(invitations.accept_link, kim, link.token, table.now)
    with pytest.raises(MissingError):
        table.database.write(invitations.accept_link, kim, "made up", table.now)


def test_invitations_expire_and_are_taken_back(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann, public=False)
    first, second = (
        table.database.write(invitations.invite, ann, game, InvitationRequest(days=1), table.now) for _ in range(2)
    )
    table.database.write(invitations.revoke, ann, game, first.invitation.id, table.now)
    with pytest.raises(MissingError, match="taken back"):
        table.database.write(invitations.accept_link, pat, first.token or "", table.now)
    table.time += timedelta(days=1)
    with pytest.raises(ConflictError, match="expired on 2026-05-02"):
        table.database.write(invitations.accept_link, pat, second.token or "", table.now)
    with pytest.raises(InputError):
        table.database.write(invitations.invite, ann, game, InvitationRequest(days=0), table.now)


def test_an_invitation_by_name_is_for_that_person(table: Table, ann: Caller, pat: Caller) -> None:
    game = table.game(ann, public=False)
    made = table.database.write(invitations.invite, ann, game, InvitationRequest("pat"), table.now)
    assert (made.token, made.invitation.user) == (None, "pat")
    with pytest.raises(MissingError):
        table.database.write(invitations.accept_named, table.people["kim"], made.invitation.id, table.now)
    (mine,) = table.database.read(invitations.own_invitations, pat, table.now)
    assert mine.game == "Moth night"
    table.database.write(invitations.accept_named, pat, mine.id, table.now)
    assert table.database.read(invitations.own_invitations, pat, table.now) == []
    assert [each.id for each in table.database.read(games.list_games, pat, False, None, 9)] == [game]
    with pytest.raises(InputError, match="nobody here is called"):
        table.database.write(invitations.invite, ann, game, InvitationRequest("zoe"), table.now)


# --- boards -------------------------------------------------------------------------------------------------


def test_a_board_has_pages_filters_and_ones_own_rank(table: Table, ann: Caller, pat: Caller, game: UUID) -> None:
    for words, who in enumerate(("moth", "fly", "bee", "wasp"), 1):
        table.play(ann, game, {"player": who, "round": {"response": "word " * words}})
    table.say(pat, game, "word word")
    whole = board(table, pat, game)
    assert names(whole) == [(1, "wasp"), (2, "bee"), (3, "fly"), (3, "pat"), (5, "moth")]
    assert [row.tied for row in whole.items] == [False, False, True, True, False]
    first, second = board(table, pat, game, limit=2), board(table, pat, game, offset=3, limit=2)
    assert (names(first), names(second), second.total) == (names(whole)[:2], names(whole)[3:], 5)
    assert [(row.rank, row.player) for row in first.own] == [(3, "pat")]
    assert names(board(table, pat, game, name="S")) == [(1, "wasp")]
    for by in ("composite", "korgym"):
        assert [each for _, each in names(board(table, pat, game, by=by))] == [each for _, each in names(whole)]
    assert whole.items == board(table, pat, game, dimension="length").items
    late = board(table, pat, game, played=TimeRange(table.time - timedelta(days=1), table.time + timedelta(days=1)))
    assert late.items == whole.items
    assert board(table, pat, game, played=TimeRange(until=table.time - timedelta(days=1))).items == []


def test_kept_rows_are_what_the_scores_say(table: Table, ann: Caller, game: UUID) -> None:
    table.rubric(ann, {**LENGTH, "name": "Sentences", "max_score": 7})
    for words, who in enumerate(("moth", "fly", "bee"), 1):
        table.play(ann, game, {"player": who, "rounds": [{"response": "word " * words}, {"response": "a b c d"}]})
    for by in ("composite", "normalized"):
        assert board(table, ann, game, by=by).items == table.database.read(of_game, ann, game, by, None).items
    table.attach(ann, game, AttachmentRequest("sentences", 1), weights="renormalise")
    table.play(ann, game, {})  # what was kept is judged by what is attached now
    for by in ("composite", "normalized"):
        kept = board(table, ann, game, by=by).items
        assert kept == table.database.read(of_game, ann, game, by, None).items  # type: ignore[arg-type]
        assert all(row.rounds == 2 and not row.missing for row in kept)


def test_twenty_writers_at_once_leave_the_board_right(table: Table, ann: Caller, game: UUID) -> None:
    crowd = [table.person(f"writer {i:02}", "player") for i in range(20)]
    judged = [table.judged(each, game, {"round": {"response": "word " * (i % 7 + 1)}}) for i, each in enumerate(crowd)]

    async def all_at_once(database: Database) -> None:
        await asyncio.gather(*(database.write(rounds.keep_rounds, each) for each in judged))

    table.database.run(all_at_once)
    found = board(table, ann, game)
    assert found.total == 20
    assert found.items == table.database.read(of_game, ann, game, "normalized", None).items


# --- teams, seasons, tournaments, copies ------------------------------------------------------------------


def test_a_team_scores_as_its_players_do(table: Table, ann: Caller, pat: Caller, game: UUID) -> None:
    kim = table.people["kim"]
    for name in ("Moths", "Flies"):
        table.database.write(teams.create_team, ann, game, name, table.now)
    ids = {who.name: table.say(who, game, "word " * words).player_id for who, words in ((pat, 10), (kim, 30))}
    table.play(ann, game, {"player": "bot", "round": {"response": "word " * 50}})
    table.database.write(teams.put_in_team, pat, game, str(ids["pat"]), "Moths")
    table.database.write(teams.put_in_team, kim, game, "kim", "Moths")
    with pytest.raises(ConflictError, match="has played, and so stays"):
        table.database.write(teams.put_in_team, pat, game, str(ids["pat"]), "Flies")
    with pytest.raises(MissingError):
        table.database.write(teams.put_in_team, pat, game, str(ids["kim"]), None)
    standing = table.database.read(teams.team_board, pat, game)
    assert [(team.rank, team.team, team.score, team.players) for team in standing] == [
        (1, "Moths", pytest.approx(0.2), 2),
        (None, "Flies", None, 0),
    ]
    assert names(board(table, ann, game, team="Moths")) == [(2, "kim"), (3, "pat")]
    table.database.write(teams.put_in_team, ann, game, str(ids["kim"]), "Flies")
    assert [row.team for row in board(table, ann, game).items] == [None, "Flies", "Moths"]
    with pytest.raises(MissingError, match="there are Moths, Flies"):
        board(table, ann, game, team="Bees")


def test_a_season_keeps_its_board_when_it_is_over(table: Table, ann: Caller, pat: Caller, game: UUID) -> None:
    kim = table.people["kim"]
    table.say(kim, game, "word " * 90)
    start = table.time + timedelta(hours=1)
    span = (start, start + timedelta(hours=1))
    table.database.write(seasons.create_season, ann, game, "Spring", span, table.now)
    assert board(table, ann, game, season="Spring").items == []
    table.time = start
    table.say(pat, game, "word " * 10)
    table.say(kim, game, "word " * 20)
    table.time = span[1]
    table.say(pat, game, "word " * 99)
    spring = board(table, ann, game, season="Spring")
    assert [(row.player, row.score) for row in spring.items] == [("kim", 0.2), ("pat", 0.1)]
    table.replace(ann, game)  # nothing is attached any more
    assert board(table, ann, game, season="Spring").items == spring.items
    assert board(table, ann, game, season="Spring", by="korgym").items[0].score == 1.0
    with pytest.raises(ConflictError, match="season called 'Spring' already"):
        table.database.write(seasons.create_season, ann, game, "Spring", span, table.now)
    with pytest.raises(InputError, match="ends after it starts"):
        table.database.write(seasons.create_season, ann, game, "Autumn", span[::-1], table.now)


def test_a_tournament_is_decided_by_the_rounds_after_it_began(
    table: Table, ann: Caller, pat: Caller, game: UUID
) -> None:
    kim = table.people["kim"]
    table.say(pat, game, "word " * 50)
    table.say(kim, game, "word " * 40)
    with pytest.raises(InputError, match="one has to go on"):
        table.database.write(
            tournaments.create_tournament, ann, game, TournamentRequest("Cup", tiebreak="draw"), table.now
        )
    made = table.database.write(tournaments.create_tournament, ann, game, TournamentRequest("Cup"), table.now)
    assert (made.entrants, made.winner) == (["pat", "kim"], None)
    table.say(pat, game, "word")
    table.say(kim, game, "word word")
    cup = table.database.read(tournaments.view_tournament, pat, game, made.id, table.now)
    assert (cup.winner, cup.finished, cup.matches[0].home_score) == ("kim", True, 0.01)


def test_a_copy_has_the_rules_without_the_rounds(table: Table, ann: Caller, pat: Caller, game: UUID) -> None:
    change(table, ann, game, most_rounds=3)
    table.say(pat, game, "word")
    with pytest.raises(DeniedError):
        table.database.write(copies.copy_game, table.people["eve"], game, None, table.now)
    copy = table.database.write(copies.copy_game, ann, game, None, table.now)
    assert (copy.game.name, copy.game.status, copy.game.most_rounds) == ("Copy of Moth night", "draft", 3)
    assert [each.slug for each in copy.attachments] == ["length"]
    assert board(table, ann, copy.game.id).items == []
    change(table, ann, copy.game.id, status="open")
    assert table.say(pat, copy.game.id, "word").round_number == 1


def test_joining_a_closed_game_is_refused(table: Table, ann: Caller, pat: Caller, game: UUID) -> None:
    player = table.database.write(players.create_player, pat, "pat", {}, None, table.now)
    change(table, ann, game, status="closed")
    with pytest.raises(ConflictError, match="closed"):
        table.database.write(players.join_game, pat, game, player.id, table.now)
