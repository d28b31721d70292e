"""The marketplace: who may import, rate and feature what, and what is counted, also when many do it at once."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from databases import Opened
from rubrica.errors import ConflictError, DeniedError, InputError, MissingError
from rubrica.store.database import Database
from rubrica.store.listings import MarketFilters, MarketListing
from rubrica.store.rubrics import RubricListing
from rubrica.store.users import ensure_user
from rubrica.workspace import catalogue, marketplace
from rubrica.workspace.access import Caller, Role
from rubrica.workspace.draft import read_draft
from rubrica.workspace.entry import ANYTHING

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
WEEK = timedelta(days=7)
RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}


def person(database: Opened, name: str, role: Role = "author") -> Caller:
    return Caller(database.write(ensure_user, name, NOW).id, name, role)


def publish(database: Opened, owner: Caller, name: str = "Brevity", **listed: Any) -> RubricListing:
    given = {"name": name, "scoring_type": "binary", "rules": [RULE], "is_public": True} | listed
    return database.write(catalogue.create, owner, read_draft(given), NOW).listing


def stands(database: Opened, listing: RubricListing) -> MarketListing:
    return database.read(marketplace.detail, Caller(listing.id, "anybody", "viewer"), str(listing.id))


def take(database: Opened, caller: Caller, listing: RubricListing, now: datetime = NOW) -> RubricListing:
    return database.write(marketplace.import_copy, caller, str(listing.id), None, now).listing


def rate(
    database: Opened, caller: Caller, listing: RubricListing, rating: int, review: str = ""
) -> tuple[float | None, int]:
    standing = database.write(marketplace.rate, caller, str(listing.id), rating, review, NOW)
    return standing.rating, standing.reviews


def test_an_import_is_a_private_copy_that_remembers_where_it_comes_from(database: Opened) -> None:
    ann, ben = person(database, "ann"), person(database, "ben")
    original = publish(database, ann, category="style", tags=["short"])
    made = database.write(marketplace.import_copy, ben, str(original.id), None, NOW)
    assert (made.listing.created_by, made.listing.is_public) == (ben.user_id, False)
    assert (made.listing.slug, made.listing.category, made.listing.tags) == ("brevity", "style", ("short",))
    assert made.version.definition["rules"] == [RULE]
    assert made.origin is not None
    assert (made.origin.rubric_id, made.origin.version) == (original.id, original.version)


def test_a_name_that_is_taken_gets_a_number(database: Opened) -> None:
    ann, ben = person(database, "ann"), person(database, "ben")
    original = publish(database, ann)
    assert [take(database, ben, original).slug for _ in range(3)] == ["brevity", "brevity-2", "brevity-3"]


def test_everybody_counts_as_one_download_however_often_they_import(database: Opened) -> None:
    ann, ben, cleo = (person(database, name) for name in ("ann", "ben", "cleo"))
    original = publish(database, ann)
    copy = take(database, ben, original)
    take(database, ben, original)
    database.write(catalogue.delete, ben, str(copy.id), ANYTHING, NOW)
    take(database, ben, original)
    assert stands(database, original).downloads == 1
    take(database, cleo, original)
    assert stands(database, original).downloads == 2


def test_authors_do_not_count_when_they_import_what_is_theirs(database: Opened) -> None:
    ann = person(database, "ann")
    original = publish(database, ann)
    take(database, ann, original)
    assert stands(database, original).downloads == 0
    assert marketplace.listing_data(stands(database, original), NOW)["trend"] == 0


def test_an_earlier_version_can_be_imported(database: Opened) -> None:
    ann, ben = person(database, "ann"), person(database, "ben")
    original = publish(database, ann)
    changed = read_draft({"name": "Brevity", "scoring_type": "binary", "rules": [{**RULE, "expression": "1"}]})
    database.write(catalogue.update, ann, str(original.id), changed, ANYTHING, NOW)
    newest = database.write(marketplace.import_copy, ben, "brevity", None, NOW)
    oldest = database.write(marketplace.import_copy, ben, "brevity", original.version, NOW)
    by_name = database.write(marketplace.import_copy, ben, f"brevity@{original.version}", None, NOW)
    assert [made.version.definition["rules"][0]["expression"] for made in (newest, oldest, by_name)] == [
        "1",
        RULE["expression"],
        RULE["expression"],
    ]
    with pytest.raises(MissingError, match=r"no version 9\.9"):
        database.write(marketplace.import_copy, ben, "brevity", "9.9", NOW)


def test_a_slug_on_the_marketplace_is_what_is_listed_and_not_ones_own_copy(database: Opened) -> None:
    ann, ben = person(database, "ann"), person(database, "ben")
    original = publish(database, ann)
    take(database, ben, original)
    again = database.write(marketplace.import_copy, ben, "brevity", None, NOW)
    assert again.origin is not None
    assert again.origin.rubric_id == original.id


def test_a_slug_that_several_authors_use_is_refused_with_their_ids(database: Opened) -> None:
    ann, ben, cleo = (person(database, name) for name in ("ann", "ben", "cleo"))
    both = [publish(database, ann), publish(database, ben)]
    with pytest.raises(ConflictError) as refused:
        database.write(marketplace.import_copy, cleo, "brevity", None, NOW)
    assert all(str(listing.id) in str(refused.value) for listing in both)


@pytest.mark.parametrize("reference", ["nowhere", "00000000-0000-7000-8000-000000000000", "a\0b", "x" * 500])
def test_what_does_not_exist_is_missing(database: Opened, reference: str) -> None:
    with pytest.raises(MissingError):
        database.write(marketplace.import_copy, person(database, "ann"), reference, None, NOW)


def test_what_is_private_is_not_on_the_marketplace_even_for_its_author_and_admins(database: Opened) -> None:
    ann, ben, root = person(database, "ann"), person(database, "ben"), person(database, "root", "admin")
    private = publish(database, ann, is_public=False)
    for caller in (ann, ben, root):
        for call in (
            lambda conn, who=caller: marketplace.import_copy(conn, who, str(private.id), None, NOW),
            lambda conn, who=caller: marketplace.rate(conn, who, str(private.id), 5, "", NOW),
            lambda conn, who=caller: marketplace.detail(conn, who, str(private.id)),
            lambda conn, who=caller: marketplace.reviews(conn, who, str(private.id), 10),
        ):
            with pytest.raises(MissingError):
                database.write(call)


def test_what_was_withdrawn_or_deleted_is_gone_from_the_marketplace(database: Opened) -> None:
    ann, ben = person(database, "ann"), person(database, "ben")
    withdrawn, deleted = publish(database, ann, "One"), publish(database, ann, "Two")
    hidden = read_draft({"name": "One", "scoring_type": "binary", "rules": [RULE], "is_public": False})
    database.write(catalogue.update, ann, str(withdrawn.id), hidden, ANYTHING, NOW)
    database.write(catalogue.delete, ann, str(deleted.id), ANYTHING, NOW)
    assert database.read(marketplace.browse, MarketFilters(), "newest", 10).offers == []
    for listing in (withdrawn, deleted):
        with pytest.raises(MissingError):
            take(database, ben, listing)


def test_a_changed_description_is_found_by_a_search(database: Opened) -> None:
    ann = person(database, "ann")
    listing = publish(database, ann)
    said = {"name": "Brevity", "scoring_type": "binary", "rules": [RULE], "description": "Counts Wörter", "tags": ["x"]}
    database.write(catalogue.update, ann, str(listing.id), read_draft(said), ANYTHING, NOW)
    found = database.read(marketplace.browse, MarketFilters(q="wÖRTER", tags=("x",)), "trending", 10)
    assert [offer.listing.id for offer in found.offers] == [listing.id]


def test_a_rating_is_the_mean_of_what_everybody_said_last(database: Opened) -> None:
    ann, ben, cleo = person(database, "ann"), person(database, "ben", "player"), person(database, "cleo", "player")
    listing = publish(database, ann)
    assert rate(database, ben, listing, 5, "Spots fluff.") == (5, 1)
    assert rate(database, cleo, listing, 2) == (3.5, 2)
    assert rate(database, ben, listing, 3, "On second thoughts…") == (2.5, 2)
    assert (stands(database, listing).rating, stands(database, listing).reviews) == (2.5, 2)
    found = database.read(marketplace.reviews, ann, str(listing.id), 10)
    assert {(one.user, one.rating, one.review) for one in found} == {
        ("ben", 3, "On second thoughts…"),
        ("cleo", 2, ""),
    }


def test_nobody_rates_their_own(database: Opened) -> None:
    ann, root = person(database, "ann"), person(database, "root", "admin")
    with pytest.raises(DeniedError, match="others rate it"):
        rate(database, ann, publish(database, ann), 5)
    with pytest.raises(DeniedError, match="others rate it"):
        rate(database, root, publish(database, root, "Roots"), 5)


def test_a_mean_is_kept_as_it_is_shown_so_that_asking_for_it_finds_it(database: Opened) -> None:
    listing = publish(database, person(database, "ann"))
    for number, stars in enumerate((5, 5, 4)):
        mean, _ = rate(database, person(database, f"reader {number}"), listing, stars)
    assert mean == 4.67
    found = database.read(marketplace.browse, MarketFilters(min_rating=4.67), "rating", 10).offers
    assert [offer.rating for offer in found] == [4.67]


@pytest.mark.parametrize(
    ("rating", "review"), [(0, ""), (6, ""), (-1, ""), (5, "x" * 4_001), (5, "a\0b"), (5, "\ud800")]
)
def test_a_rating_off_the_scale_and_a_review_that_cannot_be_kept_are_refused(
    database: Opened, rating: int, review: str
) -> None:
    listing = publish(database, person(database, "ann"))
    with pytest.raises(InputError):
        rate(database, person(database, "ben"), listing, rating, review)
    assert stands(database, listing).reviews == 0


def test_a_review_may_have_4000_characters(database: Opened) -> None:
    listing = publish(database, person(database, "ann"))
    rate(database, person(database, "ben"), listing, 4, "ß" * 4_000)
    assert len(database.read(marketplace.reviews, person(database, "ben"), str(listing.id), 1)[0].review) == 4_000


def test_each_act_needs_its_role(database: Opened) -> None:
    listing = publish(database, person(database, "ann"))
    ben = person(database, "ben")
    viewer, player = replace(ben, role="viewer"), replace(ben, role="player")
    with pytest.raises(DeniedError, match="needs the role player"):
        rate(database, viewer, listing, 5)
    with pytest.raises(DeniedError, match="needs the role author"):
        take(database, player, listing)
    with pytest.raises(DeniedError, match="needs the role admin"):
        database.write(marketplace.feature, ben, str(listing.id), True)


def test_admins_say_what_is_featured(database: Opened) -> None:
    root = person(database, "root", "admin")
    listing, other = publish(database, person(database, "ann")), publish(database, person(database, "ben"), "Other")
    assert database.write(marketplace.feature, root, str(listing.id), True).featured
    found = database.read(marketplace.browse, MarketFilters(featured=True), "trending", 10)
    assert [offer.listing.id for offer in found.offers] == [listing.id]
    assert not database.write(marketplace.feature, root, str(listing.id), False).featured
    assert not stands(database, other).featured


def test_what_is_taken_up_now_trends_above_what_was_taken_up_more_often_before(database: Opened) -> None:
    ann, *others = (person(database, f"user {number}") for number in range(4))
    before, now, never = (publish(database, ann, name) for name in ("Before", "Now", "Never"))
    for caller in others:
        take(database, caller, before, NOW - 2 * WEEK)
    take(database, others[0], now)
    found = database.read(marketplace.trending, 30, 10, NOW).offers
    assert [offer.listing.id for offer in found] == [now.id, before.id]
    assert [marketplace.listing_data(offer, NOW)["trend"] for offer in found] == [1.0, 0.75]
    assert [marketplace.listing_data(offer, NOW + WEEK)["trend"] for offer in found] == [0.5, 0.375]
    whole = database.read(marketplace.browse, MarketFilters(), "trending", 10).offers
    assert [offer.listing.id for offer in whole] == [now.id, before.id, never.id]


def test_trending_leaves_out_what_is_worth_less_than_one_import_so_long_ago(database: Opened) -> None:
    ann, ben = person(database, "ann"), person(database, "ben")
    old = publish(database, ann)
    take(database, ben, old, NOW - timedelta(days=20))
    assert len(database.read(marketplace.trending, 21, 10, NOW).offers) == 1
    assert len(database.read(marketplace.trending, 19, 10, NOW).offers) == 0


def test_only_the_first_rating_of_a_person_moves_the_trend(database: Opened) -> None:
    ann, ben, cleo = (person(database, name) for name in ("ann", "ben", "cleo"))
    listing = publish(database, ann)
    values = []
    for caller, stars in ((ben, 5), (ben, 1), (ben, 5), (cleo, 3), (cleo, 5)):
        rate(database, caller, listing, stars)
        values.append(marketplace.listing_data(stands(database, listing), NOW)["trend"])
    assert values == [2.0] * 5


def test_pages_follow_one_another_until_there_are_no_more(database: Opened) -> None:
    ann = person(database, "ann")
    names = [publish(database, ann, f"Rubric {number}").name for number in range(5)]
    first = database.read(marketplace.browse, MarketFilters(), "name", 3)
    second = database.read(marketplace.browse, MarketFilters(), "name", 3, first.after)
    assert [offer.listing.name for offer in (*first.offers, *second.offers)] == names
    assert second.after is None
    assert database.read(marketplace.browse, MarketFilters(), "name", 5).after is None


def test_many_who_rate_and_import_at_once_are_all_counted(database: Opened) -> None:
    listing = publish(database, person(database, "ann"))
    crowd = [person(database, f"user {number}") for number in range(16)]

    async def scenario(opened: Database) -> None:
        await asyncio.gather(
            *(opened.write(marketplace.rate, one, str(listing.id), 1 + n % 5, "", NOW) for n, one in enumerate(crowd)),
            *(opened.write(marketplace.import_copy, one, str(listing.id), None, NOW) for one in crowd),
            *(opened.write(marketplace.import_copy, one, str(listing.id), None, NOW) for one in crowd),
            *(opened.write(marketplace.rate, one, str(listing.id), 1 + n % 4, "", NOW) for n, one in enumerate(crowd)),
        )

    database.run(scenario)
    found = stands(database, listing)
    given = [one.rating for one in database.read(marketplace.reviews, crowd[0], str(listing.id), 100)]
    assert (found.downloads, found.reviews) == (16, 16)
    assert found.rating == pytest.approx(sum(given) / 16, abs=0.005)
    assert marketplace.listing_data(found, NOW)["trend"] >= 16


def test_rating_goes_on_while_the_author_changes_the_rubric(database: Opened) -> None:
    ann = person(database, "ann")
    listing = publish(database, ann)
    crowd = [person(database, f"user {number}") for number in range(10)]
    drafts = [
        read_draft(
            {"name": "Brevity", "scoring_type": "binary", "rules": [RULE], "is_public": n % 2 == 1, "note": str(n)}
        )
        for n in range(10)
    ]

    async def rated(opened: Database, caller: Caller) -> bool:
        try:
            await opened.write(marketplace.rate, caller, str(listing.id), 4, "", NOW)
        except MissingError:  # it was private just then
            return False
        return True

    async def scenario(opened: Database) -> list[Any]:
        changes = (opened.write(catalogue.update, ann, str(listing.id), draft, ANYTHING, NOW) for draft in drafts)
        return await asyncio.gather(*(rated(opened, caller) for caller in crowd), *changes)

    kept = database.run(scenario)[:10].count(True)
    database.write(catalogue.update, ann, str(listing.id), drafts[-1], ANYTHING, NOW)
    assert stands(database, listing).reviews == kept
