"""Pages of a leaderboard with 10,000 players and 200,000 rounds against the same pages with 100 players.

Both games are in SQLite files, asked through `Database.read` as the route does it, without HTTP, whose cost is the same
for both and would only flatter the ratio. Rounds and scores are put in as rows; standings are made of them as they are
of a game that an older Rubrica left.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, insert

from rubrica.games import board_pages, leaderboard_access, standings
from rubrica.games.board_cache import BoardCache
from rubrica.games.board_pages import BoardQuery
from rubrica.games.leaderboard import Way
from rubrica.store.columns import new_id
from rubrica.store.database import Database
from rubrica.store.standings import mark_kept
from rubrica.store.tables import (
    evaluation_scores,
    game_players,
    game_rubrics,
    games,
    players,
    rounds,
    rubric_versions,
    rubrics,
    users,
)
from rubrica.store.upgrade import upgrade
from rubrica.workspace.access import Caller

from .floor import Ratio, in_turn

MANY, FEW = 10_000, 100
ROUNDS_EACH = 20
PAGE, CALLS = 50, 40
TARGET = 3.0
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = START + timedelta(days=70)
DEFINITION = {
    "name": "Length",
    "scoring_type": "cumulative",
    "max_score": 100,
    "rules": [{"type": "custom_expression", "name": "words", "expression": "word_count"}],
}


@dataclass(frozen=True, slots=True)
class Arena:
    """A game in an open database, on an event loop of its own, and one of its players."""

    database: Database
    runner: asyncio.Runner
    game: UUID
    viewer: Caller
    players: int
    cache: BoardCache = field(default_factory=BoardCache)

    def look(self, query: BoardQuery, calls: int = CALLS) -> None:
        async def all_calls() -> None:
            for _ in range(calls):
                board = await self.database.read(board_pages.board_page, self.viewer, self.game, query, NOW, self.cache)
                assert (len(board.items), board.total, len(board.own)) == (PAGE, self.players, 1)

        self.runner.run(all_calls())

    def look_across(self, calls: int = CALLS) -> None:
        async def all_calls() -> None:
            for _ in range(calls):
                board = await self.database.read(leaderboard_access.across_games, self.viewer, None, self.cache)
                assert (board.total, board.uncounted) == (self.players, [])

        self.runner.run(all_calls())


def board_pages_at_scale() -> list[Ratio]:
    """The first page and one in the middle of a board whose rows are kept, and one of a board that is worked out."""
    with tempfile.TemporaryDirectory() as folder, _arena(Path(folder), MANY) as many, _arena(Path(folder), FEW) as few:
        found = []
        looks: tuple[tuple[str, Way, float], ...] = (
            ("first page of a board", "normalized", 0.0),
            ("middle page of a board", "normalized", 0.5),
            ("first page, players compared", "korgym", 0.0),
        )
        for name, by, share in looks:
            ask_many, ask_few = (
                BoardQuery(by, offset=min(int(each.players * share), each.players - PAGE), limit=PAGE)
                for each in (many, few)
            )
            for arena, query in ((many, ask_many), (few, ask_few)):
                arena.look(query, 3)  # both are warm from now on
            found.append(_ratio(name, partial(many.look, ask_many), partial(few.look, ask_few)))
        for arena in (many, few):
            arena.look_across(3)
        found.append(_ratio("board across games", many.look_across, few.look_across))
    return found


def _ratio(name: str, many: Callable[[], None], few: Callable[[], None]) -> Ratio:
    mine, floor = in_turn(many, few)
    detail = f"{mine / CALLS * 1e3:.1f} ms against {floor / CALLS * 1e3:.1f} ms a page"
    what = f"{name}, {MANY:,} players, {MANY * ROUNDS_EACH:,} rounds"
    return Ratio(what, f"the same with {FEW}", mine / floor, TARGET, detail, higher_is_better=False)


@contextmanager
def _arena(folder: Path, count: int) -> Iterator[Arena]:
    file = folder / f"{count}.db"
    asyncio.run(upgrade(str(file)))
    with asyncio.Runner() as runner:
        database = Database.open(str(file))
        try:
            game, viewer = runner.run(database.write(fill, count))
            yield Arena(database, runner, game, viewer, count)
        finally:
            runner.run(database.close())


def fill(conn: Connection, count: int) -> tuple[UUID, Caller]:
    """A game in which so many have played, in rows, and who made one of the players."""
    chance = random.Random(count)  # noqa: S311 - no secret
    made = [UUID(int=chance.getrandbits(128)) for _ in range(6)]
    host, viewer, rubric, version, game, attachment = made
    at = {"created_at": START}
    conn.execute(insert(users), [{"id": host, "name": "host", **at}, {"id": viewer, "name": "viewer", **at}])
    row: dict[str, Any] = {
        "id": rubric,
        "slug": "length",
        "name": "Length",
        "version": "1.0",
        "search": "",
        "revision": 1,
    }
    conn.execute(
        insert(rubrics), [{**row, "tags": [], "is_public": True, "created_by": host, "updated_at": START, **at}]
    )
    told = {"definition": DEFINITION, "examples": [], "hash": "h", "created_by": host}
    kept = {"id": version, "rubric_id": rubric, "revision": 1, "version": "1.0", **told, **at}
    conn.execute(insert(rubric_versions), [kept])
    conn.execute(
        insert(games),
        [
            {
                "id": game,
                "name": "Moths",
                "config": {},
                "is_public": True,
                "created_by": host,
                "vouched_by": host,
                "vouched_at": START,
                **at,
            }
        ],
    )
    attached = {"id": attachment, "game_session_id": game, "rubric_id": rubric, "version_id": version, "weight": 1.0}
    conn.execute(insert(game_rubrics), [{**attached, "dimension": "length", "config_overrides": {}, **at}])
    ids = [new_id(START, chance.getrandbits(74)) for _ in range(count)]
    crowd = [
        {"id": id, "name": f"player {place:05}", "info": {}, "created_by": host, **at} for place, id in enumerate(ids)
    ]
    crowd[count // 3]["user_id"] = viewer
    conn.execute(insert(players), [{"user_id": None, **each} for each in crowd])
    conn.execute(insert(game_players), [{"game_session_id": game, "player_id": id, "joined_at": START} for id in ids])
    for first in range(0, count, 500):
        _play(conn, ids[first : first + 500], (game, rubric, version, attachment), chance)
    standings.rebuild_standings(conn, game, NOW, seasons_too=True, from_scores=True)
    mark_kept(conn, game)
    return game, Caller(viewer, "viewer", "player")


def _play(conn: Connection, ids: list[UUID], of: tuple[UUID, UUID, UUID, UUID], chance: random.Random) -> None:
    game, rubric, version, attachment = of
    played: list[dict[str, Any]] = []
    scored: list[dict[str, Any]] = []
    for player in ids:
        for number in range(1, ROUNDS_EACH + 1):
            where = {"game_session_id": game, "player_id": player, "round_number": number, "created_at": START}
            played.append({"id": new_id(START, chance.getrandbits(74)), "content": {"response": "a moth"}, **where})
            share = chance.random()
            value = {"raw_score": 100 * share, "normalized_score": share, "verdict": "scored", "rule_breakdown": []}
            kept = {"dimension_scores": {}, "context_snapshot": {}, "record": {}, "attachment_id": attachment}
            of_what = {"rubric_id": rubric, "version_id": version, "id": new_id(START, chance.getrandbits(74))}
            scored.append({**where, **value, **kept, **of_what})
    conn.execute(insert(rounds), played)
    conn.execute(insert(evaluation_scores), scored)
