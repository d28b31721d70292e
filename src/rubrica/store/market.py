"""The marketplace: which evaluations are listed, how many people took them over, and what they think of them.

`evaluation_templates` has one row for every evaluation that was ever public; `listed` says whether it is now. Whoever
changes what is counted there holds the row first, so that it stays right when many write at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, insert, select, tuple_, update

from .columns import new_id
from .tables import evaluation_reviews as reviews
from .tables import evaluation_templates as templates
from .tables import evaluation_versions, evaluations, users

UNMOVED = -1e6
"""The trend of what nobody has imported or liked yet: below everything else, and nothing at any time."""


@dataclass(frozen=True, slots=True)
class ListingStats:
    """What the marketplace counts for one evaluation."""

    downloads: int  # people who imported it
    rating: float | None  # the mean of its reviews, 1 to 5, to two decimals; None: nobody rated it
    reviews: int
    featured: bool
    trend: float  # as kept: see workspace.trending
    listed: bool


@dataclass(frozen=True, slots=True)
class MarketReview:
    """What one person thinks of an evaluation."""

    id: UUID
    user: str
    rating: int  # 1 to 5
    review: str  # may be empty
    created_at: datetime
    updated_at: datetime  # when it was last replaced


_STANDING = tuple(templates.c[name] for name in ListingStats.__dataclass_fields__)


def list_evaluation(conn: Connection, evaluation_id: UUID, listed: bool, now: datetime) -> None:
    """Put an evaluation on the marketplace, or take it off. What it earned before counts again when it comes back."""
    known = conn.execute(update(templates).where(templates.c.evaluation_id == evaluation_id).values(listed=listed))
    if listed and not known.rowcount:
        conn.execute(
            insert(templates).values(
                id=new_id(now), evaluation_id=evaluation_id, trend=UNMOVED, listed=True, created_at=now
            )
        )


def hold(conn: Connection, evaluation_id: UUID) -> ListingStats | None:
    """How an evaluation stands, which nobody else changes until the transaction ends; None if it was never public."""
    # Whoever changes an evaluation locks it before its template; in another order the two would wait for each other.
    conn.execute(
        select(evaluations.c.id).where(evaluations.c.id == evaluation_id).with_for_update(read=True, key_share=True)
    )
    query = select(*_STANDING).where(templates.c.evaluation_id == evaluation_id).with_for_update()
    row = conn.execute(query).first()
    return None if row is None else ListingStats(*row)


def keep(conn: Connection, evaluation_id: UUID, standing: ListingStats) -> None:
    """Write down how an evaluation stands; it must be on hold."""
    values = {name: getattr(standing, name) for name in ListingStats.__dataclass_fields__}
    conn.execute(update(templates).where(templates.c.evaluation_id == evaluation_id).values(values))


def has_copy(conn: Connection, user_id: UUID, evaluation_id: UUID) -> bool:
    """Whether somebody ever copied any version of an evaluation, also if they deleted the copy."""
    versions = select(evaluation_versions.c.id).where(evaluation_versions.c.evaluation_id == evaluation_id)
    mine = select(evaluations.c.id).where(evaluations.c.created_by == user_id, evaluations.c.forked_from.in_(versions))
    return conn.execute(mine.limit(1)).first() is not None


def put_review(conn: Connection, evaluation_id: UUID, user_id: UUID, rating: int, review: str, now: datetime) -> bool:
    """Keep what somebody thinks of an evaluation, in place of what they thought before; True the first time."""
    values = {"rating": rating, "review": review, "updated_at": now}
    mine = (reviews.c.evaluation_id == evaluation_id, reviews.c.user_id == user_id)
    if conn.execute(update(reviews).where(*mine).values(values)).rowcount:
        return False
    new = {"id": new_id(now), "evaluation_id": evaluation_id, "user_id": user_id, "created_at": now}
    conn.execute(insert(reviews).values(new | values))
    return True


def mean_rating(conn: Connection, evaluation_id: UUID) -> tuple[float | None, int]:
    """The mean of an evaluation's reviews to two decimals, and how many there are.

    It is kept as it is shown, so that what is shown as 4.67 is found by asking for at least 4.67.
    """
    query = select(func.count(), func.sum(reviews.c.rating)).where(reviews.c.evaluation_id == evaluation_id)
    count, total = conn.execute(query).one()
    return ((200 * total + count) // (2 * count) / 100 if count else None), count  # a half is rounded up


def reviews_of(
    conn: Connection, evaluation_id: UUID, limit: int, after: tuple[datetime, UUID] | None = None
) -> list[MarketReview]:
    """What people think of an evaluation, the newest first, from the review that follows `after`."""
    shown = (
        reviews.c.id,
        users.c.name,
        *(reviews.c[name] for name in ("rating", "review", "created_at", "updated_at")),
    )
    query = select(*shown).join_from(reviews, users).where(reviews.c.evaluation_id == evaluation_id)
    if after is not None:
        query = query.where(tuple_(reviews.c.updated_at, reviews.c.id) < after)
    rows = conn.execute(query.order_by(reviews.c.updated_at.desc(), reviews.c.id.desc()).limit(limit))
    return [MarketReview(*row) for row in rows]
