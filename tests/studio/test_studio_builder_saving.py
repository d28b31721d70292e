"""Keeping a draft beside somebody else's change: a fork that says what the draft says, and both sides to compare."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from databases import Opened
from rubrica.errors import DeniedError, StaleError
from rubrica.store.users import ensure_user
from rubrica.studio.builder.checking import payload
from rubrica.workspace import catalogue
from rubrica.workspace.access import Caller
from rubrica.workspace.draft import read_draft
from rubrica.workspace.editing import both_sides, save_as_fork
from rubrica.workspace.entry import ANYTHING, RubricEntry, SeenRevision

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
DOCUMENT: dict[str, Any] = {
    "name": "shared",
    "version": "1.0.0",
    "dimensions": {"brief": {"weight": 1, "formula": "1 if word_count < 9 else 0"}},
    "verdicts": [{"label": "short", "when": "score >= 0.5"}, {"label": "long"}],
}


@pytest.fixture
def ann(database: Opened) -> Caller:
    return Caller(database.write(ensure_user, "ann", NOW).id, "ann", "author")


def handed(title: str, note: str = "") -> Any:
    unlabelled = {key: value for key, value in DOCUMENT.items() if key != "version"}
    return read_draft(payload({**unlabelled, "title": title}, note=note))


def begun(database: Opened, ann: Caller) -> RubricEntry:
    return database.write(catalogue.create, ann, read_draft(DOCUMENT), NOW)


def test_a_draft_that_came_too_late_is_kept_as_a_fork(database: Opened, ann: Caller) -> None:
    made = begun(database, ann)
    reference = str(made.listing.id)
    seen = SeenRevision(tags=frozenset({made.tag}))
    database.write(catalogue.update, ann, reference, handed("first"), seen, NOW)
    with pytest.raises(StaleError):
        database.write(catalogue.update, ann, reference, handed("second"), seen, NOW)
    fork = database.write(save_as_fork, ann, reference, handed("second", "mine"), NOW)
    assert fork.listing.slug == "shared-2"
    assert fork.version.definition["title"] == "second"
    assert fork.version.note == "mine"
    assert fork.origin is not None
    assert not fork.listing.is_public
    assert database.read(catalogue.entry, ann, reference).version.definition["title"] == "first"


def test_both_sides_are_what_was_read_and_what_is_there(database: Opened, ann: Caller) -> None:
    made = begun(database, ann)
    reference = str(made.listing.id)
    database.write(catalogue.update, ann, reference, handed("first", "a title"), ANYTHING, NOW)
    base, theirs, who = database.read(both_sides, ann, reference, made.listing.revision)
    assert base is not None
    assert (base.version.version, theirs.version.version, who) == ("1.0.0", "1.0.1", "ann")
    assert theirs.version.note == "a title"
    assert database.read(both_sides, ann, reference, 99)[0] is None


def test_a_player_cannot_keep_a_fork(database: Opened, ann: Caller) -> None:
    made = begun(database, ann)
    player = Caller(ann.user_id, "ann", "player")
    with pytest.raises(DeniedError):
        database.write(save_as_fork, player, str(made.listing.id), handed("x"), NOW)
