"""Searching the marketplace: from the page's address to a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from fastapi.datastructures import QueryParams
from sqlalchemy import Connection

from rubrica.store import users, versions
from rubrica.store.listings import MarketFilters, MarketListing, Sort, market_listing
from rubrica.store.rubrics import RubricListing, RubricQuery
from rubrica.store.versions import ForkOrigin
from rubrica.studio.rubrics.facets import LONGEST_QUERY, facets_from
from rubrica.workspace import catalogue, marketplace, trending
from rubrica.workspace.access import Caller
from rubrica.workspace.draft import LONGEST_CATEGORY, LONGEST_TAG
from rubrica.workspace.plain_data import plain_text

View = Literal["all", "trending", "featured", "yours"]
VIEWS: dict[View, str] = {"all": "All", "trending": "Trending", "featured": "Featured", "yours": "Yours"}
SORTS: dict[Sort, str] = {
    "trending": "Trending first",
    "downloads": "Most imported",
    "rating": "Best rated",
    "newest": "Newest first",
    "name": "By name",
}
RATINGS: Mapping[float, str] = {0.0: "Any rating", 3.0: "3 stars and more", 4.0: "4 and more", 4.5: "4.5 and more"}
PAGE = 24
FEATURED = 3
"""Featured offers that stand above all others."""
TRENDING_DAYS = 30
"""What is worth less than one import so many days ago does not trend."""


@dataclass(frozen=True, slots=True)
class MarketSearch:
    """What the marketplace is narrowed down to."""

    q: str = ""
    view: View = "all"
    category: str = ""
    tags: tuple[str, ...] = ()
    least: float = 0.0  # stars
    sort: Sort = "trending"

    @property
    def address(self) -> str:
        """The page's path with what it is narrowed down to; what is usual is left out.

        >>> MarketSearch("fluff", tags=("short",), sort="rating").address
        '/market?q=fluff&tag=short&sort=rating'
        """
        said: list[tuple[str, str]] = [("q", self.q)] if self.q else []
        said += [("view", self.view)] if self.view != "all" else []
        said += [("category", self.category)] if self.category else []
        said += [("tag", tag) for tag in self.tags]
        said += [("least", f"{self.least:g}")] if self.least else []
        said += [("sort", self.sort)] if self.sort != "trending" else []
        return f"/market?{urlencode(said)}" if said else "/market"

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


def sought_from(asked: QueryParams) -> MarketSearch:
    """What an address asks for; what it says wrongly is passed over.

    >>> sought_from(QueryParams("q=fluff&sort=colour&least=4.5&tag=&tag=short"))
    MarketSearch(q='fluff', view='all', category='', tags=('short',), least=4.5, sort='trending')
    """
    q, category, tags = facets_from(asked)
    return MarketSearch(
        q,
        next((view for view in VIEWS if view == asked.get("view")), "all"),
        category,
        tags,
        next((least for least in RATINGS if f"{least:g}" == asked.get("least")), 0.0),
        next((sort for sort in SORTS if sort == asked.get("sort")), "trending"),
    )


def look(conn: Connection, caller: Caller, sought: MarketSearch, after: Any, now: datetime) -> MarketPage:
    """One page of the marketplace, or of one's own rubrics; `after` is where the page before ended."""
    if sought.view == "yours":
        return _own(conn, caller, sought, after, now)
    sort: Sort = "trending" if sought.view == "trending" else sought.sort
    found = marketplace.browse(conn, sought.filters(now), sort, PAGE, after)
    return MarketPage(found.offers, after=found.after)


def recommended(conn: Connection, _caller: Caller) -> Sequence[MarketListing]:
    """A few featured offers, those that move most first."""
    return marketplace.browse(conn, MarketFilters(featured=True), "trending", FEATURED).offers


def _own(conn: Connection, caller: Caller, sought: MarketSearch, after: Any, now: datetime) -> MarketPage:
    filters = sought.filters(now)
    wanted = RubricQuery(filters.q, filters.category, filters.tags, mine=True, after=after)
    rows = catalogue.browse(conn, caller, wanted, PAGE + 1)
    last = rows[PAGE - 1] if len(rows) > PAGE else None
    shown = tuple(_of_own(conn, caller, listing) for listing in rows[:PAGE])
    return MarketPage(own=shown, after=None if last is None else (last.slug, last.id))


def _of_own(conn: Connection, caller: Caller, listing: RubricListing) -> OwnRubric:
    origin = None if listing.forked_from is None else versions.origin(conn, listing.forked_from)
    origin = origin if origin is not None and catalogue.may_see(caller, origin) else None
    author = None if origin is None or origin.created_by is None else users.get_user(conn, origin.created_by)
    return OwnRubric(
        listing,
        origin,
        "" if author is None else author.name,
        market_listing(conn, listing.id) if listing.is_public else None,
    )
