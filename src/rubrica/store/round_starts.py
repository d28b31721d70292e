"""When rounds were begun, by the server's clock."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID, uuid4

import msgspec
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from .tables import round_starts


class RoundStart(msgspec.Struct, frozen=True):
    """A round that a player began."""

    token: UUID
    game_id: UUID
    player_id: UUID
    round_number: int
    started_at: datetime


def start_round(conn: Connection, game_id: UUID, player_id: UUID, number: int, now: datetime) -> RoundStart:
    """Begin a round. One that was begun before stays as it is: beginning anew does not turn back the clock."""
    table = round_starts.c
    chosen = (table.game_session_id == game_id, table.player_id == player_id, table.round_number == number)
    row = conn.execute(select(round_starts).where(*chosen)).first()
    if row is None:
        values = {"game_session_id": game_id, "player_id": player_id, "round_number": number, "started_at": now}
        try:
            with conn.begin_nested():
                conn.execute(insert(round_starts).values(id=uuid4(), **values))
        except IntegrityError:
            pass  # begun twice at once
        row = conn.execute(select(round_starts).where(*chosen)).one()
    return RoundStart(*row)


def start_by_token(conn: Connection, token: UUID) -> RoundStart | None:
    """The start that gave a token."""
    row = conn.execute(select(round_starts).where(round_starts.c.id == token)).first()
    return None if row is None else RoundStart(*row)
