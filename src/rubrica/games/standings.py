"""Standings that are kept: brought up to date in the transaction that adds rounds, or changes what is attached.

A player's own scores are read anew for it, so that it does not matter what became of them: new, judged again, voided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.store import games, players, seasons
from rubrica.store import standings as store
from rubrica.store.games import Attachment, Game
from rubrica.store.scores import PlayerMean
from rubrica.store.seasons import Season
from rubrica.store.standings import BOARD_FORM, Board, BoardRow, TimeRange

from .leaderboard import PlayerTotals, Way, by_composite
from .leaderboard_access import comparisons_of

KEPT: tuple[Way, ...] = ("composite", "normalized")
"""Ways in which a player's figure may be their own; where it depends on others', no rows are kept."""


def keep_standings(
    conn: Connection, game: Game, player_ids: Collection[UUID], played: Collection[datetime] | None, now: datetime
) -> None:
    """Bring the rows of some players up to date, on the game's board and on those of seasons they played in.

    `played` are the times of the rounds that changed; None: any. Whoever calls it holds the players.
    """
    if game.board_form != BOARD_FORM:
        rebuild_standings(conn, game.id, now, seasons_too=True, from_scores=True)
        store.mark_kept(conn, game.id)
        return
    ids = list(player_ids)
    attached = games.attachments(conn, [game.id])
    means = store.scored_means(conn, [each.id for each in attached], ids)
    store.replace_means(conn, game.id, means, ids)
    _keep(conn, game.id, game.id, attached, means, ids)
    for season in seasons.seasons_of(conn, game.id):
        if played is None or any(season.starts_at <= at < season.ends_at for at in played):
            _keep_season(conn, season, now, ids)


def rebuild_standings(
    conn: Connection, game_id: UUID, now: datetime, *, seasons_too: bool = False, from_scores: bool = False
) -> None:
    """Write the rows of everybody anew. Whoever calls it holds the game. A season that has ended stays as it is."""
    attached = games.attachments(conn, [game_id])
    ids = [each.id for each in attached]
    means = store.scored_means(conn, ids) if from_scores else store.kept_means(conn, ids)
    if from_scores:
        store.replace_means(conn, game_id, means)
    _keep(conn, game_id, game_id, attached, means)
    for season in seasons.seasons_of(conn, game_id):
        if seasons_too or season.ends_at > now:
            _keep_season(conn, season, now)


def build_season(conn: Connection, season: Season, now: datetime) -> None:
    """Write the board of a new season."""
    _keep_season(conn, season, now)


def season_attachments(conn: Connection, season: Season, now: datetime) -> list[Attachment]:
    """What counts in a season: what is attached, or was when it ended."""
    if season.ends_at > now:
        return games.attachments(conn, [season.game_id])
    return games.attachments_at(conn, season.game_id, season.ends_at)


def _keep_season(conn: Connection, season: Season, now: datetime, player_ids: Collection[UUID] | None = None) -> None:
    attached = season_attachments(conn, season, now)
    span = TimeRange(season.starts_at, season.ends_at)
    means = store.scored_means(conn, [each.id for each in attached], player_ids, span)
    _keep(conn, season.game_id, season.id, attached, means, player_ids)


def _keep(
    conn: Connection,
    game_id: UUID,
    board_id: UUID,
    attached: Sequence[Attachment],
    means: Sequence[PlayerMean],
    player_ids: Collection[UUID] | None = None,
) -> None:
    names = players.names_of(conn, {mean.player_id for mean in means})
    comparisons = comparisons_of(conn, attached)
    for way in KEPT:
        board = Board(board_id, way)
        if way == "normalized" and any(each.is_relative for each in comparisons.values()):
            store.replace_standings(conn, board, [])
        else:
            lines = by_composite(attached, means, comparisons if way == "normalized" else {})
            store.replace_standings(conn, board, list(_rows(board, game_id, lines, names)), player_ids)


def _rows(board: Board, game_id: UUID, lines: Iterable[PlayerTotals], names: dict[UUID, str]) -> Iterable[BoardRow]:
    for line in lines:
        name, plain = names[line.player_id], msgspec.to_builtins(line)
        yield BoardRow(board.id, board.way, line.player_id, game_id, name, line.score, line.rounds, plain)
