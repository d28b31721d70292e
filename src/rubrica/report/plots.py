"""Plots of many evaluations as inline SVG: histograms, box plots, a heat map, points.

Like the charts of one evaluation they are drawn from numbers alone, take their colours from the page's stylesheet, and
say in words what they show to those who do not see them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .charts import WIDTH, Anchor, filled, line, short, svg, text_at
from .excerpt import visible
from .figures import figure, percent
from .roles import Role
from .run_figures import Box

SMALL = 240
"""The width of a plot that stands among many."""
MOST_DRAWN = 400
"""Points of a scatter plot."""

_TOP, _FOOT = 22, 24
_LABEL_TO, _TRACK = 132, 208
_ROW = 30


@dataclass(frozen=True, slots=True)
class Layer:
    """One colour of a histogram: how many fell into each bin."""

    counts: Sequence[int]
    role: Role | None = None


@dataclass(frozen=True, slots=True)
class PlotAxis:
    """What runs across a plot; `words` writes a value of it."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]] = ()
    title: str = ""

    def share(self, value: float) -> float:
        span = self.high - self.low
        return min(max((value - self.low) / span, 0.0), 1.0) if span > 0 else 0.5


@dataclass(frozen=True, slots=True)
class PlotLine:
    """A line across a histogram: the threshold, or the mean."""

    at: float
    label: str


def histogram(
    layers: Sequence[Layer], axis: PlotAxis, told: str, *, lines: Sequence[PlotLine] = (), small: bool = False
) -> Markup:
    """Bars from the bottom up, the layers on top of each other."""
    width, height = (SMALL, 84) if small else (WIDTH, 132)
    bins = len(layers[0].counts) if layers else 0
    totals = [sum(layer.counts[bin_] for layer in layers) for bin_ in range(bins)]
    most = max(totals, default=0)
    top = _TOP if lines or not small else 8
    ground = top + height
    drawing = line("axis", (0, ground), (width, ground))
    step = width / bins if bins else width
    for bin_ in range(bins):
        base = float(ground)
        for layer in layers:
            if not layer.counts[bin_]:
                continue
            tall = max(layer.counts[bin_] / most * height, 1.5)
            name = f"bin is-{layer.role}" if layer.role else "bin"
            drawing += filled(
                '<rect class="{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"/>',
                name,
                bin_ * step + 1,
                base - tall,
                max(step - 2, 1),
                tall,
            )
            base -= tall
    for drawn in lines:
        place = axis.share(drawn.at) * width
        drawing += line("threshold", (place, 14), (place, ground))
        drawing += text_at("tick strong", (place, 10), drawn.label, _anchor(place, width, 60))
    drawing += _ticks(axis, 0, width, ground + 16)
    if not small:
        drawing += text_at("tick", (0, 10), f"most in one bar: {most:,}", "start") if not lines else Markup("")
    return svg("histogram" + (" small" if small else ""), ground + _FOOT, told, drawing, width)


def boxes(rows: Sequence[tuple[str, Box | None, float | None, PlotAxis]]) -> Markup:
    """A box plot per row, each on its own scale: the middle half as a box, the median as a line, the mean as a point.

    A row is its label, its box, its mean and its axis.
    """
    drawing, told = Markup(""), []
    for number, (label, box, mean, axis) in enumerate(rows):
        y = 20.0 + _ROW * number
        named = text_at("label", (0, y + 4), short(label, 19), "start")
        drawing += filled("<g><title>{}</title>{}</g>", visible(label), named)
        if box is None:
            drawing += text_at("missing", (_LABEL_TO + 8, y + 4), "no scores", "start")
            told.append(f"{label} has no scores")
            continue
        drawing += _box(box, mean, axis, y)
        drawing += text_at("amount", (WIDTH, y + 4), figure(_rounded(box.median)), "end")
        told.append(
            f"{label} median {figure(_rounded(box.median))}, middle half {figure(_rounded(box.first))} to "
            f"{figure(_rounded(box.third))}"
        )
    bottom = 36.0 + _ROW * max(len(rows) - 1, 0)
    if len({(axis.low, axis.high) for *_, axis in rows}) == 1:
        drawing += _ticks(linear(rows[0][3].low, rows[0][3].high), _LABEL_TO + 8, _TRACK, bottom + 12)
    return svg("boxes", math.ceil(bottom) + 18, "; ".join(told), drawing)


def heat(labels: Sequence[str], values: Sequence[Sequence[float | None]]) -> Markup:
    """Correlations as a lower triangle of squares: the fuller the colour, the stronger; the number stands in it."""
    size = len(labels)
    side = min(44.0, (WIDTH - _LABEL_TO) / max(size - 1, 1))
    drawing, told = Markup(""), []
    numbers = side >= 24
    for row in range(1, size):
        y = 6 + side * (row - 1)
        named = text_at("label", (0, y + side / 2 + 4), short(labels[row], 19), "start")
        drawing += filled("<g><title>{}</title>{}</g>", visible(labels[row]), named)
        for column in range(row):
            value, x = values[row][column], _LABEL_TO + side * column
            told.append(f"{labels[row]} and {labels[column]} {_two(value)}")
            drawing += _square(value, (x, y), side, f"{labels[row]} × {labels[column]}: {_two(value)}")
            if numbers and value is not None:
                strong = "cell strong" if abs(value) > 0.55 else "cell"
                drawing += text_at(strong, (x + side / 2, y + side / 2 + 4), _two(value), "middle")
    bottom = 6 + side * (size - 1)
    for column in range(size - 1):
        x = _LABEL_TO + side * (column + 0.5)
        drawing += filled(
            '<g transform="translate({:.1f} {:.1f}) rotate(-45)">{}</g>',
            x + 4,
            bottom + 14,
            text_at("tick", (0, 0), short(labels[column], 14), "end"),
        )
    return svg("heat", math.ceil(bottom + 82), "Correlations: " + ", ".join(told), drawing)


