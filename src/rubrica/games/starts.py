"""Beginning a round: from then on the server's clock runs, until the round is submitted with the token it gave."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import ConflictError
from rubrica.store import players, round_starts, rounds
from rubrica.workspace.access import Caller

from .games import visible_game
from .players import entrant


class StartedRound(msgspec.Struct, frozen=True):
    """A round that was begun."""

    token: UUID
    player_id: UUID
    player: str
    round_number: int
    started_at: datetime


def start_round(
    conn: Connection, caller: Caller, game_id: UUID, player: str | None, number: int | None, now: datetime
) -> StartedRound:
    """Begin a player's round, the next where no number is given. Beginning it again does not turn back the clock."""
    game = visible_game(conn, caller, game_id)
    who = entrant(conn, caller, game, player, now)
    if who.new:
        players.add_player(conn, who.player)
    if number is None:
        number = rounds.progress(conn, game.id, who.player.id).last + 1
    elif rounds.numbers_taken(conn, game.id, who.player.id, [number]):
        raise ConflictError(
            f"{who.player.name} has played round {number} already (leave round_number out for the next)"
        )
    start = round_starts.start_round(conn, game.id, who.player.id, number, now)
    return StartedRound(start.token, start.player_id, who.player.name, start.round_number, start.started_at)
