"""Versions of a rubric: what it said at each revision. They are written once and never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, insert, select

from .tables import rubric_versions, rubrics


@dataclass(frozen=True, slots=True)
class Version:
    """One revision of a rubric."""

    id: UUID
    rubric_id: UUID
    revision: int  # counted from 1
    version: str  # the label, such as 1.0.1; each revision has its own
    definition: Mapping[str, Any]  # as its author wrote it
    examples: Sequence[Mapping[str, Any]]  # cases that show what it does
    hash: str  # of the rubric that the definition stands for
    note: str  # why it was changed
    created_by: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class VersionSummary:
    """One line of a history: a version without what it says."""

    id: UUID
    revision: int
    version: str
    hash: str
    note: str
    created_by: UUID | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ForkOrigin:
    """The version that something was copied from, and how the rubric it belongs to stands now."""

    version_id: UUID
    version: str
    revision: int
    rubric_id: UUID
    slug: str
    name: str
    is_public: bool
    created_by: UUID | None
    deleted_at: datetime | None
    forked_from: UUID | None  # where that one was copied from in turn


_VERSION = tuple(rubric_versions.c[name] for name in Version.__dataclass_fields__)
_EDITION = tuple(rubric_versions.c[name] for name in VersionSummary.__dataclass_fields__)
_ORIGIN = (
    *(rubric_versions.c[name] for name in ("id", "version", "revision")),
    *(rubrics.c[name] for name in ("id", "slug", "name", "is_public", "created_by", "deleted_at", "forked_from")),
)


def add(conn: Connection, version: Version) -> None:
    """Keep a version. Its revision and its label must be free: whoever adds one holds the rubric locked."""
    conn.execute(insert(rubric_versions).values({name: getattr(version, name) for name in Version.__slots__}))


def by_id(conn: Connection, version_id: UUID) -> Version | None:
    return _one(conn, rubric_versions.c.id == version_id)


def by_revision(conn: Connection, rubric_id: UUID, revision: int) -> Version | None:
    return _one(conn, rubric_versions.c.rubric_id == rubric_id, rubric_versions.c.revision == revision)


def by_label(conn: Connection, rubric_id: UUID, label: str) -> Version | None:
    return _one(conn, rubric_versions.c.rubric_id == rubric_id, rubric_versions.c.version == label)


def newest_bundled(conn: Connection, rubric_id: UUID) -> Version | None:
    """The last version that came with Rubrica, whatever was made of it since."""
    query = (
        select(*_VERSION)
        .where(rubric_versions.c.rubric_id == rubric_id, rubric_versions.c.created_by.is_(None))
        .order_by(rubric_versions.c.revision.desc())
        .limit(1)
    )
    row = conn.execute(query).first()
    return None if row is None else Version(*row)


def labels(conn: Connection, rubric_id: UUID) -> set[str]:
    """The labels that are taken."""
    query = select(rubric_versions.c.version).where(rubric_versions.c.rubric_id == rubric_id)
    return set(conn.execute(query).scalars())


def history(conn: Connection, rubric_id: UUID, before: int | None, limit: int) -> list[VersionSummary]:
    """Versions of a rubric, newest first, those below a revision."""
    query = select(*_EDITION).where(rubric_versions.c.rubric_id == rubric_id)
    if before is not None:
        query = query.where(rubric_versions.c.revision < before)
    rows = conn.execute(query.order_by(rubric_versions.c.revision.desc()).limit(limit))
    return [VersionSummary(*row) for row in rows]


def origin(conn: Connection, version_id: UUID) -> ForkOrigin | None:
    """What a version belongs to."""
    query = select(*_ORIGIN).join_from(rubric_versions, rubrics).where(rubric_versions.c.id == version_id)
    row = conn.execute(query).first()
    return None if row is None else ForkOrigin(*row)


def _one(conn: Connection, *conditions: ColumnElement[bool]) -> Version | None:
    row = conn.execute(select(*_VERSION).where(*conditions)).first()
    return None if row is None else Version(*row)
