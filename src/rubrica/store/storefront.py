"""What the front of the marketplace shows beside its offers: the categories there are, and what is one's own."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import Connection, func, select

from .market import MarketReview
from .rubrics import COLUMNS, RubricListing, listing_from
from .tables import evaluation_reviews as reviews
from .tables import evaluation_templates as templates
from .tables import evaluation_versions, evaluations, users


def categories(conn: Connection, limit: int) -> list[tuple[str, int]]:
    """The categories of what is listed, and how many offers each has; the fullest first."""
    count = func.count()
    query = (
        select(evaluations.c.category, count)
        .join_from(templates, evaluations, evaluations.c.id == templates.c.evaluation_id)
        .where(templates.c.listed, evaluations.c.category != "")
        .group_by(evaluations.c.category)
        .order_by(count.desc(), evaluations.c.category)
        .limit(limit)
    )
    return [(category, number) for category, number in conn.execute(query)]


def review_by(conn: Connection, evaluation_id: UUID, user_id: UUID) -> MarketReview | None:
    """What somebody thinks of an evaluation; None: they have not rated it."""
    own = (reviews.c[name] for name in ("rating", "review", "created_at", "updated_at"))
    query = select(reviews.c.id, users.c.name, *own).join_from(reviews, users)
    row = conn.execute(query.where(reviews.c.evaluation_id == evaluation_id, reviews.c.user_id == user_id)).first()
    return None if row is None else MarketReview(*row)


def copies_of(conn: Connection, evaluation_id: UUID, user_id: UUID, limit: int) -> list[RubricListing]:
    """What somebody has that was copied from any version of an evaluation, the newest first."""
    versions = select(evaluation_versions.c.id).where(evaluation_versions.c.evaluation_id == evaluation_id)
    mine = select(*COLUMNS).where(
        evaluations.c.created_by == user_id, evaluations.c.forked_from.in_(versions), evaluations.c.deleted_at.is_(None)
    )
    return [listing_from(row) for row in conn.execute(mine.order_by(evaluations.c.id.desc()).limit(limit))]
