"""Who stands where, kept ready: a row for each player on each board, in the order of their scores.

A board is a game, or one of its seasons. Rows are written together with the rounds they follow from.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select, update

from .game_tables import game_team_players, player_means, standings
from .players import joined
from .scores import PlayerMean, player_mean
from .tables import evaluation_scores, game_players, game_rubrics, games, rounds

BOARD_FORM = 1
"""How standings are kept now. A game that has another form is read from its scores until it is written anew."""

_scores = evaluation_scores.c
_rows = standings.c
_means = player_means.c
_MEANS = (
    _means.game_session_id,
    _means.attachment_id,
    _means.player_id,
    _means.raw_mean,
    _means.normalized_mean,
    _means.rounds,
    _means.scored,
    _means.low,
    _means.high,
)
"""The columns that a `PlayerMean` is made of, in its order."""


class Board(NamedTuple):
    """A leaderboard that is kept ready: of a game or a season, and how its scores come about."""

    id: UUID
    way: str

    @property
    def rows(self) -> ColumnElement[bool]:
        return and_(_rows.board_id == self.id, _rows.way == self.way)


class BoardRow(msgspec.Struct, frozen=True):
    """One player on one board."""

    board_id: UUID
    way: str
    player_id: UUID
    game_session_id: UUID
    name: str
    score: float | None
    rounds: int
    totals: dict[str, Any]  # everything a leaderboard says of the player


class BoardSize(msgspec.Struct, frozen=True):
    """A board in short: what it says of everybody together changes whenever a row does."""

    players: int
    rounds: int
    score: float


@dataclass(frozen=True, slots=True)
class TimeRange:
    """From a time on, and before another; None: since ever, for ever."""

    since: datetime | None = None
    until: datetime | None = None

    @property
    def bounded(self) -> bool:
        return self.since is not None or self.until is not None


@dataclass(frozen=True, slots=True)
class BoardFilter:
    """Which players of a board are shown; their ranks stay those of the whole board."""

    name: str | None = None  # part of it, in any case
    team_id: UUID | None = None

    @property
    def narrow(self) -> bool:
        return self.name is not None or self.team_id is not None


def scored_means(
    conn: Connection,
    attachment_ids: Sequence[UUID],
    player_ids: Collection[UUID] | None = None,
    played: TimeRange | None = None,
) -> list[PlayerMean]:
    """Players' means under some attached rubrics, from the scores themselves; over rounds played in some time."""
    query = select(
        game_rubrics.c.game_session_id,
        _scores.attachment_id,
        _scores.player_id,
        func.avg(_scores.raw_score),
        func.avg(_scores.normalized_score),
        func.count(),
        func.count(_scores.normalized_score),
        func.avg(func.coalesce(_scores.normalized_score, _scores.low, 0.0)),
        func.avg(func.coalesce(_scores.normalized_score, _scores.high, 1.0)),
    ).join(game_rubrics, game_rubrics.c.id == _scores.attachment_id)
    query = query.where(_scores.attachment_id.in_(list(attachment_ids)), _scores.voided_at.is_(None))
    if player_ids is not None:
        query = query.where(_scores.player_id.in_(list(player_ids)))
    if played is not None and played.bounded:
        query = query.join(rounds, _round_of_score())
        query = query.where(*_within(played))
    query = query.group_by(game_rubrics.c.game_session_id, _scores.attachment_id, _scores.player_id)
    return [player_mean(row) for row in conn.execute(query)]


def replace_means(
    conn: Connection, game_id: UUID, new: Sequence[PlayerMean], player_ids: Collection[UUID] | None = None
) -> None:
    """Keep means in place of those of some players, or of everybody in a game."""
    chosen = player_means.c.game_session_id == game_id
    if player_ids is not None:
        chosen &= player_means.c.player_id.in_(list(player_ids))
    conn.execute(delete(player_means).where(chosen))
    rows = [_mean_row(mean) for mean in new]
    if rows:
        conn.execute(insert(player_means), rows)


def kept_means(conn: Connection, attachment_ids: Sequence[UUID]) -> list[PlayerMean]:
    """Every player's means under some attached rubrics, as they are kept."""
    query = select(*_MEANS).where(player_means.c.attachment_id.in_(list(attachment_ids)))
    return [player_mean(row) for row in conn.execute(query)]


def joined_means(conn: Connection, chosen: ColumnElement[bool]) -> list[PlayerMean]:
    """The kept means of who joined some games, under what is attached now; of games whose standings are not kept as
    they are now there are none."""
    table = player_means.c
    query = (
        select(*_MEANS)
        .join(game_rubrics, game_rubrics.c.id == table.attachment_id)
        .join(games, games.c.id == table.game_session_id)
        .where(game_rubrics.c.detached_at.is_(None), games.c.board_form == BOARD_FORM, chosen)
        .where(joined(table.game_session_id, table.player_id))
    )
    return [player_mean(row) for row in conn.execute(query)]


def not_kept() -> ColumnElement[bool]:
    """Games whose standings are not kept as they are now."""
    return games.c.board_form != BOARD_FORM


