"""Small drawings of runs: verdicts as a bar, a difference with its interval, a figure over time."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from rubrica.report.charts import line, svg, text_at, trail
from rubrica.report.excerpt import visible
from rubrica.report.figures import figure, percent
from rubrica.report.roles import SIGNS, Role
from rubrica.runs.compare.measure_comparison import MeasureComparison
from rubrica.runs.compare.trend import Trend, TrendPoint
from rubrica.runs.summary.measures import PASSED

INTERVAL_WIDTH, INTERVAL_HEIGHT = 220, 26
TREND_WIDTH, TREND_HEIGHT = 400, 118
_LEFT, _TOP = 44, 10
MOST_LABELS = 5
SHORT = 7
"""Commits named under a chart."""


def stack(mix: Sequence[tuple[str, Role, int]]) -> Markup:
    """Verdicts as one bar, from good to bad; in words for those who do not see it.

    >>> "pass 3 of 4" in stack([("pass", "good", 3), ("fail", "bad", 1)])
    True
    """
    total = sum(count for _, _, count in mix)
    told = ", ".join(f"{verdict.replace('_', ' ')} {count:,} of {total:,}" for verdict, _, count in mix)
    pieces = Markup("").join(
        Markup('<span class="is-{}" style="flex-grow:{}"></span>').format(role, count) for _, role, count in mix
    )
    return Markup('<div class="mixbar" role="img" aria-label="{}" title="{}">{}</div>').format(
        visible(told), visible(told), pieces
    )


def counts(mix: Sequence[tuple[str, Role, int]]) -> Markup:
    """The same in figures, a verdict after the other."""
    total = sum(count for _, _, count in mix)
    pieces = Markup("").join(
        Markup('<li><span class="verdict is-{}">{} {}</span> <b>{}</b> <span class="quiet">{}</span></li>').format(
            role, SIGNS[role], visible(verdict.replace("_", " ")), f"{count:,}", percent(count / total)
        )
        for verdict, role, count in mix
    )
    return Markup('<ul class="mixcounts">{}</ul>').format(pieces)


def interval(own: MeasureComparison, reach: float) -> Markup:
    """A difference and its interval on a line from -reach to reach; what is as good as none is shaded."""
    middle = INTERVAL_HEIGHT / 2

    def x(value: float) -> float:
        share = min(max(value / reach, -1.0), 1.0) if reach > 0 else 0.0
        return INTERVAL_WIDTH / 2 * (1 + 0.94 * share)

    role = {"improvement": "good", "regression": "bad"}.get(own.verdict, "neutral")
    drawing = Markup('<rect class="track" x="{:.1f}" y="3" width="{:.1f}" height="{}" rx="3"/>').format(
        x(-own.margin), max(x(own.margin) - x(-own.margin), 1), INTERVAL_HEIGHT - 6
    )
    drawing += line("axis", (x(0), 1), (x(0), INTERVAL_HEIGHT - 1))
    found = own.difference
    if found is not None:
        drawing += line(f"reach is-{role}", (x(found.low), middle), (x(found.high), middle))
        for end in (found.low, found.high):
            drawing += line(f"reach is-{role}", (x(end), middle - 4), (x(end), middle + 4))
    drawing += Markup('<circle class="dot-mean is-{}" cx="{:.1f}" cy="{:.1f}" r="4"/>').format(
        role, x(own.mean), middle
    )
    return svg("interval", INTERVAL_HEIGHT, f"{own.measure}: {own.description}", drawing, INTERVAL_WIDTH)


def reach_of(lines: Sequence[MeasureComparison]) -> float:
    """How far from nothing the intervals of some lines go."""
    ends = [
        abs(end) for own in lines if own.difference is not None for end in (own.difference.low, own.difference.high)
    ]
    return max([*ends, *(abs(own.mean) for own in lines), *(own.margin for own in lines)], default=1.0)


def trend_drawing(points: Sequence[TrendPoint], found: Trend) -> Markup:
    """A figure over the baselines, oldest first, with their commits under it."""
    low, high = min(found.known), max(found.known)
    span = high - low
    ground = _TOP + TREND_HEIGHT
    shown = percent if found.name.endswith(PASSED.key) else _figure

    def at(place: int, value: float) -> tuple[float, float]:
        across = place / (len(points) - 1) if len(points) > 1 else 0.5
        up = (value - low) / span if span else 0.5
        return _LEFT + (TREND_WIDTH - _LEFT - 10) * across, _TOP + 6 + (TREND_HEIGHT - 12) * (1 - up)

    places = [None if value is None else at(place, value) for place, value in enumerate(found.values)]
    told = [
        "" if value is None else f"{point.label or 'no commit'}, {point.at[:16].replace('T', ' ')}: {shown(value)}"
        for point, value in zip(points, found.values, strict=True)
    ]
    drawing = line("axis", (_LEFT - 8, ground), (TREND_WIDTH, ground)) + trail(places, told, 4)
    for value in dict.fromkeys((high, low)):
        drawing += text_at("tick", (_LEFT - 12, at(0, value)[1] + 4), shown(value), "end")
    step = max(-(-len(points) // MOST_LABELS), 1)
    for place in range(len(points) - 1, -1, -step):
        x, _ = at(place, low)
        anchor = "end" if place == len(points) - 1 and len(points) > 1 else "start" if not place else "middle"
        drawing += text_at("tick mono", (x, ground + 16), _short(points[place]), anchor)  # type: ignore[arg-type]
    whole = f"{found.name}: {shown(found.known[0])} to {shown(found.known[-1])}, {found.direction}"
    return svg("trend", ground + 24, whole, drawing, TREND_WIDTH)


def _short(point: TrendPoint) -> str:
    """The beginning of a commit; without one, the day."""
    label = point.label.partition("+")[0]
    return point.at[5:10] if not label or label.startswith(point.at[:10].replace("-", "")) else label[:SHORT]


def _figure(value: float) -> str:
    return figure(float(f"{value:.4g}"))
