"""Live leaderboards: a game that somebody watches is looked at once a second, however many they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import MissingError, StoreError
from rubrica.store import games, standings
from rubrica.store.database import Database
from rubrica.store.games import Game
from rubrica.store.standings import BOARD_FORM, Board, BoardSize
from rubrica.workspace.access import LOCAL

from .board_cache import BoardCache
from .board_pages import BoardQuery, board_page
from .leaderboard_access import Leaderboard
from .life import takes_rounds
from .standings import KEPT

EVERY = 1.0
"""Seconds between two looks at a game."""
SHOWN = 100
"""Players that are told of."""


class BoardNews(msgspec.Struct, frozen=True):
    """The beginning of a game's leaderboard as it is now."""

    mark: str  # names what is told: the same mark, the same board
    name: str  # of the game
    status: str
    ended: bool  # no more rounds are taken
    board: Leaderboard


@dataclass(slots=True)
class _Watched:
    """A game that is looked at, and by how many."""

    viewers: int = 0
    news: BoardNews | None = None
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    looking: asyncio.Task[None] | None = None


class LiveBoards:
    """The games that are watched on this server."""

    def __init__(self, database: Database, clock: Callable[[], datetime], boards: BoardCache) -> None:
        self._database, self._clock, self._boards = database, clock, boards
        self._watched: dict[UUID, _Watched] = {}
        self.looks = 0  # at games, so far

    async def now(self, game_id: UUID) -> BoardNews:
        """The leaderboard of a game now, whoever asks: who may see it is for others to say."""
        return await self._database.read(_news, game_id, None, self._clock(), self._boards)

    @asynccontextmanager
    async def watching(self, game_id: UUID) -> AsyncIterator[LiveBoard]:
        """Be told of changes for as long as it is watched."""
        watched = self._watched.setdefault(game_id, _Watched())
        watched.viewers += 1
        if watched.looking is None:
            watched.looking = asyncio.get_running_loop().create_task(self._look(game_id, watched))
        try:
            yield LiveBoard(watched)
        finally:
            watched.viewers -= 1
            if watched.viewers == 0:
                self._watched.pop(game_id, None)
                watched.looking.cancel()

    async def close(self) -> None:
        """Look at nothing any more."""
        for watched in [*self._watched.values()]:
            if watched.looking is not None:
                watched.looking.cancel()
                with suppress(asyncio.CancelledError):
                    await watched.looking
        self._watched.clear()

    async def _look(self, game_id: UUID, watched: _Watched) -> None:
        while True:
            self.looks += 1
            with suppress(StoreError, MissingError):  # it is looked at again in a moment
                known = watched.news
                found = await self._database.read(_news, game_id, known, self._clock(), self._boards)
                if known is None or found.mark != known.mark:
                    watched.news = found
                    watched.changed.set()
                    watched.changed = asyncio.Event()
            await asyncio.sleep(EVERY)


class LiveBoard:
    """One viewer's look at a game."""

    def __init__(self, watched: _Watched) -> None:
        self._watched = watched

    async def after(self, mark: str | None, patience: float) -> BoardNews | None:
        """What has changed since a mark; None: nothing in so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                while (news := self._watched.news) is None or news.mark == mark:
                    await self._watched.changed.wait()
                return news
        return None


def _news(conn: Connection, game_id: UUID, known: BoardNews | None, now: datetime, boards: BoardCache) -> BoardNews:
    game = games.game_by_id(conn, game_id)
    if game is None:
        raise MissingError(f"there is no game {game_id}")
    ended = game.status != "draft" and not takes_rounds(game, now)
    size = standings.size(conn, Board(game_id, KEPT[0])) if game.board_form == BOARD_FORM else None
    mark = None if size is None else _mark(game, size, ended=ended)
    if known is not None and known.mark == mark:
        return known
    board = msgspec.structs.replace(board_page(conn, LOCAL, game_id, BoardQuery(limit=SHOWN), now, boards), own=[])
    if mark is None:
        told = [row.score or 0.0 for row in board.items]
        size = BoardSize(board.total, sum(row.rounds for row in board.items), sum(told))
        mark = _mark(game, size, ended=ended)
    return BoardNews(mark, game.name, game.status, ended, board)


def _mark(game: Game, size: BoardSize, *, ended: bool) -> str:
    shown = "public" if game.is_public else "private"
    state = "ended" if ended else game.status
    return f"{size.players}-{size.rounds}-{size.score:.9f}-{state}-{shown}"
