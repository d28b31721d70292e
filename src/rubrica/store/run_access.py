"""Who owns a run, whom it is shared with, and who reviews it. What that allows is decided in `workspace.run_access`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, or_, select, true, update

from .tables import review_items, rubric_versions, rubrics, run_access, run_reviewers, users

Sharing = Literal["private", "shared"]
"""private: its owner and admins. shared: everybody who has a key may read it."""


@dataclass(frozen=True, slots=True)
class RunAccess:
    """What is kept of a run's owner and readers."""

    run: str  # the name of its folder
    run_id: str  # of its manifest
    owner_id: UUID | None
    sharing: Sharing
    review_sharing: Sharing
    created_at: datetime
    updated_at: datetime


_COLUMNS = tuple(run_access.c[name] for name in RunAccess.__dataclass_fields__)


def access_of(conn: Connection, run: str) -> RunAccess | None:
    """The row of a run, by the name of its folder."""
    row = conn.execute(select(*_COLUMNS).where(run_access.c.run == run)).one_or_none()
    return None if row is None else RunAccess(*row)


def readable_access(conn: Connection, user_id: UUID) -> list[RunAccess]:
    """The rows of all runs that a user owns or that are shared."""
    own = or_(run_access.c.owner_id == user_id, run_access.c.sharing == "shared")
    return [RunAccess(*row) for row in conn.execute(select(*_COLUMNS).where(own))]


def put_access(conn: Connection, row: RunAccess) -> None:
    """Keep a row, in place of one of the same run."""
    values = {name: getattr(row, name) for name in RunAccess.__dataclass_fields__ if name != "created_at"}
    if not conn.execute(update(run_access).where(run_access.c.run == row.run).values(values)).rowcount:
        conn.execute(insert(run_access).values(values | {"created_at": row.created_at}))


def has_review_items(conn: Connection, run: str) -> bool:
    """Whether evaluations of a run of that name are in the review queue."""
    return bool(conn.scalar(select(exists().where(review_items.c.run == run))))


def set_reviewers(conn: Connection, run: str, user_ids: Collection[UUID]) -> None:
    """The people who are named to review a run, in place of those before. The run has a row."""
    conn.execute(delete(run_reviewers).where(run_reviewers.c.run == run))
    if user_ids:
        conn.execute(insert(run_reviewers), [{"run": run, "user_id": user_id} for user_id in user_ids])


def reviewer_names(conn: Connection, run: str) -> list[str]:
    """The names of the people who are named to review a run."""
    query = select(users.c.name).join_from(run_reviewers, users, users.c.id == run_reviewers.c.user_id)
    return list(conn.scalars(query.where(run_reviewers.c.run == run).order_by(users.c.name)))


def reviewable_by(user_id: UUID | None) -> ColumnElement[bool]:
    """The review items that a user may see: of runs they own, of reviews they take part in; for None, all."""
    if user_id is None:
        return true()
    row = run_access.c
    allowed = exists().where(
        row.run == review_items.c.run, or_(row.owner_id == user_id, row.review_sharing == "shared")
    )
    named = exists().where(run_reviewers.c.run == review_items.c.run, run_reviewers.c.user_id == user_id)
    return or_(allowed, named, review_items.c.assigned_to == user_id)


def hidden_rubrics(conn: Connection, hashes: Collection[str], user_id: UUID) -> list[str]:
    """Names of rubrics, by content hash, that are kept here and that a user may not see: private ones of others."""
    table = rubric_versions.c
    query = (
        select(table.hash, rubrics.c.slug, rubrics.c.is_public, rubrics.c.created_by)
        .join_from(rubric_versions, rubrics, rubrics.c.id == table.rubric_id)
        .where(table.hash.in_(list(hashes)), rubrics.c.deleted_at.is_(None))
    )
    found: dict[str, str] = {}
    seen: set[str] = set()
    for digest, slug, is_public, created_by in conn.execute(query):
        found[digest] = slug
        if is_public or created_by is None or created_by == user_id:
            seen.add(digest)
    return sorted({slug for digest, slug in found.items() if digest not in seen})
