"""What is looked for on the marketplace: as the page's address says it, and as the database answers it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

from fastapi.datastructures import QueryParams
from sqlalchemy import Connection

from rubrica.arena import catalogue, market, trend
from rubrica.arena.access import Caller
from rubrica.arena.draft import LONGEST_CATEGORY, LONGEST_TAG
from rubrica.arena.plain import plain_text
from rubrica.store import users, versions
from rubrica.store.evaluations import Listing, Wanted
from rubrica.store.offers import Filters, Offer, Sort, offer
from rubrica.store.versions import Origin

from .facets import LONGEST_QUERY, facets_from

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
class Sought:
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

        >>> Sought("fluff", tags=("short",), sort="rating").address
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

    def filters(self, now: datetime) -> Filters:
        """The same as the database understands it."""
        return Filters(
            plain_text(self.q, "the search", LONGEST_QUERY),
            plain_text(self.category, "the category", LONGEST_CATEGORY) or None,
            tuple(plain_text(tag, "a tag", LONGEST_TAG) for tag in self.tags),
            featured=True if self.view == "featured" else None,
            min_rating=self.least or None,
            least_trend=trend.least(TRENDING_DAYS, now) if self.view == "trending" else None,
        )


@dataclass(frozen=True, slots=True)
class Own:
    """A rubric of one's own: where it comes from, and how it stands where it is listed."""

    listing: Listing
    origin: Origin | None  # None: it was written here, or where it comes from is hidden
    author: str  # of the origin; empty: it came with Rubrica
    offer: Offer | None


@dataclass(frozen=True, slots=True)
class Shelf:
    """One page of what was looked for; `after` is where the next one starts, None: there is none."""

    offers: Sequence[Offer] = ()
    own: Sequence[Own] = ()
    after: Any = None


def sought_from(asked: QueryParams) -> Sought:
    """What an address asks for; what it says wrongly is passed over.

    >>> sought_from(QueryParams("q=fluff&sort=colour&least=4.5&tag=&tag=short"))
    Sought(q='fluff', view='all', category='', tags=('short',), least=4.5, sort='trending')
    """
    q, category, tags = facets_from(asked)
    return Sought(
        q,
        next((view for view in VIEWS if view == asked.get("view")), "all"),
        category,
        tags,
        next((least for least in RATINGS if f"{least:g}" == asked.get("least")), 0.0),
        next((sort for sort in SORTS if sort == asked.get("sort")), "trending"),
    )


def look(conn: Connection, caller: Caller, sought: Sought, after: Any, now: datetime) -> Shelf:
    """One page of the marketplace, or of one's own rubrics; `after` is where the page before ended."""
    if sought.view == "yours":
        return _own(conn, caller, sought, after, now)
    sort: Sort = "trending" if sought.view == "trending" else sought.sort
    found = market.browse(conn, sought.filters(now), sort, PAGE, after)
    return Shelf(found.offers, after=found.after)


def recommended(conn: Connection, _caller: Caller) -> Sequence[Offer]:
    """A few featured offers, those that move most first."""
    return market.browse(conn, Filters(featured=True), "trending", FEATURED).offers


def _own(conn: Connection, caller: Caller, sought: Sought, after: Any, now: datetime) -> Shelf:
    filters = sought.filters(now)
    wanted = Wanted(filters.q, filters.category, filters.tags, mine=True, after=after)
    rows = catalogue.browse(conn, caller, wanted, PAGE + 1)
    last = rows[PAGE - 1] if len(rows) > PAGE else None
    shown = tuple(_of_own(conn, caller, listing) for listing in rows[:PAGE])
    return Shelf(own=shown, after=None if last is None else (last.slug, last.id))


def _of_own(conn: Connection, caller: Caller, listing: Listing) -> Own:
    origin = None if listing.forked_from is None else versions.origin(conn, listing.forked_from)
    origin = origin if origin is not None and catalogue.may_see(caller, origin) else None
    author = None if origin is None or origin.created_by is None else users.get_user(conn, origin.created_by)
    return Own(
        listing,
        origin,
        "" if author is None else author.name,
        offer(conn, listing.id) if listing.is_public else None,
    )
