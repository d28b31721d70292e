"""Who may see, change and review a run: its owner and admins, and whom it is shared with."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from databases import Opened
from rubrica.errors import ConflictError, DeniedError, InputError, MissingError
from rubrica.store import reviews
from rubrica.store.reviews import NewReviewItem
from rubrica.store.users import ensure_user
from rubrica.workspace import catalogue
from rubrica.workspace.access import LOCAL, Caller, Role
from rubrica.workspace.draft import read_draft
from rubrica.workspace.run_access import (
    RunKey,
    change_run,
    changeable_names,
    claim_run,
    give_run,
    open_review,
    read_run,
    read_runs,
    readable_names,
    readable_rows,
    run_settings,
    share_run,
)

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
MONDAY = RunKey("monday", "4f1c")
RULE = {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}


def person(database: Opened, name: str, role: Role = "author") -> Caller:
    return Caller(database.write(ensure_user, name, NOW).id, name, role)


@pytest.fixture
def ann(database: Opened) -> Caller:
    """Who owns monday."""
    ann = person(database, "ann")
    database.write(claim_run, ann, MONDAY, NOW)
    return ann


def test_a_run_is_there_for_its_owner_and_admins_only(database: Opened, ann: Caller) -> None:
    assert database.read(read_run, ann, MONDAY)
    assert database.read(read_run, person(database, "root", "admin"), MONDAY)
    for role in ("viewer", "player", "author"):
        with pytest.raises(MissingError, match="there is no run 'monday', or it is not yours to see"):
            database.read(read_run, person(database, f"a {role}", role), MONDAY)


def test_what_is_not_yours_looks_like_what_is_not_there(database: Opened, ann: Caller) -> None:
    bob = person(database, "bob")
    told = []
    for run in (MONDAY, RunKey("nothing", "1")):
        with pytest.raises(MissingError) as caught:
            database.read(change_run, bob, run, "stopping a run")
        told.append(str(caught.value).replace(run.name, "NAME"))
    assert told[0] == told[1]


def test_a_shared_run_is_read_by_everybody_and_changed_by_its_owner(database: Opened, ann: Caller) -> None:
    bob = person(database, "bob")
    database.write(share_run, ann, MONDAY, "shared", [], NOW)
    assert not database.read(read_run, bob, MONDAY)
    assert database.read(readable_names, bob, [MONDAY]) == {"monday"}
    assert database.read(changeable_names, bob, [MONDAY]) == set()
    for doing in ("stopping a run", "keeping a baseline"):
        with pytest.raises(DeniedError, match=f"{doing} is for whoever owns the run, or an admin"):
            database.read(change_run, bob, MONDAY, doing)
    with pytest.raises(DeniedError):
        database.write(share_run, bob, MONDAY, "private", [], NOW)
    database.write(share_run, ann, MONDAY, "private", [], NOW)
    with pytest.raises(MissingError):
        database.read(read_run, bob, MONDAY)


def test_a_run_that_came_from_elsewhere_is_for_admins_until_one_shares_or_gives_it(database: Opened) -> None:
    ann, bob, elsewhere = person(database, "ann"), person(database, "bob"), RunKey("from the command", "77")
    with pytest.raises(MissingError):
        database.read(read_run, ann, elsewhere)
    with pytest.raises(MissingError):
        database.write(share_run, ann, elsewhere, "shared", [], NOW)
    assert database.read(read_run, LOCAL, elsewhere)
    database.write(share_run, LOCAL, elsewhere, "shared", [], NOW)
    assert not database.read(read_run, ann, elsewhere)
    database.write(give_run, LOCAL, elsewhere, "bob", NOW)
    assert database.read(read_run, bob, elsewhere)
    with pytest.raises(InputError, match="nobody here is called 'nemo'"):
        database.write(give_run, LOCAL, elsewhere, "nemo", NOW)
    with pytest.raises(DeniedError, match="admin"):
        database.write(give_run, bob, elsewhere, "ann", NOW)


def test_a_copied_renamed_or_replaced_folder_is_nobodys(database: Opened, ann: Caller) -> None:
    database.write(share_run, ann, MONDAY, "shared", [], NOW)
    for moved in (RunKey("monday copy", MONDAY.id), RunKey(MONDAY.name, "another"), RunKey(MONDAY.name, "")):
        with pytest.raises(MissingError):
            database.read(read_run, ann, moved)
        with pytest.raises(MissingError):
            database.read(read_runs, ann, [MONDAY, moved])
        assert database.read(readable_names, ann, [MONDAY, moved]) <= {"monday"}
        assert database.read(readable_names, ann, [moved]) == set()


def test_a_name_is_used_once_so_that_nobody_inherits_what_is_kept_under_it(database: Opened, ann: Caller) -> None:
    bob = person(database, "bob")
    with pytest.raises(ConflictError, match="belongs to an earlier run"):
        database.write(claim_run, bob, RunKey("monday", "new"), NOW)
    database.write(reviews.add_items, "drawn by the command", [item()], NOW)
    with pytest.raises(ConflictError, match="belongs to an earlier run"):
        database.write(claim_run, bob, RunKey("drawn by the command", "new"), NOW)
    with pytest.raises(DeniedError, match="author"):
        database.write(claim_run, person(database, "pat", "player"), RunKey("fresh", "1"), NOW)


def test_a_run_in_the_place_of_a_reviewed_one_is_not_given_away_with_its_review(database: Opened, ann: Caller) -> None:
    database.write(reviews.add_items, "monday", [item()], NOW)
    with pytest.raises(ConflictError, match="people review it still"):
        database.write(give_run, LOCAL, RunKey("monday", "another"), "ann", NOW)


def test_an_owner_who_lost_the_role_reads_and_changes_nothing(database: Opened, ann: Caller) -> None:
    demoted = Caller(ann.user_id, ann.name, "viewer")
    assert not database.read(read_run, demoted, MONDAY)
    with pytest.raises(DeniedError, match="author"):
        database.read(change_run, demoted, MONDAY, "stopping a run")


def test_a_run_of_somebody_elses_private_rubric_is_not_shared(database: Opened, ann: Caller) -> None:
    bob = person(database, "bob")
    draft = read_draft({"name": "Secret", "scoring_type": "binary", "rules": [RULE], "is_public": False})
    kept = database.write(catalogue.create, bob, draft, NOW)
    with pytest.raises(DeniedError, match=r"private rubric of somebody else \(secret\)"):
        database.write(share_run, ann, MONDAY, "shared", [kept.version.hash], NOW)
    database.write(share_run, ann, MONDAY, "private", [kept.version.hash], NOW)
    database.write(share_run, LOCAL, MONDAY, "shared", [kept.version.hash], NOW)
    tuesday = RunKey("tuesday", "1")
    database.write(claim_run, bob, tuesday, NOW)
    database.write(share_run, bob, tuesday, "shared", [kept.version.hash, "of no rubric here"], NOW)
    assert not database.read(read_run, ann, tuesday)


def test_baselines_are_found_by_the_ids_of_readable_runs(database: Opened, ann: Caller) -> None:
    def ids(caller: Caller) -> set[str] | None:
        rows = database.read(readable_rows, caller)
        return None if rows is None else {row.run_id for row in rows}

    assert ids(ann) == {MONDAY.id}
    assert ids(person(database, "bob")) == set()
    assert ids(LOCAL) is None


def test_the_settings_of_a_run_are_told_to_whoever_may_change_them(database: Opened, ann: Caller) -> None:
    database.write(ensure_user, "rea", NOW)
    database.write(open_review, ann, MONDAY, "private", ["rea", " rea ", ""], NOW)
    database.write(share_run, ann, MONDAY, "shared", [], NOW)
    known = database.read(run_settings, ann, MONDAY)
    assert (known.owner, known.sharing, known.review_sharing, known.reviewers) == ("ann", "shared", "private", ["rea"])
    with pytest.raises(DeniedError):
        database.read(run_settings, person(database, "bob"), MONDAY)
    with pytest.raises(InputError, match="nobody here is called"):
        database.write(open_review, ann, MONDAY, "private", ["nemo"], NOW)


def item() -> NewReviewItem:
    return NewReviewItem("a1", "case-1", "tone@1.0.0", "0" * 64, "fail", [], {})
