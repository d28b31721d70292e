"""What bodies and replies about rubrics look like, for readers of the OpenAPI document."""

from __future__ import annotations

from datetime import datetime
from importlib.resources import files
from typing import Any, Literal
from uuid import UUID

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from rubrica.workspace.draft import (
    LONGEST_CATEGORY,
    LONGEST_NAME,
    LONGEST_NOTE,
    LONGEST_TAG,
    MOST_EXAMPLES,
    MOST_TAGS,
)

ScoringType = Literal["binary", "proportional", "cumulative"]


def _bundled(name: str) -> dict[str, Any]:
    definition: dict[str, Any] = msgspec.json.decode((files("rubrica.packs") / "arena" / f"{name}.json").read_bytes())
    return definition


SPEED, NORM, RIGOR = (_bundled(name) for name in ("speed-demon", "norm-macdonald-classic", "scientific-rigor-pro"))
DEFINITIONS = {
    "speed": {"summary": "Proportional: points by a metric", "value": SPEED},
    "comedy": {"summary": "Cumulative: patterns, rounds and penalties", "value": {**NORM, "is_public": True}},
    "science": {"summary": "Cumulative: patterns and a formula", "value": {**RIGOR, "tags": ["science"]}},
}
CONTEXTS = {
    "context": {
        "summary": "A context",
        "value": {"prompt": "Go!", "response": "Done.", "metadata": {"response_time": 20}},
    },
    "definition": {
        "summary": "A definition that is not saved",
        "value": {"context": {"response": "Done.", "metadata": {"response_time": 8}}, "definition": SPEED},
    },
}


_TEXT, _NUMBER, _OBJECT = {"type": "string"}, {"type": "number"}, {"type": "object"}
_OBJECTS = {"type": "array", "items": _OBJECT}
DEFINITION = {
    "type": "object",
    "title": "Definition",
    "description": "A rubric in its short form (`scoring_type`, `rules` …) or its long form (`dimensions`, `verdicts` "
    "…; `rubrica schema` prints all of it), and how it is listed. What GET gives is one: keys that nobody sets are "
    "passed over.",
    "required": ["name"],
    "properties": {
        "name": {**_TEXT, "description": "Any name in the short form; a slug in the long one."},
        "description": _TEXT,
        "version": {**_TEXT, "description": "Counted up by itself when the definition changes and this does not."},
        "scoring_type": {**_TEXT, "enum": ["binary", "proportional", "cumulative"]},
        "rules": {**_OBJECTS, "description": "Of the short form."},
        "max_score": {**_NUMBER, "description": "Of the short form: the most points possible."},
        "normalization_config": {**_OBJECT, "description": "Of the short form."},
        "dimensions": {**_OBJECT, "description": "Of the long form."},
        "verdicts": {**_OBJECTS, "description": "Of the long form."},
        "category": {**_TEXT, "maxLength": LONGEST_CATEGORY},
        "tags": {"type": "array", "items": {**_TEXT, "maxLength": LONGEST_TAG}, "maxItems": MOST_TAGS},
        "is_public": {"type": "boolean", "description": "Whether everybody sees it, on the marketplace too."},
        "examples": {**_OBJECTS, "maxItems": MOST_EXAMPLES, "description": "Contexts, each with `expect` if you like."},
        "note": {**_TEXT, "maxLength": LONGEST_NOTE, "description": "Why it is changed; kept with the version."},
        "revision": {"type": "integer", "description": "With PUT: the one you read, in place of If-Match."},
    },
}


class Parent(BaseModel):
    """What something was copied from."""

    evaluation_id: UUID
    name: str
    version: str


