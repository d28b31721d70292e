"""Evaluations that people are to score themselves: a queue of them, and the scores they gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from rubrica.errors import MissingError

from .columns import new_id
from .run_access import reviewable_by
from .tables import review_items as items
from .tables import review_scores as scores
from .tables import users

State = Literal["open", "done"]
Plain = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NewReviewItem:
    """An evaluation that was drawn to be scored by people."""

    item: str  # what the review file calls it
    case_id: str
    rubric: str  # name@version
    rubric_hash: str
    stratum: str
    questions: Sequence[Plain]
    evaluation: Plain


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """The same, as it is kept."""

    id: UUID
    run: str
    item: str
    case_id: str
    rubric: str
    rubric_hash: str
    stratum: str
    questions: Sequence[Plain]
    evaluation: Plain
    state: State
    assigned_to: UUID | None
    created_at: datetime
    done_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredOpinion:
    """What one person gave one item."""

    item: str
    reviewer: str
    scores: Mapping[str, float | None]
    note: str
    user_id: UUID | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class QueueQuery:
    """What the queue is narrowed down to, and after which item it goes on."""

    run: str | None = None
    state: State | None = "open"
    reviewer: UUID | None = None  # items that are this person's or anybody's, and that they have not scored yet
    after: UUID | None = None


@dataclass(frozen=True, slots=True)
class ReviewProgress:
    """How far the review of a run is."""

    run: str
    open: int
    done: int


_COLUMNS = tuple(items.c[name] for name in ReviewItem.__dataclass_fields__)


def add_items(conn: Connection, run: str, drawn: Sequence[NewReviewItem], now: datetime) -> int:
    """Put items into the queue; those of the run that are in it already stay as they are. How many are new."""
    known = set(conn.scalars(select(items.c.item).where(items.c.run == run)))
    fresh = [one for one in drawn if one.item not in known]
    if fresh:
        conn.execute(
            insert(items),
            [
                {
                    **{name: getattr(one, name) for name in NewReviewItem.__dataclass_fields__},
                    "id": new_id(now),
                    "run": run,
                    "state": "open",
                    "created_at": now,
                }
                for one in fresh
            ],
        )
    return len(fresh)


def queue(conn: Connection, wanted: QueueQuery, limit: int) -> list[ReviewItem]:
    """Items in the order they were drawn."""
    conditions: list[ColumnElement[bool]] = []
    if wanted.run is not None:
        conditions.append(items.c.run == wanted.run)
    if wanted.state is not None:
        conditions.append(items.c.state == wanted.state)
    if wanted.after is not None:
        conditions.append(items.c.id > wanted.after)
    if wanted.reviewer is not None:
        theirs = select(scores.c.item_id).where(scores.c.user_id == wanted.reviewer)
        conditions.append(or_(items.c.assigned_to.is_(None), items.c.assigned_to == wanted.reviewer))
        conditions.append(items.c.id.not_in(theirs))
    found = conn.execute(select(*_COLUMNS).where(*conditions).order_by(items.c.id).limit(limit))
    return [_item(row) for row in found]


def get_item(conn: Connection, item_id: UUID, seen_by: UUID | None = None) -> ReviewItem | None:
    """One item, if a user may see it; for None, any."""
    row = conn.execute(select(*_COLUMNS).where(items.c.id == item_id, reviewable_by(seen_by))).one_or_none()
    return None if row is None else _item(row)


def find_item(conn: Connection, run: str, item: str) -> ReviewItem | None:
    """The item of a run by what the review file calls it."""
    row = conn.execute(select(*_COLUMNS).where(items.c.run == run, items.c.item == item)).one_or_none()
    return None if row is None else _item(row)


def assign(conn: Connection, item_id: UUID, user_id: UUID | None) -> None:
    """Give an item to one person, or back to anybody."""
    changed = conn.execute(update(items).where(items.c.id == item_id).values(assigned_to=user_id))
    if not changed.rowcount:
        raise MissingError(f"there is no review item {item_id}")


def put_opinion(conn: Connection, item_id: UUID, opinion: StoredOpinion, now: datetime) -> bool:
    """Keep what a person gave an item, in place of what they gave it before; the item is done. True the first time."""
    values = {"scores": dict(opinion.scores), "note": opinion.note, "user_id": opinion.user_id, "updated_at": now}
    theirs = (scores.c.item_id == item_id, scores.c.reviewer == opinion.reviewer)
    first = not conn.execute(update(scores).where(*theirs).values(values)).rowcount
    if first:
        new = {"id": new_id(now), "item_id": item_id, "reviewer": opinion.reviewer, "created_at": now}
        try:
            with conn.begin_nested():
                conn.execute(insert(scores).values(new | values))
        except IntegrityError:  # they sent it twice at once, or there is no such item
            if not conn.execute(update(scores).where(*theirs).values(values)).rowcount:
                raise MissingError(f"there is no review item {item_id}") from None
            first = False
    conn.execute(update(items).where(items.c.id == item_id, items.c.state == "open").values(state="done", done_at=now))
    return first


def remove_opinion(conn: Connection, item_id: UUID, user_id: UUID) -> bool:
    """Forget what a person gave an item; nobody's is left, the item is open again. False where there is none."""
    theirs = (scores.c.item_id == item_id, scores.c.user_id == user_id)
    if not conn.execute(delete(scores).where(*theirs)).rowcount:
        return False
    left = select(scores.c.id).where(scores.c.item_id == item_id).exists()
    reopened = update(items).where(items.c.id == item_id, ~left).values(state="open", done_at=None)
    conn.execute(reopened)
    return True


def opinions(conn: Connection, run: str) -> list[StoredOpinion]:
    """All that people gave the items of a run, item by item in the order they were drawn."""
    name = func.coalesce(users.c.name, scores.c.reviewer)
    shown = (items.c.item, name, scores.c.scores, scores.c.note, scores.c.user_id, scores.c.updated_at)
    query = select(*shown).join_from(scores, items, items.c.id == scores.c.item_id)
    query = query.outerjoin(users, users.c.id == scores.c.user_id).where(items.c.run == run)
    return [StoredOpinion(*row) for row in conn.execute(query.order_by(items.c.id, scores.c.id))]


def progress(conn: Connection, seen_by: UUID | None = None) -> list[ReviewProgress]:
    """How far the review of every run is, by name: of the items that a user may see, or of all for None."""
    done = func.count(items.c.done_at)
    query = select(items.c.run, func.count() - done, done).where(reviewable_by(seen_by))
    query = query.group_by(items.c.run).order_by(items.c.run)
    return [ReviewProgress(*row) for row in conn.execute(query)]


def _item(row: Row[Any]) -> ReviewItem:
    return ReviewItem(**row._mapping)