def replace_standings(
    conn: Connection, board: Board, new: Sequence[BoardRow], player_ids: Collection[UUID] | None = None
) -> None:
    """Keep rows in place of those of some players, or of everybody on a board."""
    chosen = board.rows
    if player_ids is not None:
        chosen &= _rows.player_id.in_(list(player_ids))
    conn.execute(delete(standings).where(chosen))
    rows = [msgspec.structs.asdict(row) | {"rank_key": rank_key(row.score)} for row in new]
    if rows:
        conn.execute(insert(standings), rows)


def rank_key(score: float | None) -> float:
    """What rows are ordered by: the highest score first, no score last.

    >>> sorted([None, 0.5, 0.75], key=rank_key)
    [0.75, 0.5, None]
    """
    return math.inf if score is None else -score


def mark_kept(conn: Connection, game_id: UUID) -> None:
    """Say that the standings of a game are kept as they are now."""
    conn.execute(update(games).where(games.c.id == game_id).values(board_form=BOARD_FORM))


def page_of(
    conn: Connection, board: Board, narrowed: BoardFilter, offset: int, limit: int
) -> list[tuple[BoardRow, float]]:
    """One page of a board in its order, each row with its rank key."""
    query = select(standings).where(board.rows, *_narrowed(narrowed))
    query = query.order_by(_rows.rank_key, _rows.name, _rows.player_id).offset(offset).limit(limit)
    return [_board_row(dict(row)) for row in conn.execute(query).mappings()]


def rows_of(conn: Connection, board: Board, player_ids: Collection[UUID], limit: int) -> list[tuple[BoardRow, float]]:
    """The rows of some players, in order."""
    query = select(standings).where(board.rows, _rows.player_id.in_(list(player_ids)))
    query = query.order_by(_rows.rank_key, _rows.name, _rows.player_id).limit(limit)
    return [_board_row(dict(row)) for row in conn.execute(query).mappings()]


def is_kept(conn: Connection, board: Board) -> bool:
    """Whether a board has rows."""
    return conn.execute(select(1).select_from(standings).where(board.rows).limit(1)).first() is not None


def better(conn: Connection, board: Board, key: float) -> int:
    """How many players of a board stand above a rank key."""
    query = select(func.count()).where(board.rows, _rows.rank_key < key)
    return int(conn.execute(query).scalar_one())


def sharing(conn: Connection, board: Board, keys: Collection[float]) -> dict[float, int]:
    """How many players of a board have each of some rank keys."""
    query = select(_rows.rank_key, func.count().label("players")).where(board.rows, _rows.rank_key.in_(list(keys)))
    return {row.rank_key: row.players for row in conn.execute(query.group_by(_rows.rank_key))}


def counted(conn: Connection, board: Board, narrowed: BoardFilter) -> int:
    """How many players a board shows."""
    query = select(func.count()).select_from(standings).where(board.rows, *_narrowed(narrowed))
    return int(conn.execute(query).scalar_one())


def size(conn: Connection, board: Board) -> BoardSize:
    """A board in short."""
    query = select(
        func.count(), func.coalesce(func.sum(_rows.rounds), 0), func.coalesce(func.sum(_rows.score), 0.0)
    ).where(board.rows)
    return BoardSize(*conn.execute(query).one())


def players_of_game(conn: Connection, game_id: UUID) -> int:
    """How many players a game has: who joined it, or has a round in it."""
    joined = select(game_players.c.player_id).where(game_players.c.game_session_id == game_id)
    played = select(rounds.c.player_id).where(rounds.c.game_session_id == game_id)
    return int(conn.execute(select(func.count()).select_from(joined.union(played).subquery())).scalar_one())


def _mean_row(mean: PlayerMean) -> dict[str, Any]:
    row = {key: value for key, value in msgspec.structs.asdict(mean).items() if key not in ("ends", "game_id")}
    low, high = mean.bounds
    return row | {"game_session_id": mean.game_id, "low": low, "high": high}


def _board_row(row: dict[str, Any]) -> tuple[BoardRow, float]:
    key = row.pop("rank_key")
    return BoardRow(**row), key


def _narrowed(narrowed: BoardFilter) -> list[ColumnElement[bool]]:
    chosen: list[ColumnElement[bool]] = []
    if narrowed.name is not None:
        chosen.append(_rows.name.icontains(narrowed.name, autoescape=True))
    if narrowed.team_id is not None:
        member = select(1).where(
            game_team_players.c.team_id == narrowed.team_id, game_team_players.c.player_id == _rows.player_id
        )
        chosen.append(member.exists())
    return chosen


def _round_of_score() -> ColumnElement[bool]:
    return and_(
        rounds.c.game_session_id == _scores.game_session_id,
        rounds.c.player_id == _scores.player_id,
        rounds.c.round_number == _scores.round_number,
    )


def _within(played: TimeRange) -> list[ColumnElement[bool]]:
    chosen: list[ColumnElement[bool]] = []
    if played.since is not None:
        chosen.append(rounds.c.created_at >= played.since)
    if played.until is not None:
        chosen.append(rounds.c.created_at < played.until)
    return chosen
