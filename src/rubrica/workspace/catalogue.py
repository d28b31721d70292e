"""Rubrics: find, create, change, delete, fork and restore them, each by those who may.

What somebody else keeps to themselves does not exist for you. Every change of a document is a new version; the old
ones stay. A fork is a private copy that remembers where it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from rubrica.errors import ConflictError, DeniedError, MissingError
from rubrica.store import market, rubrics, versions
from rubrica.store.rubrics import RubricListing, RubricQuery
from rubrica.store.versions import ForkOrigin, Version, VersionSummary

from .access import Caller, require
from .draft import Draft, rubric_of
from .entry import ANYTHING, RubricEntry, SeenRevision
from .revision import advance, begin, create_with_free_name, name_taken

LONGEST_REFERENCE = 200
"""Characters of an id, a slug or slug@version; nothing longer is looked for."""

MOST_FORKS = 200
MOST_ANCESTORS = 50


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where a rubric comes from, nearest first, and what was made of it, oldest first."""

    ancestors: tuple[ForkOrigin, ...]
    hidden: int  # ancestors that whoever asks may not see, or that are gone
    forks: tuple[RubricListing, ...]


def find(conn: Connection, caller: Caller, reference: str, *, lock: bool = False) -> RubricListing:
    """A rubric by id, slug or slug@version (`entry` heeds the version).

    A slug is the caller's own one, else the one that came with Rubrica, else the only public one.
    """
    name = reference.partition("@")[0]
    if "\0" in reference or len(reference) > LONGEST_REFERENCE:
        raise _missing(reference[:LONGEST_REFERENCE].replace("\0", "?"))
    if (known := _as_id(name)) is not None:
        listing = rubrics.by_id(conn, known, lock=lock)
        if listing is None or not may_see(caller, listing):
            raise _missing(reference)
        return listing
    listing = _the_one(rubrics.by_slug(conn, name, caller.user_id, everything=caller.is_admin), caller, reference)
    return find(conn, caller, str(listing.id), lock=True) if lock else listing


def may_see(caller: Caller, item: RubricListing | ForkOrigin) -> bool:
    """Whether a rubric exists for a caller."""
    return item.deleted_at is None and (item.is_public or caller.owns(item.created_by) or caller.is_admin)


def version_of(conn: Connection, listing: RubricListing, which: str | int | None = None) -> Version:
    """One version of a rubric: the newest, the one of a label, or the one of a revision number."""
    if which is None:
        which = listing.revision
    found = None
    if isinstance(which, str) and "\0" not in which:
        found = versions.by_label(conn, listing.id, which)
    if found is None and str(which).isascii() and str(which).isdigit() and len(str(which)) < 10:
        found = versions.by_revision(conn, listing.id, int(which))
    if found is None:
        shown = str(which)[:60].replace("\0", "?")
        raise MissingError(f"{listing.slug} has no version {shown} (it is at {listing.version})")
    return found


def entry(conn: Connection, caller: Caller, reference: str, which: str | int | None = None) -> RubricEntry:
    """A rubric at a version: `which`, else the version in slug@version, else the newest."""
    listing = find(conn, caller, reference)
    label = reference.partition("@")[2]
    return _entry(conn, caller, listing, version_of(conn, listing, which if which is not None else label or None))


def browse(conn: Connection, caller: Caller, wanted: RubricQuery, limit: int) -> list[RubricListing]:
    """One page of what the caller sees."""
    return rubrics.browse(conn, caller.user_id, wanted, limit, everything=caller.is_admin)


def history(conn: Connection, caller: Caller, reference: str, before: int | None, limit: int) -> list[VersionSummary]:
    """Versions of a rubric, newest first, those below a revision."""
    return versions.history(conn, find(conn, caller, reference).id, before, limit)


def create(conn: Connection, caller: Caller, draft: Draft, now: datetime) -> RubricEntry:
    """A new rubric of the caller's own, private unless the draft says otherwise."""
    require(caller, "author", "creating a rubric")
    made = begin(conn, draft, caller.user_id, None, now)
    if made is None:
        raise name_taken(draft.rubric.name)
    return made


def import_draft(conn: Connection, caller: Caller, draft: Draft, now: datetime) -> RubricEntry:
    """The same, under a further name where the caller uses the name already."""
    require(caller, "author", "importing a rubric")
    return create_with_free_name(conn, draft, caller.user_id, None, now)


def update(
    conn: Connection, caller: Caller, reference: str, draft: Draft, seen: SeenRevision, now: datetime
) -> RubricEntry:
    """Change a rubric. A changed document or changed examples are a new version; changed listing keys are not."""
    current = lock_for_change(conn, caller, reference, "changing", seen)
    return advance(conn, current, draft, caller.user_id, now)