class EvaluationRow(BaseModel):
    """A rubric as a list shows it."""

    id: UUID
    slug: str = Field(description="Its name in lower case and hyphens, as in slug@version.")
    name: str
    description: str
    version: str = Field(description="The newest.")
    revision: int = Field(description="The newest, counted from 1.")
    scoring_type: ScoringType | None = Field(description="null: a rubric with dimensions of its own.")
    category: str
    tags: list[str]
    is_public: bool
    created_by: UUID | None = Field(description="null: it came with Rubrica.")
    created_at: datetime
    updated_at: datetime


class EvaluationPage(BaseModel):
    """Rubrics in the order asked for."""

    items: list[EvaluationRow]
    next: str | None = Field(description="The cursor of the following page; null after the last one.")


class EvaluationShown(BaseModel):
    """One rubric: the definition's own keys as its author wrote them, and how it is listed."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{**SPEED, "slug": "speed-demon"}]})

    id: UUID
    slug: str
    name: str
    description: str
    version: str
    revision: int
    category: str
    tags: list[str]
    is_public: bool
    created_by: UUID | None
    created_at: datetime
    updated_at: datetime
    hash: str = Field(description="Of the rubric that the definition stands for, without category and tags.")
    forked_from: Parent | None
    examples: list[dict[str, Any]] = Field(description="Cases that show what it does: a context each, and `expect`.")


class EditionShown(BaseModel):
    """One line of a history."""

    revision: int
    version: str
    hash: str
    note: str = Field(description="Why it was changed.")
    created_by: UUID | None
    created_at: datetime


class EditionPage(BaseModel):
    """Versions, the newest first."""

    items: list[EditionShown]
    next: str | None = Field(description="The cursor of the following page; null after the last one.")


class VersionShown(EvaluationShown):
    """One version, with who made it and why."""

    changed: EditionShown


class ChangeShown(BaseModel):
    """One thing that differs."""

    model_config = ConfigDict(extra="allow")

    change: Literal["added", "removed", "changed", "moved"]
    path: list[str | int] = Field(description="Leads to it in the newer definition; if it was removed, in the older.")
    where: str = Field(description="The path as an author would write it.", examples=["dimensions.accuracy.weight"])
    text: str = Field(examples=["dimensions.accuracy.weight: 0.35 → 0.4"])


class DifferenceShown(BaseModel):
    """What changed from one version to another."""

    model_config = ConfigDict(populate_by_name=True)

    before: EditionShown = Field(alias="from")
    to: EditionShown
    changes: list[ChangeShown] = Field(description="Each with `from` and `to` as they apply.")
    text: list[str] = Field(description="The same, a line each.")


class Fork(BaseModel):
    """How the copy shall be."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Speed Demon for teams"}]})

    name: str | None = Field(None, min_length=1, max_length=LONGEST_NAME, description="Left out: the same name.")
    version: str | None = Field(None, max_length=60, description="A version or revision. Left out: the newest.")


class Restoring(BaseModel):
    """Why an old version comes back."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"note": "1.1 was too strict"}]})

    note: str = Field("", max_length=LONGEST_NOTE)


class Ancestor(Parent):
    """One step of a lineage."""

    slug: str
    revision: int


class LineageShown(BaseModel):
    """Where a rubric comes from, and what was made of it."""

    id: UUID
    slug: str
    ancestors: list[Ancestor] = Field(description="Nearest first.")
    hidden: int = Field(description="Ancestors that you may not see, or that are gone.")
    forks: list[EvaluationRow] = Field(description="Those that you may see, oldest first.")


class Tryout(BaseModel):
    """What a rubric makes of a context. Nothing of it is stored."""

    model_config = ConfigDict(extra="allow")

    slug: str
    version: str
    hash: str
    raw_score: float | None = Field(
        description="Points on the rubric's own count; null: what is missing leaves it open."
    )
    normalized_score: float | None = Field(description="0 to 1.")
    verdict: str
    rule_breakdown: list[dict[str, Any]] = Field(description="Where every point came from.")
    dimension_scores: dict[str, dict[str, Any]]
    evaluation: dict[str, Any] = Field(description="The whole record.")
