"""Charts as inline SVG, from numbers alone. The page's stylesheet gives the classes their colours, light and dark.

Coordinates carry one decimal, so that the same numbers always give the same text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from textwrap import wrap
from typing import Literal

from markupsafe import Markup, escape

from rubrica.model.evaluation import Status, Step

from .excerpt import visible
from .figures import STATUS_WORDS, figure, percent, signed

WIDTH = 400
LEAST_SPOKES, MOST_SPOKES = 3, 12
"""With fewer or more values than a radar can show, bars are drawn instead."""

_LINE = 15
_RADIUS = 106
_LABEL_CHARACTERS = 15
_ROW = 26
_BARS_FROM, _BARS_TO = 160, 346

Anchor = Literal["start", "middle", "end"]


def filled(template: str, *values: object) -> Markup:
    """A template of our own with values in it, escaped. `Markup.format` does the same in ten times the time.

    >>> filled('<b class="{}">{:.1f}</b>', "<", 2)
    Markup('<b class="&lt;">2.0</b>')
    """
    safe = (value if isinstance(value, int | float) else escape(value) for value in values)
    return Markup(template.format(*safe))  # noqa: S704 - whatever is no number was escaped


def radar(labels: Sequence[str], shares: Sequence[float | None], states: Sequence[Status]) -> Markup:
    """The shape of the dimensions' shares of full marks, 0 at the middle and 1 at the rim.

    What has no share is a hollow point on a dashed spoke with the word for why; no line is drawn through it.
    Fewer than three values, or more than twelve, are drawn as bars.
    """
    clamped = [_clamped(share) for share in shares]
    told = [_share_text(share, state) for share, state in zip(clamped, states, strict=True)]
    present = sum(share is not None for share in clamped)
    if not LEAST_SPOKES <= len(labels) <= MOST_SPOKES or present < LEAST_SPOKES:
        return _bars(labels, clamped, states, told)
    blocks = [
        _label_block(label, note, index, len(labels))
        for index, (label, note) in enumerate(zip(labels, told, strict=True))
    ]
    above = min(top for top, _ in blocks)
    middle = (WIDTH / 2, 4.0 - above)
    spokes = [_at(middle, index, len(labels), _RADIUS) for index in range(len(labels))]
    points = [
        None if share is None else _at(middle, index, len(labels), _RADIUS * share)
        for index, share in enumerate(clamped)
    ]
    drawing = Markup("")
    for ring in (0.25, 0.5, 0.75, 1.0):
        corners = " ".join(_xy(_at(middle, index, len(labels), _RADIUS * ring)) for index in range(len(labels)))
        drawing += filled('<polygon class="{}" points="{}"/>', "rim" if ring == 1 else "ring", corners)
    for share, (x, y) in zip(clamped, spokes, strict=True):
        drawing += line("spoke" if share is not None else "spoke missing", middle, (x, y))
    drawing += _area(middle, points)
    for point, spoke, state in zip(points, spokes, states, strict=True):
        hollow = point is None or state != "scored"
        x, y = point or spoke
        drawing += filled(
            '<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="4"/>', "point hollow" if hollow else "point", x, y
        )
    for index, (label, note) in enumerate(zip(labels, told, strict=True)):
        drawing += _spoke_label(middle, index, len(labels), label, note)
    height = math.ceil(middle[1] + max(bottom for _, bottom in blocks) + 4)
    return svg("radar", height, f"Dimensions, as shares of full marks: {_join_labels(labels, told)}", drawing)


def waterfall(steps: Sequence[Step], *, top: float | None = None, threshold: float | None = None) -> Markup:
    """How the score came about, one row per step: where it stood before, what was added or taken, and the end.

    `top` is the highest possible score (the axis then reaches it), `threshold` a line to compare with.
    """
    if not steps:
        return Markup("")
    ends = [0.0, *(step.total for step in steps), *(step.total - step.amount for step in steps)]
    low, high = min(ends), max(ends if top is None else [*ends, top])
    span = high - low or 1.0

    def across(value: float) -> float:
        return _BARS_FROM + (min(max(value, low), high) - low) / span * (_BARS_TO - _BARS_FROM)

    drawing = Markup("")
    if threshold is not None and low <= threshold <= high:
        place, bottom = across(threshold), 6.0 + _ROW * (len(steps) + 1)
        drawing += line("threshold", (place, 6), (place, bottom))
    for row, step in enumerate(steps):
        before = 0.0 if step.kind == "base" else step.total - step.amount
        tone = "total" if step.kind == "base" else "plus" if step.amount > 0 else "minus" if step.amount < 0 else "none"
        amount = figure(step.total) if step.kind == "base" else signed(step.amount)
        drawing += _fall(row, step.label, (across(before), across(step.total)), tone, amount)
        if row:
            y = 6.0 + _ROW * row
            drawing += line("joint", (across(before), y - 5), (across(before), y + 5))
    last = steps[-1].total
    drawing += _fall(len(steps), "Score", (across(0.0), across(last)), "total final", figure(last))
    told = ", ".join(f"{s.label} {figure(s.total) if s.kind == 'base' else signed(s.amount)}" for s in steps)
    return svg(
        "waterfall", 12 + _ROW * (len(steps) + 1), f"How the score adds up: {told}, score {figure(last)}", drawing
    )


def bar(score: float | None, bounds: tuple[float, float], threshold: float | None, out_of: float) -> Markup:
    """The score on its scale, with the threshold as a marker; what is open of it is drawn as the range it lies in."""
    whole = out_of if math.isfinite(out_of) and out_of > 0 else 1.0

    def across(value: float) -> float:
        return WIDTH * min(max(value / whole, 0.0), 1.0) if math.isfinite(value) else (WIDTH if value > 0 else 0.0)

    drawing = filled('<rect class="track" x="0" y="18" width="{}" height="12" rx="6"/>', WIDTH)
    low, high = sorted(bounds)
    if score is None or low < high:
        drawing += filled(
            '<rect class="open" x="{:.1f}" y="18" width="{:.1f}" height="12" rx="6"/>',
            across(low),
            max(across(high) - across(low), 4),
        )
    if score is not None:
        told = f"Score {figure(score)} of {figure(out_of)}"
        told += f", an estimate between {figure(low)} and {figure(high)}" if low < high else ""
        if across(score) > 0:
            drawing += filled('<rect class="fill" x="0" y="18" width="{:.1f}" height="12" rx="6"/>', across(score))
    else:
        told = f"No score; it lies between {figure(low)} and {figure(high)} of {figure(out_of)}"
    if threshold is not None:
        told += f", threshold {figure(threshold)}"
        place = across(threshold)
        drawing += line("marker", (place, 13), (place, 35))
        anchor: Anchor = "start" if place < 50 else "end" if place > WIDTH - 50 else "middle"
        drawing += text_at("tick strong", (place, 10), f"threshold {figure(threshold)}", anchor)
    drawing += text_at("tick", (0, 46), "0", "start") + text_at("tick", (WIDTH, 46), figure(out_of), "end")
    return svg("score-bar", 50, told, drawing)


def share_bar(share: float | None) -> Markup:
    """A small bar beside a number that says the same, and so hidden from screen readers."""
    width = 96 * (_clamped(share) or 0.0)
    fill = filled('<rect class="fill" width="{:.1f}" height="6" rx="3"/>', width) if width else Markup("")
    return filled(
        '<svg class="mini" viewBox="0 0 96 6" width="96" height="6" aria-hidden="true">'
        '<rect class="{}" width="96" height="6" rx="3"/>{}</svg>',
        "track" if share is not None else "track missing",
        fill,
    )


def points_bar(points: float, largest: float, tone: str = "") -> Markup:
    """Points given or taken, right or left of a middle line, beside the number that says the same."""
    width = 34 * min(abs(points) / largest, 1.0) if largest > 0 and math.isfinite(points) else 0.0
    x = 36 - width if points < 0 else 36.0
    return filled(
        '<svg class="mini" viewBox="0 0 72 10" width="72" height="10" aria-hidden="true">'
        '<rect class="{}" x="{:.1f}" y="1" width="{:.1f}" height="8" rx="2"/>'
        '<line class="axis" x1="36.0" y1="0" x2="36.0" y2="10"/></svg>',
        tone or ("minus" if points < 0 else "plus"),
        x,
        width,
    )


def _bars(
    labels: Sequence[str], shares: Sequence[float | None], states: Sequence[Status], told: Sequence[str]
) -> Markup:
    drawing = Markup("")
    for row, (label, share, state, note) in enumerate(zip(labels, shares, states, told, strict=True)):
        y = 6 + _ROW * row
        whole = _BARS_TO - _BARS_FROM - 34
        drawing += _row_label(row, label)
        if share is None:
            drawing += text_at("missing", (_BARS_FROM, y + 17), note, "start")
            continue
        drawing += filled('<rect class="track" x="{}" y="{}" width="{}" height="10" rx="5"/>', _BARS_FROM, y + 8, whole)
        if share:
            tone = "fill" if state == "scored" else "fill hollow"
            drawing += filled(
                '<rect class="{}" x="{}" y="{}" width="{:.1f}" height="10" rx="5"/>',
                tone,
                _BARS_FROM,
                y + 8,
                whole * share,
            )
        drawing += text_at("amount", (WIDTH, y + 17), note, "end")
    return svg(
        "bars", 12 + _ROW * len(labels), f"Dimensions, as shares of full marks: {_join_labels(labels, told)}", drawing
    )


def _area(middle: tuple[float, float], points: Sequence[tuple[float, float] | None]) -> Markup:
    """The filled shape: one triangle per pair of neighbours that both have a value, so a missing one leaves a hole."""
    fill, edge = [], []
    for here, after in zip(points, [*points[1:], points[0]], strict=True):
        if here is not None and after is not None:
            fill.append(f"M{_xy(middle)}L{_xy(here)}L{_xy(after)}Z")
            edge.append(f"M{_xy(here)}L{_xy(after)}")
    if not fill:
        return Markup("")
    return filled('<path class="area" d="{}"/><path class="edge" d="{}"/>', "".join(fill), "".join(edge))


def _label_block(label: str, note: str, index: int, count: int) -> tuple[float, float]:
    """Top and bottom of a spoke's label, seen from the middle."""
    up = math.cos(2 * math.pi * index / count)
    height = _LINE * len(_spoke_lines(label, note))
    top = -(_RADIUS + 8) * up - height / 2 * up - height / 2
    return top, top + height


