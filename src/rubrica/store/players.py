"""Players: people and models that take part in games."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, or_, select
from sqlalchemy.exc import IntegrityError

from rubrica.errors import ConflictError

from .tables import game_players, games, players, rounds, users

MOST_PARAMETERS = 10_000
"""Values in one statement; databases take some ten thousand."""


class Player(msgspec.Struct, frozen=True):
    """Who plays. `user_id` is the person behind it; None: a model, or nobody with a key."""

    id: UUID
    name: str
    info: dict[str, Any]
    user_id: UUID | None
    created_by: UUID | None
    created_at: datetime


def add_player(conn: Connection, player: Player) -> None:
    """Keep a new player; a ConflictError where its maker has one of that name."""
    try:
        with conn.begin_nested():  # PostgreSQL gives up the whole transaction after a refused statement
            conn.execute(insert(players).values(msgspec.structs.asdict(player)))
    except IntegrityError:
        raise ConflictError(f"you already have a player called {player.name!r}") from None


def player_by_id(conn: Connection, player_id: UUID) -> Player | None:
    return _first(conn, players.c.id == player_id)


def players_by_id(conn: Connection, player_ids: Collection[UUID]) -> dict[UUID, Player]:
    """Some players by id."""
    return {player.id: player for player in _all(conn, players.c.id.in_(list(player_ids)))}


def player_by_name(conn: Connection, created_by: UUID, name: str) -> Player | None:
    """The player of that name that somebody made."""
    return _first(conn, (players.c.created_by == created_by) & (players.c.name == name))


def players_in_game(conn: Connection, game_id: UUID, name: str) -> list[Player]:
    """The players of that name that have played in a game."""
    played = select(1).where(rounds.c.game_session_id == game_id, rounds.c.player_id == players.c.id).exists()
    return _all(conn, (players.c.name == name) & played)


def players_of_user(conn: Connection, user_id: UUID, game_id: UUID | None = None) -> list[Player]:
    """The players a person stands behind, oldest first; only those that have played in a game, where one is given."""
    chosen: ColumnElement[bool] = players.c.user_id == user_id
    if game_id is not None:
        chosen &= select(1).where(rounds.c.game_session_id == game_id, rounds.c.player_id == players.c.id).exists()
    return _all(conn, chosen)


def list_players(
    conn: Connection, seen_by: UUID | None, *, before: UUID | None = None, limit: int = 50
) -> list[Player]:
    """Players, newest first: those a user made or stands behind, or all for None."""
    query = select(players).order_by(players.c.id.desc()).limit(limit)
    if seen_by is not None:
        query = query.where(or_(players.c.user_id == seen_by, players.c.created_by == seen_by))
    if before is not None:
        query = query.where(players.c.id < before)
    return [Player(**row) for row in conn.execute(query).mappings()]


def join_game(conn: Connection, game_id: UUID, player_id: UUID, now: datetime) -> None:
    """Keep that a player takes part in a game with the consent of whoever stands behind it."""
    if not has_joined(conn, game_id, player_id):
        values = {"game_session_id": game_id, "player_id": player_id, "joined_at": now}
        with suppress(IntegrityError), conn.begin_nested():  # they may join twice at once
            conn.execute(insert(game_players).values(values))


def leave_game(conn: Connection, game_id: UUID, player_id: UUID) -> bool:
    """Take that back; whether there was anything to take back."""
    gone = delete(game_players).where(_joined(game_id), game_players.c.player_id == player_id)
    return bool(conn.execute(gone).rowcount)


def has_joined(conn: Connection, game_id: UUID, player_id: UUID) -> bool:
    """Whether a player has joined a game."""
    query = select(1).where(_joined(game_id), game_players.c.player_id == player_id)
    return conn.execute(query).first() is not None


def behind(conn: Connection, user_id: UUID, limit: int) -> list[UUID]:
    """The players a person stands behind: those they are, then the newest of those they made that nobody is."""
    theirs = select(players.c.id).where(players.c.user_id == user_id).limit(limit)
    made = select(players.c.id).where(players.c.user_id.is_(None), players.c.created_by == user_id)
    found = list(conn.execute(theirs).scalars())
    return [*found, *conn.execute(made.order_by(players.c.id.desc()).limit(limit - len(found))).scalars()]


def takes_part(conn: Connection, game_id: UUID, player_id: UUID) -> bool:
    """Whether a player has joined a game, or has a round in it."""
    played = select(1).where(rounds.c.game_session_id == game_id, rounds.c.player_id == player_id).limit(1)
    return has_joined(conn, game_id, player_id) or conn.execute(played).first() is not None


def joined_a_game_of(conn: Connection, player_id: UUID, host: UUID) -> bool:
    """Whether a player has joined some game that a user made."""
    query = select(1).join_from(game_players, games, games.c.id == game_players.c.game_session_id)
    query = query.where(game_players.c.player_id == player_id, games.c.created_by == host).limit(1)
    return conn.execute(query).first() is not None


def names_of(conn: Connection, player_ids: Collection[UUID]) -> dict[UUID, str]:
    """The names of some players."""
    ids = list(player_ids)
    found: dict[UUID, str] = {}
    for at in range(0, len(ids), MOST_PARAMETERS):
        some = players.c.id.in_(ids[at : at + MOST_PARAMETERS])
        found |= {row.id: row.name for row in conn.execute(select(players.c.id, players.c.name).where(some))}
    return found


def owners_of_players(conn: Connection, player_ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Who stands behind some players: the person each is, or whoever made it."""
    ids = list(player_ids)
    found: dict[UUID, UUID] = {}
    for at in range(0, len(ids), MOST_PARAMETERS):
        who = select(players.c.id, func.coalesce(players.c.user_id, players.c.created_by).label("who"))
        found |= {
            row.id: row.who
            for row in conn.execute(who.where(players.c.id.in_(ids[at : at + MOST_PARAMETERS])))
            if row.who is not None
        }
    return found


def lock_players(conn: Connection, player_ids: Collection[UUID]) -> None:
    """Let nobody else add rounds of these players before this transaction ends."""
    chosen = select(players.c.id).where(players.c.id.in_(sorted(player_ids))).order_by(players.c.id)
    conn.execute(chosen.with_for_update(key_share=True)).all()  # key_share: what refers to them is left alone


def user_by_name(conn: Connection, name: str) -> UUID | None:
    """The person of that name."""
    return conn.execute(select(users.c.id).where(users.c.name == name)).scalar()


def joined(game_id: ColumnElement[Any], player_id: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether a row's player has joined a row's game."""
    return exists().where(game_players.c.game_session_id == game_id, game_players.c.player_id == player_id)


def _joined(game_id: UUID) -> ColumnElement[bool]:
    return game_players.c.game_session_id == game_id


def _first(conn: Connection, chosen: ColumnElement[bool]) -> Player | None:
    return next(iter(_all(conn, chosen)), None)


def _all(conn: Connection, chosen: ColumnElement[bool]) -> list[Player]:
    query = select(players).where(chosen).order_by(players.c.id)
    return [Player(**row) for row in conn.execute(query).mappings()]
