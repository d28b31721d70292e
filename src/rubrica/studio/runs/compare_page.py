"""Two runs side by side: what is better, what is worse, and what cannot be told yet."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.report.figures import count_of, figure, headline, percent, signed
from rubrica.report.outcome_sentence import sentence
from rubrica.report.roles import Role
from rubrica.report.titles import dimension_titles
from rubrica.runs.compare.comparison import MOST_POSITIONS, Comparison, MovedCase
from rubrica.runs.compare.measure_comparison import ComparisonTerms, MeasureComparison, Verdict
from rubrica.studio.frame import frame, page
from rubrica.studio.html_tables import NUMBER, Cell, badge, link, muted, table
from rubrica.studio.parts import card, drawing, empty, error_label, heading, show_error
from rubrica.studio.runs.drawings import interval, reach_of
from rubrica.studio.runs.paths import case_link, compare_link, run_link
from rubrica.studio.runs.permissions import check_readable, permitted_lines
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Studio, Visitor

MARGINS = {0.01: "1% of the scale", 0.02: "2% of the scale", 0.05: "5% of the scale", 0.1: "10% of the scale"}
MOST_OFFERED = 500
ROLES: dict[Verdict, Role] = {
    "improvement": "good",
    "regression": "bad",
    "same": "neutral",
    "cannot tell": "inconclusive",
}
SIGNS: dict[Verdict, str] = {"improvement": "▲", "regression": "▼", "same": "=", "cannot tell": "?"}
SAID: dict[Verdict, str] = {
    "improvement": "Better beyond noise",
    "regression": "Worse beyond noise",
    "same": "As good as the same",
    "cannot tell": "Cannot tell yet",
}


def install(studio: Studio, work: RunsWorkspace) -> None:
    """Add the page."""

    @page("/runs/compare")
    async def comparing(request: Request, a: str = "", b: str = "") -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Compare runs", "/runs"):
            with heading("Compare runs", back=("Runs", "/runs")):
                pass
            await ComparePage(visitor, work, a, b).draw()


class ComparePage:
    """The two runs that are chosen, and how they compare."""

    def __init__(self, visitor: Visitor, work: RunsWorkspace, a: str, b: str) -> None:
        self.visitor = visitor
        self.work = work
        self.chosen = a, b

    async def draw(self) -> None:
        try:
            lines = await permitted_lines(self.visitor)
        except RubricaError as error:
            error_label(error)
            return
        names = [line.name for line in lines if line.state in ("finished", "stopped")][:MOST_OFFERED]
        if len(names) < 2:
            empty("There are fewer than two runs to compare.")
            return
        a, b = (name if name in names else None for name in self.chosen)
        with ui.element("div").classes("row filters"):
            self.a = self._select("The earlier run (A)", names, a)
            ui.button(icon="swap_horiz", on_click=self._swap).props('flat round aria-label="Swap the two runs"')
            self.b = self._select("The later run (B)", names, b)
            self.margin = (
                ui.select(MARGINS, label="No difference below", value=0.02, on_change=self._show)
                .props("outlined dense options-dense")
                .classes("choice")
            )
        self.body = ui.element("div").classes("stacked-cards")
        ui.timer(0.01, self._show, once=True)

    def _select(self, label: str, names: list[str], value: str | None) -> ui.select:
        chosen = ui.select(names, label=label, value=value, with_input=True, on_change=self._show)
        chosen.props("outlined dense options-dense").classes("choice grow")
        return chosen

    def _swap(self) -> None:
        self.a.value, self.b.value = self.b.value, self.a.value

    async def _show(self) -> None:
        a, b = self.a.value, self.b.value
        self.body.clear()
        if not a or not b:
            with self.body:
                empty("Choose two runs of the same cases.")
            return
        ui.navigate.history.replace(compare_link(a, b))
        with self.body, ui.element("div").classes("row quiet"):
            ui.spinner(size="1.4em")
            ui.label("Comparing case by case …")
        try:
            await check_readable(self.visitor, self.work, a, b)
            found = await asyncio.to_thread(self.work.compared, a, b, ComparisonTerms(margin=self.margin.value))
        except RubricaError as error:
            show_error(self.body, error)
            return
        titles = dict[str, str]()
        rubrics = [await asyncio.to_thread(self.work.rubrics, name) for name in (a, b)]
        for rubric in (*rubrics[0].values(), *rubrics[1].values()):
            titles |= dimension_titles(rubric)
        if (a, b) != (self.a.value, self.b.value):
            return  # others were chosen meanwhile, and are drawn by themselves
        self.body.clear()
        with self.body:
            _summary_card(found)
            _lines_card(found, a, b, titles)
            _positions_card(found)
            _changes_card(found)
            with ui.element("div").classes("two"):
                _moved_card("Fell furthest", found.worse, a, b)
                _moved_card("Rose furthest", found.better, a, b)


def _summary_card(found: Comparison) -> None:
    with card():
        with ui.element("div").classes("row"):
            drawing(badge(SAID[found.verdict], ROLES[found.verdict], SIGNS[found.verdict]))
            groups = f" in {count_of(found.groups, 'group')}" if found.groups is not None else ""
            ui.label(f"{count_of(found.cases, 'case')}{groups} in both runs").classes("quiet")
            for only, name in ((found.only_a, "A"), (found.only_b, "B")):
                if only:
                    ui.label(f"{len(only):,} only in {name}").classes("chip")
        for note in found.notes:
            ui.label(sentence(note)).classes("quiet")


def _lines_card(found: Comparison, a: str, b: str, titles: Mapping[str, str]) -> None:
    head = (
        ("Measure", ""), ("A", NUMBER), ("B", NUMBER), ("Difference", NUMBER), ("Interval", "interval-cell"),
        ("Outcome", "why"),
    )  # fmt: skip
    reaches = {
        kind: reach_of([line for line in found.lines if _scale(line) == kind])
        for kind in {_scale(line) for line in found.lines}
    }
    with card("Measure by measure", f"{percent(found.terms.level)} intervals; shaded: as good as no difference"):
        rows = [_line_row(line, reaches[_scale(line)], titles) for line in found.lines]
        drawing(table(head, rows, f"{b} against {a}"))


def _scale(line: MeasureComparison) -> str:
    """Lines that are drawn on one scale: a difference of 1 means little for a score and much for a dimension."""
    return f"{line.measure.kind} {line.margin:g}"


def _line_row(line: MeasureComparison, reach: float, titles: Mapping[str, str]) -> list[Cell]:
    def shown(value: float) -> str:
        return percent(value) if line.measure.kind == "passed" else figure(round(value, 2))

    difference = (
        f"{signed(round(100 * line.mean, 1))} pts" if line.measure.kind == "passed" else signed(round(line.mean, 2))
    )
    measure = line.measure
    name = titles.get(measure.name, "") if measure.kind == "dimension" else ""
    name = name or headline(str(measure))
    title: Cell = name if not line.rubric else Markup("{} {}").format(name, muted(line.rubric))
    what = badge(line.verdict, ROLES[line.verdict], SIGNS[line.verdict])
    if line.description != line.verdict:
        what = Markup('{} <span class="block quiet">{}</span>').format(what, line.description)
    return [title, shown(line.before), shown(line.after), difference, interval(line, reach), what]


def _positions_card(found: Comparison) -> None:
    """The answers to the first criterion of every case, the second and so on."""
    if not found.positions:
        return
    head = (("Criterion", ""), ("A", NUMBER), ("B", NUMBER), ("Change", NUMBER), ("Cases", NUMBER), ("p", NUMBER))
    rows: list[list[Cell]] = [
        [
            f"{own.rubric} {own.position}".strip(),
            figure(round(own.before, 2)),
            figure(round(own.after, 2)),
            signed(round(own.after - own.before, 2)),
            f"{own.cases:,}",
            figure(round(own.p, 3)),
        ]
        for own in found.positions[:MOST_POSITIONS]
    ]
    with card("Answers by position", "How answers moved, which is neither better nor worse: some criteria cost points"):
        drawing(table(head, rows, "Answers by position"))


def _changes_card(found: Comparison) -> None:
    moved = [(pair, count) for pair, count in found.changes.most_common() if pair[0] != pair[1]]
    if not moved:
        return
    with card("Verdicts that changed"), ui.element("div").classes("row"):
        for (before, after), count in moved[:12]:
            ui.label(f"{before.replace('_', ' ')} → {after.replace('_', ' ')}: {count:,}").classes("chip")


def _moved_card(title: str, moved: Sequence[MovedCase], a: str, b: str) -> None:
    with card(title):
        if not moved:
            ui.label("None.").classes("quiet")
            return
        rows = [
            [
                link(own.case, case_link(b, own.case)),
                link(figure(round(own.before, 1)), case_link(a, own.case)),
                figure(round(own.after, 1)),
                signed(round(own.after - own.before, 1)),
            ]
            for own in moved
        ]
        drawing(table((("Case", ""), ("A", NUMBER), ("B", NUMBER), ("Change", NUMBER)), rows, title))
        drawing(
            Markup('<p class="quiet">Each case leads to {}; its score under A leads to {}.</p>').format(
                link(b, run_link(b)), link(a, run_link(a))
            )
        )
