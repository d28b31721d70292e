"""How a draft becomes a version: the first of something new, or the next of what is there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from rubrica.engine.expand import slug
from rubrica.errors import ConflictError
from rubrica.store import market, rubrics, versions
from rubrica.store.columns import new_id
from rubrica.store.rubrics import RubricListing
from rubrica.store.search import searched
from rubrica.store.versions import ForkOrigin, Version

from .draft import LONGEST_NAME, Draft
from .entry import RubricEntry


def begin(
    conn: Connection, draft: Draft, owner: UUID | None, origin: ForkOrigin | None, now: datetime
) -> RubricEntry | None:
    """Keep a draft as the first version of something new; None if its owner has another of that name."""
    rubric = draft.rubric
    listing = RubricListing(
        new_id(now), rubric.name, draft.name, rubric.description, rubric.version, 1, draft.scoring_type,
        draft.category or "", draft.tags or (), bool(draft.is_public),
        owner, None if origin is None else origin.version_id, now, now,
    )  # fmt: skip
    version = _version(listing, draft, owner, now)
    if not rubrics.add(conn, listing, _search(listing, draft.definition)):
        return None
    versions.add(conn, version)
    if listing.is_public:
        market.list_rubric(conn, listing.id, True, now)
    return RubricEntry(listing, version, origin)


def create_with_free_name(
    conn: Connection, draft: Draft, owner: UUID, origin: ForkOrigin | None, now: datetime
) -> RubricEntry:
    """The same, under a further name where the name is taken."""
    named, number = draft, 1
    while (made := begin(conn, named, owner, origin, now)) is None:
        names = rubrics.slugs_of(conn, owner)
        number += 1
        while numbered_name(draft, number)[1] in names:
            number += 1
        named = draft.renamed(numbered_name(draft, number)[0])
    return made


def advance(conn: Connection, current: RubricEntry, draft: Draft, author: UUID | None, now: datetime) -> RubricEntry:
    """What a rubric, held by the transaction, becomes by a draft: the same, listed otherwise, or a new version."""
    listing, version = current.listing, current.version
    listed = replace(
        listing,
        category=listing.category if draft.category is None else draft.category,
        tags=listing.tags if draft.tags is None else draft.tags,
        is_public=listing.is_public if draft.is_public is None else draft.is_public,
    )
    revised = _revised(conn, current, draft)
    if revised is None:
        if listed == listing:
            return current
        listed = replace(listed, updated_at=now)
    else:
        rubric = revised.rubric
        listed = replace(
            listed, slug=rubric.name, name=revised.name, description=rubric.description, version=rubric.version,
            revision=listing.revision + 1, scoring_type=revised.scoring_type, updated_at=now,
        )  # fmt: skip
        version = _version(listed, revised, author, now)
        versions.add(conn, version)
    if not rubrics.change(conn, listed, _search(listed, version.definition)):
        raise name_taken(listed.slug)
    if listed.is_public != listing.is_public:
        market.list_rubric(conn, listed.id, listed.is_public, now)
    return RubricEntry(listed, version, current.origin)


def _revised(conn: Connection, current: RubricEntry, draft: Draft) -> Draft | None:
    """The draft with its examples and its label, as the version that follows; None if nothing changed."""
    version, label = current.version, draft.label
    examples = version.examples if draft.examples is None else draft.examples
    new_label = label is not None and label != version.version
    if not new_label and list(examples) == list(version.examples) and same(draft, version):
        return None
    taken = versions.labels(conn, version.rubric_id)
    if new_label and label in taken:
        raise ConflictError(
            f"{current.listing.slug} already has a version {label} (leave the version as it is, and it is counted up)"
        )
    label = label if new_label and label is not None else count_up(version.version, taken)
    return replace(draft.labelled(label), examples=examples)


def same(draft: Draft, version: Version) -> bool:
    """Whether a draft says what a version says, whatever version it says it is."""
    equal = {**draft.definition, "version": ""} == {**version.definition, "version": ""}
    return equal and draft.labelled(version.version).rubric.hash == version.hash  # Python takes 1 and True for equal


def _version(listing: RubricListing, draft: Draft, author: UUID | None, now: datetime) -> Version:
    return Version(
        new_id(now), listing.id, listing.revision, listing.version, draft.definition, list(draft.examples or ()),
        draft.rubric.hash, draft.note, author, now,
    )  # fmt: skip


def _search(listing: RubricListing, definition: Mapping[str, Any]) -> str:
    title = definition.get("title") or ""
    return searched(f"{listing.name} {title}".strip(), listing.description, listing.category, listing.tags)


def name_taken(name: str) -> ConflictError:
    return ConflictError(f"there already is a rubric named {name} (change that one, or choose another name)")


def count_up(label: str, taken: frozenset[str] | set[str]) -> str:
    """The next version that is free: its last number is counted up.

    >>> count_up("1.0.0", {"1.0.0"}), count_up("1.0", {"1.0", "1.1"}), count_up("2.0.0-rc1", set())
    ('1.0.1', '1.2', '2.0.0-rc2')
    """
    while True:
        *before, number, after = re.split(r"(\d+)(?=\D*$)", label)
        label = f"{''.join(before)}{int(number) + 1}{after}"
        if label not in taken:
            return label


def numbered_name(draft: Draft, number: int) -> tuple[str, str]:
    """The name of a further copy, and its slug. What must give way to the number is cut off before it.

    >>> from rubrica.workspace.draft import read_draft
    >>> rules = [{"type": "adjust", "when": "word_count < 9", "add": 1}]
    >>> numbered_name(read_draft({"name": "Speed Demon", "scoring_type": "binary", "rules": rules}), 2)
    ('Speed Demon 2', 'speed-demon-2')
    """
    name, tail = draft.name, f"-{number}"
    if draft.scoring_type is None:
        name = name[: 64 - len(tail)].rstrip("-") + tail
        return name, name
    while slug(f"{name} {number}") == slug(name) or len(f"{name} {number}") > LONGEST_NAME:
        name = name[:-1]
    return f"{name} {number}", slug(f"{name} {number}")
