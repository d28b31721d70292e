"""The bundled rubrics in the database: public, and nobody's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from importlib.resources import files
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica import __version__
from rubrica.engine.document import read_document
from rubrica.packs.library import Bundled, bundled_rubrics
from rubrica.store import rubrics, versions
from rubrica.store.versions import Version

from .draft import Draft, definition_of, read_draft
from .entry import RubricEntry
from .revision import advance, begin

Written = Mapping[str, Any]


def seed_packs(conn: Connection, now: datetime) -> int:
    """Bring what comes with Rubrica into the database; how many rubrics were made or changed.

    A rubric that differs from the last one that came with Rubrica is a new revision, on top of whatever an admin made
    of it meanwhile, which stays in its history. One that an admin deleted stays deleted.
    """
    known = rubrics.bundled(conn)
    changed = 0
    for bundled in bundled_rubrics():
        written, examples = _as_written(bundled), _examples(bundled)
        listing = known.get(bundled.name)
        if listing is None:
            draft = replace(_draft(written, examples), is_public=True)
            changed += begin(conn, draft, None, None, now) is not None  # None: another server was quicker
        elif listing.deleted_at is None and not _is_unchanged(conn, listing.id, written, examples):
            changed += _renew(conn, listing.id, written, examples, now)
    return changed


def _renew(conn: Connection, rubric_id: UUID, written: Written, examples: Sequence[Written], now: datetime) -> bool:
    listing = rubrics.by_id(conn, rubric_id, lock=True)
    if listing is None or _is_unchanged(conn, rubric_id, written, examples):
        return False
    newest = versions.by_revision(conn, rubric_id, listing.revision)
    if newest is None:
        return False
    draft = _draft(written, examples)
    if draft.label in versions.labels(conn, rubric_id):  # an admin's own version may have taken it
        draft = replace(draft, definition={key: value for key, value in draft.definition.items() if key != "version"})
    return advance(conn, RubricEntry(listing, newest), draft, None, now).version != newest


def _is_unchanged(conn: Connection, rubric_id: UUID, written: Written, examples: Sequence[Written]) -> bool:
    """Whether the last version that came with Rubrica says just this. Nothing is compiled to find out."""
    last = versions.newest_bundled(conn, rubric_id)
    if last is None or not _has_definition(last, written) or list(last.examples) != list(examples):
        return False
    label = written.get("version")
    return label is None or label == last.version or label in versions.labels(conn, rubric_id)


def _has_definition(version: Version, written: Written) -> bool:
    return {**version.definition, "version": ""} == {**definition_of(written), "version": ""}


def _draft(written: Written, examples: Sequence[Written]) -> Draft:
    return replace(read_draft({**written, "examples": list(examples)}), note=f"came with Rubrica {__version__}")


def _as_written(bundled: Bundled) -> Written:
    document: Written = read_document(bundled.file.read_text(encoding="utf-8"), bundled.file.name).data
    return document


def _examples(bundled: Bundled) -> list[Written]:
    """The pack's examples of this rubric; those that name none are of the pack's main one."""
    lines = (files("rubrica.packs") / bundled.pack / "examples.jsonl").read_bytes().splitlines()
    cases = [msgspec.json.decode(line) for line in lines if line.strip()]
    own = (case for case in cases if case.get("rubric", bundled.pack) == bundled.name)
    return [{key: value for key, value in case.items() if key != "rubric"} for case in own]