def _spoke_label(middle: tuple[float, float], index: int, count: int, label: str, note: str) -> Markup:
    side = math.sin(2 * math.pi * index / count)
    x = middle[0] + (_RADIUS + 13) * side
    y = middle[1] + _label_block(label, note, index, count)[0] + 11
    anchor: Anchor = "middle" if abs(side) < 0.05 else "start" if side > 0 else "end"
    text = filled("<title>{}</title>", visible(label))
    for number, part in enumerate(_spoke_lines(label, note)):
        text += text_at("label", (x, y + _LINE * number), part, anchor)
    return filled("<g>{}</g>", text)


@lru_cache(maxsize=256)
def _spoke_lines(label: str, note: str) -> tuple[Markup, ...]:
    """The label, and its note behind the last line where there is room, else under it.

    The last ones are kept: the cards of a page have the same labels.
    """
    lines = [escape(visible(part)) for part in _lines(label)]
    tail = filled('<tspan class="{}">{}</tspan>', "note" if note.endswith("%") else "note missing", note)
    if len(lines[-1]) + len(note) < _LABEL_CHARACTERS:
        return (*lines[:-1], lines[-1] + " " + tail)
    return (*lines, tail)


def _fall(row: int, label: str, ends: tuple[float, float], tone: str, amount: str) -> Markup:
    y = 6 + _ROW * row
    left, right = sorted(ends)
    return (
        _row_label(row, label, "label strong" if "final" in tone else "label")
        + filled(
            '<rect class="{}" x="{:.1f}" y="{}" width="{:.1f}" height="16" rx="3"/>',
            tone,
            left,
            y + 5,
            max(right - left, 1.5),
        )
        + text_at("amount strong" if "final" in tone else "amount", (WIDTH, y + 17), amount, "end")
    )


