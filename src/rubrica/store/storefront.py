"""What the front of the marketplace shows beside its offers: the categories there are, and what is one's own."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection, func, select

from .market import MarketReview
from .rubrics import COLUMNS, RubricListing, listing_from
from .tables import market_listings as listings
from .tables import market_reviews as reviews
from .tables import rubric_versions, rubrics, users


def categories(conn: Connection, limit: int) -> list[tuple[str, int]]:
    """The categories of what is listed, and how many offers each has; the fullest first."""
    count = func.count()
    query = (
        select(rubrics.c.category, count)
        .join_from(listings, rubrics, rubrics.c.id == listings.c.rubric_id)
        .where(listings.c.listed, rubrics.c.category != "")
        .group_by(rubrics.c.category)
        .order_by(count.desc(), rubrics.c.category)
        .limit(limit)
    )
    return [(category, number) for category, number in conn.execute(query)]


def review_by(conn: Connection, rubric_id: UUID, user_id: UUID) -> MarketReview | None:
    """What somebody thinks of a rubric; None: they have not rated it."""
    own = (reviews.c[name] for name in ("rating", "review", "created_at", "updated_at"))
    query = select(reviews.c.id, users.c.name, *own).join_from(reviews, users)
    row = conn.execute(query.where(reviews.c.rubric_id == rubric_id, reviews.c.user_id == user_id)).first()
    return None if row is None else MarketReview(*row)


def copies_of(conn: Connection, rubric_id: UUID, user_id: UUID, limit: int) -> list[RubricListing]:
    """What somebody has that was copied from any version of a rubric, the newest first."""
    versions = select(rubric_versions.c.id).where(rubric_versions.c.rubric_id == rubric_id)
    mine = select(*COLUMNS).where(
        rubrics.c.created_by == user_id, rubrics.c.forked_from.in_(versions), rubrics.c.deleted_at.is_(None)
    )
    return [listing_from(row) for row in conn.execute(mine.order_by(rubrics.c.id.desc()).limit(limit))]
