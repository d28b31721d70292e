"""Large leaderboards that were worked out, kept for a little: what took long is not done again for every look."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from uuid import UUID

from rubrica.lru_cache import LruCache

from .eligibility import UncountedGame
from .leaderboard import LeaderboardRow

LARGE = 1_000
"""Players; a smaller board is worked out for every look, and never old."""
MOST_ROWS = 200_000
"""Rows of all boards that are kept."""
SHORTEST, TIMES = 1.0, 20.0
"""A board is looked at as it is for so many seconds, and for so many times what working it out took."""


@dataclass(slots=True)
class CompleteBoard:
    """All rows of a leaderboard in their order."""

    rows: Sequence[LeaderboardRow]
    places: dict[UUID, int]  # by player
    uncounted: Sequence[UncountedGame] = ()  # across games: those that do not count
    mark: object = None  # names what the rows follow from
    took: float = 0.0
    fresh_until: float = 0.0

    @classmethod
    def of(cls, rows: Sequence[LeaderboardRow]) -> CompleteBoard:
        return cls(rows, {row.player_id: place for place, row in enumerate(rows)})

    def of_players(self, player_ids: Sequence[UUID]) -> list[LeaderboardRow]:
        """The rows of some players, in order."""
        return [self.rows[place] for place in sorted(self.places[id] for id in player_ids if id in self.places)]


class BoardCache:
    """Large boards that were worked out last. Threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, large: int = LARGE) -> None:
        self._kept: LruCache[Hashable, CompleteBoard] = LruCache(
            100, weight=lambda board: len(board.rows), most_weight=MOST_ROWS
        )
        self._clock, self._large = clock, large

    def get(self, key: Hashable, mark: Callable[[], object], make: Callable[[], CompleteBoard]) -> CompleteBoard:
        """A board; `mark` names what it follows from, and is asked for only where the board may be too old."""
        known = self._kept.get(key)
        if known is not None and self._clock() < known.fresh_until:
            return known
        now = self._clock()
        if known is None or mark() != known.mark:
            named = mark()
            known = make()
            known.mark, known.took = named, self._clock() - now
            if len(known.rows) > self._large:
                self._kept.put(key, known)
        known.fresh_until = self._clock() + max(SHORTEST, TIMES * known.took)
        return known
