"""Evaluations: who finds, changes, deletes, forks and restores what; and what came with Rubrica."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, select, update

from databases import Opened
from rubrica.engine.load import rubric_from_data
from rubrica.errors import ConflictError, DeniedError, MissingError, RubricError, StaleError
from rubrica.packs.library import bundled_rubrics, load
from rubrica.store.database import Database
from rubrica.store.rubrics import RubricQuery
from rubrica.store.tables import market_listings, rubric_versions
from rubrica.store.users import ensure_user
from rubrica.workspace import catalogue
from rubrica.workspace.access import Caller, Role
from rubrica.workspace.draft import read_draft
from rubrica.workspace.entry import ANYTHING, RubricEntry, SeenRevision
from rubrica.workspace.seed import seed_packs

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}
SHORT: dict[str, Any] = {"name": "Brevity Wins", "scoring_type": "binary", "rules": [RULE]}
LONG: dict[str, Any] = {
    "name": "brevity-long",
    "version": "1.0.0",
    "title": "Brevity at length",
    "dimensions": {"brief": {"weight": 1, "formula": "1 if word_count < 9 else 0"}},
    "verdicts": [{"label": "short", "when": "score >= 0.5"}, {"label": "long"}],
}


def person(database: Opened, name: str, role: Role = "author") -> Caller:
    return Caller(database.write(ensure_user, name, NOW).id, name, role)


@pytest.fixture
def ann(database: Opened) -> Caller:
    return person(database, "ann")


@pytest.fixture
def ben(database: Opened) -> Caller:
    return person(database, "ben")


@pytest.fixture
def admin(database: Opened) -> Caller:
    return person(database, "root", "admin")


def create(database: Opened, caller: Caller, document: dict[str, Any] = SHORT, **more: Any) -> RubricEntry:
    return database.write(catalogue.create, caller, read_draft({**document, **more}), NOW)


def put(
    database: Opened, caller: Caller, reference: str, body: dict[str, Any], seen: SeenRevision = ANYTHING
) -> RubricEntry:
    return database.write(catalogue.update, caller, reference, read_draft(body), seen, LATER)


def get(database: Opened, caller: Caller, reference: str, which: str | None = None) -> RubricEntry:
    return database.read(catalogue.entry, caller, reference, which)


def changed(body: dict[str, Any], words: int) -> dict[str, Any]:
    return {**body, "rules": [{**RULE, "expression": f"1 if word_count < {words} else 0"}]}


def on_the_marketplace(database: Opened, entry: RubricEntry) -> bool | None:
    listed = select(market_listings.c.listed).where(market_listings.c.rubric_id == entry.listing.id)
    return database.read(lambda conn: conn.execute(listed).scalar())


# finding


def test_a_rubric_is_found_by_id_slug_and_version(database: Opened, ann: Caller) -> None:
    made = create(database, ann)
    put(database, ann, "brevity-wins", changed(SHORT, 5))
    for reference in (str(made.listing.id), str(made.listing.id).upper(), "brevity-wins", "brevity-wins@1.1"):
        assert get(database, ann, reference).version.revision == 2
    for reference in ("brevity-wins@1.0", f"{made.listing.id}@1.0", "brevity-wins@1"):
        assert get(database, ann, reference).version.revision == 1
    assert get(database, ann, "brevity-wins", "2").version.version == "1.1"


@pytest.mark.parametrize(
    "reference", ["nothing", "", "@1.0", "a" * 5_000, "nul\0", str(UUID(int=99)), "brevity-wins@7", "brevity-wins@\0"]
)
def test_what_is_not_there_is_missing(database: Opened, ann: Caller, reference: str) -> None:
    create(database, ann)
    with pytest.raises(MissingError):
        get(database, ann, reference)


@pytest.mark.parametrize("which", ["9", "0", "-1", "1.7", "x", "", "9" * 30, "1\0", "²"])
def test_a_version_that_is_not_there_is_missing(database: Opened, ann: Caller, which: str) -> None:
    create(database, ann)
    with pytest.raises(MissingError):
        get(database, ann, "brevity-wins", which)


def test_a_label_that_is_a_whole_number_comes_before_the_revision(database: Opened, ann: Caller) -> None:
    create(database, ann, version="2")
    put(database, ann, "brevity-wins", {**changed(SHORT, 5), "version": "1"})
    assert get(database, ann, "brevity-wins", "1").version.revision == 2
    assert get(database, ann, "brevity-wins", "2").version.revision == 1


def test_somebody_elses_private_rubric_does_not_exist(
    database: Opened, ann: Caller, ben: Caller, admin: Caller
) -> None:
    made = create(database, ann)
    for reference in ("brevity-wins", str(made.listing.id)):
        for act in (
            lambda at=reference: get(database, ben, at),
            lambda at=reference: put(database, ben, at, SHORT),
            lambda at=reference: database.write(catalogue.delete, ben, at, ANYTHING, NOW),
            lambda at=reference: database.write(catalogue.fork, ben, at, None, None, NOW),
            lambda at=reference: database.write(catalogue.restore, ben, at, "1", "", NOW),
            lambda at=reference: database.read(catalogue.history, ben, at, None, 9),
            lambda at=reference: database.read(catalogue.lineage, ben, at),
        ):
            with pytest.raises(MissingError):
                act()
        assert get(database, admin, reference) == made
    assert database.read(catalogue.browse, ben, RubricQuery(), 9) == []
    assert database.read(catalogue.browse, admin, RubricQuery(), 9) == [made.listing]


def test_a_slug_is_ones_own_then_the_bundled_then_the_only_public_one(
    database: Opened, ann: Caller, ben: Caller
) -> None:
    cat = person(database, "cat")
    document = {**SHORT, "name": "Speed Demon"}
    theirs = create(database, ben, document, is_public=True)
    assert get(database, ann, "speed-demon") == theirs
    also = create(database, cat, document, is_public=True)
    with pytest.raises(ConflictError) as several:
        get(database, ann, "speed-demon")
    assert str(theirs.listing.id) in str(several.value)
    assert str(also.listing.id) in str(several.value)
    database.write(seed_packs, NOW)
    assert get(database, ann, "speed-demon").listing.created_by is None
    own = create(database, ann, document)
    assert get(database, ann, "speed-demon") == own


# creating and changing


@pytest.mark.parametrize("role", ["viewer", "player"])
def test_who_is_no_author_creates_and_changes_nothing(database: Opened, ann: Caller, role: Role) -> None:
    made = create(database, ann, is_public=True)
    other = person(database, "eve", role)
    with pytest.raises(DeniedError, match="role author"):
        create(database, other)
    with pytest.raises(DeniedError, match="role author"):
        database.write(catalogue.fork, other, str(made.listing.id), None, None, NOW)
    demoted = Caller(ann.user_id, "ann", role)
    with pytest.raises(DeniedError, match="role author"):
        put(database, demoted, "brevity-wins", changed(SHORT, 5))


def test_somebody_elses_public_rubric_is_read_and_not_changed(
    database: Opened, ann: Caller, ben: Caller, admin: Caller
) -> None:
    made = create(database, ann, is_public=True)
    with pytest.raises(DeniedError, match="fork it"):
        put(database, ben, "brevity-wins", changed(SHORT, 5))
    with pytest.raises(DeniedError, match="fork it"):
        database.write(catalogue.delete, ben, "brevity-wins", ANYTHING, NOW)
    assert get(database, ben, "brevity-wins") == made
    assert put(database, admin, str(made.listing.id), changed(SHORT, 5)).version.created_by == admin.user_id


@pytest.mark.parametrize("document", [SHORT, LONG])
def test_what_is_shown_can_be_put_back_and_changes_nothing(
    database: Opened, ann: Caller, document: dict[str, Any]
) -> None:
    examples = [{"response": "Hi.", "expect": {"verdict": "win"}}]
    made = create(database, ann, document, category="style", tags=["a"], is_public=True, examples=examples)
    reference = str(made.listing.id)
    assert put(database, ann, reference, made.shown()) == made
    assert get(database, ann, reference) == made
    assert made.version.definition == document
    assert put(database, ann, reference, {**document, "version": made.listing.version}) == made


@pytest.mark.parametrize("document", [SHORT, LONG])
def test_the_hash_of_every_version_is_that_of_its_rubric(
    database: Opened, ann: Caller, document: dict[str, Any]
) -> None:
    made = create(database, ann, document, category="style", tags=["a"])
    reference = str(made.listing.id)
    put(database, ann, reference, {**document, "description": "Changed."})
    put(database, ann, reference, {**document, "description": "Changed again.", "version": "4.0"})
    database.write(catalogue.restore, ann, reference, "1", "", LATER)
    fork = database.write(catalogue.fork, ann, reference, None, None, LATER)
    for which in ("1", "2", "3", "4"):
        version = get(database, ann, reference, which).version
        rubric = rubric_from_data(version.definition)
        assert (rubric.hash, rubric.version) == (version.hash, version.version)
    assert rubric_from_data(fork.version.definition).name == fork.listing.slug


def test_a_changed_definition_is_a_new_version_and_the_old_one_stays(database: Opened, ann: Caller) -> None:
    made = create(database, ann, description="Old words.")
    new = put(database, ann, "brevity-wins", {**changed(SHORT, 5), "description": "New words.", "note": "stricter"})
    assert (new.version.revision, new.version.version, new.version.note) == (2, "1.1", "stricter")
    assert (new.listing.description, new.listing.updated_at) == ("New words.", LATER)
    assert get(database, ann, "brevity-wins", "1").version == made.version
    history = database.read(catalogue.history, ann, "brevity-wins", None, 9)
    assert [(one.revision, one.version) for one in history] == [(2, "1.1"), (1, "1.0")]


def test_changed_examples_are_a_new_version(database: Opened, ann: Caller) -> None:
    create(database, ann, examples=[{"response": "a"}])
    new = put(database, ann, "brevity-wins", {**SHORT, "examples": [{"response": "b"}]})
    assert (new.version.revision, list(new.version.examples)) == (2, [{"response": "b"}])
    silent = put(database, ann, "brevity-wins", changed(SHORT, 5))
    assert (silent.version.revision, list(silent.version.examples)) == (3, [{"response": "b"}])


def test_how_it_is_listed_changes_without_a_new_version(database: Opened, ann: Caller) -> None:
    made = create(database, ann, category="style", tags=["a"])
    listed = put(database, ann, "brevity-wins", {**SHORT, "tags": ["b"], "category": "", "is_public": True})
    assert (listed.version, listed.listing.revision) == (made.version, 1)
    assert (listed.listing.tags, listed.listing.category, listed.listing.updated_at) == (("b",), "", LATER)
    assert listed.tag != made.tag
    assert database.read(catalogue.browse, ann, RubricQuery(q="b", tags=("b",)), 9) == [listed.listing]
    again = put(database, ann, "brevity-wins", SHORT)
    assert (again.listing.tags, again.listing.is_public) == (("b",), True)


def test_true_and_one_are_not_the_same_content(database: Opened, ann: Caller) -> None:
    with_setting = {**LONG, "settings": {"x": 1}}
    create(database, ann, with_setting)
    assert put(database, ann, "brevity-long", {**with_setting, "settings": {"x": 1.0}}).version.revision == 1
    assert put(database, ann, "brevity-long", {**with_setting, "settings": {"x": True}}).version.revision == 2


def test_an_author_chooses_a_label_that_is_free(database: Opened, ann: Caller) -> None:
    create(database, ann, version="1.0")
    assert put(database, ann, "brevity-wins", {**changed(SHORT, 5), "version": "3.0"}).listing.version == "3.0"
    with pytest.raises(ConflictError, match=r"already has a version 1\.0"):
        put(database, ann, "brevity-wins", {**changed(SHORT, 6), "version": "1.0"})
    assert put(database, ann, "brevity-wins", {**changed(SHORT, 6), "version": "3.0"}).listing.version == "3.1"
    assert put(database, ann, "brevity-wins", {**changed(SHORT, 6), "version": "4.0"}).version.revision == 4


def test_a_new_name_is_a_new_slug_unless_it_is_taken(database: Opened, ann: Caller) -> None:
    create(database, ann)
    create(database, ann, {**SHORT, "name": "Other"})
    with pytest.raises(ConflictError, match="named other"):
        put(database, ann, "brevity-wins", {**SHORT, "name": "Other"})
    assert get(database, ann, "brevity-wins").version.revision == 1
    renamed = put(database, ann, "brevity-wins", {**SHORT, "name": "Brevity Rules"})
    assert (renamed.listing.slug, renamed.version.revision) == ("brevity-rules", 2)
    assert create(database, ann).listing.slug == "brevity-wins"


def test_a_second_rubric_of_the_same_name_is_refused(database: Opened, ann: Caller, ben: Caller) -> None:
    create(database, ann)
    with pytest.raises(ConflictError, match="named brevity-wins"):
        create(database, ann, {**SHORT, "name": "brevity wins!"})
    assert create(database, ben).listing.slug == "brevity-wins"


def test_a_stale_change_is_refused(database: Opened, ann: Caller) -> None:
    made = create(database, ann)
    put(database, ann, "brevity-wins", changed(SHORT, 5), SeenRevision(frozenset({made.tag, "other"})))
    for seen in (
        SeenRevision(frozenset({made.tag})),
        SeenRevision(frozenset()),
        SeenRevision(revision=1),
        SeenRevision(revision=3),
    ):
        with pytest.raises(StaleError, match="revision 2"):
            put(database, ann, "brevity-wins", changed(SHORT, 6), seen)
        with pytest.raises(StaleError):
            database.write(catalogue.delete, ann, "brevity-wins", seen, LATER)
    assert put(database, ann, "brevity-wins", changed(SHORT, 6), SeenRevision(revision=2)).version.revision == 3


def test_a_change_of_tags_makes_an_earlier_reading_stale(database: Opened, ann: Caller) -> None:
    made = create(database, ann)
    put(database, ann, "brevity-wins", {**SHORT, "tags": ["b"]}, SeenRevision(frozenset({made.tag})))
    with pytest.raises(StaleError):
        put(database, ann, "brevity-wins", {**SHORT, "tags": ["c"]}, SeenRevision(frozenset({made.tag})))


def test_publishing_puts_it_on_the_marketplace_and_back(database: Opened, ann: Caller) -> None:
    made = create(database, ann)
    assert on_the_marketplace(database, made) is None
    put(database, ann, "brevity-wins", {**SHORT, "is_public": True})
    assert on_the_marketplace(database, made) is True
    put(database, ann, "brevity-wins", {**SHORT, "is_public": False})
    assert on_the_marketplace(database, made) is False
    public = create(database, ann, {**SHORT, "name": "Second"}, is_public=True)
    assert on_the_marketplace(database, public) is True
    database.write(catalogue.delete, ann, "second", ANYTHING, LATER)
    assert on_the_marketplace(database, public) is False


def test_what_is_deleted_is_gone_but_its_versions_stay(database: Opened, ann: Caller, admin: Caller) -> None:
    made = create(database, ann, is_public=True)
    database.write(catalogue.delete, ann, "brevity-wins", ANYTHING, LATER)
    for caller in (ann, admin):
        with pytest.raises(MissingError):
            get(database, caller, str(made.listing.id))
    assert kept(database, made.listing.id) == 1
    assert create(database, ann).listing.id != made.listing.id


def kept(database: Opened, rubric_id: UUID) -> int:
    rows = select(rubric_versions.c.id).where(rubric_versions.c.rubric_id == rubric_id)
    return len(database.read(lambda conn: conn.execute(rows).all()))


# restoring and forking


def test_restoring_makes_the_old_content_new(database: Opened, ann: Caller) -> None:
    made = create(database, ann, version="1.0", examples=[{"response": "a"}])
    put(database, ann, "brevity-wins", {**changed(SHORT, 5), "examples": [{"response": "b"}]})
    back = database.write(catalogue.restore, ann, "brevity-wins", "1.0", "", LATER)
    assert (back.version.revision, back.version.version) == (3, "1.2")
    assert {**back.version.definition, "version": "1.0"} == made.version.definition
    assert list(back.version.examples) == [{"response": "a"}]
    assert back.version.note == "restored from revision 1 (1.0)"
    again = database.write(catalogue.restore, ann, "brevity-wins", "1", "", LATER)
    assert again == back


def test_restoring_an_old_name_that_is_taken_is_refused(database: Opened, ann: Caller) -> None:
    create(database, ann)
    put(database, ann, "brevity-wins", {**SHORT, "name": "Moved On"})
    create(database, ann)
    with pytest.raises(ConflictError):
        database.write(catalogue.restore, ann, "moved-on", "1", "", LATER)


def test_a_fork_is_a_private_copy_that_remembers(database: Opened, ann: Caller, ben: Caller) -> None:
    made = create(database, ann, category="style", tags=["a"], is_public=True, examples=[{"response": "a"}])
    put(database, ann, "brevity-wins", changed(SHORT, 5))
    fork = database.write(catalogue.fork, ben, str(made.listing.id), "1.0", None, LATER)
    assert (fork.listing.created_by, fork.listing.is_public, fork.listing.slug) == (ben.user_id, False, "brevity-wins")
    assert (fork.version.definition, fork.version.hash) == (made.version.definition, made.version.hash)
    assert (fork.listing.category, fork.listing.tags, list(fork.version.examples)) == (
        "style",
        ("a",),
        [{"response": "a"}],
    )
    parent = {"evaluation_id": made.listing.id, "name": "Brevity Wins", "version": "1.0"}
    assert fork.shown()["forked_from"] == parent
    assert get(database, ben, str(fork.listing.id)).shown()["forked_from"] == parent


@pytest.mark.parametrize(
    ("document", "slug", "name"), [(SHORT, "brevity-wins", "Brevity Wins"), (LONG, "brevity-long", "brevity-long")]
)
def test_a_fork_under_a_name_that_is_taken_gets_a_number(
    database: Opened, ann: Caller, document: dict[str, Any], slug: str, name: str
) -> None:
    create(database, ann, document)
    forks = [database.write(catalogue.fork, ann, slug, None, None, LATER) for _ in range(3)]
    assert [fork.listing.slug for fork in forks] == [f"{slug}-{number}" for number in (2, 3, 4)]
    for fork in forks:
        assert put(database, ann, fork.listing.slug, fork.shown()) == fork
    assert forks[0].version.definition["name"].startswith(name)


def test_a_fork_takes_another_name(database: Opened, ann: Caller) -> None:
    create(database, ann)
    create(database, ann, LONG)
    assert database.write(catalogue.fork, ann, "brevity-wins", None, "My Own!", LATER).listing.slug == "my-own"
    assert database.write(catalogue.fork, ann, "brevity-long", None, "mine", LATER).listing.slug == "mine"
    with pytest.raises(RubricError) as refused:
        database.write(catalogue.fork, ann, "brevity-long", None, "Not A Rubric Name", LATER)
    assert [problem.where for problem in refused.value.problems] == ["name"]


def test_a_lineage_tells_what_one_may_see(database: Opened, ann: Caller, ben: Caller, admin: Caller) -> None:
    first = create(database, ann, is_public=True)
    second = database.write(catalogue.fork, ben, str(first.listing.id), None, "Second", NOW)
    put(database, ben, "second", {**second.shown(), "is_public": True})
    third = database.write(catalogue.fork, ann, str(second.listing.id), None, "Third", LATER)
    _, whole = database.read(catalogue.lineage, ann, "third")
    assert [origin.slug for origin in whole.ancestors] == ["second", "brevity-wins"]
    put(database, ben, "second", {**second.shown(), "is_public": False, "revision": None})
    _, part = database.read(catalogue.lineage, ann, "third")
    assert ([origin.slug for origin in part.ancestors], part.hidden) == (["brevity-wins"], 1)
    assert get(database, ann, "third").shown()["forked_from"] is None
    assert get(database, admin, str(third.listing.id)).shown()["forked_from"]["name"] == "Second"
    _, forks = database.read(catalogue.lineage, ann, "brevity-wins")
    assert forks.forks == ()
    _, forks = database.read(catalogue.lineage, ben, str(first.listing.id))
    assert [fork.slug for fork in forks.forks] == ["second"]


# several at the same time


def test_of_two_editors_who_read_the_same_one_wins(database: Opened, ann: Caller) -> None:
    made = create(database, ann)
    drafts = [read_draft(changed(SHORT, words)) for words in range(10, 18)]  # 9 is what it says already
    seen = SeenRevision(frozenset({made.tag}))

    async def race(open_database: Database) -> list[RubricEntry | BaseException]:
        writes = (open_database.write(catalogue.update, ann, "brevity-wins", draft, seen, LATER) for draft in drafts)
        return await asyncio.gather(*writes, return_exceptions=True)

    results = database.run(race)
    assert [type(result) for result in results if not isinstance(result, StaleError)] == [RubricEntry]
    assert get(database, ann, "brevity-wins").version.revision == 2
    assert kept(database, made.listing.id) == 2


def test_many_who_do_not_care_what_was_there_each_make_a_version(database: Opened, ann: Caller) -> None:
    made = create(database, ann)
    drafts = [read_draft(changed(SHORT, words)) for words in range(20, 32)]

    async def race(open_database: Database) -> list[RubricEntry]:
        writes = (
            open_database.write(catalogue.update, ann, "brevity-wins", draft, ANYTHING, LATER) for draft in drafts
        )
        return await asyncio.gather(*writes)

    results = database.run(race)
    assert sorted(result.version.revision for result in results) == list(range(2, 14))
    assert len({result.version.version for result in results}) == 12
    assert kept(database, made.listing.id) == 13


def test_of_twenty_who_create_the_same_name_one_wins(database: Opened, ann: Caller) -> None:
    draft = read_draft({**SHORT, "is_public": True})

    async def race(open_database: Database) -> list[RubricEntry | BaseException]:
        writes = (open_database.write(catalogue.create, ann, draft, NOW) for _ in range(20))
        return await asyncio.gather(*writes, return_exceptions=True)

    results = database.run(race)
    assert [type(result) for result in results if not isinstance(result, ConflictError)] == [RubricEntry]
    assert len(database.read(catalogue.browse, ann, RubricQuery(), 50)) == 1


def test_twenty_copies_at_once_have_twenty_names(database: Opened, ann: Caller) -> None:
    create(database, ann)

    async def race(open_database: Database) -> list[RubricEntry]:
        writes = (open_database.write(catalogue.fork, ann, "brevity-wins", None, None, NOW) for _ in range(20))
        return await asyncio.gather(*writes)

    slugs = {entry.listing.slug for entry in database.run(race)}
    assert slugs == {f"brevity-wins-{number}" for number in range(2, 22)}


# what comes with Rubrica


def test_everything_bundled_is_public_and_nobodys(database: Opened, ann: Caller) -> None:
    assert database.write(seed_packs, NOW) == len(bundled_rubrics())
    for bundled in bundled_rubrics():
        entry = get(database, ann, bundled.name)
        assert (entry.listing.created_by, entry.listing.is_public, entry.version.revision) == (None, True, 1)
        rubric = load(bundled.name)
        assert (entry.listing.category, entry.listing.tags) == (rubric.category, rubric.tags)
        assert entry.version.hash == rubric_from_data(entry.version.definition).hash
        assert entry.version.examples, f"{bundled.name} has no examples"
        assert on_the_marketplace(database, entry)


def test_a_second_start_changes_nothing_and_is_quick(database: Opened, ann: Caller) -> None:
    database.write(seed_packs, NOW)
    before = [get(database, ann, bundled.name) for bundled in bundled_rubrics()]
    began = time.process_time()
    assert database.write(seed_packs, LATER) == 0
    assert time.process_time() - began < 1.0  # 0.03 s on an idle machine
    assert [get(database, ann, bundled.name) for bundled in bundled_rubrics()] == before


def as_if_older(conn: Connection, rubric_id: UUID) -> None:
    """What an earlier Rubrica brought: another description, under the same label."""
    row = conn.execute(select(rubric_versions.c.definition).where(rubric_versions.c.rubric_id == rubric_id)).one()
    older = {**row.definition, "description": "An earlier one."}
    conn.execute(
        update(rubric_versions)
        .where(rubric_versions.c.rubric_id == rubric_id)
        .values(definition=older, hash=rubric_from_data(older).hash)
    )


def next_patch(version: str) -> str:
    """The version after this one that changes least."""
    major, minor, patch = version.split(".")
    return f"{major}.{minor}.{int(patch) + 1}"


def test_newer_content_becomes_a_new_revision_once(database: Opened, ann: Caller) -> None:
    database.write(seed_packs, NOW)
    arena = get(database, ann, "arena")
    database.write(as_if_older, arena.listing.id)
    assert database.write(seed_packs, LATER) == 1
    renewed, newer = get(database, ann, "arena"), next_patch(arena.version.version)
    assert (renewed.version.revision, renewed.version.version) == (2, newer)
    assert renewed.version.definition == {**arena.version.definition, "version": newer}
    assert database.write(seed_packs, LATER) == 0


def test_what_an_admin_made_of_it_stays_until_there_is_something_newer(database: Opened, admin: Caller) -> None:
    database.write(seed_packs, NOW)
    arena = get(database, admin, "arena")
    own = put(database, admin, "arena", {**arena.shown(), "title": "Ours"})
    assert database.write(seed_packs, LATER) == 0
    assert get(database, admin, "arena") == own
    assert own.version.version == next_patch(arena.version.version)


def test_what_an_admin_deleted_does_not_come_back(database: Opened, ann: Caller, admin: Caller) -> None:
    database.write(seed_packs, NOW)
    database.write(catalogue.delete, admin, "arena", ANYTHING, NOW)
    assert database.write(seed_packs, LATER) == 0
    with pytest.raises(MissingError):
        get(database, ann, "arena")


def test_nobody_but_an_admin_changes_what_is_bundled(database: Opened, ann: Caller) -> None:
    database.write(seed_packs, NOW)
    with pytest.raises(DeniedError, match="comes with Rubrica"):
        put(database, ann, "speed-demon", {**SHORT, "name": "Speed Demon"})
    fork = database.write(catalogue.fork, ann, "speed-demon", None, None, NOW)
    assert (fork.listing.slug, fork.listing.created_by) == ("speed-demon", ann.user_id)


def test_servers_that_start_together_bring_everything_once(database: Opened, ann: Caller) -> None:
    async def race(open_database: Database) -> list[int]:
        return await asyncio.gather(*(open_database.write(seed_packs, NOW) for _ in range(3)))

    assert sum(database.run(race)) == len(bundled_rubrics())
    assert len(database.read(catalogue.browse, ann, RubricQuery(), 50)) == len(bundled_rubrics())
