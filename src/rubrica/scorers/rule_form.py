"""How a rule is filled in: plain data, which the builder draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

FieldKind = Literal[
    "line",  # of text
    "name",  # a short line
    "number",
    "formula",
    "amount",  # a number or a formula
    "words",  # several, one per line
    "switch",
    "scored_patterns",  # a list of patterns with points
    "penalised_patterns",  # a list of patterns with points taken and a reason
    "thresholds",  # rows of a comparison and points
]


@dataclass(frozen=True, slots=True)
class FormField:
    """One field: the key of the rule that it fills in, with a dot where that lies deeper, and its label."""

    key: str
    label: str
    kind: FieldKind
    default: float | None = None  # of a number: where it is that, the key is left out

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


NAME = FormField("name", "Name", "name")
