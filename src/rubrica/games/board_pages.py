"""Pages of a game's leaderboard: narrowed by team, season, time or name, with one's own rank.

Where every player's figure is their own, rows are kept in order and a page costs what its rows cost. Where players are
compared with each other, or times are chosen freely, the whole board is worked out first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import InputError
from rubrica.store import games, players, standings, teams
from rubrica.store.games import Attachment, Game
from rubrica.store.scores import PlayerMean
from rubrica.store.seasons import Season
from rubrica.store.standings import BOARD_FORM, Board, BoardFilter, BoardRow, TimeRange
from rubrica.workspace.access import Caller

from .board_cache import BoardCache, CompleteBoard
from .games import visible_game
from .leaderboard import LeaderboardRow, PlayerTotals, Way, by_composite, by_korgym, ranked
from .leaderboard_access import Leaderboard, check_dimension, comparisons_of
from .standings import KEPT, season_attachments
from .teams import season_called, team_called

EVER = TimeRange()
MOST_OWN = 20
"""Players of one's own that are told beside a page."""
MOST_LOOKED_UP = 500
"""Players of one's own among whom these are looked for."""


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """Which page of which leaderboard."""

    by: Way = "normalized"
    dimension: str | None = None
    season: str | None = None  # its id or name
    played: TimeRange = EVER
    team: str | None = None  # its id or name
    name: str | None = None  # part of a player's name
    offset: int = 0
    limit: int = 100


@dataclass(frozen=True, slots=True)
class _Asked:
    """A query and what it comes down to."""

    game: Game
    query: BoardQuery
    season: Season | None
    attached: Sequence[Attachment]
    narrowed: BoardFilter
    team: set[UUID] | None  # of the team that was asked for

    @property
    def board(self) -> Board:
        return Board(self.game.id if self.season is None else self.season.id, self.query.by)

    @property
    def kept(self) -> bool:
        """Whether rows are kept for it."""
        query = self.query
        plain = query.dimension is None and not query.played.bounded
        return plain and query.by in KEPT and self.game.board_form == BOARD_FORM


def board_page(
    conn: Connection, caller: Caller, game_id: UUID, query: BoardQuery, now: datetime, cache: BoardCache | None = None
) -> Leaderboard:
    """One page of a leaderboard that the caller may see. Ranks are those of the whole board, whatever is shown.

    With a cache, a large board in which players are compared may be a few seconds old.
    """
    asked = _asked(conn, caller, game_id, query, now)
    check_dimension(asked.attached, query.dimension)
    page = _kept_page(conn, caller, asked) if asked.kept else None
    page = page or _worked_out_page(conn, caller, asked, cache)
    shown = [row.player_id for row in (*page.items, *page.own)]
    in_teams = teams.teams_by_player(conn, game_id, shown) if shown else {}
    return msgspec.structs.replace(page, items=_with_teams(page.items, in_teams), own=_with_teams(page.own, in_teams))


def _asked(conn: Connection, caller: Caller, game_id: UUID, query: BoardQuery, now: datetime) -> _Asked:
    game = visible_game(conn, caller, game_id)
    if query.season is not None and query.played.bounded:
        raise InputError("a season has its time: give either season, or since and until")
    if query.name is not None and "\0" in query.name:
        raise InputError("no name has a NUL character in it")
    season = None if query.season is None else season_called(conn, game_id, query.season)
    team = None if query.team is None else team_called(conn, game_id, query.team)
    attached = games.attachments(conn, [game.id]) if season is None else season_attachments(conn, season, now)
    narrowed = BoardFilter(query.name or None, None if team is None else team.id)
    members = None if team is None else set(teams.members(conn, team.id))
    return _Asked(game, query, season, attached, narrowed, members)


