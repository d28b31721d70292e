"""Stretches of judged text that explain a score."""

from __future__ import annotations

from typing import Literal

import msgspec

Field = Literal["prompt", "response", "history"]

LONGEST_QUOTE = 200
"""Characters of judged text kept in one Span, so that evidence stays small however long the match."""


class Span(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A stretch of one field that is evidence for a score: ``text[start:end]``, in characters."""

    field: Field
    start: int
    end: int
    text: str  # at most LONGEST_QUOTE characters
    label: str = ""  # what it is evidence of
