"""What the pages of the marketplace and of games are drawn from: searches, own things, weights, rounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import pytest
from fastapi.datastructures import QueryParams

from databases import Opened
from rubrica.errors import InputError
from rubrica.store import storefront
from rubrica.store.rubrics import RubricListing
from rubrica.store.users import ensure_user
from rubrica.studio.games.play import submission_of
from rubrica.studio.games.weights import AttachmentLine, lines_in, sums_to_one, to_whole, total, with_entry, without
from rubrica.studio.market.search import PAGE, address_of, search_from_query
from rubrica.studio.market.wording import listing_card, own_rubric_card
from rubrica.studio.sandbox.form import Form, FormMetric
from rubrica.workspace import catalogue, marketplace
from rubrica.workspace.access import LOCAL, Caller, Role
from rubrica.workspace.draft import read_draft
from rubrica.workspace.market_search import MarketSearch, recommended, search_market

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}


def person(database: Opened, name: str, role: Role = "author") -> Caller:
    return Caller(database.write(ensure_user, name, NOW).id, name, role)


def publish(database: Opened, owner: Caller, name: str, **listed: Any) -> RubricListing:
    given = {"name": name, "scoring_type": "binary", "rules": [RULE], "is_public": True} | listed
    return database.write(catalogue.create, owner, read_draft(given), NOW).listing


def found(database: Opened, caller: Caller, **sought: Any) -> list[str]:
    return [
        offer.listing.name
        for offer in database.read(search_market, caller, MarketSearch(**sought), None, PAGE, NOW).offers
    ]


@pytest.mark.parametrize(
    "sought",
    [
        MarketSearch(),
        MarketSearch("a b&c", "featured", "style", ("x", "y z"), 4.5, "rating"),
        MarketSearch(view="yours", tags=("ü",)),
        MarketSearch(view="trending", sort="name"),
    ],
)
def test_an_address_says_what_it_was_made_of(sought: MarketSearch) -> None:
    query = address_of(sought).partition("?")[2]
    assert search_from_query(QueryParams(query)) == sought


def test_what_an_address_says_wrongly_is_passed_over() -> None:
    asked = QueryParams("view=everything&sort=colour&least=9&q=%00moth&tag=%20&" + "&".join(["tag=x"] * 50))
    assert search_from_query(asked) == replace(MarketSearch("moth"), tags=("x",) * 20)


def test_a_view_shows_what_it_says(database: Opened) -> None:
    ann, ben = person(database, "ann"), person(database, "ben")
    old, new, plain = (publish(database, ann, name, category="moths") for name in ("Old", "New", "Plain"))
    database.write(marketplace.import_copy, ben, str(old.id), None, NOW - timedelta(days=90))
    database.write(marketplace.rate, ben, str(new.id), 5, "", NOW)
    database.write(marketplace.feature, LOCAL, str(plain.id), True)
    assert set(found(database, ann, category="moths")) == {"Old", "New", "Plain"}
    assert found(database, ann, view="trending") == ["New"]
    assert found(database, ann, view="featured") == ["Plain"]
    assert found(database, ann, least=4.5) == ["New"]
    assert [offer.listing.name for offer in database.read(recommended, ann)] == ["Plain"]
    assert ("moths", 3) in database.read(storefront.categories, 10)


def test_ones_own_are_told_with_where_they_come_from(database: Opened) -> None:
    ann, ben = person(database, "ann"), person(database, "ben")
    theirs = publish(database, ann, "Theirs <b>", description="<script>")
    publish(database, ben, "Mine")
    copy = database.write(marketplace.import_copy, ben, str(theirs.id), None, NOW).listing
    own = {
        each.listing.name: each
        for each in database.read(search_market, ben, MarketSearch(view="yours"), None, PAGE, NOW).own
    }
    assert "written by you" in own_rubric_card(own["Mine"], NOW)
    assert own["Mine"].offer is not None
    told = own_rubric_card(own["Theirs <b>"], NOW)
    assert f'from <a href="/market/{theirs.id}">Theirs &lt;b&gt;@1.0</a> by ann' in told
    assert "private" in told
    assert [each.id for each in database.read(storefront.copies_of, theirs.id, ben.user_id, 5)] == [copy.id]
    assert database.read(storefront.copies_of, theirs.id, ann.user_id, 5) == []


def test_ones_own_review_is_found(database: Opened) -> None:
    ann, ben = person(database, "ann"), person(database, "ben", "player")
    listing = publish(database, ann, "Rated")
    assert database.read(storefront.review_by, listing.id, ben.user_id) is None
    database.write(marketplace.rate, ben, str(listing.id), 4, "fair", NOW)
    review = database.read(storefront.review_by, listing.id, ben.user_id)
    assert review is not None
    assert (review.user, review.rating, review.review) == ("ben", 4, "fair")


def test_ones_own_are_leafed_through(database: Opened) -> None:
    ann = person(database, "ann")
    for number in range(PAGE + 3):
        publish(database, ann, f"Own {number}", is_public=False)
    first = database.read(search_market, ann, MarketSearch(view="yours"), None, PAGE, NOW)
    second = database.read(search_market, ann, MarketSearch(view="yours"), first.after, PAGE, NOW)
    names = [own.listing.name for run_rubrics in (first, second) for own in run_rubrics.own]
    assert (len(first.own), len(set(names)), second.after) == (PAGE, PAGE + 3, None)


def test_words_of_others_are_escaped(database: Opened) -> None:
    ann = person(database, "ann")
    publish(database, ann, "<i>Name</i>", description="<script>alert(1)</script>")
    offer = database.read(search_market, ann, MarketSearch("name"), None, PAGE, NOW).offers[0]
    told = listing_card(offer, NOW)
    assert "<script>" not in told
    assert "<i>" not in told


def line(weight: float, slug: str = "moth") -> AttachmentLine:
    return AttachmentLine(UUID(int=7), slug, slug.title(), "1.0.0", weight, slug)


def test_weights_are_scaled_in_proportion() -> None:
    lines = [line(0.9), line(0.3)]
    assert (total(lines), sums_to_one(lines)) == (1.2, False)
    whole = to_whole(lines)
    assert [each.weight for each in whole] == [0.75, 0.25]
    assert sums_to_one(whole)
    assert [each.weight for each in to_whole([line(0), line(0)])] == [0.5, 0.5]


def test_a_weight_that_was_only_shown_rounded_stays_exact() -> None:
    third = line(1 / 3)
    assert third.percent == 33.33
    assert third.weighing(33.33) is third
    assert third.weighing(None).weight == 0
    assert third.weighing(12.5).weight == 0.125
    assert sums_to_one([line(1 / 3), line(1 / 3), line(1 / 3)])


def test_one_more_evaluation_weighs_like_the_others(database: Opened) -> None:
    ann = person(database, "ann")
    listing = publish(database, ann, "Brevity")
    entry = database.read(catalogue.entry, ann, str(listing.id))
    added = with_entry([line(0.6), line(0.2)], entry)  # they were being changed, and sum to 0.8
    assert [round(each.weight, 6) for each in added] == [0.5, 0.166667, 0.333333]
    assert [each.weight for each in without(added, 2)] == [0.75, 0.25]
    assert without([line(1.0)], 0) == []
    assert lines_in(msgspec.to_builtins(added)) == added
    assert lines_in([{"slug": "moth"}]) is None
    added = with_entry([line(1.0)], entry)
    assert added[0].weight == 0.5
    assert (added[1].slug, added[1].weight, added[1].dimension) == ("brevity", 0.5, "brevity")
    assert added[1].request().rubric == str(listing.id)


def test_a_form_becomes_a_round() -> None:
    form = Form(
        "Go on.", "A moth.", (), (FormMetric("response_time", "8"), FormMetric("pace", "9"), FormMetric("empty", ""))
    )
    wanted = submission_of(form, " ")
    assert wanted.player is None
    content = wanted.rounds[0].content
    assert (content["metadata"]["response_time"], content["custom_metrics"]) == (8, {"pace": 9})
    assert submission_of(form, "claude").player == "claude"
    with pytest.raises(InputError, match="not JSON"):
        submission_of(replace(form, rest="{"), "")
