"""Saves a draft as a new rubric, as the next version, or as a fork, each in one transaction."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from rubrica.errors import MissingError
from rubrica.store.users import get_user
from rubrica.workspace import catalogue
from rubrica.workspace.access import Caller
from rubrica.workspace.draft import Draft
from rubrica.workspace.entry import ANYTHING, RubricEntry


def keep_as_fork(conn: Connection, caller: Caller, reference: str, draft: Draft, now: datetime) -> RubricEntry:
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
