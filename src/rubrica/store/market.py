"""The marketplace: which rubrics are listed, how many people took them over, and what they think of them.

`market_listings` has one row for every rubric that was ever public; `listed` says whether it is now. Whoever
changes what is counted there holds the row first, so that it stays right when many write at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, insert, select, tuple_, update

from .columns import new_id
from .tables import market_listings as listings
from .tables import market_reviews as reviews
from .tables import rubric_versions, rubrics, users

UNMOVED = -1e6
"""The trend of what nobody has imported or liked yet: below everything else, and nothing at any time."""


@dataclass(frozen=True, slots=True)
class ListingStats:
    """What the marketplace counts for one rubric."""

    downloads: int  # people who imported it
    rating: float | None  # the mean of its reviews, 1 to 5, to two decimals; None: nobody rated it
    reviews: int
    featured: bool
    trend: float  # as kept: see workspace.trending
    listed: bool


@dataclass(frozen=True, slots=True)
class MarketReview:
    """What one person thinks of a rubric."""

    id: UUID
    user: str
    rating: int  # 1 to 5
    review: str  # may be empty
    created_at: datetime
    updated_at: datetime  # when it was last replaced


_STATS = tuple(listings.c[name] for name in ListingStats.__dataclass_fields__)


def list_rubric(conn: Connection, rubric_id: UUID, listed: bool, now: datetime) -> None:
    """Put a rubric on the marketplace, or take it off. What it earned before counts again when it comes back."""
    known = conn.execute(update(listings).where(listings.c.rubric_id == rubric_id).values(listed=listed))
    if listed and not known.rowcount:
        conn.execute(
            insert(listings).values(id=new_id(now), rubric_id=rubric_id, trend=UNMOVED, listed=True, created_at=now)
        )


def lock_stats(conn: Connection, rubric_id: UUID) -> ListingStats | None:
    """How a rubric stands, which nobody else changes until the transaction ends; None if it was never public."""
    # Whoever changes a rubric locks it before its listing; in another order the two would wait for each other.
    conn.execute(select(rubrics.c.id).where(rubrics.c.id == rubric_id).with_for_update(read=True, key_share=True))
    query = select(*_STATS).where(listings.c.rubric_id == rubric_id).with_for_update()
    row = conn.execute(query).first()
    return None if row is None else ListingStats(*row)


def save_stats(conn: Connection, rubric_id: UUID, stats: ListingStats) -> None:
    """Write down how a rubric stands; it must be on hold."""
    values = {name: getattr(stats, name) for name in ListingStats.__dataclass_fields__}
    conn.execute(update(listings).where(listings.c.rubric_id == rubric_id).values(values))


def has_copy(conn: Connection, user_id: UUID, rubric_id: UUID) -> bool:
    """Whether somebody ever copied any version of a rubric, also if they deleted the copy."""
    versions = select(rubric_versions.c.id).where(rubric_versions.c.rubric_id == rubric_id)
    mine = select(rubrics.c.id).where(rubrics.c.created_by == user_id, rubrics.c.forked_from.in_(versions))
    return conn.execute(mine.limit(1)).first() is not None


def put_review(conn: Connection, rubric_id: UUID, user_id: UUID, rating: int, review: str, now: datetime) -> bool:
    """Keep what somebody thinks of a rubric, in place of what they thought before; True the first time."""
    values = {"rating": rating, "review": review, "updated_at": now}
    mine = (reviews.c.rubric_id == rubric_id, reviews.c.user_id == user_id)
    if conn.execute(update(reviews).where(*mine).values(values)).rowcount:
        return False
    new = {"id": new_id(now), "rubric_id": rubric_id, "user_id": user_id, "created_at": now}
    conn.execute(insert(reviews).values(new | values))
    return True


def mean_rating(conn: Connection, rubric_id: UUID) -> tuple[float | None, int]:
    """The mean of a rubric's reviews to two decimals, and how many there are.

    It is kept as it is shown, so that what is shown as 4.67 is found by asking for at least 4.67.
    """
    query = select(func.count(), func.sum(reviews.c.rating)).where(reviews.c.rubric_id == rubric_id)
    count, total = conn.execute(query).one()
    return ((200 * total + count) // (2 * count) / 100 if count else None), count  # a half is rounded up


def reviews_of(
    conn: Connection, rubric_id: UUID, limit: int, after: tuple[datetime, UUID] | None = None
) -> list[MarketReview]:
    """What people think of a rubric, the newest first, from the review that follows `after`."""
    shown = (
        reviews.c.id,
        users.c.name,
        *(reviews.c[name] for name in ("rating", "review", "created_at", "updated_at")),
    )
    query = select(*shown).join_from(reviews, users).where(reviews.c.rubric_id == rubric_id)
    if after is not None:
        query = query.where(tuple_(reviews.c.updated_at, reviews.c.id) < after)
    rows = conn.execute(query.order_by(reviews.c.updated_at.desc(), reviews.c.id.desc()).limit(limit))
    return [MarketReview(*row) for row in rows]
