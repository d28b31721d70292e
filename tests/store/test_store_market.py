"""The marketplace in the database: what is listed, in which order, page by page, and what is thought of it."""

from __future__ import annotations

import asyncio
import random
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args
from uuid import UUID

import pytest
from sqlalchemy import Connection, insert, select

from databases import Opened
from rubrica.store import market, rubrics
from rubrica.store.columns import new_id
from rubrica.store.database import Database
from rubrica.store.listings import (
    GLANCES,
    MarketFilters,
    MarketListing,
    Position,
    Sort,
    market_listing,
    market_listings,
    position,
)
from rubrica.store.rubrics import RubricListing
from rubrica.store.search import searched
from rubrica.store.tables import market_listings as listings
from rubrica.store.tables import rubric_versions, users
from rubrica.store.users import User, ensure_user

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SORTS: tuple[Sort, ...] = get_args(Sort)


def add(conn: Connection, /, name: str, minute: int = 0, *, owner: UUID | None = None, **listed: Any) -> UUID:
    """A public rubric, on the marketplace."""
    now = NOW + timedelta(minutes=minute)
    given = {"description": "", "category": "", "tags": (), "scoring_type": None} | listed
    slug = name.lower().replace(" ", "-")
    listing = RubricListing(
        new_id(now), slug, name, given["description"], "1.0.0", 1, given["scoring_type"], given["category"],
        tuple(given["tags"]), True, owner, None, now, now,
    )  # fmt: skip
    assert rubrics.add(conn, listing, searched(name, given["description"], given["category"], given["tags"]))
    market.list_rubric(conn, listing.id, True, now)
    return listing.id


def stand(conn: Connection, rubric_id: UUID, **changed: Any) -> None:
    standing = market.lock_stats(conn, rubric_id)
    assert standing is not None
    market.save_stats(conn, rubric_id, replace(standing, **changed))


def crowd(conn: Connection, size: int, seed: int = 4) -> None:
    """Evaluations with many ties in everything they can be ordered by."""
    chance = random.Random(seed)  # noqa: S311
    for number in range(size):
        rubric_id = add(
            conn,
            f"{chance.choice(['Arc', 'bow', 'Cup'])} {number:03}",
            number,
            category=chance.choice(["speed", "style"]),
            tags=chance.sample(["a", "b", "c"], 2),
            scoring_type=chance.choice(["binary", "cumulative", None]),
            description="rare" if number % 50 == 7 else "plain",
        )
        rating = chance.choice([None, None, 2.5, 4.0, 4.5])
        stand(
            conn,
            rubric_id,
            downloads=chance.randrange(4),
            rating=rating,
            reviews=0 if rating is None else chance.randrange(1, 3),
            featured=chance.random() < 0.1,
            trend=chance.choice([market.UNMOVED, 1.5, 2.5]),
        )


def every(database: Opened) -> list[MarketListing]:
    return database.read(market_listings, MarketFilters(), "newest", 10_000)


def in_order(found: Sequence[MarketListing], sort: Sort) -> list[str]:
    """The names in the order asked for, sorted here."""
    if sort == "name":
        return [one.listing.name for one in sorted(found, key=lambda one: (one.listing.slug, one.listing.id))]
    keys = {
        "trending": lambda one: (one.trend, one.id),
        "downloads": lambda one: (one.downloads, one.id),
        "rating": lambda one: (one.rating or 0, one.reviews, one.id),
        "newest": lambda one: (one.id,),
    }
    return [one.listing.name for one in sorted(found, key=keys[sort], reverse=True)]


def paged(database: Opened, filters: MarketFilters, sort: Sort, size: int, most: int = 1000) -> list[str]:
    """The names of one page after the other, until there are so many."""
    names: list[str] = []
    after: Position | None = None
    while len(names) < most and (found := database.read(market_listings, filters, sort, size, after)):
        names += [one.listing.name for one in found]
        after = position(found[-1], sort)
    return names


@pytest.mark.parametrize("sort", SORTS)
def test_pages_of_every_order_show_everything_once_and_ties_in_one_order(database: Opened, sort: Sort) -> None:
    database.write(crowd, 60)
    expected = in_order(every(database), sort)
    assert len(expected) == 60
    for size in (1, 7, 100):
        assert paged(database, MarketFilters(), sort, size) == expected


