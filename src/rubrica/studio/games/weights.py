"""What is attached to a game while it is being changed: lines with weights, their sum, and how it becomes 1."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import msgspec

from rubrica.games.attachments import TOLERANCE, AttachmentRequest, scaled
from rubrica.games.composite import NOISE_DIGITS
from rubrica.store.games import Attachment
from rubrica.workspace.entry import RubricEntry

PERCENT_DIGITS = 2


@dataclass(frozen=True, slots=True)
class AttachmentLine:
    """One rubric of a game, as it is to be."""

    rubric_id: UUID
    slug: str
    name: str
    version: str
    weight: float  # 0 to 1
    dimension: str
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def percent(self) -> float:
        """The weight as it is typed."""
        return round(self.weight * 100, PERCENT_DIGITS)

    def weighing(self, percent: float | None) -> AttachmentLine:
        """The same with a typed weight; what was only shown rounded stays as it is."""
        if percent is not None and percent == self.percent:
            return self
        return replace(self, weight=round((percent or 0.0) / 100, NOISE_DIGITS))

    def request(self) -> AttachmentRequest:
        """What is asked of the game."""
        return AttachmentRequest(str(self.rubric_id), self.weight, self.dimension, self.overrides, self.version)


def line_of(attachment: Attachment) -> AttachmentLine:
    """What is attached now."""
    return AttachmentLine(
        attachment.rubric_id,
        attachment.slug,
        attachment.name,
        attachment.version,
        attachment.weight,
        attachment.dimension,
        attachment.config_overrides,
    )


def with_entry(lines: Sequence[AttachmentLine], entry: RubricEntry) -> list[AttachmentLine]:
    """The lines and one more, which weighs as much as if all were alike; the others make room in proportion."""
    listing = entry.listing
    new = AttachmentLine(listing.id, listing.slug, listing.name, entry.version.version, 1.0, listing.slug)
    count = len(lines)
    others = [replace(line, weight=line.weight * count) for line in to_whole(lines)]
    return to_whole([*others, new])


def without(lines: Sequence[AttachmentLine], at: int) -> list[AttachmentLine]:
    """The lines without one of them; the others take over what it weighed, in proportion."""
    return to_whole([*lines[:at], *lines[at + 1 :]])


def lines_in(data: Any) -> list[AttachmentLine] | None:
    """Lines that a browser kept; None where they make no sense."""
    try:
        return msgspec.convert(data, list[AttachmentLine])
    except msgspec.ValidationError:
        return None


def total(lines: Sequence[AttachmentLine]) -> float:
    """The sum of the weights."""
    return round(math.fsum(line.weight for line in lines), NOISE_DIGITS)


def sums_to_one(lines: Sequence[AttachmentLine]) -> bool:
    """Whether the weights sum to 1, as a game wants them. Nothing attached will do too.

    >>> sums_to_one([])
    True
    """
    return not lines or round(abs(total(lines) - 1), NOISE_DIGITS) <= TOLERANCE


def to_whole(lines: Sequence[AttachmentLine]) -> list[AttachmentLine]:
    """The same in proportion, with the sum 1; all alike where every weight is 0."""
    if not lines:
        return []
    weights = [line.weight for line in lines]
    if not any(weights):
        weights = [1.0] * len(lines)
    return [replace(line, weight=weight) for line, weight in zip(lines, scaled(weights), strict=True)]
