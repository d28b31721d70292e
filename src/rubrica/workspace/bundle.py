"""Bundles: a rubric, its examples and where it comes from in one file, YAML or JSON, to carry it to another server.

A bundle is data. Reading one runs nothing, and what it says about its origin is kept as a note and never believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import yaml

from rubrica.engine.document import Document, read_document
from rubrica.errors import InputError, Problem, RubricError

from .draft import Draft, read_draft
from .entry import RubricEntry, origin_shown

Format = Literal["yaml", "json"]
FORMAT = 1
"""The number in every bundle; a later one is not read."""

KEYS = frozenset({"bundle", "rubric", "examples", "provenance"})
LONGEST_CLAIM = 100
"""Characters of what a bundle says it is, in the note."""

_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def bundle_of(entry: RubricEntry, now: datetime) -> dict[str, Any]:
    """One version of a rubric as a bundle."""
    listing, version = entry.listing, entry.version
    return {
        "bundle": FORMAT,
        "rubric": entry.document,
        "examples": list(version.examples),
        "provenance": {
            "evaluation_id": listing.id,
            "name": listing.slug,
            "version": version.version,
            "revision": version.revision,
            "hash": version.hash,
            "note": version.note,
            "created_at": _moment(version.created_at),
            "exported_at": _moment(now),
            "forked_from": None if entry.origin is None else origin_shown(entry.origin),
        },
    }


def write_bundle(entry: RubricEntry, now: datetime, form: Format) -> str:
    """The text of a bundle."""
    plain = msgspec.to_builtins(bundle_of(entry, now))
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(plain), indent=2).decode() + "\n"
    return str(yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=110))


def read_bundle(text: str) -> Draft:
    """The draft of a bundle, or of a bare rubric, in YAML; a RubricError names the line of every problem."""
    document = read_document(text)
    try:
        return draft_of(document.data)
    except RubricError as error:
        raise RubricError([_with_line(problem, document) for problem in error.problems]) from None


def draft_of(data: Any) -> Draft:
    """The draft of a bundle, or of a bare rubric, as data. It is private, whatever the bundle says.

    >>> rules = [{"type": "custom_expression", "expression": "1 if word_count < 9 else 0"}]
    >>> rubric = {"name": "Brief", "scoring_type": "binary", "rules": rules}
    >>> draft_of({"bundle": 1, "rubric": rubric, "provenance": {"name": "brief", "version": "1.4"}}).note
    'imported from a bundle that says it is brief@1.4'
    """
    if not isinstance(data, Mapping) or not ({"rubric", "bundle"} & data.keys()):
        return replace(read_draft(data), is_public=False, revision=None)
    problems = [Problem("is not a key of a bundle", (key,), fix="remove it") for key in sorted(data.keys() - KEYS)]
    if isinstance(data.get("bundle"), int) and data["bundle"] > FORMAT:
        raise InputError(f"this bundle is of format {data['bundle']}, of a later Rubrica (this one reads {FORMAT})")
    rubric = data.get("rubric")
    if not isinstance(rubric, Mapping):
        raise RubricError([*problems, Problem("is required: the rubric document", ("rubric",))])
    examples = data.get("examples")
    try:
        draft = read_draft({**rubric, **({} if examples is None else {"examples": examples})})
    except RubricError as error:
        problems += [_inside(problem) for problem in error.problems]
    if problems:
        raise RubricError(problems)
    return replace(draft, is_public=False, revision=None, note=_note(data.get("provenance"), draft))


def _inside(problem: Problem) -> Problem:
    return problem if problem.path[:1] == ("examples",) else problem.under("rubric")


def _with_line(problem: Problem, document: Document) -> Problem:
    return msgspec.structs.replace(problem, line=document.line(problem.path))


def _note(provenance: Any, draft: Draft) -> str:
    claim = provenance if isinstance(provenance, Mapping) else {}
    name, version = claim.get("name"), claim.get("version")
    if not isinstance(name, str) or not isinstance(version, str):
        return "imported from a bundle"
    reference = f"{name}@{version}"[:LONGEST_CLAIM]
    if not reference.isprintable():
        return "imported from a bundle"
    changed = claim.get("hash") not in (None, draft.rubric.hash)
    return f"imported from a bundle that says it is {reference}" + (", and was changed since" if changed else "")


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z")
