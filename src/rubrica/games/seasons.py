"""Seasons of a game: a leaderboard over a range of time, which stays when the season is over."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import InputError
from rubrica.store import games as game_store
from rubrica.store import seasons
from rubrica.store.columns import new_id
from rubrica.store.seasons import Season
from rubrica.store.standings import BOARD_FORM
from rubrica.workspace.access import Caller

from .games import hosted_game, visible_game
from .standings import build_season
from .teams import good_title, season_called

MOST_SEASONS = 200


def create_season(
    conn: Connection, caller: Caller, game_id: UUID, name: str, span: tuple[datetime, datetime], now: datetime
) -> Season:
    """A new season of a game of the caller's; rounds that were played in its time count."""
    game = hosted_game(conn, caller, game_id, "making seasons of")
    starts_at, ends_at = span
    if starts_at.tzinfo is None or ends_at.tzinfo is None:
        raise InputError("a season starts and ends at times with their time zone, such as 2026-05-01T18:00:00Z")
    if starts_at >= ends_at:
        raise InputError("a season ends after it starts")
    if len(seasons.seasons_of(conn, game_id)) >= MOST_SEASONS:
        raise InputError(f"a game has at most {MOST_SEASONS} seasons")
    season = Season(new_id(now), game_id, good_title(name, "a season"), starts_at, ends_at, now)
    game_store.lock_game_row(conn, game_id)
    seasons.add_season(conn, season)
    if game.board_form == BOARD_FORM:
        build_season(conn, season, now)
    return season


def list_seasons(conn: Connection, caller: Caller, game_id: UUID) -> list[Season]:
    """The seasons of a game, the latest first."""
    visible_game(conn, caller, game_id)
    return seasons.seasons_of(conn, game_id)


def remove_season(conn: Connection, caller: Caller, game_id: UUID, season: str) -> None:
    """Drop a season and its leaderboard; its rounds stay."""
    hosted_game(conn, caller, game_id, "dropping seasons of")
    seasons.remove_season(conn, season_called(conn, game_id, season).id)
