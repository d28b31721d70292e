"""Searching the marketplace: from the page's address to a query."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlencode

from fastapi.datastructures import QueryParams

from rubrica.store.listings import Sort
from rubrica.studio.rubrics.facets import facets_from
from rubrica.workspace.market_search import MarketSearch, MarketView

VIEWS: dict[MarketView, str] = {"all": "All", "trending": "Trending", "featured": "Featured", "yours": "Yours"}
SORTS: dict[Sort, str] = {
    "trending": "Trending first",
    "downloads": "Most imported",
    "rating": "Best rated",
    "newest": "Newest first",
    "name": "By name",
}
RATINGS: Mapping[float, str] = {0.0: "Any rating", 3.0: "3 stars and more", 4.0: "4 and more", 4.5: "4.5 and more"}
PAGE = 24


def address_of(criteria: MarketSearch) -> str:
    """The page's path with what it is narrowed down to; what is usual is left out.

    >>> address_of(MarketSearch("fluff", tags=("short",), sort="rating"))
    '/market?q=fluff&tag=short&sort=rating'
    """
    said: list[tuple[str, str]] = [("q", criteria.q)] if criteria.q else []
    said += [("view", criteria.view)] if criteria.view != "all" else []
    said += [("category", criteria.category)] if criteria.category else []
    said += [("tag", tag) for tag in criteria.tags]
    said += [("least", f"{criteria.least:g}")] if criteria.least else []
    said += [("sort", criteria.sort)] if criteria.sort != "trending" else []
    return f"/market?{urlencode(said)}" if said else "/market"


def search_from_query(asked: QueryParams) -> MarketSearch:
    """What an address asks for; what it says wrongly is passed over.

    >>> search_from_query(QueryParams("q=fluff&sort=colour&least=4.5&tag=&tag=short"))
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
