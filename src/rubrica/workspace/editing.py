"""What editors do with a rubric: open it, keep a changed fork, hold two of its texts side by side, publish it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from rubrica.errors import MissingError
from rubrica.store.users import get_user
from rubrica.store.versions import Version

from . import catalogue
from .access import Caller
from .catalogue import Lineage
from .draft import Draft, rubric_of
from .entry import ANYTHING, RubricEntry, SeenRevision


def open_rubric(conn: Connection, caller: Caller, reference: str) -> tuple[RubricEntry, Lineage, str]:
    """A rubric, its family, and the name of whoever made it."""
    found = catalogue.entry(conn, caller, reference)
    _, lineage = catalogue.lineage(conn, caller, str(found.listing.id))
    owner = found.listing.created_by
    user = None if owner is None else get_user(conn, owner)
    return found, lineage, "" if user is None else user.name


def save_as_fork(conn: Connection, caller: Caller, reference: str, draft: Draft, now: datetime) -> RubricEntry:
    """A fork of an evaluation that says what a draft says, under a name of its own."""
    made = catalogue.fork(conn, caller, reference, None, None, now)
    named = draft.renamed(str(made.version.definition["name"]))
    return catalogue.update(conn, caller, str(made.listing.id), replace(named, is_public=False), ANYTHING, now)


def both_sides(
    conn: Connection, caller: Caller, reference: str, revision: int
) -> tuple[RubricEntry | None, RubricEntry, str]:
    """What somebody started from, where it is still there, what stands there now, and who made that."""
    theirs = catalogue.entry(conn, caller, reference)
    try:
        base: RubricEntry | None = catalogue.entry(conn, caller, reference, revision)
    except MissingError:
        base = None
    who = None if theirs.version.created_by is None else get_user(conn, theirs.version.created_by)
    return base, theirs, "somebody" if who is None else who.name


def two_versions(conn: Connection, caller: Caller, reference: str, which: str, other: str) -> tuple[Version, Version]:
    listing = catalogue.find(conn, caller, reference)
    return catalogue.version_of(conn, listing, which), catalogue.version_of(conn, listing, other)


def set_public(conn: Connection, caller: Caller, entry: RubricEntry, public: bool, now: datetime) -> RubricEntry:
    """List a rubric on the marketplace or no longer, unless it was changed since it was read. What it says stays."""
    definition = catalogue.entry(conn, caller, str(entry.listing.id)).version.definition
    draft = Draft(definition, rubric_of(definition), is_public=public)
    return catalogue.update(
        conn, caller, str(entry.listing.id), draft, SeenRevision(revision=entry.listing.revision), now
    )


def may_change(caller: Caller, entry: RubricEntry) -> bool:
    """Whether somebody may change, publish and delete a rubric."""
    return caller.may("author") and (caller.owns(entry.listing.created_by) or caller.is_admin)
