"""Evaluations and versions in the database: what is kept is found again, and lists come page by page."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection

from databases import Opened
from rubrica.store import rubrics, versions
from rubrica.store.columns import new_id
from rubrica.store.rubrics import Order, RubricListing, RubricQuery
from rubrica.store.search import searched
from rubrica.store.users import ensure_user
from rubrica.store.versions import Version

NOW = datetime(2026, 5, 1, 12, 30, 15, 123456, tzinfo=UTC)


def listing(owner: UUID | None, slug: str, minutes: int = 0, **changes: Any) -> RubricListing:
    at = NOW + timedelta(minutes=minutes)
    made = RubricListing(
        new_id(at), slug, slug.title(), "", "1.0", 1, "binary", "", (), False, owner, None, created_at=at, updated_at=at
    )
    return replace(made, **changes)


def add(conn: Connection, *many: RubricListing) -> list[bool]:
    return [rubrics.add(conn, one, searched(one.name, one.description, one.category, one.tags)) for one in many]


def version(owner: RubricListing, revision: int, label: str, **changes: Any) -> Version:
    definition = {"name": owner.name, "scoring_type": "binary", "rules": [{"add": revision}]}
    made = Version(new_id(NOW), owner.id, revision, label, definition, [], f"{revision:064}", "", owner.created_by, NOW)
    return replace(made, **changes)


@pytest.fixture
def ann(database: Opened) -> UUID:
    return database.write(ensure_user, "ann", NOW).id


@pytest.fixture
def ben(database: Opened) -> UUID:
    return database.write(ensure_user, "ben", NOW).id


def slugs(database: Opened, user: UUID, limit: int = 200, *, everything: bool = False, **wanted: Any) -> list[str]:
    found = database.read(rubrics.browse, user, RubricQuery(**wanted), limit, everything=everything)
    return [one.slug for one in found]


def test_a_rubric_is_found_as_it_was_kept(database: Opened, ann: UUID) -> None:
    kept = listing(ann, "brevity", description="Üben – “short”", category="style", tags=("a", "ß"), is_public=True)
    assert database.write(add, kept) == [True]
    assert database.read(rubrics.by_id, kept.id) == kept
    assert database.read(rubrics.by_slug, "brevity", ann) == [kept]
    assert database.read(rubrics.by_id, UUID(int=5)) is None


def test_one_owner_has_one_rubric_of_a_slug(database: Opened, ann: UUID, ben: UUID) -> None:
    first = listing(ann, "brevity")
    assert database.write(add, first, listing(ann, "brevity"), listing(ben, "brevity")) == [True, False, True]
    assert database.write(add, listing(None, "brevity"), listing(None, "brevity")) == [True, False]
    database.write(rubrics.delete, first.id, NOW)
    assert database.write(add, listing(ann, "brevity")) == [True]


def test_what_else_went_well_stays_when_a_slug_is_taken(database: Opened, ann: UUID) -> None:
    assert database.write(add, listing(ann, "a"), listing(ann, "a"), listing(ann, "b")) == [True, False, True]
    assert slugs(database, ann, order="name") == ["a", "b"]


def test_a_change_that_takes_the_slug_of_another_is_refused(database: Opened, ann: UUID) -> None:
    one, other = listing(ann, "one"), listing(ann, "other")
    database.write(add, one, other)
    assert not database.write(rubrics.change, replace(other, slug="one"), "one")
    assert database.write(rubrics.change, replace(other, slug="third", revision=2), "third")
    found = database.read(rubrics.by_id, other.id)
    assert found is not None
    assert (found.slug, found.revision) == ("third", 2)


def test_own_rubrics_come_before_bundled_and_public_ones(database: Opened, ann: UUID, ben: UUID) -> None:
    public, bundled, own = (
        listing(ben, "x", is_public=True),
        listing(None, "x", 1, is_public=True),
        listing(ann, "x", 2),
    )
    database.write(add, public, bundled, own)
    assert database.read(rubrics.by_slug, "x", ann) == [own, bundled, public]
    assert database.read(rubrics.by_slug, "x", ben) == [public, bundled]
    assert database.read(rubrics.by_slug, "x", ben, everything=True) == [public, bundled, own]


def test_a_list_shows_what_is_public_and_ones_own(database: Opened, ann: UUID, ben: UUID) -> None:
    database.write(
        add,
        listing(ann, "ann-private"),
        listing(ann, "ann-public", 1, is_public=True),
        listing(ben, "ben-private", 2),
        listing(ben, "ben-public", 3, is_public=True),
        listing(None, "bundled", 4, is_public=True),
    )
    assert slugs(database, ann) == ["bundled", "ben-public", "ann-public", "ann-private"]
    assert slugs(database, ann, mine=True) == ["ann-public", "ann-private"]
    assert len(slugs(database, ann, everything=True)) == 5
    assert slugs(database, ann, everything=True, mine=True) == ["ann-public", "ann-private"]


def test_what_is_deleted_is_in_no_list(database: Opened, ann: UUID) -> None:
    gone = listing(ann, "gone", is_public=True)
    database.write(add, gone)
    database.write(rubrics.delete, gone.id, NOW)
    assert slugs(database, ann, everything=True) == slugs(database, ann) == slugs(database, ann, mine=True) == []
    assert database.read(rubrics.by_slug, "gone", ann) == []
    found = database.read(rubrics.by_id, gone.id)
    assert found is not None
    assert found.deleted_at == NOW


def test_a_list_is_narrowed_down(database: Opened, ann: UUID) -> None:
    database.write(
        add,
        listing(ann, "speed", category="games", tags=("fast", "fun")),
        listing(ann, "rigor", 1, category="science", tags=("fast",), scoring_type="cumulative"),
        listing(ann, "hundred", 2, description="gives 100% or nothing_at all", scoring_type=None),
    )
    assert slugs(database, ann, category="games") == ["speed"]
    assert slugs(database, ann, category="game") == []
    assert slugs(database, ann, tags=("fast",)) == ["rigor", "speed"]
    assert slugs(database, ann, tags=("fast", "fun")) == ["speed"]
    assert slugs(database, ann, tags=("fas",)) == []
    assert slugs(database, ann, scoring_type="cumulative") == ["rigor"]
    assert slugs(database, ann, q="SCIENCE") == ["rigor"]
    assert slugs(database, ann, q="fun speed") == ["speed"]
    assert slugs(database, ann, q="100%") == ["hundred"]
    assert slugs(database, ann, q="%") == ["hundred"]
    assert slugs(database, ann, q="g_t") == []
    assert slugs(database, ann, q="' OR 1=1 --") == []
    assert slugs(database, ann, q="  ") == ["hundred", "rigor", "speed"]


@pytest.mark.parametrize("order", ["newest", "name"])
def test_pages_neither_skip_nor_repeat(database: Opened, ann: UUID, ben: UUID, order: Order) -> None:
    many = [listing(ann, f"own-{n % 7}-{n}", n % 3, is_public=n % 2 == 0) for n in range(17)]
    many += [listing(ben, "same" if n == 0 else f"other-{n}", n % 4, is_public=n % 3 != 0) for n in range(12)]
    many += [listing(None, "same", 2, is_public=True)]
    database.write(add, *many)
    seen: list[RubricListing] = []
    after = None
    while True:
        page = database.read(rubrics.browse, ann, RubricQuery(order=order, after=after), 4)
        if not page:
            break
        seen += page
        after = (page[-1].slug, page[-1].id)
    expected = [one for one in many if one.is_public or one.created_by == ann]
    key = (lambda one: (one.slug, one.id)) if order == "name" else (lambda one: -one.id.int)
    assert {one.id for one in seen} == {one.id for one in expected}
    assert len(seen) == len(expected)
    if order == "newest" or database.url.startswith("sqlite"):  # PostgreSQL sorts text as its locale does
        assert seen == sorted(expected, key=key)


def test_versions_are_found_by_revision_and_by_label(database: Opened, ann: UUID) -> None:
    own = listing(ann, "brevity")
    first = version(own, 1, "1.0", examples=[{"response": "a\0b"}], note="first")
    second = version(own, 2, "1.1", created_by=None)

    def keep(conn: Connection) -> None:
        add(conn, own)
        versions.add(conn, first)
        versions.add(conn, second)

    database.write(keep)
    assert database.read(versions.by_id, first.id) == first
    assert database.read(versions.by_revision, own.id, 2) == second
    assert database.read(versions.by_label, own.id, "1.0") == first
    assert database.read(versions.by_label, own.id, "9") is None
    assert database.read(versions.labels, own.id) == {"1.0", "1.1"}
    assert database.read(versions.newest_bundled, own.id) == second
    assert [one.revision for one in database.read(versions.history, own.id, None, 10)] == [2, 1]
    assert [one.note for one in database.read(versions.history, own.id, 2, 10)] == ["first"]


def test_a_version_tells_what_it_belongs_to(database: Opened, ann: UUID, ben: UUID) -> None:
    own = listing(ann, "brevity", is_public=True)
    first = version(own, 1, "1.0")
    copies = [listing(ben, "copy", forked_from=first.id), listing(ben, "open", 1, forked_from=first.id, is_public=True)]

    def keep(conn: Connection) -> None:
        add(conn, own, *copies)
        versions.add(conn, first)

    database.write(keep)
    origin = database.read(versions.origin, first.id)
    assert origin is not None
    assert (origin.rubric_id, origin.slug, origin.version, origin.is_public) == (own.id, "brevity", "1.0", True)
    assert database.read(versions.origin, own.id) is None
    assert database.read(rubrics.forks, own.id, ann, 9, everything=False) == copies[1:]
    assert database.read(rubrics.forks, own.id, ben, 9, everything=False) == copies