def _row_label(row: int, label: str, name: str = "label") -> Markup:
    text = text_at(name, (0, 6 + _ROW * row + 17), short(label, 23), "start")
    return filled("<g><title>{}</title>{}</g>", visible(label), text)


def svg(kind: str, height: int, told: str, drawing: Markup, width: int = WIDTH) -> Markup:
    """A drawing with what a screen reader says in its place."""
    return filled(
        '<svg class="chart {}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>',
        kind,
        width,
        height,
        visible(told),
        drawing,
    )


def text_at(name: str, at: tuple[float, float], text: str | Markup, anchor: Anchor) -> Markup:
    """A line of text, of a class."""
    return filled(
        '<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>',
        name,
        at[0],
        at[1],
        anchor,
        text if isinstance(text, Markup) else visible(text),
    )


def line(name: str, start: tuple[float, float], end: tuple[float, float]) -> Markup:
    """A straight line, of a class."""
    return filled('<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>', name, *start, *end)


def trail(points: Sequence[tuple[float, float] | None], told: Sequence[str], radius: float) -> Markup:
    """A line from point to point, each with its words, broken where there is none.

    >>> trail([(0, 1), None, (2, 3), (4, 5)], ["a", "b", "c", "d"], 3).count("L")
    1
    """
    steps = [f"M{_xy(here)}L{_xy(after)}" for here, after in pairwise(points) if here is not None and after is not None]
    drawing = filled('<path class="edge" d="{}"/>', "".join(steps)) if steps else Markup("")
    for point, words in zip(points, told, strict=True):
        if point is not None:
            drawing += filled(
                '<circle class="point" cx="{:.1f}" cy="{:.1f}" r="{}"><title>{}</title></circle>',
                *point,
                radius,
                visible(words),
            )
    return drawing


