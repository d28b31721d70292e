"""Bounds of what a document may hold: far beyond what an author writes, and small enough for a shared server.

Every number, text and list of a rubric has one. They stand in the JSON Schema, so that an editor tells them too.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, FiniteFloat, JsonValue

LARGEST_NUMBER = 1e12
MOST_REPEATS = 100
MOST_JUDGES = 50
MOST_CALLS = 5_000
"""Judged dimensions × repeats × judges that one evaluation may ask for."""
LONGEST_FORMULA = 2_000
LONGEST_PROSE = 20_000
LONGEST_NOTE = 4_000
MOST_PROFILES = 200
MOST_NOTES = 500

Number = Annotated[FiniteFloat, Field(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
PositiveNumber = Annotated[FiniteFloat, Field(gt=0, le=LARGEST_NUMBER)]
Label = Annotated[str, Field(max_length=500)]
"""A name, a title or another short text."""
Prose = Annotated[str, Field(max_length=LONGEST_PROSE)]
"""What somebody reads: a question, a reason, a description."""
FormulaText = Annotated[str, Field(min_length=1, max_length=LONGEST_FORMULA, json_schema_extra={"format": "formula"})]


def choice_words(*words: str) -> dict[str, JsonValue]:
    """What each choice of a closed set means, in its order: editors of JSON Schema show it, and so does the builder."""
    return {"enumDescriptions": list(words)}
