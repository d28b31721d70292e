"""The parts a run's page is made of: what it shows of each rubric, of time and cost, and of what is unusual."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of, dollars, duration, figure
from rubrica.report.plots import (
    MOST_DRAWN,
    Layer,
    PlotAxis,
    PlotLine,
    boxes,
    heat,
    histogram,
    linear,
    points,
    share_text,
)
from rubrica.report.roles import ROLES, Role
from rubrica.report.run_figures import Distribution, correlations
from rubrica.report.titles import dimension_title, section_title
from rubrica.runs.files.rows import RunRow
from rubrica.scoring.spread import FAR, robust_range

from .page_data import RubricFigures, RunPageData

BINS = 20
MOST_WHOLE = 21
"""A whole number has a bar of its own on scales with at most this many."""
MOST_HEAT = 16
"""Dimensions in the heat map."""
MOST_LISTED = 8
LEAST = 10
"""Evaluations from which on correlations are drawn, and one of them can be called unusual."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing with its caption."""

    title: str
    note: str
    drawing: Markup


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A dimension, a section or the score in figures."""

    title: str
    kind: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RubricPart:
    """What the page says about one rubric."""

    figures: RubricFigures
    score: Plot
    boxes: Plot
    heat: Plot | None
    small: tuple[Plot, ...]
    rows: tuple[FigureRow, ...]
    gates: tuple[tuple[str, str], ...]
    fired: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ShownOutlier:
    """An evaluation unlike the others."""

    row: RunRow
    role: Role
    why: str


# --- one rubric -------------------------------------------------------------------------------------------


def rubric_part(figures: RubricFigures) -> RubricPart:
    dimensions = figures.dimensions
    titles = {name: dimension_title(name, figures.rubric) for name in dimensions}
    scales = {name: _scale(name, own, figures.rubric) for name, own in dimensions.items()}
    whole = linear(0.0, figures.out_of)
    box_rows = [
        (titles[name], own.box(), own.mean, PlotAxis(scales[name].low, scales[name].high))
        for name, own in dimensions.items()
    ]
    small = [_small(titles[name], own, scales[name]) for name, own in dimensions.items()]
    sections = {name: section_title(name, figures.rubric) for name in figures.sections}
    small += [_small(sections[name], own, whole, "section") for name, own in figures.sections.items()]
    rows = [_figure_row("Score", "", figures.score)]
    rows += [_figure_row(sections[name], "section", own) for name, own in figures.sections.items()]
    rows += [_figure_row(titles[name], "", own) for name, own in dimensions.items()]
    return RubricPart(
        figures,
        _score_plot(figures),
        Plot("Dimensions", "box: the middle half; line: median; point: mean", boxes(box_rows)),
        _heat(figures, titles),
        tuple(small) if len(small) > 1 else (),
        tuple(rows),
        _most(figures.gates, figures.total),
        _most(figures.fired, figures.total),
    )


def _score_plot(figures: RubricFigures) -> Plot:
    reached = figures.score.range or (0.0, figures.out_of)
    axis = linear(min(0.0, reached[0]), max(figures.out_of, reached[1]))
    shape = _bins(figures.score, axis)
    layers = [Layer(_counts(own, axis, *shape), role) for role in ROLES if (own := figures.by_role.get(role))]
    rubric = figures.rubric
    threshold = rubric.threshold if rubric is not None else None
    lines = [] if threshold is None else [PlotLine(_centred(threshold, axis, *shape), f"threshold {figure(threshold)}")]
    told = f"Scores: {_distribution_text(figures.score)}"
    if figures.score.missing:
        note = f"{count_of(figures.score.count, 'score')}; {figures.score.missing:,} have none"
    else:
        note = f"out of {figure(figures.out_of)}, by verdict"
    return Plot("Score", note, histogram(layers, _marked(axis, *shape), told, lines=lines))


def _small(title: str, own: Distribution, axis: PlotAxis, kind: str = "") -> Plot:
    shape = _bins(own, axis)
    drawing = histogram(
        [Layer(_counts(own, axis, *shape))], _marked(axis, *shape), f"{title}: {_distribution_text(own)}", small=True
    )
    note = "no scores" if own.mean is None else f"mean {figure(round(own.mean, 2))}"
    return Plot(title, f"{kind}, {note}" if kind else note, drawing)


def _bins(own: Distribution, axis: PlotAxis) -> tuple[int, bool]:
    """How many bars, and whether each stands for one whole number."""
    span = axis.high - axis.low
    if own.whole and own.count and float(axis.low).is_integer() and span.is_integer() and span < MOST_WHOLE:
        return int(span) + 1, True
    return BINS, False


def _counts(own: Distribution, axis: PlotAxis, number: int, whole: bool) -> list[int]:
    return own.bins(axis.low, axis.high + whole, number)


def _marked(axis: PlotAxis, number: int, whole: bool) -> PlotAxis:
    """The axis with its marks under the bars they belong to."""
    if not whole:
        return axis
    inner = [axis.low + bar for bar in range(number)] if number <= 12 else [axis.low, axis.high]
    return PlotAxis(axis.low, axis.high + 1, [(value + 0.5, figure(value)) for value in inner])


def _centred(value: float, axis: PlotAxis, number: int, whole: bool) -> float:
    return value if not whole else axis.low + (value - axis.low) * (number / (number - 1) if number > 1 else 1)


def _heat(figures: RubricFigures, titles: Mapping[str, str]) -> Plot | None:
    names = [name for name, own in figures.dimensions.items() if own.count][:MOST_HEAT]
    rows = figures.sample.items
    if len(names) < 2 or len(rows) < LEAST:
        return None
    values = correlations([[row.dimensions.get(name) for row in rows] for name in names])
    if all(values[row][column] is None for row in range(len(names)) for column in range(row)):
        return None
    note = "of a fair sample of " + f"{len(rows):,}" if figures.total > len(rows) else "between dimensions"
    return Plot("Correlation", note, heat([titles[name] for name in names], values))


def _figure_row(title: str, kind: str, own: Distribution) -> FigureRow:
    if not own.count:
        return FigureRow(title, kind, ("0", *["—"] * 6))
    low, median, high = own.quantiles([0.1, 0.5, 0.9])
    ends = own.range or (low, high)
    values = [own.mean, median, own.std, low, high]
    shown = [figure(None if value is None else round(value, 3)) for value in values]
    return FigureRow(title, kind, (f"{own.count:,}", *shown, f"{figure(ends[0])}–{figure(ends[1])}"))


def _most(counts: Mapping[str, int], total: int) -> tuple[tuple[str, str], ...]:
    rising = sorted(counts.items(), key=lambda found: (-found[1], found[0]))
    return tuple((name, share_text(min(count, total), total)) for name, count in rising[:MOST_LISTED])


def _scale(name: str, own: Distribution, rubric: Rubric | None) -> PlotAxis:
    if rubric is not None and name in rubric.dimensions:
        scale = rubric.scale_of(name)
        return linear(scale.min, scale.max)
    low, high = own.range or (0.0, 1.0)
    return linear(min(0.0, math.floor(low)), max(1.0, math.ceil(high)))


def _distribution_text(own: Distribution) -> str:
    if not own.count:
        return "none"
    first, median, third = (figure(round(value, 2)) for value in own.quantiles([0.25, 0.5, 0.75]))
    return f"{count_of(own.count, 'value')}, median {median}, middle half {first} to {third}"


# --- time, cost, and what is unusual ----------------------------------------------------------------------


def time_and_cost(found: RunPageData) -> Iterator[Plot]:
    if found.durations.count >= 2:
        yield _durations(found.durations)
    rows = [(row, figures.role(row.verdict)) for figures in found.rubrics.values() for row in figures.sample.items]
    shares = [(row, role) for row, role in rows if row.score is not None and row.out_of > 0]
    up = PlotAxis(0.0, 1.0, [(0.0, "0%"), (0.5, "50%"), (1.0, "100%")])
    priced = [(row, role, row.usd) for row, role in shares if row.usd]
    long = [(row, role, float(row.input_tokens + row.output_tokens)) for row, role in shares if row.input_tokens]
    slow = [(row, role, row.duration_ms) for row, role in shares if row.duration_ms > 0]
    ways = (
        (priced, "Score and cost", "cost of one evaluation", dollars),
        (long, "Score and length", "tokens in and out", figure),
        (slow, "Score and time", "time of one evaluation", duration),
    )
    for sized, title, across, words in ways:
        sizes = [size for _, _, size in sized]
        if len(set(sizes)) < 3 or not math.isfinite(max(sizes)):
            continue
        low, high = min(sizes), max(sizes)
        middle = (low + high) / 2
        axis = PlotAxis(low, high, [(low, words(low)), (middle, words(middle)), (high, words(high))], across)
        places = [(size, (row.score or 0.0) / row.out_of, role) for row, role, size in sized]
        yield Plot(title, "share of full marks", points(_spread(places), axis, up, f"{title}: a point each"))
        if title == "Score and cost":
            return  # cost, length and time say much the same: the first there is


def _spread(places: Sequence[tuple[float, float, Role]]) -> list[tuple[float, float, Role]]:
    """As many as are drawn, from all over."""
    step = max(math.ceil(len(places) / MOST_DRAWN), 1)
    return list(places[::step])


def _durations(logs: Distribution) -> Plot:
    low, high = logs.range or (0.0, 1.0)
    axis = PlotAxis(math.floor(low), max(math.ceil(high), math.floor(low) + 1))
    ticks = [(float(power), duration(10.0**power)) for power in range(int(axis.low), int(axis.high) + 1)]
    if len(ticks) > 5:
        ticks = [ticks[0], ticks[len(ticks) // 2], ticks[-1]]
    p50, p90, p99 = (duration(10.0**value) for value in logs.quantiles([0.5, 0.9, 0.99]))
    drawing = histogram(
        [Layer(logs.bins(axis.low, axis.high, BINS))],
        PlotAxis(axis.low, axis.high, ticks),
        f"Durations: half within {p50}, 90% within {p90}, 99% within {p99}",
    )
    return Plot("Duration", f"half within {p50}, 90% within {p90}, 99% within {p99}", drawing)


def outliers(found: RunPageData) -> Iterator[ShownOutlier]:
    """Scores far from the usual, and evaluations that took far longer than the others."""
    for figures in found.rubrics.values():
        centre = robust_range(figures.score.counted)
        if centre is None or figures.total < LEAST:
            continue
        first, third = figures.score.quantiles([0.25, 0.75])
        middle = f"the middle half lies between {figure(round(first, 2))} and {figure(round(third, 2))}"
        ends = {row.key: row for row in (*figures.lowest, *reversed(figures.highest))}
        for row in ends.values():
            if row.score is not None and abs(centre.deviations(row.score)) > FAR:
                yield ShownOutlier(row, figures.role(row.verdict), f"score {figure(row.score)}: {middle}")
    slow = robust_range(found.durations.counted)
    if slow is None or found.total < LEAST:
        return
    for row in found.slowest:
        if row.duration_ms > 0 and slow.deviations(math.log10(row.duration_ms)) > FAR:
            why = f"took {duration(row.duration_ms)}: half took {duration(10.0**slow.median)} or less"
            yield ShownOutlier(row, found.role(row), why)
