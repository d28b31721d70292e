"""The list of runs, and starting a new one."""

from __future__ import annotations

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.report.figures import dollars, figure
from rubrica.studio.frame import frame, page
from rubrica.studio.html_tables import NUMBER, Cell, badge, link, muted, table
from rubrica.studio.moments import moment
from rubrica.studio.offset_pager import OffsetPager
from rubrica.studio.parts import card, drawing, empty, error_label, heading
from rubrica.studio.runs.drawings import stack
from rubrica.studio.runs.paths import run_link
from rubrica.studio.runs.permissions import permitted_lines
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace.run_listing import UNDER_WAY, RunLine, narrowed

from . import baselines_page, case_page, compare_page
from . import page as run
from .start_dialog import StartDialog

PAGE = 50
EVERY = 2.0
"""Seconds between two looks at runs that are under way."""
HEAD = (
    ("Run", ""), ("Rubric", ""), ("Judged by", ""), ("Verdicts", "mix"),
    ("Mean", NUMBER), ("Evaluations", NUMBER), ("Cost", NUMBER),
)  # fmt: skip
STATES: dict[str, Cell] = {
    "waiting": badge("waiting", "inconclusive", "…"),
    "running": badge("running", "inconclusive", "…"),
    "stopped": badge("stopped", "middle", "‖"),
    "interrupted": badge("interrupted", "middle", "‖"),
    "failed": badge("failed", "bad", "✗"),
}


def install(studio: Studio) -> None:
    """Add the pages of runs."""
    work = RunsWorkspace(studio.service.runs.places, studio.service.runs.jobs)

    @page("/runs")
    async def runs(request: Request, q: str = "", rubric: str = "") -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Runs", "/runs"):
            await RunsPage(visitor, work).draw(q, rubric)

    compare_page.install(studio, work)
    baselines_page.install(studio, work)
    run.install(studio, work)
    case_page.install(studio, work)


class RunsPage:
    """The table of runs, with its filters."""

    def __init__(self, visitor: Visitor, work: RunsWorkspace) -> None:
        self.visitor = visitor
        self.work = work
        self.lines: list[RunLine] = []

    async def draw(self, text: str, rubric: str) -> None:
        with heading("Runs"):
            ui.button("Compare", icon="compare_arrows", on_click=lambda: ui.navigate.to("/runs/compare")).props(
                "flat"
            ).classes("calm")
            ui.button("Baselines", icon="timeline", on_click=lambda: ui.navigate.to("/runs/baselines")).props(
                "flat"
            ).classes("calm")
            if self.visitor.caller.may("author"):
                start = StartDialog(self.visitor, self.work)
                ui.button("Start a run", icon="play_arrow", on_click=start.open).props("unelevated")
        try:
            self.lines = await permitted_lines(self.visitor)
        except RubricaError as error:
            error_label(error)
            return
        if not self.lines:
            empty(
                f"There is no run in {self.work.places} yet. Start one here, or type: "
                f"rubrica run CASES.jsonl -r RUBRIC -o {self.work.runs}/NAME"
            )
            return
        self._filters(text, rubric)
        self.table = ui.element("div")
        self.paging = OffsetPager(PAGE, self._show, "run")
        await self._show()
        self._told_unreadable()
        if any(line.state in UNDER_WAY for line in self.lines):
            ui.timer(EVERY, self._again)

    def _filters(self, text: str, rubric: str) -> None:
        names = sorted({own.partition("@")[0] for line in self.lines for own in line.rubrics})
        with ui.element("div").classes("row filters"):
            self.text = (
                ui.input("Search runs", value=text, on_change=self._narrow)
                .props("outlined dense clearable debounce=250")
                .classes("grow")
            )
            self.rubric = (
                ui.select(
                    {"": "any rubric"} | {name: name for name in names},
                    label="Rubric",
                    value=rubric if rubric in names else "",
                    on_change=self._narrow,
                )
                .props("outlined dense options-dense")
                .classes("choice")
            )

    async def _narrow(self) -> None:
        self.paging.reset()
        await self._show()

    async def _again(self) -> None:
        self.lines = await permitted_lines(self.visitor)
        await self._show()

    async def _show(self) -> None:
        readable = [line for line in self.lines if line.state != "unreadable"]
        found = narrowed(readable, self.text.value or "", self.rubric.value or None)
        shown = found[self.paging.start : self.paging.start + PAGE]
        self.table.clear()
        with self.table, card():
            if not shown:
                ui.label("No run fits.").classes("quiet")
            else:
                drawing(table(HEAD, [_row(line) for line in shown], "Runs"))
        self.paging.tell(len(found))

    def _told_unreadable(self) -> None:
        others = [line for line in self.lines if line.state == "unreadable"]
        if others:
            with card("Not shown", "folders that hold no run that can be read"):
                drawing(
                    table((("Folder", ""), ("Why", "why")), [(line.name, line.why) for line in others], "Not shown")
                )


def _row(line: RunLine) -> list[Cell]:
    state = STATES.get(line.state)
    name = link(line.name, run_link(line.name))
    when = muted(moment(line.started))
    mean = "—" if line.mean is None else f"{figure(round(line.mean, 1))} / {figure(line.out_of)}"
    return [
        Markup('{}<span class="block date">{}</span>').format(name, when),
        Markup("<br>").join(Markup("<bdi>{}</bdi>").format(rubric) for rubric in line.rubrics[:3]) or "—",
        ", ".join(line.judges) or muted("code"),
        state if state is not None else stack(line.mix) if line.mix else "—",
        mean,
        f"{line.evaluations:,}",
        "—" if line.usd is None else dollars(line.usd),
    ]
