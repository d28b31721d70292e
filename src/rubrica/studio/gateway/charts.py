"""Figures over time as inline SVG, in the colours of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from markupsafe import Markup

from rubrica.report.charts import line, svg, text_at
from rubrica.report.excerpt import visible
from rubrica.report.figures import percent
from rubrica.scoring.intervals import Estimate
from rubrica.store.gateway_figures import Bucket

WIDTH, HEIGHT = 360, 120
MOST_DOTS = 40
_LEFT, _TOP, _FOOT = 46, 10, 24
_STAMPS: dict[Bucket, str] = {"minute": "%H:%M", "hour": "%d %b %H:%M", "day": "%d %b"}
Words = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart: a value at each time, None where there is none."""

    name: str
    values: Sequence[float | None]

    @property
    def known(self) -> list[float]:
        return [value for value in self.values if value is not None]


@dataclass(frozen=True, slots=True)
class Times:
    """What runs across a chart."""

    at: Sequence[datetime]
    bucket: Bucket

    def named(self, place: int) -> str:
        return self.at[place].strftime(_STAMPS[self.bucket])

    def x(self, place: int) -> float:
        wide = WIDTH - _LEFT - 6
        return _LEFT + wide * (place / (len(self.at) - 1) if len(self.at) > 1 else 0.5)


def lines(title: str, times: Times, series: Sequence[Series], words: Words, *, top: float | None = None) -> Markup:
    """A chart with a line per series; `top` is the highest value there can be, `words` writes a value."""
    known = [value for own in series for value in own.known]
    if not known:
        return _figure(title, (), Markup('<p class="quiet none">nothing yet</p>'))
    high = top if top is not None else round_up(max(known))
    low = min(0.0, -round_up(-min(known)))
    span = (high - low) or 1.0

    def y(value: float) -> float:
        return _TOP + HEIGHT * (1 - (value - low) / span)

    drawing = Markup("")
    for tick in dict.fromkeys((low, 0.0, (high + max(low, 0.0)) / 2, high)):
        drawing += line("axis" if tick == 0 else "grid", (_LEFT, y(tick)), (WIDTH, y(tick)))
        drawing += text_at("tick", (_LEFT - 6, y(tick) + 4), words(tick), "end")
    for number, own in enumerate(series):
        drawing += _draw_line(own, number, times, y)
    drawing += _hovers(times, series, words) + _stamps(times)
    latest = ", ".join(f"{own.name} {words(own.known[-1])}" for own in series if own.known)
    told = f"{title} from {times.named(0)} to {times.named(len(times.at) - 1)}; latest: {latest}"
    return _figure(title, series, svg("course", _TOP + HEIGHT + _FOOT, told, drawing, WIDTH), words)


def bars(title: str, times: Times, own: Series, words: Words) -> Markup:
    """A bar for each time."""
    high = round_up(max(own.known, default=0.0)) or 1.0
    step = (WIDTH - _LEFT) / max(len(times.at), 1)
    ground = _TOP + HEIGHT
    drawing = Markup("")
    for tick in (0.0, high / 2, high):
        y = ground - HEIGHT * tick / high
        drawing += line("axis" if tick == 0 else "grid", (_LEFT, y), (WIDTH, y))
        if tick != high / 2 or high >= 2:
            drawing += text_at("tick", (_LEFT - 6, y + 4), words(tick), "end")
    for place, value in enumerate(own.values):
        if value:
            tall = max(HEIGHT * value / high, 1.5)
            drawing += Markup(
                '<rect class="bin" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"><title>{}</title></rect>'
            ).format(
                _LEFT + step * place + min(1.0, step / 8),
                ground - tall,
                max(step - 2 * min(1.0, step / 8), 0.8),
                tall,
                visible(f"{times.named(place)}: {words(value)}"),
            )
    drawing += _stamps(times)
    told = f"{title} from {times.named(0)} to {times.named(len(times.at) - 1)}: {words(sum(own.known))} in all"
    return _figure(title, (), svg("course", ground + _FOOT, told, drawing, WIDTH))


