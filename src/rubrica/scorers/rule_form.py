"""How a rule is filled in: plain data, which the builder draws.

Labels, hints, bounds and choices are those of the rule's document, and so is the kind of each field. A form says which
fields stand side by side, and which are better drawn in another way; what it does not name comes after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FieldKind = Literal[
    "line",  # of text, where it may have several
    "name",  # a short line
    "formula",  # also of a text that is a name only
    "patterns",  # a list of patterns, with points given or taken
    "thresholds",  # rows of a comparison and points
]


@dataclass(frozen=True, slots=True)
class FormField:
    """One field: the key of the rule that it fills in, with a dot where that lies deeper."""

    key: str
    kind: FieldKind | None = None  # None: as the rule's document says

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))


@dataclass(frozen=True, slots=True)
class FormRow:
    """Fields side by side, and a sentence above them."""

    fields: tuple[FormField, ...]
    says: str = ""


def form_row(*fields: FormField, says: str = "") -> FormRow:
    return FormRow(fields, says)


NAME = FormField("name", "name")
