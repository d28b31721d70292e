"""The marketplace: browse what is public, take a copy, rate it, say what one thinks of it.

Everything listed is there for everyone who may read. Whoever imports a rubric gets a private copy of their own,
and counts as one download however often they do it. Authors do not count, and do not rate, what is theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import ConflictError, DeniedError, InputError, MissingError
from rubrica.store import market, rubrics
from rubrica.store.listings import (
    MarketFilters,
    MarketListing,
    Position,
    Sort,
    market_listing,
    market_listings,
    position,
)
from rubrica.store.market import ListingStats, MarketReview
from rubrica.store.rubrics import RubricListing

from . import catalogue
from . import trending as trend
from .access import Caller, require
from .entry import RubricEntry
from .plain_data import plain_text

LONGEST_REVIEW = 4_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class ListingPage:
    """Offers, and where the following page starts; None: there is none."""

    offers: Sequence[MarketListing]
    after: Position | None


def browse(
    conn: Connection, filters: MarketFilters, sort: Sort, limit: int, after: Position | None = None
) -> ListingPage:
    """A page of what is listed."""
    found = market_listings(conn, filters, sort, limit + 1, after)
    return ListingPage(found[:limit], position(found[limit - 1], sort) if len(found) > limit else None)


def trending(conn: Connection, days: float, limit: int, now: datetime, after: Position | None = None) -> ListingPage:
    """What moves now, the most first, without what is worth less than a single import so many days ago."""
    return browse(conn, MarketFilters(least_trend=trend.least(days, now)), "trending", limit, after)


def detail(conn: Connection, caller: Caller, reference: str) -> MarketListing:
    """One rubric as the marketplace shows it."""
    listing = _find_listed(conn, caller, reference)
    found = market_listing(conn, listing.id)
    if found is None:
        raise _unlisted(listing)
    return found


def import_copy(conn: Connection, caller: Caller, reference: str, version: str | None, now: datetime) -> RubricEntry:
    """Import: a private copy of the newest version, or of another one, that remembers where it comes from."""
    require(caller, "author", "importing a rubric")
    listing = _find_listed(conn, caller, reference)
    stats = _lock_stats(conn, listing)
    source = catalogue.version_of(conn, listing, version or reference.partition("@")[2] or None)
    counts = not caller.owns(listing.created_by) and not market.has_copy(conn, caller.user_id, listing.id)
    copied = catalogue.copy(conn, caller, source, now)
    if counts:
        moved = trend.add_to(stats.trend, trend.IMPORT, now)
        market.save_stats(conn, listing.id, replace(stats, downloads=stats.downloads + 1, trend=moved))
    return catalogue.entry(conn, caller, str(copied.id))


def rate(conn: Connection, caller: Caller, reference: str, rating: int, review: str, now: datetime) -> ListingStats:
    """Rate a rubric with 1 to 5, and a review if one likes; in place of one's earlier rating, if there is one.

    The first rating moves the trend; changing it does not, or changing it to and fro would.
    """
    require(caller, "player", "rating a rubric")
    if not 1 <= rating <= 5:
        raise InputError(f"a rating is 1 to 5, not {rating}")
    text = plain_text(review, "a review", LONGEST_REVIEW)
    listing = _find_listed(conn, caller, reference)
    if caller.owns(listing.created_by):
        raise DeniedError(f"{listing.slug} is yours: others rate it")
    stats = _lock_stats(conn, listing)
    first = market.put_review(conn, listing.id, caller.user_id, rating, text, now)
    mean, count = market.mean_rating(conn, listing.id)
    moved = trend.add_to(stats.trend, trend.rating_weight(rating), now) if first else stats.trend
    stats = replace(stats, rating=mean, reviews=count, trend=moved)
    market.save_stats(conn, listing.id, stats)
    return stats


def feature(conn: Connection, caller: Caller, reference: str, featured: bool) -> MarketListing:
    """Put a rubric among those that are recommended, or take it out."""
    require(caller, "admin", "featuring a rubric")
    listing = _find_listed(conn, caller, reference)
    market.save_stats(conn, listing.id, replace(_lock_stats(conn, listing), featured=featured))
    return detail(conn, caller, str(listing.id))


def reviews(
    conn: Connection, caller: Caller, reference: str, limit: int, after: tuple[datetime, UUID] | None = None
) -> list[MarketReview]:
    """What people think of a rubric, the newest first."""
    return market.reviews_of(conn, _find_listed(conn, caller, reference).id, limit, after)


def listing_data(offer: MarketListing, now: datetime) -> Mapping[str, Any]:
    """An offer as one object; `trend` is what it is now."""
    listing = offer.listing
    return {
        "id": listing.id,
        "slug": listing.slug,
        "name": listing.name,
        "description": listing.description,
        "version": listing.version,
        "scoring_type": listing.scoring_type,
        "category": listing.category,
        "tags": listing.tags,
        "created_by": listing.created_by,
        "author": offer.author,
        "downloads": offer.downloads,
        "rating": offer.rating,
        "reviews": offer.reviews,
        "featured": offer.featured,
        "trend": round(trend.current_trend(offer.trend, now), 6),
        "listed_at": offer.listed_at,
        "updated_at": listing.updated_at,
    }


def _find_listed(conn: Connection, caller: Caller, reference: str) -> RubricListing:
    """A listed rubric by id or slug. Unlike elsewhere a slug is never one's own private copy."""
    name = reference.partition("@")[0]
    namesakes = rubrics.by_slug(conn, name, caller.user_id) if "\0" not in name else []
    public = [listing for listing in namesakes if listing.is_public]
    public = [listing for listing in public if listing.created_by is None] or public
    if len(public) > 1:
        several = ", ".join(str(listing.id) for listing in public)
        raise ConflictError(f"several rubrics are called {name} (ask for one by its id: {several})")
    listing = public[0] if public else catalogue.find(conn, caller, reference)
    if not listing.is_public:
        raise _unlisted(listing)
    return listing


def _lock_stats(conn: Connection, listing: RubricListing) -> ListingStats:
    stats = market.lock_stats(conn, listing.id)
    if stats is None or not stats.listed:
        raise _unlisted(listing)
    return stats


def _unlisted(listing: RubricListing) -> MissingError:
    return MissingError(f"{listing.slug} is not on the marketplace: it is private")