def _kept_page(conn: Connection, caller: Caller, asked: _Asked) -> Leaderboard | None:
    """A page of kept rows; None: there are none, for nobody has played, or players are compared with each other."""
    query, board = asked.query, asked.board
    if not standings.is_kept(conn, board):
        return None
    found = standings.page_of(conn, board, asked.narrowed, query.offset, query.limit)
    own = standings.rows_of(conn, board, players.behind(conn, caller.user_id, MOST_LOOKED_UP), MOST_OWN)
    total = standings.counted(conn, board, asked.narrowed)
    return Leaderboard(
        query.by,
        query.dimension,
        sorted({each.dimension for each in asked.attached}),
        _ranked(conn, board, found, run=not asked.narrowed.narrow),
        total,
        query.offset,
        _ranked(conn, board, own, run=False),
    )


def _ranked(
    conn: Connection, board: Board, found: Sequence[tuple[BoardRow, float]], *, run: bool
) -> list[LeaderboardRow]:
    """Kept rows with their ranks. Those of a run follow each other on the board, so that one count will do."""
    keys = {key for _, key in found if key != math.inf}
    shared = standings.sharing(conn, board, keys) if keys else {}
    above: dict[float, int] = {}
    for key in sorted(keys):
        before = max((other for other in above if other < key), default=None) if run else None
        above[key] = standings.better(conn, board, key) if before is None else above[before] + shared[before]
    rows = []
    for kept, key in found:
        line = msgspec.convert(kept.totals, PlayerTotals)
        rank = None if key == math.inf else above[key] + 1
        (row,) = ranked([line], {line.player_id: kept.name})
        rows.append(msgspec.structs.replace(row, rank=rank, tied=rank is not None and shared[key] > 1))
    return rows


def _worked_out_page(conn: Connection, caller: Caller, asked: _Asked, cache: BoardCache | None) -> Leaderboard:
    query = asked.query
    if cache is None or query.played.bounded or asked.game.board_form != BOARD_FORM:
        whole = _worked_out(conn, asked)
    else:
        attached = tuple((each.id, each.weight, each.dimension) for each in asked.attached)
        key = (asked.board.id, query.by, query.dimension, attached)
        small = Board(asked.board.id, KEPT[0])
        whole = cache.get(key, lambda: standings.size(conn, small), lambda: _worked_out(conn, asked))
    theirs = players.behind(conn, caller.user_id, MOST_LOOKED_UP)
    shown = [row for row in whole.rows if _fits(row, asked)] if asked.narrowed.narrow else whole.rows
    return Leaderboard(
        query.by,
        query.dimension,
        sorted({each.dimension for each in asked.attached}),
        list(shown[query.offset : query.offset + query.limit]),
        len(shown),
        query.offset,
        whole.of_players(theirs)[:MOST_OWN],
    )


def _worked_out(conn: Connection, asked: _Asked) -> CompleteBoard:
    query, means = asked.query, _means(conn, asked)
    if query.by == "korgym":
        lines = by_korgym(asked.attached, means)
    else:
        comparisons = comparisons_of(conn, asked.attached) if query.by == "normalized" else {}
        lines = by_composite(asked.attached, means, comparisons)
    names = players.names_of(conn, {line.player_id for line in lines})
    return CompleteBoard.of(ranked(lines, names, query.dimension))


def _means(conn: Connection, asked: _Asked) -> list[PlayerMean]:
    ids = [each.id for each in asked.attached]
    if asked.season is not None:
        return standings.scored_means(conn, ids, None, TimeRange(asked.season.starts_at, asked.season.ends_at))
    if asked.query.played.bounded or asked.game.board_form != BOARD_FORM:
        return standings.scored_means(conn, ids, None, asked.query.played)
    return standings.kept_means(conn, ids)


def _fits(row: LeaderboardRow, asked: _Asked) -> bool:
    wanted = asked.narrowed.name
    named = wanted is None or wanted.casefold() in row.player.casefold()
    return named and (asked.team is None or row.player_id in asked.team)


def _with_teams(rows: Sequence[LeaderboardRow], in_teams: dict[UUID, str]) -> list[LeaderboardRow]:
    return [msgspec.structs.replace(row, team=in_teams.get(row.player_id)) for row in rows]
