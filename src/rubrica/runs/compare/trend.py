"""Trends: the same figures of one run after another, whatever they were kept in."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from rubrica.report.figures import headline
from rubrica.runs.summary.measures import PASSED
from rubrica.scoring.holm import holm
from rubrica.scoring.intervals import LEVEL
from rubrica.scoring.trends import latest_p, slope, trend_p

Direction = Literal["rising", "falling", "no clear trend"]
Latest = Literal["improvement", "regression", "cannot tell", "as before"]

FEWEST_EARLIER = 3
"""Figures there must be before the latest, so that it can stand out from them."""
MARGIN = 0.01
"""Of a figure's scale: what it is taken to vary by at least, and what a drift over all runs must come to."""
SURE = 0.99
"""How sure it must be that the latest stands out: it is asked after every run, and false alarms are soon ignored."""
HEADLINES = ("overall", "score", PASSED.key)
"""Figures of a whole run. They are one family of tests, those of its parts another: a family that moves as one would
otherwise hide itself."""
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

    A run's figures alone do not say how sure they are: the latest is held against how those before it varied, which is
    taken to be a hundredth of their scale at least. Where the cases are at hand, comparing them case by case
    (`compare`) tells much smaller differences.

    >>> found = trends([TrendPoint(f"2026-01-{day:02}", {"score": 70.0 + day}) for day in range(1, 9)])
    >>> found[0].direction, found[0].step
    ('rising', 1.0)
    """
    names = dict.fromkeys(name for point in points for name in point.figures)
    series = {name: tuple(point.figures.get(name) for point in points) for name in names}
    known = {name: [value for value in values if value is not None] for name, values in series.items()}
    named = [name for name in series if known[name]]
    risk = 1 - level + 1e-12
    leasts = {name: MARGIN * scale_of(known[name]) for name in named}
    moving, newest = dict[str, float](), dict[str, float]()
    for wanted in (True, False):
        family = [name for name in named if is_headline(name) == wanted]
        moving |= zip(family, holm([trend_p(known[name]) for name in family]), strict=True)
        last = [latest_p(known[name], leasts[name]) if series[name][-1] is not None else 1.0 for name in family]
        newest |= zip(family, holm(last), strict=True)
    found = []
    for name in named:
        step, p, last_p = slope(known[name]), moving[name], newest[name]
        direction: Direction = "no clear trend"
        if p <= risk and _drift(known[name]) >= leasts[name]:
            direction = "rising" if (step or known[name][-1] - known[name][0]) > 0 else "falling"
        latest = _latest(series[name], known[name], last_p <= 1 - max(level, SURE) + 1e-12)
        found.append(Trend(name, series[name], step, p, last_p, direction, latest))
    return found


def trend_title(name: str) -> str:
    """What a figure of a run is called; a baseline keeps no titles, so a dimension goes by its name as words.

    >>> [trend_title(name) for name in ("score", "dimension.query_relevance", "tone/section.style")]
    ['score', 'Query relevance', 'tone: section Style']
    """
    rubric, _, own = name.rpartition("/")
    kind, _, part = own.partition(".")
    title = headline(part) if kind == "dimension" else f"section {headline(part)}" if kind == "section" else own
    title = f"tag {part}" if kind == "tag" else title
    return f"{rubric}: {title}" if rubric else title


def is_headline(name: str) -> bool:
    """Whether a figure is of a whole run, not of one of its parts.

    >>> [is_headline(name) for name in ("overall", "answer-quality/score", "dimension.correctness")]
    [True, True, False]
    """
    return name.rpartition("/")[2] in HEADLINES


def scale_of(values: Sequence[float]) -> float:
    """What full marks are, as far as values tell: 1, 10, 100 and so on.

    >>> scale_of([0.85, 0.4]), scale_of([8.2, 10]), scale_of([64.5])
    (1.0, 10.0, 100.0)
    """
    highest = max(map(abs, values), default=0.0)
    return 10.0 ** math.ceil(math.log10(highest) - 1e-9) if highest > 1 else 1.0


def _drift(known: Sequence[float]) -> float:
    """How far the later half of the figures lies from the earlier half."""
    half = len(known) // 2
    return abs(fmean(known[-half:]) - fmean(known[:half])) if half else 0.0


def _latest(values: Sequence[float | None], known: Sequence[float], stands_out: bool) -> Latest:
    if values[-1] is None or len(known) <= FEWEST_EARLIER:
        return "cannot tell"
    if not stands_out:  # beyond all before it, yet too few of them to rule chance out
        return "as before" if min(known[:-1]) <= known[-1] <= max(known[:-1]) else "cannot tell"
    return "improvement" if known[-1] > sum(known[:-1]) / (len(known) - 1) else "regression"