def _at(middle: tuple[float, float], index: int, count: int, radius: float) -> tuple[float, float]:
    angle = 2 * math.pi * index / count
    return middle[0] + radius * math.sin(angle), middle[1] - radius * math.cos(angle)


def _xy(point: tuple[float, float]) -> str:
    return f"{point[0]:.1f},{point[1]:.1f}"


def _clamped(share: float | None) -> float | None:
    return None if share is None or not math.isfinite(share) else min(max(share, 0.0), 1.0)


def _share_text(share: float | None, state: Status) -> str:
    """The share in words; for what has none, why."""
    if share is None:
        return STATUS_WORDS[state if state != "scored" else "unscored"]
    return percent(round(share, 2))


def _join_labels(labels: Sequence[str], told: Sequence[str]) -> str:
    return ", ".join(f"{label} {note}" for label, note in zip(labels, told, strict=True))


def _lines(label: str) -> list[str]:
    """A label in at most two short lines."""
    lines = wrap(label, _LABEL_CHARACTERS, break_long_words=False) or [""]
    first, rest = lines[0], " ".join(lines[1:])
    return [short(part, _LABEL_CHARACTERS) for part in (first, rest) if part] or [""]


def short(label: str, longest: int) -> str:
    """A label on one line, cut where it is too long."""
    label = " ".join(label.split())
    return label if len(label) <= longest else label[: longest - 1].rstrip() + "…"
