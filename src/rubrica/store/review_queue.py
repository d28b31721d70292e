"""The review queue as people work through it: short lines by the page, who gave what, and what has been done."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, and_, case, func, or_, select

from .reviews import ReviewItem, State, StoredOpinion
from .run_access import reviewable_by
from .tables import review_items as items
from .tables import review_scores as scores
from .tables import users

Pile = Literal["open", "mine", "second", "all"]
"""Nobody has scored it; I have; others have and I have not; all of them."""

BATCH = 200
"""Items with all that they hold that are read at once."""


class QueueCursor(NamedTuple):
    """Where a page of the queue ends."""

    rank: int
    id: UUID


@dataclass(frozen=True, slots=True)
class QueueFilter:
    """What is looked for: whose eyes it is for, which pile, of which run, and after which line it goes on.

    `seen_by` is the user whose items are looked through; None: all items there are.
    """

    reader: UUID
    seen_by: UUID | None
    pile: Pile = "open"
    run: str | None = None
    after: QueueCursor | None = None


@dataclass(frozen=True, slots=True)
class ItemSummary:
    """An item in a line. It tells nothing of what the judge gave."""

    id: UUID
    run: str
    case_id: str
    rubric: str
    state: State
    created_at: datetime
    opinions: int  # people who have scored it
    mine: bool  # whether the reader is one of them
    rank: int  # 0: disputed, which comes first

    @property
    def spot(self) -> QueueCursor:
        return QueueCursor(self.rank, self.id)


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """How many items there are, for one reader."""

    open: int
    disputed: int  # of the open ones
    mine: int
    second: int
    all: int


_RANK = case((items.c.stratum.contains("doubtful"), 0), else_=1)


def item_summaries(conn: Connection, looked: QueueFilter, limit: int) -> list[ItemSummary]:
    """A page of the queue: what is disputed first, then as it was drawn."""
    given = select(func.count()).where(scores.c.item_id == items.c.id).scalar_subquery()
    columns = [items.c[name] for name in ("id", "run", "case_id", "rubric", "state", "created_at")]
    query = select(
        *columns, given.label("opinions"), _scored_by(looked.reader).label("mine"), _RANK.label("rank")
    ).where(*_conditions(looked))
    if (after := looked.after) is not None:
        later = _RANK.__gt__(after.rank)
        query = query.where(or_(later, and_(_RANK.in_([after.rank]), items.c.id > after.id)))
    found = conn.execute(query.order_by(_RANK, items.c.id).limit(limit)).all()
    return [ItemSummary(**row._mapping) for row in found]


def queue_counts(conn: Connection, reader: UUID, seen_by: UUID | None, run: str | None = None) -> QueueCounts:
    """How many items wait, and how many are done."""

    def count(*conditions: ColumnElement[bool]) -> int:
        own = [reviewable_by(seen_by), *([] if run is None else [items.c.run == run])]
        return conn.scalar(select(func.count()).select_from(items).where(*own, *conditions)) or 0

    waiting = [items.c.state == "open", _for_reader(reader)]
    return QueueCounts(
        count(*waiting),
        count(*waiting, _RANK == 0),
        count(_scored_by(reader)),
        count(items.c.state == "done", ~_scored_by(reader)),
        count(),
    )


def opinions_of(conn: Connection, item_id: UUID) -> list[StoredOpinion]:
    """All that people gave one item, the first of them first."""
    name = func.coalesce(users.c.name, scores.c.reviewer)
    shown = (items.c.item, name, scores.c.scores, scores.c.note, scores.c.user_id, scores.c.updated_at)
    query = select(*shown).join_from(scores, items, items.c.id == scores.c.item_id)
    query = query.outerjoin(users, users.c.id == scores.c.user_id).where(items.c.id == item_id)
    return [StoredOpinion(*row) for row in conn.execute(query.order_by(scores.c.id))]


def last_change(conn: Connection, runs: Collection[str]) -> tuple[int, datetime | None]:
    """How many opinions on some runs there are, and when the latest came: the same for as long as nothing changed."""
    query = select(func.count(), func.max(scores.c.updated_at)).join_from(scores, items, items.c.id == scores.c.item_id)
    row = conn.execute(query.where(items.c.run.in_(list(runs)))).one()
    return row[0], row[1]


def done_items(conn: Connection, run: str, most: int) -> Iterator[ReviewItem]:
    """Items of a run that somebody scored, the latest first, some of them at a time."""
    columns = [items.c[name] for name in ReviewItem.__dataclass_fields__]
    before: UUID | None = None
    left = most
    while left > 0:
        query = select(*columns).where(items.c.run == run, items.c.state == "done")
        query = query if before is None else query.where(items.c.id < before)
        found: Sequence[ReviewItem] = [
            ReviewItem(**row._mapping)
            for row in conn.execute(query.order_by(items.c.id.desc()).limit(min(left, BATCH)))
        ]
        yield from found
        if len(found) < min(left, BATCH):
            return
        left -= len(found)
        before = found[-1].id


def _conditions(looked: QueueFilter) -> list[ColumnElement[bool]]:
    found = [reviewable_by(looked.seen_by), *([] if looked.run is None else [items.c.run == looked.run])]
    match looked.pile:
        case "open":
            found += [items.c.state == "open", _for_reader(looked.reader)]
        case "mine":
            found.append(_scored_by(looked.reader))
        case "second":
            found += [items.c.state == "done", ~_scored_by(looked.reader)]
        case "all":
            pass
    return found


def _scored_by(reader: UUID) -> ColumnElement[bool]:
    return select(scores.c.id).where(scores.c.item_id == items.c.id, scores.c.user_id == reader).exists()


def _for_reader(reader: UUID) -> ColumnElement[bool]:
    return or_(items.c.assigned_to.is_(None), items.c.assigned_to == reader)
