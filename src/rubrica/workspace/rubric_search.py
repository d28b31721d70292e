"""Looking for rubrics among all that somebody sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection

from rubrica.store.listings import MarketFilters
from rubrica.store.rubrics import Order, RubricListing, RubricQuery

from . import catalogue, marketplace
from .access import Caller
from .plain_data import plain_text

LONGEST_QUERY = 200
"""Characters."""
"""Characters of what is looked for."""

RubricView = Literal["all", "mine", "public"]


@dataclass(frozen=True, slots=True)
class RubricSearch:
    """What the rubrics that somebody sees are narrowed down to."""

    q: str = ""
    view: RubricView = "all"
    category: str = ""
    tags: tuple[str, ...] = ()
    order: Order = "newest"

    @property
    def narrowed(self) -> bool:
        return bool(self.q or self.category or self.tags or self.view != "all")


@dataclass(frozen=True, slots=True)
class RubricPage:
    """One page of a list, and where the next one starts; None: there is none."""

    rows: tuple[RubricListing, ...]
    after: Any = None


def search_rubrics(conn: Connection, caller: Caller, criteria: RubricSearch, after: Any, limit: int) -> RubricPage:
    """One page of the rubrics that somebody sees; `after` is where the page before ended."""
    query = plain_text(criteria.q, "the search", LONGEST_QUERY)
    category = criteria.category or None
    if criteria.view == "public":
        found = marketplace.browse(conn, MarketFilters(query, category, criteria.tags), criteria.order, limit, after)
        return RubricPage(tuple(offer.listing for offer in found.offers), found.after)
    wanted = RubricQuery(query, category, criteria.tags, None, criteria.view == "mine", criteria.order, after)
    rows = catalogue.browse(conn, caller, wanted, limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    return RubricPage(tuple(rows[:limit]), None if last is None else (last.slug, last.id))
