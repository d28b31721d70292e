"""The marketplace as it is looked through: narrowed down, in one of five orders, a page at a time.

Every order is total: what ties is told apart by id, so that a page starts exactly where the one before it ended, also
when rows came in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, assert_never
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, Row, Select, false, func, select, tuple_

from .rubrics import COLUMNS, RubricListing, listing_from
from .search import matches, tagged
from .tables import market_listings as listings
from .tables import rubrics, users

Sort = Literal["trending", "downloads", "rating", "newest", "name"]
Position = tuple[object, ...]
"""Where a page ended: the values its last offer is ordered by."""

GLANCES = (5, 50)
"""Rows looked at for each one wanted, at first and then, before the whole marketplace is searched: what one row in
fifty fits is found sooner by going through the order than by finding everything that fits and sorting it."""


@dataclass(frozen=True, slots=True)
class MarketFilters:
    """What a list is narrowed down to; None and nothing let everything through."""

    q: str = ""
    category: str | None = None
    tags: tuple[str, ...] = ()
    scoring_type: str | None = None
    featured: bool | None = None
    min_rating: float | None = None  # 1 to 5; what has no rating is left out
    least_trend: float | None = None  # as kept


@dataclass(frozen=True, slots=True)
class MarketListing:
    """One rubric on the marketplace."""

    listing: RubricListing
    author: str | None  # None: it came with Rubrica
    id: UUID  # of the listing, not of the rubric
    downloads: int  # people who imported it
    rating: float | None  # the mean of its reviews
    reviews: int
    featured: bool
    trend: float  # as kept: see workspace.trending
    listed_at: datetime  # for the first time


_LISTING = tuple(
    listings.c[name] for name in ("id", "downloads", "rating", "reviews", "featured", "trend", "created_at")
)
_KEYS: Mapping[Sort, tuple[ColumnElement[Any], ...]] = {
    "trending": (listings.c.trend, listings.c.id),
    "downloads": (listings.c.downloads, listings.c.id),
    "rating": (listings.c.rating, listings.c.reviews, listings.c.id),
    "newest": (listings.c.id,),
    "name": (rubrics.c.slug, rubrics.c.id),
}
_LISTED = listings.c.listed
_LISTED_LAST: ColumnElement[bool] = func.coalesce(listings.c.listed, false())
"""The same, which SQLite cannot start a search from: it believes that few rows are listed."""


def market_listings(
    conn: Connection, filters: MarketFilters, sort: Sort, limit: int, after: Position | None = None
) -> list[MarketListing]:
    """Up to `limit` listed rubrics in that order, from the one that follows `after`."""
    found: list[MarketListing] = []
    for stretch in _stretches(sort, after):
        if len(found) < limit:
            found += _through(conn, stretch, filters, limit - len(found))
    return found


def market_listing(conn: Connection, rubric_id: UUID) -> MarketListing | None:
    """One rubric as the marketplace shows it; None if it is not listed."""
    row = conn.execute(_offered().where(rubrics.c.id == rubric_id, _LISTED)).first()
    return None if row is None else _offer(row)


def position(offer: MarketListing, sort: Sort) -> Position:
    """Where a page ends whose last offer this is."""
    match sort:
        case "trending":
            return (offer.trend, offer.id)
        case "downloads":
            return (offer.downloads, offer.id)
        case "rating":
            return (offer.rating, offer.reviews, offer.id)
        case "newest":
            return (offer.id,)
        case "name":
            return (offer.listing.slug, offer.listing.id)
        case _:
            assert_never(sort)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A part of an order that one index runs through."""

    keys: tuple[ColumnElement[Any], ...]
    after: Position | None
    start: tuple[ColumnElement[bool], ...] = (_LISTED,)  # what the index begins with
    rows: tuple[ColumnElement[bool], ...] = ()  # which of the listed ones belong to it
    up: bool = False

    def after_cursor(self) -> list[ColumnElement[bool]]:
        """Its rows that follow the last page."""
        if self.after is None:
            return [*self.rows]
        here = tuple_(*self.keys)
        return [*self.rows, here > self.after if self.up else here < self.after]

    def first(self, query: Select[Any], limit: int) -> Select[Any]:
        return query.order_by(*(key.asc() if self.up else key.desc() for key in self.keys)).limit(limit)


def _stretches(sort: Sort, after: Position | None) -> Iterator[_Stretch]:
    keys = _KEYS[sort]
    if sort == "name":
        yield _Stretch(keys, after, (rubrics.c.is_public, _LISTED_LAST), up=True)
    elif sort != "rating":
        yield _Stretch(keys, after)
    else:  # what nobody rated comes last: databases do not agree on where NULL stands
        if after is None or after[0] is not None:
            yield _Stretch(keys, after, rows=(listings.c.rating.is_not(None),))
            after = None
        yield _Stretch(_KEYS["newest"], after and after[-1:], rows=(listings.c.rating.is_(None),))


def _through(conn: Connection, stretch: _Stretch, filters: MarketFilters, limit: int) -> list[MarketListing]:
    """Go through a stretch until enough is found; where little fits, find all that does and sort that."""
    if filters.least_trend is not None:
        stretch = replace(stretch, rows=(*stretch.rows, listings.c.trend >= filters.least_trend))
    own, of_rubric = _own(filters), _of_rubric(conn, filters)
    if not own and not of_rubric:
        return _read_listings(conn, stretch.first(_offered().where(*stretch.start, *stretch.after_cursor()), limit))
    for rows in GLANCES:
        ahead = stretch.first(
            _select_listings(listings.c.id).where(*stretch.start, *stretch.after_cursor()), rows * limit
        ).subquery()
        near = _offered().join(ahead, ahead.c.id == listings.c.id).where(*own, *of_rubric)
        found = _read_listings(conn, stretch.first(near, limit))
        if len(found) == limit:
            return found
    listed = _LISTED_LAST if of_rubric and not filters.featured else _LISTED
    fitting = (
        _select_listings(listings.c.id)
        .where(listed, *stretch.after_cursor(), *own, *of_rubric)
        .cte()
        .prefix_with("MATERIALIZED")
    )
    return _read_listings(conn, stretch.first(_offered().join(fitting, fitting.c.id == listings.c.id), limit))


def _own(filters: MarketFilters) -> list[ColumnElement[bool]]:
    conditions = []
    if filters.featured is not None:
        conditions.append(listings.c.featured == filters.featured)
    if filters.min_rating is not None:
        conditions.append(listings.c.rating >= filters.min_rating)
    return conditions


def _of_rubric(conn: Connection, filters: MarketFilters) -> list[ColumnElement[bool]]:
    conditions = []
    if filters.q.strip():
        conditions.append(matches(filters.q))
    if filters.category is not None:
        conditions.append(rubrics.c.category == filters.category)
    if filters.tags:
        conditions.append(tagged(conn, filters.tags))
    if filters.scoring_type is not None:
        conditions.append(rubrics.c.scoring_type == filters.scoring_type)
    return conditions


def _select_listings(*columns: ColumnElement[Any]) -> Select[Any]:
    return select(*columns).join_from(listings, rubrics, rubrics.c.id == listings.c.rubric_id)


def _offered() -> Select[Any]:
    return _select_listings(*COLUMNS, users.c.name, *_LISTING).outerjoin(users, users.c.id == rubrics.c.created_by)


def _read_listings(conn: Connection, query: Select[Any]) -> list[MarketListing]:
    return [_offer(row) for row in conn.execute(query)]


def _offer(row: Row[Any]) -> MarketListing:
    return MarketListing(listing_from(row), *row[len(COLUMNS) :])
