"""The JSON Schema of rubric documents: published for editors, and read by the builder."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from .bounds import LONGEST_NOTE, LONGEST_PROSE
from .rubric import Rubric
from .shortform import ShortForm

SHORTHANDS: dict[str, dict[str, Any]] = {
    "OnUnscored": {"enum": ["neutral", "skip", "inconclusive"]},
    "ContextName": {"type": "string", "maxLength": LONGEST_PROSE},
    "Note": {"type": "string", "minLength": 1, "maxLength": LONGEST_NOTE},
}
"""What may stand in a document in place of the whole mapping; validators expand it, which a schema cannot show."""


def rubric_schema() -> dict[str, Any]:
    """The schema of a rubric document: the full form, or the short one."""
    document: TypeAdapter[Any] = TypeAdapter(Rubric | ShortForm)
    found = document.json_schema()
    for name, shorthand in SHORTHANDS.items():
        found["$defs"][name] = {"anyOf": [shorthand, found["$defs"][name]]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Rubrica rubric", **found}
