"""Games: who may see, make and change them. A private one is there for its maker, its players and admins only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import DeniedError, InputError, MissingError, RubricError
from rubrica.store import games as store
from rubrica.store.columns import new_id
from rubrica.store.games import Attachment, Game
from rubrica.workspace.access import Caller, require
from rubrica.workspace.plain_data import plain_text, read_plain

from .fair_play import good_rules, rules_of

LONGEST_NAME = 255
"""Characters of a game's or a player's name."""


@dataclass(frozen=True, slots=True)
class GameView:
    """A game and what is attached to it."""

    game: Game
    attachments: list[Attachment]


def create_game(
    conn: Connection, caller: Caller, name: str, config: Mapping[str, Any], is_public: bool, now: datetime
) -> GameView:
    """A new game, with nothing attached to it yet."""
    return make_game(conn, caller, {"name": name, "config": config, "is_public": is_public}, now)


def make_game(conn: Connection, caller: Caller, wanted: Mapping[str, Any], now: datetime) -> GameView:
    """A new game with nothing attached to it yet; `wanted` may have what `change_game` takes."""
    require(caller, "author", "making a game")
    checked = good_name(wanted["name"]), good_info(wanted.get("config", {}), "config")
    rules = good_rules(wanted.get("fair_play") or {})
    game = Game(new_id(now), *checked, bool(wanted.get("is_public")), caller.user_id, now, fair_play=rules)
    store.add_game(conn, game)
    return GameView(game, [])


def change_game(conn: Connection, caller: Caller, game_id: UUID, changes: Mapping[str, Any]) -> GameView:
    """Set some of name, config, is_public and fair_play. Rounds that were scored before stay as they are."""
    game = hosted_game(conn, caller, game_id, "changing")
    checked = dict(changes)
    if "fair_play" in checked:
        checked["fair_play"] = good_rules(checked["fair_play"], rules_of(game))
    if "name" in checked:
        checked["name"] = good_name(checked["name"])
    if "config" in checked:
        checked["config"] = good_info(checked["config"], "config")
    store.change_game(conn, game_id, checked)
    return view_game(conn, caller, game_id)


def view_game(conn: Connection, caller: Caller, game_id: UUID) -> GameView:
    """A game, if it is there for the caller."""
    return GameView(visible_game(conn, caller, game_id), store.attachments(conn, [game_id]))


def vouch(conn: Connection, caller: Caller, game_id: UUID, vouched: bool, now: datetime) -> GameView:
    """Have a game count across games whoever plays in it, or no longer: admins."""
    require(caller, "admin", "vouching for a game")
    visible_game(conn, caller, game_id)
    by = {"vouched_by": caller.user_id, "vouched_at": now} if vouched else {"vouched_by": None, "vouched_at": None}
    store.change_game(conn, game_id, by)
    return view_game(conn, caller, game_id)


def list_games(conn: Connection, caller: Caller, mine: bool, before: UUID | None, limit: int) -> list[Game]:
    """One page of the games that are there for the caller, newest first."""
    seen_by = None if caller.is_admin and not mine else caller.user_id
    return store.list_games(conn, seen_by, mine=mine, before=before, limit=limit)


def list_views(
    conn: Connection, caller: Caller, mine: bool, before: UUID | None, limit: int
) -> tuple[Sequence[GameView], UUID | None]:
    """One page of games with what is attached to each, and where the next page starts."""
    found = list_games(conn, caller, mine, before, limit + 1)
    shown = found[:limit]
    attached = store.attachments(conn, [game.id for game in shown]) if shown else []
    views = [GameView(game, [each for each in attached if each.game_id == game.id]) for game in shown]
    return views, shown[-1].id if len(found) > limit else None


def visible_game(conn: Connection, caller: Caller, game_id: UUID) -> Game:
    """A game, if it is there for the caller: a MissingError says no more than that it is not."""
    game = store.game_by_id(conn, game_id)
    if game is None or not (game.is_public or hosts(caller, game) or store.plays_in(conn, caller.user_id, game_id)):
        raise MissingError(f"there is no game {game_id}, or it is not yours to see")
    return game


def hosted_game(conn: Connection, caller: Caller, game_id: UUID, doing: str) -> Game:
    """A game that the caller may change."""
    game = visible_game(conn, caller, game_id)
    require(caller, "author", f"{doing} a game")
    if not hosts(caller, game):
        raise DeniedError(f"{doing} a game is for whoever made it, or an admin")
    return game


def hosts(caller: Caller, game: Game) -> bool:
    """Whether a game is the caller's to change, and to submit any player's rounds to."""
    return caller.is_admin or caller.owns(game.created_by)


def good_name(text: str) -> str:
    """A name for a game or a player: something to read, without NUL characters.

    >>> good_name("  Moth night ")
    'Moth night'
    """
    name = plain_text(text, "name", LONGEST_NAME)
    if not name:
        raise InputError("name is blank (give it at least one character)")
    return name


def good_info(data: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Plain data that goes with every context of a game or a player."""
    plain, problems = read_plain(data, (what,), nul=True)
    if problems:
        raise RubricError(problems)
    return dict(plain)
