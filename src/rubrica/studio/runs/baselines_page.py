"""Baselines: how the figures of kept runs move from commit to commit."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.llm.public import public_name
from rubrica.report.figures import count_of, figure, percent, signed
from rubrica.report.roles import Role
from rubrica.runs.compare.baseline import BaselineEntry
from rubrica.runs.compare.trend import Direction, Latest, Trend, TrendPoint, trend_title, trends
from rubrica.runs.summary.measures import PASSED, SCORE
from rubrica.studio.frame import frame, page
from rubrica.studio.html_tables import NUMBER, Cell, badge, link, table
from rubrica.studio.moments import moment
from rubrica.studio.parts import card, drawing, empty, error_label, heading
from rubrica.studio.runs.drawings import trend_drawing
from rubrica.studio.runs.paths import run_link
from rubrica.studio.runs.permissions import permitted_entries, permitted_lines
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Studio

HEAD = (
    ("Commit", "mono"), ("Kept", "date"), ("Run", ""), ("Rubric", ""), ("Judged by", ""), ("Evaluations", NUMBER),
    ("Score", NUMBER), ("Passed", NUMBER), ("Note", "why"),
)  # fmt: skip
DIRECTIONS: dict[Direction, tuple[Role, str]] = {
    "rising": ("good", "▲"),
    "falling": ("bad", "▼"),
    "no clear trend": ("neutral", "="),
}
LATEST: dict[Latest, str] = {
    "improvement": "the latest stands out upwards",
    "regression": "the latest stands out downwards",
    "cannot tell": "too few to tell whether the latest stands out",
    "as before": "the latest is as those before",
}


def install(studio: Studio, work: RunsWorkspace) -> None:
    """Add the page."""

    @page("/runs/baselines")
    async def baselines(request: Request, rubric: str = "") -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Baselines", "/runs"):
            with heading("Baselines", back=("Runs", "/runs")):
                pass
            try:
                entries = await permitted_entries(visitor, work)
                ids = {line.id: line.name for line in await permitted_lines(visitor) if line.id}
            except RubricaError as error:
                error_label(error)
                return
            if not entries:
                empty(
                    f"No baseline is kept in {work.baselines.path}. Open a run and keep it as one, "
                    f"or type: rubrica baseline add {work.runs}/NAME"
                )
                return
            BaselinesPage(entries, ids).draw(rubric)
            ui.label(f"Kept in {work.baselines.path}, as `rubrica baseline` keeps them.").classes("quiet")


class BaselinesPage:
    """The figures of the baselines of one rubric."""

    def __init__(self, entries: Sequence[BaselineEntry], runs: dict[str, str]) -> None:
        self.entries = entries
        self.runs = runs  # names of runs that are there, by id

    def draw(self, rubric: str) -> None:
        names = list(dict.fromkeys(own.partition("@")[0] for entry in reversed(self.entries) for own in entry.rubrics))
        with ui.element("div").classes("row filters"):
            self.rubric = (
                ui.select(names, label="Rubric", value=rubric if rubric in names else names[0], on_change=self._show)
                .props("outlined dense options-dense")
                .classes("choice")
            )
        self.body = ui.element("div").classes("stacked-cards")
        self._show()

    def _show(self) -> None:
        name = self.rubric.value
        shown = [entry for entry in self.entries if name in {own.partition("@")[0] for own in entry.rubrics}]
        points = [entry.point for entry in shown]
        self.body.clear()
        with self.body:
            told = f"{count_of(len(points), 'baseline')}, oldest first, by commit"
            with card("Trend", told), ui.element("div").classes("trends"):
                for own in sorted(trends(points), key=_first):
                    _trend(points, own)
            with card("Kept runs", "the latest first"):
                drawing(table(HEAD, [self._row(entry) for entry in reversed(shown)], "Baselines"))

    def _row(self, entry: BaselineEntry) -> list[Cell]:
        name = self.runs.get(entry.run)
        own = entry.figures
        return [
            entry.label,
            moment(entry.at),
            link(name, run_link(name)) if name is not None else entry.run,
            ", ".join(entry.rubrics),
            ", ".join(map(public_name, entry.judges)) or "code",
            f"{entry.evaluations:,}",
            figure(None if own.get(SCORE.key) is None else round(own[SCORE.key] or 0.0, 2)),
            percent(own.get(PASSED.key)),
            entry.note or "—",
        ]


def _first(own: Trend) -> int:
    """Score and pass rate before sections and dimensions, which keep their order."""
    return 0 if own.name.endswith(SCORE.key) else 1 if own.name.endswith(PASSED.key) else 2


def _trend(points: Sequence[TrendPoint], own: Trend) -> None:
    role, sign = DIRECTIONS[own.direction]
    shown = percent if own.name.endswith(PASSED.key) else _rounded
    step = "" if own.step is None else f", {signed(float(f'{own.step:.2g}'))} a run"
    title = trend_title(own.name)
    drawing(
        Markup(
            '<figure class="plot"><figcaption>{} <span class="quiet">{} → {}{}</span></figcaption>{}'
            '<p class="row">{} <span class="quiet">{}</span></p></figure>'
        ).format(
            title,
            shown(own.known[0]),
            shown(own.known[-1]),
            step,
            trend_drawing(points, own),
            badge(own.direction, role, sign),
            LATEST[own.latest],
        )
    )


def _rounded(value: float) -> str:
    return figure(float(f"{value:.4g}"))
