"""Looking through the marketplace: what is listed, what is one's own, and one listing with all that belongs to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from sqlalchemy import Connection

from rubrica.store import storefront, users, versions
from rubrica.store.listings import MarketFilters, MarketListing, Sort, market_listing
from rubrica.store.market import MarketReview
from rubrica.store.rubrics import RubricListing, RubricQuery
from rubrica.store.versions import ForkOrigin

from . import catalogue, marketplace, trending
from .access import Caller
from .draft import LONGEST_CATEGORY, LONGEST_TAG
from .entry import RubricEntry
from .plain_data import plain_text
from .rubric_search import LONGEST_QUERY

COPIES_SHOWN = 10
MOST_CATEGORIES = 100
MarketView = Literal["all", "trending", "featured", "yours"]


FEATURED = 3
"""Featured offers that stand above all others."""


TRENDING_DAYS = 30
"""What is worth less than one import so many days ago does not trend."""


@dataclass(frozen=True, slots=True)
class MarketSearch:
    """What the marketplace is narrowed down to."""

    q: str = ""
    view: MarketView = "all"
    category: str = ""
    tags: tuple[str, ...] = ()
    least: float = 0.0  # stars
    sort: Sort = "trending"

    @property
    def narrowed(self) -> bool:
        """Whether anything is left out."""
        return bool(self.q or self.category or self.tags or self.least or self.view != "all")

    def filters(self, now: datetime) -> MarketFilters:
        """The same as the database understands it."""
        return MarketFilters(
            plain_text(self.q, "the search", LONGEST_QUERY),
            plain_text(self.category, "the category", LONGEST_CATEGORY) or None,
            tuple(plain_text(tag, "a tag", LONGEST_TAG) for tag in self.tags),
            featured=True if self.view == "featured" else None,
            min_rating=self.least or None,
            least_trend=trending.least(TRENDING_DAYS, now) if self.view == "trending" else None,
        )


@dataclass(frozen=True, slots=True)
class OwnRubric:
    """A rubric of one's own: where it comes from, and how it stands where it is listed."""

    listing: RubricListing
    origin: ForkOrigin | None  # None: it was written here, or where it comes from is hidden
    author: str  # of the origin; empty: it came with Rubrica
    offer: MarketListing | None


@dataclass(frozen=True, slots=True)
class MarketPage:
    """One page of what was looked for; `after` is where the next one starts, None: there is none."""

    offers: Sequence[MarketListing] = ()
    own: Sequence[OwnRubric] = ()
    after: Any = None


def search_market(
    conn: Connection, caller: Caller, criteria: MarketSearch, after: Any, limit: int, now: datetime
) -> MarketPage:
    """One page of the marketplace, or of one's own rubrics; `after` is where the page before ended."""
    if criteria.view == "yours":
        return _own(conn, caller, criteria, after, limit, now)
    sort: Sort = "trending" if criteria.view == "trending" else criteria.sort
    found = marketplace.browse(conn, criteria.filters(now), sort, limit, after)
    return MarketPage(found.offers, after=found.after)


def recommended(conn: Connection, _caller: Caller) -> Sequence[MarketListing]:
    """A few featured offers, those that move most first."""
    return marketplace.browse(conn, MarketFilters(featured=True), "trending", FEATURED).offers


def _own(conn: Connection, caller: Caller, criteria: MarketSearch, after: Any, limit: int, now: datetime) -> MarketPage:
    filters = criteria.filters(now)
    wanted = RubricQuery(filters.q, filters.category, filters.tags, mine=True, after=after)
    rows = catalogue.browse(conn, caller, wanted, limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    shown = tuple(_of_own(conn, caller, listing) for listing in rows[:limit])
    return MarketPage(own=shown, after=None if last is None else (last.slug, last.id))


def _of_own(conn: Connection, caller: Caller, listing: RubricListing) -> OwnRubric:
    found = None if listing.forked_from is None else versions.origin(conn, listing.forked_from)
    origin = found if found is not None and catalogue.may_see(caller, found) else None
    author = None if origin is None or origin.created_by is None else users.get_user(conn, origin.created_by)
    return OwnRubric(
        listing,
        origin,
        "" if author is None else author.name,
        market_listing(conn, listing.id) if listing.is_public else None,
    )


@dataclass(frozen=True, slots=True)
class ListingDetails:
    """Everything the page shows of an offer, except what others think of it."""

    offer: MarketListing
    entry: RubricEntry
    copies: tuple[RubricListing, ...]  # of whoever looks
    review: MarketReview | None  # theirs


def listing_details(conn: Connection, caller: Caller, reference: str) -> ListingDetails:
    """One offer, and what is the caller's own of it."""
    found = marketplace.detail(conn, caller, reference)
    known = found.listing.id
    return ListingDetails(
        found,
        catalogue.entry(conn, caller, str(known)),
        tuple(storefront.copies_of(conn, known, caller.user_id, COPIES_SHOWN)),
        storefront.review_by(conn, known, caller.user_id),
    )


def market_categories(conn: Connection, _caller: Caller) -> list[tuple[str, int]]:
    """The categories of what is listed, and how many listings each has; the fullest first."""
    return storefront.categories(conn, MOST_CATEGORIES)
