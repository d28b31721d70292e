"""The marketplace of public rubrics: browse, import, rate, trending."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query, Request, Response
from msgspec import Meta
from pydantic import BaseModel, ConfigDict, Field

from rubrica.server.depends import Serving, Signed
from rubrica.server.idempotency import write_once
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, etag, page, render
from rubrica.store.listings import MarketFilters, Position, Sort
from rubrica.store.market import ListingStats, MarketReview
from rubrica.workspace import marketplace
from rubrica.workspace.entry import RubricEntry
from rubrica.workspace.marketplace import LONGEST_REVIEW
from rubrica.workspace.plain_data import plain_text
from rubrica.workspace.rubric_search import LONGEST_QUERY

router = APIRouter(prefix="/api/marketplace", route_class=JsonRoute, tags=["marketplace"])
PAGE, MOST = 20, 200
MOST_TAGS = 20
DAYS = 30
"""Days that the trending list looks back unless asked otherwise."""

_Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_Microseconds = Annotated[int, Meta(ge=0, le=10**17)]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CURSORS: dict[Sort, tuple[Any, ...]] = {
    "trending": (float, UUID),
    "downloads": (_Count, UUID),
    "rating": (float | None, _Count, UUID),
    "newest": (UUID,),
    "name": (str, UUID),
}

Reference = Annotated[str, Path(description="The rubric's id or slug.", examples=["speed-demon"])]
Limit = Annotated[int, Query(ge=1, le=MOST, description="Items of a page.")]
Cursor = Annotated[str | None, Query(description="`next` of the page before.")]


class OfferShown(BaseModel):
    """A rubric on the marketplace."""

    id: UUID
    slug: str
    name: str
    description: str
    version: str = Field(description="The newest.")
    scoring_type: Literal["binary", "proportional", "cumulative"] | None = Field(
        description="null: a rubric with dimensions of its own."
    )
    category: str
    tags: list[str]
    created_by: UUID | None = Field(description="null: it came with Rubrica.")
    author: str | None
    downloads: int = Field(description="People who imported it.")
    rating: float | None = Field(description="The mean of its ratings, 1 to 5; null: nobody rated it.")
    reviews: int = Field(description="People who rated it.")
    featured: bool
    trend: float = Field(description="Imports and good ratings, each counting half as much every seven days.")
    listed_at: datetime
    updated_at: datetime


class OfferPage(BaseModel):
    """Offers in the order asked for."""

    items: list[OfferShown]
    next: str | None = Field(description="The cursor of the following page; null after the last one.")


class Rating(BaseModel):
    """What somebody thinks of a rubric."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"rating": 5, "review": "Spots fluff."}]})

    rating: int = Field(ge=1, le=5, strict=True)
    review: str | None = Field(None, max_length=LONGEST_REVIEW)


class RatingSummary(BaseModel):
    """What everybody thinks of it now."""

    rating: float = Field(description="The mean of all ratings, 1 to 5.")
    reviews: int = Field(description="How many there are.")


class ReviewShown(BaseModel):
    """One person's rating."""

    id: UUID
    user: str
    rating: int
    review: str
    created_at: datetime
    updated_at: datetime


class ReviewPage(BaseModel):
    """Reviews, the newest first."""

    items: list[ReviewShown]
    next: str | None = Field(description="The cursor of the following page; null after the last one.")


