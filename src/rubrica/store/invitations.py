"""Invitations to games: by a link that whoever has it may use, or for one person by name."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Connection, Select, and_, func, insert, or_, select, update

from .game_tables import game_invitations
from .tables import game_players, games, users

_columns = game_invitations.c


class Invitation(msgspec.Struct, frozen=True):
    """An invitation as it is kept; the token of a link is kept nowhere."""

    id: UUID
    game_id: UUID
    game: str  # its name
    user: str | None  # whom it names; None: whoever has the link
    most_uses: int | None  # None: no limit
    uses: int
    expires_at: datetime
    revoked_at: datetime | None
    created_by: UUID | None
    created_at: datetime


class NewInvitation(msgspec.Struct, frozen=True):
    """An invitation to be kept; it has a digest of a token, or a user."""

    id: UUID
    game_session_id: UUID
    digest: bytes | None
    user_id: UUID | None
    most_uses: int | None
    expires_at: datetime
    created_by: UUID
    created_at: datetime


def add_invitation(conn: Connection, new: NewInvitation) -> None:
    """Keep an invitation."""
    conn.execute(insert(game_invitations).values({**msgspec.structs.asdict(new), "uses": 0}))


def invitation_by_digest(conn: Connection, digest: bytes) -> Invitation | None:
    """The invitation whose link has a token of that digest."""
    return _first(conn, _columns.digest == digest)


def invitation_by_id(conn: Connection, invitation_id: UUID) -> Invitation | None:
    return _first(conn, _columns.id == invitation_id)


def invitations_to(conn: Connection, game_id: UUID, limit: int) -> list[Invitation]:
    """The invitations to a game, newest first."""
    query = _query().where(_columns.game_session_id == game_id).order_by(_columns.id.desc()).limit(limit)
    return [Invitation(**row) for row in conn.execute(query).mappings()]


def invitations_for(conn: Connection, user_id: UUID, now: datetime, limit: int) -> list[Invitation]:
    """The invitations that name a user and can still be accepted, newest first."""
    query = _query().where(_columns.user_id == user_id, usable(now)).order_by(_columns.id.desc()).limit(limit)
    return [Invitation(**row) for row in conn.execute(query).mappings()]


def use_invitation(conn: Connection, invitation_id: UUID, now: datetime) -> bool:
    """Count one use, if there is one left; whether there was."""
    used = update(game_invitations).where(_columns.id == invitation_id, usable(now)).values(uses=_columns.uses + 1)
    return conn.execute(used).rowcount == 1


def revoke_invitation(conn: Connection, invitation_id: UUID, now: datetime) -> None:
    """Let nobody use it any more."""
    conn.execute(
        update(game_invitations)
        .where(_columns.id == invitation_id, _columns.revoked_at.is_(None))
        .values(revoked_at=now)
    )


def usable(now: datetime) -> ColumnElement[bool]:
    """The invitations that can be accepted."""
    left = or_(_columns.most_uses.is_(None), _columns.uses < _columns.most_uses)
    return and_(_columns.revoked_at.is_(None), _columns.expires_at > now, left)


def joined_players(conn: Connection, game_id: UUID) -> int:
    """How many players have joined a game."""
    query = select(func.count()).where(game_players.c.game_session_id == game_id)
    return int(conn.execute(query).scalar_one())


def _query() -> Select[Any]:
    names = ("id", "most_uses", "uses", "expires_at", "revoked_at", "created_by", "created_at")
    return (
        select(
            *(_columns[name] for name in names),
            _columns.game_session_id.label("game_id"),
            games.c.name.label("game"),
            users.c.name.label("user"),
        )
        .join(games, games.c.id == _columns.game_session_id)
        .outerjoin(users, users.c.id == _columns.user_id)
    )


def _first(conn: Connection, chosen: ColumnElement[bool]) -> Invitation | None:
    row = conn.execute(_query().where(chosen)).mappings().first()
    return None if row is None else Invitation(**row)
