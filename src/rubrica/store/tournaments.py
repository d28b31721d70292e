"""Tournaments: who takes part, and by which rules. Who won follows from the rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

import msgspec
from sqlalchemy import Connection, insert, select

from .game_tables import tournaments
from .tables import evaluation_scores, rounds

TournamentForm = Literal["round_robin", "elimination"]
Tiebreak = Literal["next_round", "seed", "draw"]
"""next_round: the players' following rounds decide. seed: the stronger seed wins. draw: half a point each."""


class Tournament(msgspec.Struct, frozen=True):
    """A tournament in a game. Rounds count from when it was made."""

    id: UUID
    game_id: UUID
    name: str
    form: TournamentForm
    rounds_per_match: int
    tiebreak: Tiebreak
    entrants: list[UUID]  # the strongest first
    created_by: UUID | None
    created_at: datetime


class RoundShare(msgspec.Struct, frozen=True):
    """What one attached rubric gave one round of a player."""

    player_id: UUID
    round_number: int
    attachment_id: UUID
    share: float | None


def add_tournament(conn: Connection, tournament: Tournament) -> None:
    """Keep a new tournament."""
    values = msgspec.structs.asdict(tournament)
    values["game_session_id"] = values.pop("game_id")
    values["entrants"] = [str(each) for each in tournament.entrants]
    conn.execute(insert(tournaments).values(values))


def tournaments_of(conn: Connection, game_id: UUID, limit: int) -> list[Tournament]:
    """The tournaments of a game, newest first."""
    columns = [column for column in tournaments.c if column.name != "game_session_id"]
    query = select(*columns, tournaments.c.game_session_id.label("game_id"))
    query = query.where(tournaments.c.game_session_id == game_id).order_by(tournaments.c.id.desc()).limit(limit)
    return [_tournament({**row}) for row in conn.execute(query).mappings()]


def round_shares(
    conn: Connection, game_id: UUID, attachment_ids: Sequence[UUID], player_ids: Sequence[UUID], since: datetime
) -> list[RoundShare]:
    """What the rounds of some players were given since a time, in the order they were played."""
    scores = evaluation_scores.c
    query = (
        select(rounds.c.player_id, rounds.c.round_number, scores.attachment_id, scores.normalized_score)
        .join(
            evaluation_scores,
            (scores.player_id == rounds.c.player_id)
            & (scores.round_number == rounds.c.round_number)
            & scores.attachment_id.in_(list(attachment_ids)),
        )
        .where(
            rounds.c.game_session_id == game_id,
            rounds.c.player_id.in_(list(player_ids)),
            rounds.c.created_at >= since,
            rounds.c.voided_at.is_(None),
        )
        .order_by(rounds.c.player_id, rounds.c.created_at, rounds.c.round_number)
    )
    return [RoundShare(*row) for row in conn.execute(query)]


def _tournament(row: Mapping[str, Any]) -> Tournament:
    return Tournament(**{**row, "entrants": [UUID(each) for each in row["entrants"]]})
