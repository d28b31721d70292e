"""Rounds of games: what each player was asked and said, numbered by player."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, func, insert, or_, select, update

from .players import joined
from .tables import evaluation_scores, players, rounds

Place = tuple[UUID, int]
"""Where a page ended: the player and the number of its last round."""


class PlayedRound(msgspec.Struct, frozen=True):
    """One round of one player, as it was kept."""

    id: UUID
    game_id: UUID
    player_id: UUID
    round_number: int
    content: dict[str, Any]  # prompt, response, metadata, custom_metrics, and what was found in it
    created_at: datetime
    voided_at: datetime | None = None  # it is kept and shown, and counts no more
    voided_by: UUID | None = None
    void_reason: str | None = None


class PlayerProgress(msgspec.Struct, frozen=True):
    """How far a player has come in a game: rounds kept, and the highest number among them."""

    count: int = 0
    last: int = 0


class RoundOwner(msgspec.Struct, frozen=True):
    """Whose rounds are meant: one player's, those of a user's players, those of a host, or everybody's.

    Those of a host are of players they made or are, and of players who joined the game.
    """

    player_id: UUID | None = None
    user_id: UUID | None = None
    host_id: UUID | None = None


_COLUMNS = (
    rounds.c.id,
    rounds.c.game_session_id.label("game_id"),
    rounds.c.player_id,
    rounds.c.round_number,
    rounds.c.content,
    rounds.c.created_at,
    rounds.c.voided_at,
    rounds.c.voided_by,
    rounds.c.void_reason,
)


def add_rounds(conn: Connection, new: Sequence[PlayedRound]) -> None:
    """Keep rounds. Their numbers must be free: whoever adds some holds the player."""
    rows = [msgspec.structs.asdict(round_) for round_ in new]
    for row in rows:
        row["game_session_id"] = row.pop("game_id")
    if rows:
        conn.execute(insert(rounds), rows)


def progress(conn: Connection, game_id: UUID, player_id: UUID) -> PlayerProgress:
    """How far a player has come."""
    count, last = conn.execute(
        select(func.count(), func.max(rounds.c.round_number)).where(_of(game_id, player_id))
    ).one()
    return PlayerProgress(count, last or 0)


def round_by_number(conn: Connection, game_id: UUID, player_id: UUID, number: int) -> PlayedRound | None:
    query = select(*_COLUMNS).where(_of(game_id, player_id), rounds.c.round_number == number)
    row = conn.execute(query).mappings().first()
    return None if row is None else PlayedRound(**row)


def void_round(conn: Connection, round_: PlayedRound, by: UUID, reason: str, now: datetime) -> None:
    """Have a round count no more, with its scores; it is kept, and shown with the reason."""
    _mark_void(conn, round_, now, by, reason)


def restore_round(conn: Connection, round_: PlayedRound) -> None:
    """Have a voided round count again."""
    _mark_void(conn, round_, None, None, None)


def numbers_of_user(conn: Connection, game_id: UUID, user_id: UUID) -> set[int]:
    """The numbers of the rounds that a user's players have in a game."""
    query = select(rounds.c.round_number).join(players, players.c.id == rounds.c.player_id)
    query = query.where(rounds.c.game_session_id == game_id, players.c.user_id == user_id)
    return set(conn.execute(query.where(rounds.c.voided_at.is_(None))).scalars())


def numbers_taken(conn: Connection, game_id: UUID, player_id: UUID, numbers: Collection[int]) -> list[int]:
    """Which of some numbers a player has used."""
    query = select(rounds.c.round_number).where(_of(game_id, player_id), rounds.c.round_number.in_(list(numbers)))
    return sorted(conn.execute(query).scalars())


def rounds_before(conn: Connection, game_id: UUID, player_id: UUID, number: int, limit: int) -> list[PlayedRound]:
    """A player's last rounds below a number that count, oldest first."""
    query = (
        select(*_COLUMNS)
        .where(_of(game_id, player_id), rounds.c.round_number < number, rounds.c.voided_at.is_(None))
        .order_by(rounds.c.round_number.desc())
        .limit(limit)
    )
    return [PlayedRound(**row) for row in conn.execute(query).mappings()][::-1]


def list_rounds(
    conn: Connection, game_id: UUID, player_id: UUID | None = None, *, after: Place | None = None, limit: int = 50
) -> list[PlayedRound]:
    """Rounds of a game, player by player, each by number."""
    query = select(*_COLUMNS).where(rounds.c.game_session_id == game_id)
    if player_id is not None:
        query = query.where(rounds.c.player_id == player_id)
    if after is not None:
        player, number = after
        later = and_(rounds.c.player_id == player, rounds.c.round_number > number)
        query = query.where(or_(rounds.c.player_id > player, later), rounds.c.player_id >= player)
    query = query.order_by(rounds.c.player_id, rounds.c.round_number).limit(limit)
    return [PlayedRound(**row) for row in conn.execute(query).mappings()]


def rounds_to_score(
    conn: Connection, game_id: UUID, attachment_ids: Sequence[UUID], whose: RoundOwner, limit: int
) -> list[PlayedRound]:
    """Rounds that lack a score of something attached, player by player, each by number."""
    scored = (
        select(func.count())
        .where(
            evaluation_scores.c.attachment_id.in_(list(attachment_ids)),
            evaluation_scores.c.player_id == rounds.c.player_id,
            evaluation_scores.c.round_number == rounds.c.round_number,
        )
        .correlate(rounds)
        .scalar_subquery()
    )
    query = select(*_COLUMNS).where(rounds.c.game_session_id == game_id, scored < len(attachment_ids))
    query = query.where(rounds.c.voided_at.is_(None))
    if whose.player_id is not None:
        query = query.where(rounds.c.player_id == whose.player_id)
    if whose.user_id is not None:
        own = select(1).where(players.c.id == rounds.c.player_id, players.c.user_id == whose.user_id)
        query = query.where(own.exists())
    if whose.host_id is not None:
        mine = or_(players.c.created_by == whose.host_id, players.c.user_id == whose.host_id)
        own = select(1).where(players.c.id == rounds.c.player_id, mine)
        query = query.where(or_(own.exists(), joined(rounds.c.game_session_id, rounds.c.player_id)))
    query = query.order_by(rounds.c.player_id, rounds.c.round_number).limit(limit)
    return [PlayedRound(**row) for row in conn.execute(query).mappings()]


def _mark_void(conn: Connection, round_: PlayedRound, at: datetime | None, by: UUID | None, reason: str | None) -> None:
    values = {"voided_at": at, "voided_by": by, "void_reason": reason}
    conn.execute(update(rounds).where(rounds.c.id == round_.id).values(values))
    table = evaluation_scores.c
    own = and_(
        table.game_session_id == round_.game_id,
        table.player_id == round_.player_id,
        table.round_number == round_.round_number,
        table.attachment_id.is_not(None),
    )
    conn.execute(update(evaluation_scores).where(own).values(voided_at=at))


def _of(game_id: UUID, player_id: UUID) -> ColumnElement[bool]:
    return and_(rounds.c.game_session_id == game_id, rounds.c.player_id == player_id)
