"""Seasons: ranges of time with a leaderboard of their own, in one game."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection, delete, insert, select
from sqlalchemy.exc import IntegrityError

from rubrica.errors import ConflictError

from .game_tables import game_seasons, standings

_columns = game_seasons.c


class Season(msgspec.Struct, frozen=True):
    """A season of a game: rounds from its start on, and before its end."""

    id: UUID
    game_id: UUID
    name: str
    starts_at: datetime
    ends_at: datetime
    created_at: datetime


def add_season(conn: Connection, season: Season) -> None:
    """Keep a new season; a ConflictError where the game has one of that name."""
    values = msgspec.structs.asdict(season)
    values["game_session_id"] = values.pop("game_id")
    try:
        with conn.begin_nested():
            conn.execute(insert(game_seasons).values(values))
    except IntegrityError:
        raise ConflictError(f"this game has a season called {season.name!r} already") from None


def seasons_of(conn: Connection, game_id: UUID) -> list[Season]:
    """The seasons of a game, the latest start first."""
    names = ("id", "name", "starts_at", "ends_at", "created_at")
    query = select(*(_columns[name] for name in names), _columns.game_session_id.label("game_id"))
    query = query.where(_columns.game_session_id == game_id).order_by(_columns.starts_at.desc(), _columns.id)
    return [Season(**row) for row in conn.execute(query).mappings()]


def remove_season(conn: Connection, season_id: UUID) -> None:
    """Drop a season and its leaderboard; its rounds stay."""
    conn.execute(delete(standings).where(standings.c.board_id == season_id))
    conn.execute(delete(game_seasons).where(_columns.id == season_id))