class Featuring(BaseModel):
    """Whether a rubric is recommended."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"featured": True}]})

    featured: bool = Field(strict=True)


class MarketListQuery(BaseModel):
    """What a list is narrowed down to."""

    q: str = Field(
        "", max_length=LONGEST_QUERY, description="Words; each occurs in name, description, category or tag."
    )
    category: str | None = Field(None, max_length=100)
    tag: list[str] = Field([], max_length=MOST_TAGS, description="May be given several times: every one of them.")
    scoring_type: Literal["binary", "proportional", "cumulative"] | None = None
    featured: bool | None = None
    min_rating: float | None = Field(None, ge=1, le=5)
    sort: Sort = "trending"
    limit: int = Field(PAGE, ge=1, le=MOST, description="Items of a page.")
    cursor: str | None = Field(None, description="`next` of the page before, with the same `sort`.")

    def filters(self) -> MarketFilters:
        return MarketFilters(
            plain_text(self.q, "q", LONGEST_QUERY),
            None if self.category is None else plain_text(self.category, "category", 100),
            tuple(plain_text(tag, "tag", 100) for tag in self.tag),
            self.scoring_type,
            self.featured,
            self.min_rating,
        )


@router.get("/evaluations", response_model=OfferPage, summary="Browse public rubrics")
async def browse(service: Serving, query: Annotated[MarketListQuery, Query()]) -> Response:
    """Every order is total, so pages neither repeat nor skip anything while others add to the list."""
    after = _position(query.cursor, query.sort)
    found = await service.database.read(marketplace.browse, query.filters(), query.sort, query.limit, after)
    return _page(found, service.clock())


@router.get("/trending", response_model=OfferPage, summary="What people take up now")
async def trending(
    service: Serving,
    limit: Limit = PAGE,
    days: Annotated[
        float, Query(gt=0, le=3650, description="Leave out what is worth less than one import then.")
    ] = DAYS,
    cursor: Cursor = None,
) -> Response:
    """Everybody's first import counts 1 and everybody's first rating counts 1 (4 of 5) or 2 (5 of 5); each counts half
    as much every seven days. `trend` is the sum today."""
    now, after = service.clock(), _position(cursor, "trending")
    return _page(await service.database.read(marketplace.trending, days, limit, now, after), now)


@router.get("/{id}", response_model=OfferShown, summary="One public rubric")
async def detail(id: Reference, caller: Signed, service: Serving) -> Response:
    """How it stands on the marketplace. `/api/evaluations/{id}` has the definition."""
    return render(
        RouteAnswer(
            marketplace.listing_data(await service.database.read(marketplace.detail, caller, id), service.clock())
        )
    )


@router.post(
    "/{id}/import",
    status_code=201,
    summary="Import a rubric",
    responses={201: {"description": "The copy, as `GET /api/evaluations/{id}` shows it; Location says where it is."}},
)
async def take(
    request: Request,
    id: Reference,
    caller: Signed,
    service: Serving,
    version: Annotated[str | None, Query(max_length=50, description="Its version; the newest unless given.")] = None,
) -> Response:
    """A private copy among your own rubrics, with its lineage. A name you already use gets a number. It counts as
    one download of yours, however often you import it. Authors and admins."""
    return await write_once(request, _imported, marketplace.import_copy, caller, id, version, service.clock())


@router.post("/{id}/rate", response_model=RatingSummary, summary="Rate and review a rubric")
async def rate(request: Request, id: Reference, body: Rating, caller: Signed, service: Serving) -> Response:
    """1 to 5, with a review if you like. One for each person: rating again replaces what you said before. Nobody rates
    what is their own (403). Players, authors and admins."""
    text = body.review or ""
    return await write_once(request, _rated, marketplace.rate, caller, id, body.rating, text, service.clock())


@router.get("/{id}/reviews", response_model=ReviewPage, summary="What people think of a rubric")
async def reviews(
    id: Reference, caller: Signed, service: Serving, limit: Limit = PAGE, cursor: Cursor = None
) -> Response:
    """The newest first, whether written or replaced then."""
    after = None
    if cursor is not None:
        moment, last = decode_cursor(cursor, _Microseconds, UUID)
        after = (_EPOCH + timedelta(microseconds=moment), last)
    found = await service.database.read(marketplace.reviews, caller, id, limit + 1, after)
    following = None
    if len(found) > limit:
        last_shown = found[limit - 1]
        moment = (last_shown.updated_at - _EPOCH) // timedelta(microseconds=1)
        following = encode_cursor([moment, last_shown.id])
    return render(RouteAnswer(page([_review(review) for review in found[:limit]], following)))


@router.put("/{id}/featured", response_model=OfferShown, summary="Recommend a rubric, or no longer")
async def feature(id: Reference, body: Featuring, caller: Signed, service: Serving) -> Response:
    """Admins only."""
    found = await service.database.write(marketplace.feature, caller, id, body.featured)
    return render(RouteAnswer(marketplace.listing_data(found, service.clock())))


def _position(cursor: str | None, sort: Sort) -> Position | None:
    return None if cursor is None else decode_cursor(cursor, *_CURSORS[sort])


def _page(found: marketplace.ListingPage, now: datetime) -> Response:
    following = None if found.after is None else encode_cursor(found.after)
    return render(RouteAnswer(page([marketplace.listing_data(offer, now) for offer in found.offers], following)))


def _imported(made: RubricEntry) -> RouteAnswer:
    return RouteAnswer(made.shown(), 201, {"Location": f"/api/evaluations/{made.listing.id}", "ETag": etag(made.tag)})


def _rated(stats: ListingStats) -> RouteAnswer:
    return RouteAnswer({"rating": stats.rating, "reviews": stats.reviews})


def _review(review: MarketReview) -> dict[str, object]:
    return {
        "id": review.id,
        "user": review.user,
        "rating": review.rating,
        "review": review.review,
        "created_at": review.created_at,
        "updated_at": review.updated_at,
    }
