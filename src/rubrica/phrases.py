"""Phrases of a readable page, which Markdown and HTML both render, and the numbers in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class Code:
    """A formula, a name or a pattern, as written in the document."""

    tag: ClassVar = "code"
    text: str


@dataclass(frozen=True, slots=True)
class Strong:
    """A word that carries the sentence."""

    tag: ClassVar = "strong"
    text: str


Inline = str | Code | Strong
Phrase = tuple[Inline, ...]


def phrase(*parts: Inline | Phrase) -> Phrase:
    """One phrase out of several."""
    found: list[Inline] = []
    for part in parts:
        found += part if isinstance(part, tuple) else [part]
    return tuple(part for part in found if part != "")


def listed(items: Sequence[Inline | Phrase], joint: str = ", ") -> Phrase:
    """Several items with a joint between them."""
    return phrase(*(part for number, item in enumerate(items) for part in ((joint, item) if number else (item,))))


def figure(value: float | None) -> str:
    """A number with as many decimals as it needs, at most three.

    >>> figure(92.0), figure(0.85754), figure(12345.5), figure(-0.3), figure(None)
    ('92', '0.858', '12,345.5', '−0.3', '—')
    """
    if value is None:
        return "—"
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{abs(value):,.3f}".rstrip("0").rstrip(".")
    return f"−{text}" if value < 0 and text != "0" else text


def signed(value: float) -> str:
    """A change, with its sign.

    >>> signed(0.2), signed(-15), signed(0)
    ('+0.2', '−15', '0')
    """
    text = figure(value)
    return text if text == "0" or text.startswith("−") else f"+{text}"


def percent(share: float | None) -> str:
    """A share of full marks; at most one decimal.

    >>> percent(0.35), percent(0.125), percent(None)
    ('35%', '12.5%', '—')
    """
    return "—" if share is None else f"{figure(round(share * 100, 1))}%"
