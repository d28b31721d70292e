"""Trends: the same figures of one run after another, whatever they were kept in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rubrica.scoring.holm import holm
from rubrica.scoring.intervals import LEVEL
from rubrica.scoring.trends import latest_p, slope, trend_p

Direction = Literal["rising", "falling", "no clear trend"]
Latest = Literal["improvement", "regression", "cannot tell", "as before"]

FEWEST_EARLIER = 4
"""Figures there must be before the latest, so that it can stand out from them."""
_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class TrendPoint:
    """The figures of one run. Higher is better; None: it has no such figure."""

    at: str  # ISO 8601
    figures: Mapping[str, float | None]
    label: str = ""  # such as a commit


@dataclass(frozen=True, slots=True)
class Trend:
    """One figure over time."""

    name: str
    values: tuple[float | None, ...]  # one for each point
    step: float | None  # how far it moves from one run to the next
    p: float  # of the trend, corrected for the figures beside it
    latest_p: float  # of the latest standing out from those before, corrected likewise
    direction: Direction
    latest: Latest

    @property
    def known(self) -> list[float]:
        return [value for value in self.values if value is not None]

    @property
    def spark(self) -> str:
        """The figure as a line of blocks; a dot where it has none.

        >>> Trend("score", (1, 2, None, 4), 1, 1, 1, "no clear trend", "cannot tell").spark
        '▁▃·█'
        """
        low, high = min(self.known, default=0.0), max(self.known, default=0.0)
        span = high - low
        return "".join(
            "·" if value is None else _BLOCKS[round((value - low) / span * 7) if span else 3] for value in self.values
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        known = self.known
        return {
            "name": self.name,
            "values": list(self.values),
            "first": known[0],
            "last": known[-1],
            "lowest": min(known),
            "highest": max(known),
            "step": self.step,
            "p": self.p,
            "direction": self.direction,
            "latest": self.latest,
            "latest_p": self.latest_p,
        }


def trends(points: Sequence[TrendPoint], level: float = LEVEL) -> list[Trend]:
    """Every figure over the points, oldest first; those without any value are left out.

    A run's figures alone do not say how sure they are: the latest is held against how those before it varied. Where
    the cases are at hand, comparing them case by case (`compare`) tells much smaller differences.

    >>> found = trends([TrendPoint(f"2026-01-{day:02}", {"score": 70.0 + day}) for day in range(1, 9)])
    >>> found[0].direction, found[0].step
    ('rising', 1.0)
    """
    names = dict.fromkeys(name for point in points for name in point.figures)
    series = {name: tuple(point.figures.get(name) for point in points) for name in names}
    known = {name: [value for value in values if value is not None] for name, values in series.items()}
    named = [name for name in series if known[name]]
    risk = 1 - level + 1e-12
    moving = holm([trend_p(known[name]) for name in named])
    newest = holm([latest_p(known[name]) if series[name][-1] is not None else 1.0 for name in named])
    found = []
    for name, p, last_p in zip(named, moving, newest, strict=True):
        step = slope(known[name])
        direction: Direction = "no clear trend"
        if p <= risk and step:
            direction = "rising" if step > 0 else "falling"
        latest = _latest(series[name], known[name], last_p <= risk)
        found.append(Trend(name, series[name], step, p, last_p, direction, latest))
    return found


def _latest(values: Sequence[float | None], known: Sequence[float], stands_out: bool) -> Latest:
    if values[-1] is None or len(known) <= FEWEST_EARLIER:
        return "cannot tell"
    if not stands_out:  # beyond all before it, yet too few of them to rule chance out
        return "as before" if min(known[:-1]) <= known[-1] <= max(known[:-1]) else "cannot tell"
    return "improvement" if known[-1] > sum(known[:-1]) / (len(known) - 1) else "regression"
