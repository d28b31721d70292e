"""Rubrics as lists show them: the newest revision's name and version, who made it, who may see it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    Select,
    Uuid,
    bindparam,
    case,
    insert,
    or_,
    select,
    tuple_,
    union,
    update,
)
from sqlalchemy.exc import IntegrityError

from .search import matches, tagged
from .tables import rubric_versions, rubrics

Order = Literal["newest", "name"]
Place = tuple[str, UUID]
"""Where a page ended: the slug and the id of its last rubric."""

MOST_NAMESAKES = 10
"""How many rubrics of one slug are looked at; own and bundled ones come first."""


@dataclass(frozen=True, slots=True)
class RubricListing:
    """One rubric, without what it says."""

    id: UUID
    slug: str  # the rubric's name, as in slug@version
    name: str  # as its author wrote it
    description: str
    version: str  # of the newest revision
    revision: int  # the newest, counted from 1
    scoring_type: str | None  # None: a rubric in the long form
    category: str
    tags: tuple[str, ...]
    is_public: bool
    created_by: UUID | None  # None: it came with Rubrica
    forked_from: UUID | None  # the version it was copied from
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class RubricQuery:
    """What a list is narrowed down to, in which order, and after which rubric it goes on."""

    q: str = ""
    category: str | None = None
    tags: tuple[str, ...] = ()
    scoring_type: str | None = None
    mine: bool = False
    order: Order = "newest"
    after: Place | None = None


COLUMNS = tuple(rubrics.c[name] for name in RubricListing.__dataclass_fields__)


def listing_from(row: Row[Any]) -> RubricListing:
    """A row of `COLUMNS`, or one that starts with them."""
    values = dict(zip(RubricListing.__dataclass_fields__, row, strict=False))
    return RubricListing(**{**values, "tags": tuple(values["tags"])})


def by_id(conn: Connection, rubric_id: UUID, *, lock: bool = False) -> RubricListing | None:
    """A rubric, deleted or not. Locked, nobody else changes it until the transaction ends."""
    query = select(*COLUMNS).where(rubrics.c.id == rubric_id)
    # key_share: scores of this rubric may be written meanwhile, for its id does not change
    row = conn.execute(query.with_for_update(key_share=True) if lock else query).first()
    return None if row is None else listing_from(row)


def by_slug(conn: Connection, slug: str, user_id: UUID, *, everything: bool = False) -> list[RubricListing]:
    """Rubrics of that slug which a user sees: own ones first, then the bundled one, then public ones.

    `everything` adds what others keep to themselves, last.
    """
    return [listing_from(row) for row in conn.execute(_NAMESAKES[everything], {"slug": slug, "user": user_id})]


def _namesakes(*, everything: bool) -> Select[Any]:
    """Made once: making it takes longer than running it, and nothing is looked up more often."""
    own = rubrics.c.created_by == bindparam("user", type_=Uuid)
    rank = case((own, 0), (rubrics.c.created_by.is_(None), 1), else_=2)
    private = case((rubrics.c.is_public, 0), else_=1)
    query = select(*COLUMNS).where(rubrics.c.slug == bindparam("slug"), rubrics.c.deleted_at.is_(None))
    if not everything:
        query = query.where(or_(rubrics.c.is_public, own))
    return query.order_by(rank, private, rubrics.c.id).limit(MOST_NAMESAKES)


_NAMESAKES = {everything: _namesakes(everything=everything) for everything in (True, False)}


def bundled(conn: Connection) -> dict[str, RubricListing]:
    """What came with Rubrica, by slug, with what was deleted since."""
    query = select(*COLUMNS).where(rubrics.c.created_by.is_(None)).order_by(rubrics.c.id)
    return {listing.slug: listing for listing in map(listing_from, conn.execute(query))}


def slugs_of(conn: Connection, owner: UUID) -> set[str]:
    """The slugs of one owner."""
    own = select(rubrics.c.slug).where(rubrics.c.created_by == owner, rubrics.c.deleted_at.is_(None))
    return set(conn.execute(own).scalars())


def add(conn: Connection, listing: RubricListing, search: str) -> bool:
    """Keep a new rubric; False if its owner has one of that slug already. `search` is what `q` looks in."""
    return _insert_unless_taken(conn, insert(rubrics).values(_values(listing, search)))


def change(conn: Connection, listing: RubricListing, search: str) -> bool:
    """Write a rubric anew; False if its owner has another one of that slug."""
    return _insert_unless_taken(
        conn, update(rubrics).where(rubrics.c.id == listing.id).values(_values(listing, search))
    )


def _values(listing: RubricListing, search: str) -> dict[str, Any]:
    values = {name: getattr(listing, name) for name in RubricListing.__slots__}
    return values | {"tags": list(listing.tags), "search": search}


def _insert_unless_taken(conn: Connection, statement: Any) -> bool:
    savepoint = conn.begin_nested()  # PostgreSQL gives up the whole transaction after a refused statement
    try:
        conn.execute(statement)
    except IntegrityError as error:
        savepoint.rollback()
        if "slug" not in str(error.orig):
            raise
        return False
    savepoint.commit()
    return True


def delete(conn: Connection, rubric_id: UUID, now: datetime) -> None:
    """Take a rubric out of every list; versions and scores stay."""
    conn.execute(update(rubrics).where(rubrics.c.id == rubric_id).values(deleted_at=now, updated_at=now))


def browse(
    conn: Connection, user_id: UUID, wanted: RubricQuery, limit: int, *, everything: bool = False
) -> list[RubricListing]:
    """One page of what a user sees: what is public, and what is their own. `everything`: whoever it belongs to."""
    public, own = rubrics.c.is_public.is_(True), rubrics.c.created_by == user_id
    if wanted.mine:
        views = [own]
    elif everything:
        views = [rubrics.c.id.is_not(None)]
    else:
        views = [public, own]
    pages = [_page(conn, view, wanted, limit) for view in views]
    if len(pages) == 1:
        return [listing_from(row) for row in conn.execute(pages[0])]
    # One index finds what is public, another what is one's own; `or` between them would use neither. What is both
    # comes once: a union drops the second.
    both = union(*(select(page.subquery()) for page in pages)).subquery()
    query = select(both).order_by(*(_order(wanted.order, both.c))).limit(limit)
    return [listing_from(row) for row in conn.execute(query)]


def _page(conn: Connection, view: ColumnElement[bool], wanted: RubricQuery, limit: int) -> Select[Any]:
    conditions = [view, rubrics.c.deleted_at.is_(None)]
    if wanted.q.strip():
        conditions.append(matches(wanted.q))
    if wanted.category is not None:
        conditions.append(rubrics.c.category == wanted.category)
    if wanted.tags:
        conditions.append(tagged(conn, wanted.tags))
    if wanted.scoring_type is not None:
        conditions.append(rubrics.c.scoring_type == wanted.scoring_type)
    if wanted.after is not None:
        slug, last = wanted.after
        if wanted.order == "name":
            conditions.append(tuple_(rubrics.c.slug, rubrics.c.id) > tuple_(slug, last))
        else:
            conditions.append(rubrics.c.id < last)
    return select(*COLUMNS).where(*conditions).order_by(*_order(wanted.order, rubrics.c)).limit(limit)


def _order(order: Order, columns: Any) -> Sequence[ColumnElement[Any]]:
    return (columns.slug, columns.id) if order == "name" else (columns.id.desc(),)


def forks(conn: Connection, rubric_id: UUID, user_id: UUID, limit: int, *, everything: bool) -> list[RubricListing]:
    """Rubrics that were copied from any version of this one and that a user sees, oldest first."""
    versions = select(rubric_versions.c.id).where(rubric_versions.c.rubric_id == rubric_id)
    query = select(*COLUMNS).where(rubrics.c.forked_from.in_(versions), rubrics.c.deleted_at.is_(None))
    if not everything:
        query = query.where(or_(rubrics.c.is_public, rubrics.c.created_by == user_id))
    return [listing_from(row) for row in conn.execute(query.order_by(rubrics.c.id).limit(limit))]