def share(found: Estimate | None) -> Markup:
    """A share on a line from nothing to all, with the interval it lies in."""
    if found is None:
        return Markup('<span class="quiet">none</span>')
    wide, middle = 160.0, 7.0
    drawing = Markup('<rect class="track" x="0" y="5" width="{}" height="4" rx="2"/>').format(wide)
    drawing += line("reach", (wide * found.low, middle), (wide * found.high, middle))
    drawing += Markup('<circle class="dot-mean" cx="{:.1f}" cy="{}" r="4"/>').format(wide * found.value, middle)
    told = f"{percent(found.value)}, between {percent(found.low)} and {percent(found.high)}"
    return Markup('<span class="share"><b>{}</b>{}</span>').format(
        f"{found.value:.0%}", svg("share-line", 14, told, drawing, int(wide))
    )


def round_up(value: float) -> float:
    """The next round number from a value up.

    >>> [round_up(value) for value in (0, 0.013, 7, 180, 1_050)]
    [0.0, 0.02, 10.0, 200.0, 2000.0]
    """
    if value <= 0:
        return 0.0
    power: float = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{step * power:.6g}") for step in (1, 2, 4, 5, 10) if step * power >= value * (1 - 1e-9))


def _draw_line(own: Series, number: int, times: Times, y: Callable[[float], float]) -> Markup:
    """The line, broken where there is no value; values without a neighbour, and few of them, are dots too."""
    tone = f"course-{number + 1}"
    drawing, run = Markup(""), list[tuple[float, float]]()
    few = len(own.known) <= MOST_DOTS
    for place, value in enumerate((*own.values, None)):
        if value is not None:
            run.append((times.x(place), y(value)))
            continue
        if len(run) > 1:
            path = "L".join(f"{x:.1f},{up:.1f}" for x, up in run)
            drawing += Markup('<path class="edge {}" d="M{}"/>').format(tone, path)
        for x, up in run if few or len(run) == 1 else ():
            drawing += Markup('<circle class="point {}" cx="{:.1f}" cy="{:.1f}" r="3"/>').format(tone, x, up)
        run = []
    return drawing


def _hovers(times: Times, series: Sequence[Series], words: Words) -> Markup:
    """What stands at each time, for whoever points there."""
    step = (WIDTH - _LEFT) / max(len(times.at), 1)
    drawing = Markup("")
    for place in range(len(times.at)):
        said = [f"{own.name} {words(value)}" for own in series if (value := own.values[place]) is not None]
        if said:
            drawing += Markup(
                '<rect class="hover" x="{:.1f}" y="{}" width="{:.1f}" height="{}"><title>{}</title></rect>'
            ).format(times.x(place) - step / 2, _TOP, step, HEIGHT, visible(f"{times.named(place)}: {', '.join(said)}"))
    return drawing


def _stamps(times: Times) -> Markup:
    last, y = len(times.at) - 1, _TOP + HEIGHT + 18
    drawing = text_at("tick", (_LEFT, y), times.named(0), "start")
    if last:
        drawing += text_at("tick", (WIDTH, y), times.named(last), "end")
    if last > 1:
        drawing += text_at("tick", (times.x(last // 2), y), times.named(last // 2), "middle")
    return drawing


def _figure(title: str, series: Sequence[Series], drawing: Markup, words: Words | None = None) -> Markup:
    """A chart under its title; what its lines are, with the latest value of each."""
    key = Markup("")
    for number, own in enumerate(series):
        latest = words(own.known[-1]) if words is not None and own.known else "—"
        name = Markup("{} ").format(own.name) if own.name else Markup("")
        key += Markup('<span class="course-key course-{}">{}<b>{}</b></span>').format(number + 1, name, latest)
    return Markup('<figure class="plot"><figcaption>{}{}</figcaption>{}</figure>').format(title, key, drawing)
