"""One run: what was judged by what, how the scores are spread, and its evaluations, failures first."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.report.excerpt import visible
from rubrica.report.figures import figure
from rubrica.report.outcome_sentence import sentence
from rubrica.runs.case_texts import PromptAndResponse
from rubrica.runs.compare.baseline import BaselineSource
from rubrica.runs.files.manifest import Manifest, commit_of
from rubrica.runs.summary.certainty import certainty_sentences
from rubrica.runs.summary.grading import Grading
from rubrica.studio.dialog_form import dialog_form
from rubrica.studio.frame import frame, page
from rubrica.studio.html_tables import NUMBER, Cell, badge, facts, link, muted, table
from rubrica.studio.offset_pager import OffsetPager
from rubrica.studio.parts import card, drawing, empty, error_label, heading, notifying_errors, show_error
from rubrica.studio.runs.columns import MOST_ROWS
from rubrica.studio.runs.filters import filter_from_query, query_from_filter
from rubrica.studio.runs.index import EvaluationFilter, EvaluationLine, RunIndex
from rubrica.studio.runs.paths import case_link, compare_link, run_link
from rubrica.studio.runs.permissions import check_changeable, check_readable, may_change
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Studio, Visitor

from .figures import facts_of, failed_card, failures_of, more_card, part_card
from .progress import progress_card
from .sharing_dialog import SharingDialog

PAGE = 25
HEAD = (("Case", ""), ("What was judged", "texts"), ("Verdict", ""), ("Score", NUMBER), ("Lowest", ""), ("Why", "why"))
SHOWN_PROMPT, SHOWN_RESPONSE = 100, 220
"""Characters of the texts that the table shows."""


def install(studio: Studio, work: RunsWorkspace) -> None:
    """Add the page."""

    @page("/runs/{name}")
    async def one_run(request: Request, name: str) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, name, "/runs"):
            await RunPage(visitor, work, name, filter_from_query(request.query_params)).draw()


class RunPage:
    """The page of one run."""

    def __init__(self, visitor: Visitor, work: RunsWorkspace, name: str, criteria: EvaluationFilter) -> None:
        self.visitor = visitor
        self.work = work
        self.name = name
        self.criteria = criteria
        self.may_change = False

    async def draw(self) -> None:
        with heading(self.name, back=("Runs", "/runs")):
            actions = ui.element("div").classes("row")
        try:
            self.may_change = await may_change(self.visitor, self.work, self.name)
        except RubricaError as error:
            error_label(error)
            return
        try:
            manifest = await asyncio.to_thread(self.work.manifest, self.name)
        except RubricaError as error:
            run_progress = self.work.run_jobs.run_progress(self.name)
            if run_progress is not None:  # it has been started just now, or could not begin
                await progress_card(self.visitor, self.work, self.name, may_change=self.may_change)
            else:
                error_label(error)
            return
        with actions:
            self._actions(manifest)
        running = False
        if manifest.finished is None:
            running = await progress_card(self.visitor, self.work, self.name, may_change=self.may_change)
        self.body = ui.element("div").classes("stacked-cards")
        if running:
            with self.body:
                empty("Its evaluations can be seen as far as they are.", "Show them", self._fill)
            return
        with self.body, ui.element("div").classes("row quiet"):
            ui.spinner(size="1.4em")
            ui.label("Reading the run …")
        ui.timer(0.01, self._fill, once=True)

    # --- what can be done with it -------------------------------------------------------------------------

    def _actions(self, manifest: Manifest) -> None:
        ui.button("Compare", icon="compare_arrows", on_click=lambda: ui.navigate.to(compare_link("", self.name))).props(
            "flat"
        ).classes("calm")
        if self.may_change:
            sharing = SharingDialog(self.visitor, self.work, self.name)
            ui.button("Sharing", icon="group", on_click=sharing.open).props("flat").classes("calm")
            ui.button(
                "Review a sample",
                icon="rate_review",
                on_click=lambda: ui.navigate.to(f"/reviews?{_sampled(self.name)}"),
            ).props("flat").classes("calm")
            if manifest.finished is not None:
                ui.button("Keep as baseline", icon="bookmark_add", on_click=self._baseline_dialog).props(
                    "flat"
                ).classes("calm")

    async def _baseline_dialog(self) -> None:
        async def keep() -> None:
            with notifying_errors():
                await check_changeable(self.visitor, self.work, self.name, "keeping a baseline")
                entry = await asyncio.to_thread(self._keep, note.value or "")
                ui.notify(f"Kept as {entry}", type="positive")
                dialog.close()

        with dialog_form(keep) as dialog:
            with ui.element("h2"):
                ui.label("Keep as baseline")
            ui.label(f"Later runs can be compared with it. It goes into {self.work.baselines.path}.").classes("quiet")
            note = ui.input("Note").props("outlined hide-bottom-space maxlength=200 autofocus")
            with ui.element("div").classes("row end"):
                ui.button("Cancel", on_click=dialog.close).props("flat")
                ui.button("Keep").props("unelevated type=submit")
        dialog.on("hide", dialog.delete)
        dialog.open()

    def _keep(self, note: str) -> str:
        run = self.work.stored(self.name)
        manifest = run.manifest
        source = BaselineSource(
            run=manifest.id if manifest is not None else run.name,
            grading=Grading.of(run.rubrics().values()),
            commit=manifest.commit if manifest is not None and manifest.commit else commit_of(Path.cwd()),
            judges=manifest.judges if manifest is not None else (),
            note=note,
        )
        return self.work.baselines.add(run.rows(), source, self.visitor.service.clock()).label

    # --- what it came to ----------------------------------------------------------------------------------

    async def _fill(self) -> None:
        try:
            await check_readable(self.visitor, self.work, self.name)
            run = await asyncio.to_thread(self.work.stored, self.name)
            index = await asyncio.to_thread(self.work.indexes.of, run)
            failures, failed = await asyncio.to_thread(failures_of, run.path)
        except RubricaError as error:
            show_error(self.body, error)
            return
        self.body.clear()
        with self.body:
            with card():
                drawing(facts(facts_of(run.manifest, index)))
                for told in certainty_sentences(index.figures.certainty):
                    ui.label(sentence(told)).classes("quiet")
            if failed or index.broken:
                failed_card(failures, failed, index)
            if not index.figures.total:
                empty("Nothing was evaluated.")
                return
            for part in index.parts:
                part_card(part, len(index.parts) > 1)
            await self._table_card(index)
            more_card(self.name, index)

    async def _table_card(self, index: RunIndex) -> None:
        self.index = index
        with card("Evaluations", "failures first"):
            self._filters(index)
            self.table = ui.element("div")
            self.paging = OffsetPager(PAGE, self._show, "evaluation")
            await self._show()
            if index.columns.total > MOST_ROWS:
                ui.label(
                    f"The first {MOST_ROWS:,} of {index.columns.total:,} can be paged through here; "
                    "the figures count them all."
                ).classes("quiet")

    def _filters(self, index: RunIndex) -> None:
        if self.criteria.verdict not in index.labels:  # an address may name anything
            self.criteria = replace(self.criteria, verdict=None)
        if self.criteria.dimension not in index.columns.dimensions:
            self.criteria = replace(self.criteria, dimension=None)
        criteria = self.criteria
        labels = {"": "any verdict"} | {label: label.replace("_", " ") for label in index.labels}
        names = {"": "any dimension"} | {name: index.title(name) for name in index.columns.dimensions}
        with ui.element("div").classes("row filters"):
            self.verdict = (
                ui.select(labels, label="Verdict", value=criteria.verdict or "", on_change=self._narrow)
                .props("outlined dense options-dense")
                .classes("choice")
            )
            self.text = (
                ui.input("Case, texts or why", value=criteria.text, on_change=self._narrow)
                .props("outlined dense clearable debounce=250")
                .classes("grow")
            )
            self.dimension = (
                ui.select(names, label="Dimension", value=criteria.dimension or "", on_change=self._narrow)
                .props("outlined dense options-dense")
                .classes("choice")
            )
            self.below = (
                ui.number("below", value=criteria.below, on_change=self._narrow)
                .props("outlined dense debounce=250")
                .classes("short")
            )
            self.unscored = ui.checkbox("not scored", value=criteria.unscored, on_change=self._narrow)

    async def _narrow(self) -> None:
        self.criteria = EvaluationFilter(
            self.verdict.value or None,
            self.text.value or "",
            bool(self.unscored.value),
            self.dimension.value or None,
            self.below.value,
        )
        self.paging.reset()
        ui.navigate.history.replace(run_link(self.name, **query_from_filter(self.criteria)))
        await self._show()

    async def _show(self) -> None:
        try:
            await check_readable(self.visitor, self.work, self.name)
        except RubricaError as error:
            show_error(self.table, error)
            return
        hits, total = await asyncio.to_thread(self.index.page, self.criteria, self.paging.start, PAGE)
        query = query_from_filter(self.criteria)
        self.table.clear()
        with self.table:
            if hits:
                drawing(table(HEAD, [_row(self.name, hit, query) for hit in hits], "Evaluations"))
            else:
                ui.label("No evaluation fits.").classes("quiet")
        self.paging.tell(total)


def _sampled(name: str) -> str:
    return run_link("x", sample=name).partition("?")[2]


def _row(name: str, hit: EvaluationLine, query: dict[str, object]) -> list[Cell]:
    score = muted("open") if hit.score is None else f"{figure(round(hit.score, 1))} / {figure(hit.out_of)}"
    case = link(hit.case or "(no id)", case_link(name, hit.case, hit.repeat, query))
    if hit.repeat:
        case += Markup(' <span class="quiet">repeat {}</span>').format(hit.repeat + 1)
    lowest = "—" if hit.lowest is None else f"{hit.lowest[0]} {figure(round(hit.lowest[1], 2))}"
    verdict = badge(hit.verdict, hit.role)
    if hit.unscored:
        verdict += Markup(' <span class="chip">not all scored</span>')
    return [case, _texts(hit.texts), verdict, score, lowest, hit.reason or "—"]


def _texts(texts: PromptAndResponse | None) -> Cell:
    """Prompt and response, as far as a table has room for them."""
    if texts is None or not (texts.prompt or texts.response):
        return "—"
    prompt, response = _shortened(texts.prompt, SHOWN_PROMPT), _shortened(texts.response, SHOWN_RESPONSE)
    asked = Markup('<p class="quiet" dir="auto">{}</p>').format(visible(prompt)) if prompt else Markup("")
    return asked + Markup('<p dir="auto">{}</p>').format(visible(response))


def _shortened(text: str, most: int) -> str:
    """The beginning of a text on one line; what follows is not even looked at."""
    words = " ".join(text[: 4 * most].split())
    return words if len(words) <= most and len(text) <= 4 * most else words[: most - 1] + "…"
