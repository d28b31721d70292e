"""The leaderboards that a caller may see, read from the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import msgspec
from sqlalchemy import Connection, and_, true

from rubrica.errors import MissingError
from rubrica.store import games, players, scores, standings
from rubrica.store.games import Attachment
from rubrica.store.scores import PlayerMean
from rubrica.workspace.access import LOCAL, Caller

from .board_cache import BoardCache, CompleteBoard
from .comparison import PlayerComparison, comparison_of
from .eligibility import GameCredentials, UncountedGame, counted
from .games import visible_game
from .leaderboard import LeaderboardRow, PlayerTotals, Way, by_composite, by_korgym, ranked
from .overrides import overridden


class Leaderboard(msgspec.Struct, frozen=True):
    """A leaderboard: overall, or by the dimension it names."""

    by: Way
    dimension: str | None
    dimensions: list[str]
    items: list[LeaderboardRow]
    total: int  # of whom the items are a page
    offset: int = 0  # how many come before the page
    own: list[LeaderboardRow] = []  # of the caller's own players, wherever they stand
    uncounted: list[UncountedGame] = []  # across games: those that do not count, and why

    def first(self, limit: int) -> Leaderboard:
        """The same with its first entries only."""
        return msgspec.structs.replace(self, items=self.items[:limit])


def of_game(conn: Connection, caller: Caller, game_id: UUID, by: Way, dimension: str | None) -> Leaderboard:
    """The players of one game."""
    game = visible_game(conn, caller, game_id)
    attached = games.attachments(conn, [game.id])
    found = scores.standings(conn, games.is_game(game.id))
    if by == "korgym":
        lines = by_korgym(attached, found)
    else:
        lines = by_composite(attached, found, comparisons_of(conn, attached) if by == "normalized" else {})
    dimensions = check_dimension(attached, dimension)
    entries = _board(conn, dimension, lines)
    return Leaderboard(by, dimension, dimensions, entries, len(entries))


def across_games(
    conn: Connection, caller: Caller, dimension: str | None, cache: BoardCache | None = None
) -> Leaderboard:
    """The players of all games that the caller may see: in each, those who joined it, by whoever stands behind them.

    With a cache, a large board may be a few seconds old; whose games are seen is looked up every time.
    """
    seen_by = None if caller.is_admin else caller.user_id
    attached = games.attachments(conn, seen_by=seen_by)

    def work_out() -> CompleteBoard:
        return _across(conn, seen_by, attached, dimension)

    seen = frozenset((each.id, each.weight, each.dimension) for each in attached)
    known = work_out() if cache is None else cache.get((seen_by, dimension, seen), object, work_out)
    gone = {game.game_id for game in known.uncounted}
    dimensions = check_dimension([each for each in attached if each.game_id not in gone], dimension)
    rows = list(known.rows)
    return Leaderboard("korgym", dimension, dimensions, rows, len(rows), uncounted=list(known.uncounted))


def _across(
    conn: Connection, seen_by: UUID | None, attached: Sequence[Attachment], dimension: str | None
) -> CompleteBoard:
    chosen = true() if seen_by is None else games.visible(seen_by)
    found = standings.joined_means(conn, chosen)
    found += scores.standings(conn, and_(chosen, standings.not_kept()), joined_only=True)
    counting, left_out = counted(found, *_credentials(conn, attached, found))
    gone = {game.game_id for game in left_out}
    counted_for = [each for each in attached if each.game_id not in gone]
    check_dimension(counted_for, dimension)
    return replace(CompleteBoard.of(_board(conn, dimension, by_korgym(counted_for, counting))), uncounted=left_out)


def _credentials(
    conn: Connection, attached: Sequence[Attachment], means: Sequence[PlayerMean]
) -> tuple[dict[UUID, GameCredentials], dict[UUID, UUID]]:
    """What tells whether games count, and who stands behind their players."""
    published = games.published(conn, {each.rubric_id for each in attached})
    unpublished: dict[UUID, list[str]] = {}
    for each in attached:
        if each.rubric_id not in published:
            unpublished.setdefault(each.game_id, []).append(each.slug)
    found = {
        game.id: GameCredentials(
            game.id,
            game.name,
            game.created_by,
            game.vouched_at is not None or LOCAL.owns(game.created_by),
            tuple(unpublished.get(game.id, ())),
        )
        for game in games.games_by_id(conn, {mean.game_id for mean in means})
    }
    return found, players.owners_of_players(conn, {mean.player_id for mean in means})


def comparisons_of(conn: Connection, attached: Sequence[Attachment]) -> dict[UUID, PlayerComparison]:
    """How each attached rubric compares players, by attachment."""
    said = games.definitions(conn, sorted({each.version_id for each in attached}))
    return {
        each.id: comparison_of(overridden(said[each.version_id].definition, each.config_overrides)) for each in attached
    }


def _board(conn: Connection, dimension: str | None, lines: Sequence[PlayerTotals]) -> list[LeaderboardRow]:
    return ranked(lines, players.names_of(conn, {line.player_id for line in lines}), dimension)


def check_dimension(attached: Sequence[Attachment], wanted: str | None) -> list[str]:
    """The dimensions of what is attached; a MissingError where one is wanted that is none of them."""
    dimensions = sorted({attachment.dimension for attachment in attached})
    if wanted is not None and wanted not in dimensions:
        raise MissingError(f"there is no dimension {wanted!r} here ({', '.join(dimensions) or 'none is attached'})")
    return dimensions
