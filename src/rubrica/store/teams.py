"""Teams of a game, and who is in them. A player is in one team of a game at most."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection, delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from rubrica.errors import ConflictError

from .columns import new_id
from .game_tables import game_team_players, game_teams, standings
from .standings import Board

_members = game_team_players.c


class Team(msgspec.Struct, frozen=True):
    """A team of a game."""

    id: UUID
    game_id: UUID
    name: str
    created_at: datetime


class TeamTotal(msgspec.Struct, frozen=True):
    """What the players of a team have reached together."""

    team_id: UUID
    score: float | None  # the mean over its players who have a score
    players: int
    scored: int  # of these, how many have a score
    rounds: int


def add_team(conn: Connection, game_id: UUID, name: str, now: datetime) -> Team:
    """Keep a new team; a ConflictError where the game has one of that name."""
    team = Team(new_id(now), game_id, name, now)
    values = {"id": team.id, "game_session_id": game_id, "name": name, "created_at": now}
    try:
        with conn.begin_nested():
            conn.execute(insert(game_teams).values(values))
    except IntegrityError:
        raise ConflictError(f"this game has a team called {name!r} already") from None
    return team


def teams_of(conn: Connection, game_id: UUID) -> list[Team]:
    """The teams of a game, in the order they were made."""
    table = game_teams.c
    query = select(table.id, table.game_session_id.label("game_id"), table.name, table.created_at)
    query = query.where(table.game_session_id == game_id).order_by(table.id)
    return [Team(**row) for row in conn.execute(query).mappings()]


def remove_team(conn: Connection, team_id: UUID) -> None:
    """Drop a team; its players stay in the game."""
    conn.execute(delete(game_team_players).where(_members.team_id == team_id))
    conn.execute(delete(game_teams).where(game_teams.c.id == team_id))


def team_of(conn: Connection, game_id: UUID, player_id: UUID) -> UUID | None:
    """The team a player is in."""
    query = select(_members.team_id).where(_members.game_session_id == game_id, _members.player_id == player_id)
    return conn.execute(query).scalar()


def set_team(conn: Connection, game_id: UUID, player_id: UUID, team_id: UUID | None) -> None:
    """Put a player into a team, out of whichever it was in; None: out of all."""
    conn.execute(delete(game_team_players).where(_members.game_session_id == game_id, _members.player_id == player_id))
    if team_id is not None:
        values = {"game_session_id": game_id, "player_id": player_id, "team_id": team_id}
        conn.execute(insert(game_team_players).values(values))


def members(conn: Connection, team_id: UUID) -> list[UUID]:
    """The players of a team."""
    return list(conn.execute(select(_members.player_id).where(_members.team_id == team_id)).scalars())


def teams_by_player(conn: Connection, game_id: UUID, player_ids: list[UUID]) -> dict[UUID, str]:
    """The names of the teams that some players are in."""
    query = (
        select(_members.player_id, game_teams.c.name)
        .join(game_teams, game_teams.c.id == _members.team_id)
        .where(_members.game_session_id == game_id, _members.player_id.in_(player_ids))
    )
    return {row.player_id: row.name for row in conn.execute(query)}


def team_totals(conn: Connection, game_id: UUID, board: Board) -> list[TeamTotal]:
    """What each team has reached on a board: the mean over its players who have a score."""
    on_board = (standings.c.player_id == _members.player_id) & board.rows
    query = (
        select(
            _members.team_id,
            func.avg(standings.c.score),
            func.count(),
            func.count(standings.c.score),
            func.coalesce(func.sum(standings.c.rounds), 0),
        )
        .outerjoin(standings, on_board)
        .where(_members.game_session_id == game_id)
        .group_by(_members.team_id)
    )
    return [TeamTotal(*row) for row in conn.execute(query)]
