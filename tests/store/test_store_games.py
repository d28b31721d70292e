"""Queries of games, players, rounds and scores, on both databases: what is kept comes back, in order, page by page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from sqlalchemy import Connection, insert, text
from sqlalchemy.exc import IntegrityError

from databases import Opened
from rubrica.errors import ConflictError
from rubrica.store import games, players, rounds, scores
from rubrica.store.columns import new_id
from rubrica.store.games import Game, NewAttachment
from rubrica.store.players import Player
from rubrica.store.rounds import PlayedRound, PlayerProgress, RoundOwner
from rubrica.store.scores import NewScore, ScoredVersion, ScoreQuery
from rubrica.store.tables import rubric_versions, rubrics
from rubrica.store.users import ensure_user

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)


def later(seconds: int) -> datetime:
    return NOW + timedelta(seconds=seconds)


def user(database: Opened, name: str) -> UUID:
    return database.write(ensure_user, name, NOW).id


def add_rubric(conn: Connection, owner: UUID | None, public: bool = True, revision: int = 1) -> NewAttachment:
    """A rubric with one version, as something to attach."""
    rubric_id, version_id = new_id(NOW), new_id(NOW)
    row = {"id": rubric_id, "slug": f"e-{rubric_id.hex[-8:]}", "name": "E", "version": "1.0", "search": ""}
    row |= {"revision": revision, "tags": [], "is_public": public, "created_by": owner}
    conn.execute(insert(rubrics).values(**row, created_at=NOW, updated_at=NOW))
    version = {"id": version_id, "rubric_id": rubric_id, "revision": revision, "version": "1.0"}
    version |= {"definition": {"name": "E"}, "examples": [], "hash": "h", "created_by": owner, "created_at": NOW}
    conn.execute(insert(rubric_versions).values(**version))
    return NewAttachment(rubric_id, version_id, 0.5, "style", {"max_score": 5})


def player(database: Opened, owner: UUID, name: str, behind: UUID | None = None, at: int = 0) -> UUID:
    made = Player(new_id(later(at)), name, {"level": 3}, behind, owner, NOW)
    database.write(players.add_player, made)
    return made.id


def play(database: Opened, game: UUID, who: UUID, *numbers: int) -> None:
    new = [PlayedRound(new_id(NOW), game, who, number, {"response": f"round {number}"}, NOW) for number in numbers]
    database.write(rounds.add_rounds, new)


def score(what: NewAttachment, *, at: int = 0, by: UUID | None = None, **more: Any) -> NewScore:
    value = more.pop("value", 0.5)
    values: dict[str, Any] = dict.fromkeys(("game_session_id", "player_id", "attachment_id", "round_number"))
    values |= {"id": new_id(later(at)), "rubric_id": what.rubric_id, "version_id": what.version_id}
    values |= {"raw_score": value, "normalized_score": value, "verdict": "scored", "rule_breakdown": [{"rule": "\0"}]}
    values |= {"dimension_scores": {}, "context_snapshot": {}, "created_by": by, "created_at": later(at)}
    values["record"] = msgspec.Raw(json.dumps({"bounds": [1, 3], "out_of": 4, "reason": "no judge"}).encode())
    return NewScore(**values | more)


def new_game(database: Opened, name: str, owner: UUID, *, public: bool = True, at: int = 0, **more: Any) -> UUID:
    game = Game(new_id(later(at)), name, more.get("config", {}), public, owner, later(at))
    database.write(games.add_game, game)
    return game.id


@pytest.fixture
def ann(database: Opened) -> UUID:
    return user(database, "ann")


@pytest.fixture
def game(database: Opened, ann: UUID) -> UUID:
    return new_game(database, "Moth night", ann, config={"mood": "dry\0"})


def test_a_game_comes_back_as_it_was_kept(database: Opened, game: UUID, ann: UUID) -> None:
    found = database.read(games.game_by_id, game)
    assert found is not None
    assert (found.name, found.config, found.is_public, found.created_by) == ("Moth night", {"mood": "dry\0"}, True, ann)
    assert found.created_at == NOW
    database.write(games.change_game, game, {"config": {}, "is_public": False})
    database.write(games.change_game, game, {})
    changed = database.read(games.game_by_id, game)
    assert changed is not None
    assert (changed.config, changed.is_public, changed.name) == ({}, False, "Moth night")
    assert database.read(games.game_by_id, new_id(NOW)) is None


def test_games_are_listed_newest_first_and_page_by_page(database: Opened, ann: UUID) -> None:
    made = [new_game(database, f"game {i}", ann, public=i % 2 == 0, at=i) for i in range(6)]
    bo = user(database, "bo")
    first = database.read(games.list_games, bo, limit=2)
    then = database.read(games.list_games, bo, before=first[-1].id, limit=2)
    assert [found.id for found in (*first, *then)] == [made[4], made[2], made[0]]
    assert [found.id for found in database.read(games.list_games, ann, limit=9)] == made[::-1]
    assert [found.id for found in database.read(games.list_games, None, limit=9)] == made[::-1]
    assert database.read(games.list_games, bo, mine=True) == []


def test_who_plays_in_a_private_game_sees_it(database: Opened, ann: UUID) -> None:
    bo, cy = user(database, "bo"), user(database, "cy")
    private = new_game(database, "private", ann, public=False)
    play(database, private, player(database, ann, "bo's moth", bo), 1)
    assert [database.read(games.plays_in, each, private) for each in (ann, bo, cy)] == [False, True, False]
    assert [len(database.read(games.list_games, each)) for each in (ann, bo, cy)] == [1, 1, 0]


def test_what_is_attached_keeps_its_order_and_its_version(database: Opened, game: UUID, ann: UUID) -> None:
    wanted = [database.write(add_rubric, ann) for _ in range(5)]
    ids = database.write(games.attach, game, wanted, NOW)
    found = database.read(games.attachments, [game])
    assert [(a.id, a.rubric_id, a.version) for a in found] == [
        (id, w.rubric_id, "1.0") for id, w in zip(ids, wanted, strict=True)
    ]
    assert (found[0].config_overrides, found[0].weight, found[0].dimension) == ({"max_score": 5}, 0.5, "style")
    database.write(games.detach, ids[1:], later(1))
    database.write(games.set_weight, ids[0], 1.0)
    (left,) = database.read(games.attachments, [game])
    assert (left.id, left.weight) == (ids[0], 1.0)
    assert database.read(games.attachment_by_id, game, ids[0]) == left
    assert database.read(games.attachment_by_id, game, ids[1]) is None
    assert database.read(games.definitions, [wanted[0].version_id])[wanted[0].version_id].definition == {"name": "E"}


def test_a_name_is_its_makers_to_give_once_and_the_transaction_goes_on(database: Opened, ann: UUID) -> None:
    bo = user(database, "bo")
    player(database, ann, "moth")
    player(database, bo, "moth")

    def twice(conn: Connection) -> bool:
        try:
            players.add_player(conn, Player(new_id(NOW), "moth", {}, None, ann, NOW))
        except ConflictError:
            return players.player_by_name(conn, ann, "moth") is not None
        return False

    assert database.write(twice)
    assert len(database.read(players.list_players, None)) == 2
    assert [found.created_by for found in database.read(players.list_players, ann)] == [ann]


def test_players_are_found_by_game_by_person_and_by_name(database: Opened, game: UUID, ann: UUID) -> None:
    bo = user(database, "bo")
    one, two = player(database, ann, "one", bo), player(database, ann, "two", bo, at=1)
    play(database, game, two, 1)
    assert [p.id for p in database.read(players.players_of_user, bo)] == [one, two]
    assert [p.id for p in database.read(players.players_of_user, bo, game)] == [two]
    assert database.read(players.players_in_game, game, "one") == []
    assert [p.id for p in database.read(players.players_in_game, game, "two")] == [two]
    assert database.read(players.names_of, [one, two]) == {one: "one", two: "two"}
    assert database.read(players.user_by_name, "bo") == bo
    assert database.read(players.user_by_name, "nobody") is None


def test_rounds_are_found_by_number_and_by_what_comes_before(database: Opened, game: UUID, ann: UUID) -> None:
    who = player(database, ann, "moth")
    assert database.read(rounds.progress, game, who) == PlayerProgress(0, 0)
    play(database, game, who, 4, 1, 9, 2)
    assert database.read(rounds.progress, game, who) == PlayerProgress(4, 9)
    assert database.read(rounds.numbers_taken, game, who, [1, 3, 9]) == [1, 9]
    before = database.read(rounds.rounds_before, game, who, 9, 2)
    assert [(r.round_number, r.content["response"]) for r in before] == [(2, "round 2"), (4, "round 4")]
    assert database.read(rounds.round_by_number, game, who, 3) is None


def test_rounds_are_listed_page_by_page(database: Opened, game: UUID, ann: UUID) -> None:
    whose = sorted(player(database, ann, f"player {i}", at=i) for i in range(3))
    for who in whose:
        play(database, game, who, 1, 2, 3)
    seen: list[rounds.Place] = []
    while found := database.read(rounds.list_rounds, game, after=seen[-1] if seen else None, limit=2):
        seen += [(r.player_id, r.round_number) for r in found]
    assert seen == [(who, number) for who in whose for number in (1, 2, 3)]
    own = database.read(rounds.list_rounds, game, whose[1], after=(whose[1], 1))
    assert [r.round_number for r in own] == [2, 3]


def test_rounds_that_lack_a_score_are_found(database: Opened, game: UUID, ann: UUID) -> None:
    bo = user(database, "bo")
    one, two = player(database, ann, "one"), player(database, ann, "two", bo, at=1)
    play(database, game, one, 1, 2)
    play(database, game, two, 1)
    what = [database.write(add_rubric, ann) for _ in range(2)]
    ids = database.write(games.attach, game, what, NOW)
    full = [
        score(w, game_session_id=game, player_id=one, attachment_id=id, round_number=1)
        for w, id in zip(what, ids, strict=True)
    ]
    half = score(what[0], game_session_id=game, player_id=one, attachment_id=ids[0], round_number=2)
    database.write(scores.add_scores, [*full, half])

    def lacking(whose: RoundOwner, limit: int = 9) -> Sequence[tuple[UUID, int]]:
        found = database.read(rounds.rounds_to_score, game, ids, whose, limit)
        return [(r.player_id, r.round_number) for r in found]

    assert lacking(RoundOwner()) == [(one, 2), (two, 1)]
    assert lacking(RoundOwner(), limit=1) == [(one, 2)]
    assert lacking(RoundOwner(player_id=one)) == [(one, 2)]
    assert lacking(RoundOwner(user_id=bo)) == [(two, 1)]
    assert database.read(rounds.rounds_to_score, game, ids[:1], RoundOwner(player_id=one), 9) == []


def test_a_score_comes_back_whole_and_names_its_version(database: Opened, ann: UUID) -> None:
    what = database.write(add_rubric, ann)
    kept = score(what, by=ann, context_snapshot={"response": "a\0b"}, round_number=3)
    database.write(scores.add_scores, [kept])
    found = database.read(scores.score_by_id, kept.id)
    assert found is not None
    assert (found.version, found.revision, found.round_number, found.normalized_score) == ("1.0", 1, 3, 0.5)
    assert (found.context_snapshot, found.rule_breakdown) == ({"response": "a\0b"}, [{"rule": "\0"}])
    assert found.record == {"bounds": [1, 3], "out_of": 4, "reason": "no judge"}
    assert database.read(scores.score_by_id, new_id(NOW)) is None


def test_scores_are_listed_newest_first_and_narrowed_down(database: Opened, game: UUID, ann: UUID) -> None:
    bo, who = user(database, "bo"), player(database, ann, "moth")
    one, two = (database.write(add_rubric, ann) for _ in range(2))
    made = [
        score(one, at=0, by=ann),
        score(two, at=1, by=bo, game_session_id=game),
        score(one, at=2, by=bo, player_id=who),
        score(one, at=3, by=ann, game_session_id=game, player_id=who),
    ]
    database.write(scores.add_scores, made)

    def listed(**narrowed: Any) -> list[int]:
        found = database.read(scores.list_scores, ScoreQuery(**narrowed))
        return [[each.id for each in made].index(line.id) for line in found]

    assert listed() == [3, 2, 1, 0]
    assert listed(created_by=bo) == [2, 1]
    assert listed(rubric_id=one.rubric_id) == [3, 2, 0]
    assert listed(game_id=game) == [3, 1]
    assert listed(player_id=who, created_by=ann) == [3]
    page = database.read(scores.list_scores, ScoreQuery(), before=made[2].id, limit=1)
    assert [line.id for line in page] == [made[1].id]
    assert database.read(scores.list_scores, ScoreQuery(player_id=who))[0].player == "moth"


@pytest.mark.parametrize(
    ("public", "revision", "by_owner", "kept"),
    [
        (True, 1, False, True),
        (False, 1, True, True),
        (False, 1, False, False),
        (True, 2, True, False),
        (True, None, False, True),
    ],
)
def test_a_score_is_kept_only_if_its_rubric_is_what_it_was(
    database: Opened, ann: UUID, public: bool, revision: int | None, by_owner: bool, kept: bool
) -> None:
    who = ann if by_owner else user(database, "bo")
    what = database.write(add_rubric, ann, public)
    new = score(what, by=who)
    origin = ScoredVersion(what.rubric_id, revision, who)
    assert database.write(scores.add_score_if, new, origin) == kept
    assert (database.read(scores.score_by_id, new.id) is not None) == kept


def test_a_score_of_a_deleted_rubric_is_not_kept(database: Opened, ann: UUID) -> None:
    what = database.write(add_rubric, ann)
    database.write(lambda conn: conn.execute(rubrics.update().values(deleted_at=NOW)).rowcount)
    assert not database.write(scores.add_score_if, score(what, by=ann), ScoredVersion(what.rubric_id, None, None))


def test_open_scores_say_why_and_between_what_they_lie(database: Opened, game: UUID, ann: UUID) -> None:
    who, what = player(database, ann, "moth"), database.write(add_rubric, ann)
    (id,) = database.write(games.attach, game, [what], NOW)
    rows = [
        score(what, game_session_id=game, player_id=who, attachment_id=id, round_number=number, value=value)
        for number, value in ((1, 0.5), (2, None), (3, 0.25))
    ]
    database.write(scores.add_scores, rows)
    found = {s.round_number: s for s in database.read(scores.game_scores, [id], who, [1, 2])}
    assert found.keys() == {1, 2}
    assert (found[1].normalized_score, found[1].reason) == (0.5, "")
    assert (found[2].normalized_score, found[2].bounds, found[2].reason) == (None, (0.25, 0.75), "no judge")
    (standing,) = database.read(scores.standings, games.is_game(game))
    assert (standing.raw_mean, standing.rounds, standing.scored) == (0.375, 3, 2)


def test_a_round_has_one_score_per_attachment(database: Opened, game: UUID, ann: UUID) -> None:
    who, what = player(database, ann, "moth"), database.write(add_rubric, ann)
    (id,) = database.write(games.attach, game, [what], NOW)
    same: dict[str, Any] = {"game_session_id": game, "player_id": who, "attachment_id": id, "round_number": 1}
    database.write(scores.add_scores, [score(what, **same)])
    with pytest.raises(IntegrityError):
        database.write(scores.add_scores, [score(what, at=1, **same)])


@pytest.mark.parametrize(
    ("narrowed", "index"),
    [
        ("rubric_id", "ix_evaluation_scores_rubric"),
        ("game_session_id", "ix_evaluation_scores_game"),
        ("player_id", "ix_evaluation_scores_player"),
        ("created_by", "ix_evaluation_scores_user"),
    ],
)
def test_every_narrowing_of_scores_has_its_index(database: Opened, narrowed: str, index: str) -> None:
    def plan(conn: Connection) -> str:
        query = f"SELECT id FROM evaluation_scores WHERE {narrowed} = :x AND id < :y ORDER BY id DESC LIMIT 9"  # noqa: S608
        values = {"x": UUID(int=1), "y": UUID(int=2)}
        if conn.dialect.name == "sqlite":
            values = {key: value.hex for key, value in values.items()}  # type: ignore[misc]
            explained = conn.execute(text(f"EXPLAIN QUERY PLAN {query}"), values)
        else:
            conn.execute(text("SET enable_seqscan = off"))  # a table this small is read as a whole
            explained = conn.execute(text(f"EXPLAIN {query}"), values)
        return "\n".join(str(tuple(row)) for row in explained)

    told = database.write(plan)
    assert index in told
    assert "Sort" not in told
    assert "TEMP B-TREE" not in told
