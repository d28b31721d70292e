"""How a rule is filled in: plain data, which the builder draws.

Labels, hints, bounds and choices are those of the rule's document, and so is the kind of each field. A form says which
fields stand side by side, and which are better drawn in another way; what it does not name comes after it.
"""

from __future__ import annotations

from typing import Literal

import msgspec

FieldKind = Literal[
    "line",  # of text, where it may have several
    "name",  # a short line
    "formula",  # also of a text that is a name only
    "patterns",  # a list of patterns, with points given or taken
    "thresholds",  # rows of a comparison and points
]


class FormField(msgspec.Struct, frozen=True):
    """One field: the key of the rule that it fills in, with a dot where that lies deeper."""

    key: str
    kind: FieldKind | None = None  # None: as the rule's document says

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))


class FormRow(msgspec.Struct, frozen=True):
    """Fields side by side, and a sentence above them."""

    fields: tuple[FormField, ...]
    says: str = ""


def form_row(*fields: FormField, says: str = "") -> FormRow:
    return FormRow(fields, says)


NAME = FormField("name", "name")