def points(places: Sequence[tuple[float, float, Role]], across: PlotAxis, up: PlotAxis, told: str) -> Markup:
    """A point per evaluation."""
    left, height = 40.0, 190.0
    wide = WIDTH - left
    drawing = line("axis", (left, 8 + height), (WIDTH, 8 + height)) + line("axis", (left, 8), (left, 8 + height))
    for value, words in up.ticks:
        y = 8 + height * (1 - up.share(value))
        drawing += line("grid", (left, y), (WIDTH, y)) + text_at("tick", (left - 6, y + 4), words, "end")
    for x, y, role in places[:MOST_DRAWN]:
        drawing += filled(
            '<circle class="dot is-{}" cx="{:.1f}" cy="{:.1f}" r="3"/>',
            role,
            left + across.share(x) * wide,
            8 + height * (1 - up.share(y)),
        )
    drawing += _ticks(across, left, wide, 8 + height + 16)
    drawing += text_at("tick", (WIDTH, 8 + height + 32), across.title, "end")
    return svg("scatter", math.ceil(8 + height + 38), told, drawing)


def linear(low: float, high: float, title: str = "") -> PlotAxis:
    """An axis with both ends and the middle marked.

    >>> [words for _, words in linear(0, 100).ticks]
    ['0', '50', '100']
    """
    middle = (low + high) / 2
    ticks = [(low, figure(_rounded(low))), (middle, figure(_rounded(middle))), (high, figure(_rounded(high)))]
    return PlotAxis(low, high, ticks, title)


def _box(box: Box, mean: float | None, axis: PlotAxis, y: float) -> Markup:
    def x(value: float) -> float:
        return _LABEL_TO + 8 + axis.share(value) * _TRACK

    drawing = line("track-line", (x(axis.low), y), (x(axis.high), y))
    drawing += line("whisker", (x(box.low), y), (x(box.high), y))
    for end in (box.low, box.high):
        drawing += line("whisker", (x(end), y - 4), (x(end), y + 4))
    drawing += filled(
        '<rect class="half" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="14" rx="2"/>',
        x(box.first),
        y - 7,
        max(x(box.third) - x(box.first), 2),
    )
    drawing += line("median", (x(box.median), y - 8), (x(box.median), y + 8))
    for outlier in {box.least, box.most} - {box.low, box.high}:
        if not box.low <= outlier <= box.high:
            drawing += filled('<circle class="outlier" cx="{:.1f}" cy="{:.1f}" r="2.6"/>', x(outlier), y)
    if mean is not None:
        drawing += filled('<circle class="mean" cx="{:.1f}" cy="{:.1f}" r="3"/>', x(mean), y)
    return drawing


def _square(value: float | None, at: tuple[float, float], side: float, title: str) -> Markup:
    tone = "none" if value is None else "above" if value >= 0 else "below"
    full = 0.0 if value is None else 0.08 + 0.84 * abs(value)
    return filled(
        '<rect class="square {}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="3" fill-opacity="{:.2f}">'
        "<title>{}</title></rect>",
        tone,
        at[0] + 1,
        at[1] + 1,
        side - 2,
        side - 2,
        full,
        visible(title),
    )


def _ticks(axis: PlotAxis, left: float, wide: float, y: float) -> Markup:
    drawing = Markup("")
    for value, words in axis.ticks:
        place = left + axis.share(value) * wide
        drawing += text_at("tick", (place, y), words, _anchor(place - left, wide, 12))
    return drawing


def _anchor(place: float, width: float, margin: float) -> Anchor:
    return "start" if place < margin else "end" if place > width - margin else "middle"


def _two(value: float | None) -> str:
    """A correlation as it is written.

    >>> _two(0.834), _two(-0.2), _two(1.0), _two(-0.001)
    ('.83', '−.20', '1', '0')
    """
    if value is None:
        return "none"
    text = f"{abs(value):.2f}"
    if text in ("0.00", "1.00"):
        text = f" {text[0]}"
    return ("−" if value < 0 and text != " 0" else "") + text[1:]


def _rounded(value: float) -> float:
    """To three digits that count."""
    return round(value, 2 - math.floor(math.log10(abs(value)))) if value else 0.0


def share_text(count: int, total: int) -> str:
    """
    >>> share_text(3, 12)
    '3 of 12 (25%)'
    """
    return f"{count:,} of {total:,} ({percent(count / total)})" if total else "none"