@pytest.mark.parametrize("sort", SORTS)
def test_what_is_added_between_two_pages_neither_repeats_nor_hides_anything(database: Opened, sort: Sort) -> None:
    database.write(crowd, 20)
    expected = in_order(every(database), sort)
    first = database.read(market_listings, MarketFilters(), sort, 9)
    after = position(first[-1], sort)
    for number, name in enumerate(["Aaa", "Bow 0105", "Zzz"]):
        database.write(add, name, 100 + number)
    rest = [one.listing.name for one in database.read(market_listings, MarketFilters(), sort, 50, after)]
    assert [one.listing.name for one in first] + [name for name in rest if name in expected] == expected


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize(
    ("filters", "fits"),
    [
        (MarketFilters(q="RARE"), lambda one: one.listing.description == "rare"),
        (MarketFilters(q="bow rare"), lambda one: one.listing.slug[:3] == "bow" and one.listing.description == "rare"),
        (MarketFilters(category="speed"), lambda one: one.listing.category == "speed"),
        (MarketFilters(tags=("a", "b")), lambda one: {"a", "b"} <= set(one.listing.tags)),
        (MarketFilters(scoring_type="binary"), lambda one: one.listing.scoring_type == "binary"),
        (MarketFilters(featured=True), lambda one: one.featured),
        (MarketFilters(featured=False, q="rare"), lambda one: not one.featured and one.listing.description == "rare"),
        (MarketFilters(featured=True, category="style"), lambda one: one.featured and one.listing.category == "style"),
        (MarketFilters(min_rating=4.5), lambda one: one.rating is not None and one.rating >= 4.5),
        (MarketFilters(least_trend=2.0), lambda one: one.trend >= 2.0),
        (MarketFilters(q="nowhere"), lambda one: one.listing.description == "nowhere"),
    ],
    ids=["word", "words", "category", "tags", "type", "featured", "plain", "both", "rating", "trend", "nothing"],
)
def test_filters_let_through_what_fits_however_rare_it_is(
    market_of_600: Opened, all_600: list[MarketListing], sort: Sort, filters: MarketFilters, fits: Any
) -> None:
    expected = in_order([one for one in all_600 if fits(one)], sort)
    assert 5 * GLANCES[-1] < 600, "rare things lie beyond the last glance"
    assert paged(market_of_600, filters, sort, 5, most=40) == expected[:40]
    assert [one.listing.name for one in market_of_600.read(market_listings, filters, sort, 1000)] == expected


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def market_of_600(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A larger marketplace, filled once for all tests that only read it."""
    with asyncio.Runner() as runner:
        if request.param == "sqlite":
            url = str(tmp_path_factory.mktemp("market") / "rubrica.db")
            shutil.copyfile(request.getfixturevalue("sqlite_template"), url)
        else:
            server = request.getfixturevalue("postgres")
            url = server.url(server.create(request.getfixturevalue("postgres_template")))
        opened = Opened(url, Database.open(url), runner)
        opened.write(crowd, 600)
        yield opened
        runner.run(opened.database.close())


@pytest.fixture(scope="module")
def all_600(market_of_600: Opened) -> list[MarketListing]:
    return every(market_of_600)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("übung", ["Übung"]),
        ("ÜBUNG", ["Übung"]),
        ("50%", ["50% off"]),
        ("5_%", []),
        ("under_score", ["under_score"]),
        ("r_s", ["under_score"]),
        ("slash/es", ["Back\\slash/es"]),
        ("back\\slash", ["Back\\slash/es"]),
        ("geography", ["Übung"]),
        ("capitals", ["50% off"]),
        ("Long words", ["under_score"]),
        ("long missing", []),
        ("'; drop table users; --", []),
        ("   ", ["50% off", "Back\\slash/es", "under_score", "Übung"]),
    ],
)
def test_a_query_finds_its_words_and_takes_every_character_as_itself(
    database: Opened, query: str, found: list[str]
) -> None:
    database.write(add, "Übung", category="Geography")
    database.write(add, "50% off", tags=["capitals"])
    database.write(add, "under_score", description="Words that are long")
    database.write(add, "Back\\slash/es")
    assert (
        sorted(one.listing.name for one in database.read(market_listings, MarketFilters(q=query), "name", 10)) == found
    )


@pytest.mark.parametrize("tag", ['say "so"', "back\\slash", "50%", "wörter", "a,b", "null", "3"])
def test_a_tag_is_found_as_it_is_spelled(database: Opened, tag: str) -> None:
    database.write(add, "With", tags=["other", tag])
    database.write(add, "Without", tags=["other", tag + "x", tag[:-1] + "y"])
    found = database.read(market_listings, MarketFilters(tags=(tag,)), "newest", 10)
    assert [one.listing.name for one in found] == ["With"]


def test_what_is_taken_off_the_marketplace_keeps_what_it_earned(database: Opened) -> None:
    rubric_id = database.write(add, "Speed")
    database.write(lambda conn: stand(conn, rubric_id, downloads=3))
    database.write(market.list_rubric, rubric_id, False, NOW)
    assert every(database) == []
    assert database.read(market_listing, rubric_id) is None
    database.write(market.list_rubric, rubric_id, True, NOW + timedelta(days=9))
    [again] = every(database)
    assert (again.downloads, again.listed_at) == (3, NOW)


def test_what_was_never_public_has_no_place_on_the_marketplace(database: Opened) -> None:
    rubric_id = new_id(NOW)
    database.write(market.list_rubric, rubric_id, False, NOW)
    assert database.read(lambda conn: conn.execute(select(listings)).all()) == []
    assert database.write(market.lock_stats, rubric_id) is None


def test_an_offer_names_its_author(database: Opened) -> None:
    ann = database.write(ensure_user, "ann", NOW)
    rubric_id = database.write(add, "Hers", owner=ann.id)
    bundled = database.write(add, "Bundled")
    hers, other = database.read(market_listing, rubric_id), database.read(market_listing, bundled)
    assert hers is not None
    assert other is not None
    assert (hers.author, other.author) == ("ann", None)


def people(conn: Connection, count: int) -> list[User]:
    made = [User(new_id(NOW), f"user {number}", NOW) for number in range(count)]
    conn.execute(insert(users), [{"id": one.id, "name": one.name, "created_at": NOW} for one in made])
    return made


def test_reviews_come_newest_first_in_pages(database: Opened) -> None:
    rubric_id = database.write(add, "Speed")
    reviewers = database.write(people, 7)
    for number, user in enumerate(reviewers):  # some at the same moment
        moment = NOW + timedelta(hours=number // 3)
        assert database.write(market.put_review, rubric_id, user.id, 3, f"no. {number}", moment)
    whole = database.read(market.reviews_of, rubric_id, 10)
    assert [one.updated_at for one in whole] == sorted((one.updated_at for one in whole), reverse=True)
    pages, after = [], None
    while found := database.read(market.reviews_of, rubric_id, 2, after):
        pages += found
        after = (found[-1].updated_at, found[-1].id)
    assert pages == whole
    assert sorted(one.user for one in whole) == [user.name for user in reviewers]


def test_a_second_review_replaces_the_first_and_comes_to_the_top(database: Opened) -> None:
    rubric_id = database.write(add, "Speed")
    ann, ben = database.write(people, 2)
    assert database.write(market.put_review, rubric_id, ann.id, 2, "poor", NOW)
    assert database.write(market.put_review, rubric_id, ben.id, 5, "", NOW + timedelta(hours=1))
    assert not database.write(market.put_review, rubric_id, ann.id, 4, "better now", NOW + timedelta(hours=2))
    found = database.read(market.reviews_of, rubric_id, 10)
    assert [(one.user, one.rating, one.review) for one in found] == [(ann.name, 4, "better now"), (ben.name, 5, "")]
    assert (found[0].created_at, found[0].updated_at) == (NOW, NOW + timedelta(hours=2))
    assert database.read(market.mean_rating, rubric_id) == (4.5, 2)


def test_a_mean_has_two_decimals_and_a_half_is_rounded_up(database: Opened) -> None:
    rubric_id = database.write(add, "Speed")
    for number, stars in enumerate((4, 4, 4, 4, 4, 4, 4, 5)):
        user = database.write(ensure_user, f"reader {number}", NOW)
        database.write(market.put_review, rubric_id, user.id, stars, "", NOW)
    assert database.read(market.mean_rating, rubric_id) == (4.13, 8)  # of 4.125


def test_without_reviews_there_is_no_mean(database: Opened) -> None:
    assert database.read(market.mean_rating, database.write(add, "Speed")) == (None, 0)


def test_a_copy_is_remembered_after_it_was_deleted(database: Opened) -> None:
    ann, ben = database.write(people, 2)
    source = database.write(add, "Speed")
    version: dict[str, Any] = {
        "id": new_id(NOW), "rubric_id": source, "revision": 1, "version": "1.0.0", "definition": {},
        "examples": [], "hash": "0", "created_at": NOW,
    }  # fmt: skip
    database.write(lambda conn: conn.execute(insert(rubric_versions).values(version)).rowcount)
    copy = RubricListing(
        new_id(NOW), "speed", "Speed", "", "1.0.0", 1, None, "", (), False, ann.id, version["id"], NOW, NOW
    )  # fmt: skip
    assert database.write(rubrics.add, copy, "speed")
    database.write(rubrics.delete, copy.id, NOW)
    assert database.read(market.has_copy, ann.id, source)
    assert not database.read(market.has_copy, ben.id, source)