def delete(conn: Connection, caller: Caller, reference: str, seen: SeenRevision, now: datetime) -> None:
    """Take a rubric away. Games and scores keep the versions they use."""
    current = lock_for_change(conn, caller, reference, "deleting", seen)
    rubrics.delete(conn, current.listing.id, now)
    market.list_rubric(conn, current.listing.id, False, now)


def restore(conn: Connection, caller: Caller, reference: str, which: str, note: str, now: datetime) -> RubricEntry:
    """Make an old version the newest one again, under a label of its own."""
    current = lock_for_change(conn, caller, reference, "restoring")
    old = version_of(conn, current.listing, which)
    definition = {key: value for key, value in old.definition.items() if key != "version"}
    note = note or f"restored from revision {old.revision} ({old.version})"
    draft = Draft(definition, rubric_of(definition), old.examples, note=note)
    return advance(conn, current, draft, caller.user_id, now)


def copy(conn: Connection, caller: Caller, version: Version, now: datetime, name: str | None = None) -> RubricListing:
    """A private copy of a version, for the caller. A name they already use gets a number: -2, -3 …"""
    require(caller, "author", "copying a rubric")
    source = rubrics.by_id(conn, version.rubric_id)
    if source is None:
        raise _missing(str(version.rubric_id))
    draft = Draft(version.definition, rubric_of(version.definition), version.examples, source.category, source.tags)
    origin = versions.origin(conn, version.id)
    draft = draft if name is None else draft.renamed(name)
    note = f"copied from {source.slug}@{version.version}"
    return create_with_free_name(conn, replace(draft, is_public=False, note=note), caller.user_id, origin, now).listing


def fork(
    conn: Connection, caller: Caller, reference: str, which: str | None, name: str | None, now: datetime
) -> RubricEntry:
    """A private copy of a rubric that the caller sees, at its newest version or another one."""
    source = entry(conn, caller, reference, which)
    made = copy(conn, caller, source.version, now, name)
    return _entry(conn, caller, made, version_of(conn, made))


def lineage(conn: Connection, caller: Caller, reference: str) -> tuple[RubricListing, Lineage]:
    """Where a rubric comes from and what was made of it, as far as the caller may see."""
    listing = find(conn, caller, reference)
    ancestors: list[ForkOrigin] = []
    following = listing.forked_from
    while following is not None and len(ancestors) < MOST_ANCESTORS:
        origin = versions.origin(conn, following)
        if origin is None:
            break
        ancestors.append(origin)
        following = origin.forked_from
    seen = tuple(origin for origin in ancestors if may_see(caller, origin))
    forks = rubrics.forks(conn, listing.id, caller.user_id, MOST_FORKS, everything=caller.is_admin)
    return listing, Lineage(seen, len(ancestors) - len(seen), tuple(forks))


def lock_for_change(
    conn: Connection, caller: Caller, reference: str, doing: str, seen: SeenRevision = ANYTHING
) -> RubricEntry:
    """A rubric that the caller may change, locked, at its newest version, and as they had read it."""
    listing = find(conn, caller, reference, lock=True)
    require(caller, "author", f"{doing} a rubric")
    if not (caller.owns(listing.created_by) or caller.is_admin):
        whose = "comes with Rubrica: only an admin" if listing.created_by is None else "is not yours: only its author"
        raise DeniedError(f"{listing.slug} {whose} may change it (fork it, and change your fork)")
    current = _entry(conn, caller, listing, version_of(conn, listing))
    seen.check(current)
    return current


def _entry(conn: Connection, caller: Caller, listing: RubricListing, version: Version) -> RubricEntry:
    origin = None if listing.forked_from is None else versions.origin(conn, listing.forked_from)
    return RubricEntry(listing, version, origin if origin is not None and may_see(caller, origin) else None)


def _the_one(found: Sequence[RubricListing], caller: Caller, reference: str) -> RubricListing:
    if not found:
        raise _missing(reference)
    first = found[0]
    if caller.owns(first.created_by) or first.created_by is None or len(found) == 1:
        return first
    public = [listing for listing in found if listing.is_public]
    if len(public) == 1:
        return public[0]
    several = ", ".join(str(listing.id) for listing in public or found)
    raise ConflictError(f"several rubrics are called {reference} (ask for one by its id: {several})")


def _as_id(text: str) -> UUID | None:
    try:
        known = UUID(text)
    except ValueError:
        return None
    return known if str(known) == text.lower() else None  # not every spelling: 32 hex digits may be a slug


def _missing(reference: str) -> MissingError:
    return MissingError(f"there is no rubric {reference!r}, or it is not yours to see")
