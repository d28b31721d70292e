"""Lists of rubrics in a database of 100,000 against the same lists in a database of 100.

Both are SQLite files, asked through `Database.read` as the routes do it, without HTTP, whose cost is the same for both
and would only flatter the ratio.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, get_args

from sqlalchemy import Connection, Table, insert

from rubrica.store.columns import new_id
from rubrica.store.database import Database
from rubrica.store.listings import MarketFilters, Sort
from rubrica.store.market import UNMOVED
from rubrica.store.rubrics import RubricQuery
from rubrica.store.search import searched
from rubrica.store.tables import market_listings, rubrics, users
from rubrica.store.upgrade import upgrade
from rubrica.workspace import catalogue, marketplace, trending
from rubrica.workspace.access import Caller

from .floor import Ratio, in_turn

MANY, FEW = 100_000, 100
PAGE = 20
CALLS = 50
TARGET = 3.0
START = datetime(2026, 1, 1, tzinfo=UTC)
NOW = START + timedelta(days=70)
TOPICS = ("speed", "style", "rigor", "safety")
AUTHORS = [{"id": new_id(START), "name": f"author {number}", "created_at": START} for number in range(50)]
VIEWER = Caller(AUTHORS[0]["id"], "author 0", "viewer")  # type: ignore[arg-type]

Look = Callable[[Database], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Shelf:
    """An open database on an event loop of its own."""

    database: Database
    runner: asyncio.Runner

    def ask(self, look: Look, calls: int = CALLS) -> None:
        async def all_calls() -> None:
            for _ in range(calls):
                await look(self.database)

        self.runner.run(all_calls())


def lists_and_trending() -> list[Ratio]:
    """How much longer a page takes out of 100,000 rubrics than out of 100."""
    with (
        tempfile.TemporaryDirectory() as folder,
        asyncio.Runner() as runner,
        _shelf(Path(folder) / "many.db", MANY, runner) as many,
        _shelf(Path(folder) / "few.db", FEW, runner) as few,
    ):
        return [_worst(what, looks, many, few) for what, looks in LOOKS.items()]


def _worst(what: str, looks: Mapping[str, Look], many: Shelf, few: Shelf) -> Ratio:
    """The list that suffers most from there being so many."""
    found = []
    for name, look in looks.items():
        spent, floor = in_turn(partial(many.ask, look), partial(few.ask, look))
        detail = f"{name}: {spent / CALLS * 1e3:.2f} ms against {floor / CALLS * 1e3:.2f} ms"
        if len(looks) > 1:
            detail += f" (the worst of {len(looks)} lists)"
        found.append(Ratio(what, f"{FEW} rows", spent / floor, TARGET, detail, higher_is_better=False))
    return max(found, key=lambda row: row.ratio)


def _browse(sort: Sort, page: int = 1, **filters: Any) -> Look:
    async def look(database: Database) -> None:
        after = None
        for _ in range(page):
            after = (await database.read(marketplace.browse, MarketFilters(**filters), sort, PAGE, after)).after

    return look


async def _trending(database: Database) -> None:
    await database.read(marketplace.trending, 30, PAGE, NOW)


def _rubrics(**wanted: Any) -> Look:
    async def look(database: Database) -> None:
        await database.read(catalogue.browse, VIEWER, RubricQuery(**wanted), PAGE)

    return look


LOOKS: Mapping[str, Mapping[str, Look]] = {
    f"a page of the marketplace, {MANY:,} rubrics": {
        **{sort: _browse(sort) for sort in get_args(Sort)},
        **{f"{sort}, three pages": _browse(sort, 3) for sort in get_args(Sort)},
        "one category": _browse("trending", category=TOPICS[0]),
    },
    f"what trends, {MANY:,} rubrics": {"30 days": _trending},
    f"a page of rubrics, {MANY:,} of them": {
        "newest": _rubrics(),
        "by name": _rubrics(order="name"),
        "one's own": _rubrics(mine=True),
    },
}


@contextmanager
def _shelf(file: Path, size: int, runner: asyncio.Runner) -> Iterator[Shelf]:
    runner.run(upgrade(str(file)))
    database = Database.open(str(file))
    try:
        runner.run(database.write(_fill, size))
        yield Shelf(database, runner)
    finally:
        runner.run(database.close())


def _fill(conn: Connection, size: int) -> None:
    """Public rubrics by fifty authors: half of them rated, half of them taken up at some time."""
    chance = random.Random(size)  # noqa: S311
    rows: dict[Table, list[dict[str, Any]]] = {rubrics: [], market_listings: []}
    conn.execute(insert(users), AUTHORS)
    for number in range(size):
        made = START + (NOW - START) * number / size
        name, topic, tags = f"Rubric {chance.randrange(10**6)} {number}", chance.choice(TOPICS), [f"t{number % 97}"]
        text = f"Looks at {topic} and counts what is said about it. " * 4
        listed = {"category": topic, "tags": tags, "search": searched(name, text, topic, tags), "is_public": True}
        rubric = {"id": new_id(made), "slug": name.lower().replace(" ", "-"), "name": name, "description": text}
        rubric |= {"version": "1.0.0", "revision": 1, "created_by": chance.choice(AUTHORS)["id"]} | listed
        rows[rubrics].append(rubric | {"created_at": made, "updated_at": made})
        rated, taken = chance.random() < 0.5, chance.random() < 0.5
        rows[market_listings].append(
            {
                "id": new_id(made), "rubric_id": rubric["id"], "downloads": int(chance.expovariate(0.2)),
                "rating": chance.randrange(10, 51) / 10 if rated else None, "reviews": int(rated), "listed": True,
                "trend": trending.add_to(UNMOVED, 1, NOW - timedelta(days=chance.random() * 60)) if taken else UNMOVED,
                "created_at": made,
            }
        )  # fmt: skip
    for table, values in rows.items():
        conn.execute(insert(table), values)
