"""Scales and the anchors that say what their ranges look like in practice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Self

import msgspec
from pydantic import BaseModel, ConfigDict, Field, model_validator

from .bounds import Number

_RANGE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:(?:-|–|\.\.|to)\s*(-?\d+(?:\.\d+)?))?\s*")


class Scale(BaseModel):
    """The range a dimension is scored on.

    >>> Scale(min=1, max=10).share(8)
    0.8
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min: Number = Field(0.0, title="Scale from", description="the lowest value")
    max: Number = Field(1.0, title="Scale to", description="the highest value")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min >= self.max:
            raise ValueError(f"the scale's min {self.min:g} must be below its max {self.max:g}")
        return self

    @property
    def ends(self) -> tuple[float, float]:
        """From where to where: plain numbers, for where a scale is read for every text."""
        return self.min, self.max

    def holds(self, value: float) -> bool:
        return self.min <= value <= self.max

    def clamp(self, value: float) -> float:
        return min(max(value, self.min), self.max)

    def share(self, value: float) -> float:
        """The value as a share of full marks, 0 to 1: an 8 on a scale of 1–10 is 0.8.

        A scale that starts below zero has no natural zero, so there its lowest value is the zero.
        """
        return share_of(value, *self.ends)

    def __str__(self) -> str:
        return f"{self.min:g}–{self.max:g}"


def share_of(value: float, low: float, high: float) -> float:
    """`Scale.share` on the scale from `low` to `high`."""
    if low >= 0:
        return value / high
    return (value - low) / (high - low)


class Anchor(msgspec.Struct, frozen=True):
    """What the values from `low` to `high` look like in practice."""

    low: float
    high: float
    text: str


def read_anchors(anchors: Mapping[str, str]) -> tuple[Anchor, ...]:
    """Anchors from the best range to the worst; a ValueError names the range that cannot be read.

    >>> [(a.low, a.high) for a in read_anchors({"1-4": "weak", "5-10": "fine"})]
    [(5.0, 10.0), (1.0, 4.0)]
    """
    found = []
    for key, text in anchors.items():
        match = _RANGE.fullmatch(key)
        if not match:
            raise ValueError(f"the anchor {key!r} is not a range; write it like 7-8 or 0.7-0.9")
        low = float(match[1])
        high = float(match[2]) if match[2] is not None else low
        if low > high:
            raise ValueError(f"the anchor {key!r} runs backwards; write the lower end first")
        found.append(Anchor(low, high, text))
    return tuple(sorted(found, key=lambda anchor: anchor.low, reverse=True))


def anchor_gaps(anchors: tuple[Anchor, ...], scale: Scale) -> list[str]:
    """What keeps the anchors from covering the scale once each, in words; empty when they do.

    Neighbours either touch (0.7-0.9, 0.9-1) or, on whole numbers, follow each other (5-6, 7-8).

    >>> anchor_gaps(read_anchors({"1-4": "weak", "7-10": "fine"}), Scale(min=1, max=10))
    ['nothing covers the values between 4 and 7']
    """
    rising = anchors[::-1]
    integral = all(end.is_integer() for anchor in rising for end in (anchor.low, anchor.high))
    gaps = []
    if rising[0].low > scale.min:
        gaps.append(f"nothing covers {scale.min:g} to {rising[0].low:g}")
    if rising[0].low < scale.min:
        gaps.append(f"the anchor from {rising[0].low:g} starts below the scale's min {scale.min:g}")
    for below, above in pairwise(rising):
        step = above.low - below.high
        if step < 0 or (step == 0 and integral and above.low == below.high and above.high > above.low):
            gaps.append(f"two anchors cover {above.low:g}")
        elif step > 0 and not (integral and step == 1):
            gaps.append(f"nothing covers the values between {below.high:g} and {above.low:g}")
    if rising[-1].high < scale.max:
        gaps.append(f"nothing covers {rising[-1].high:g} to {scale.max:g}")
    if rising[-1].high > scale.max:
        gaps.append(f"the anchor up to {rising[-1].high:g} ends above the scale's max {scale.max:g}")
    return gaps
