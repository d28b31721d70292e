"""The review queue: what waits to be scored by people, and how far the judge agrees with what they gave."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from fastapi import Request
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.report.figures import count_of
from rubrica.store.review_queue import ItemSummary, Pile, QueueCounts, QueueCursor
from rubrica.studio.frame import frame, page
from rubrica.studio.html_tables import Cell, link, table
from rubrica.studio.parts import card, drawing, empty, error_label, error_text, heading, show_error
from rubrica.studio.runs.paths import run_link
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace.review_agreement import AgreementReport, agreement_report
from rubrica.workspace.reviews import (
    count_items,
    done_items,
    last_opinion,
    list_items,
    next_item,
    review_progress,
    reviewed_runs,
)

from . import page as review
from .agreement_cards import agreement_card, labels_card
from .sample_dialog import SampleDialog

PAGE = 25
EVERY_RUN = ""
PILES: dict[Pile, str] = {
    "open": "Open",
    "mine": "Scored by me",
    "second": "Scored by others",
    "all": "All",
}
Latest = tuple[int, datetime | None]
Known = dict[tuple[str, ...], tuple[Latest, AgreementReport]]
"""How judges stand by the runs that are looked at, and after how many opinions, and which was the latest."""
MOST_KNOWN = 100


def install(studio: Studio) -> None:
    """Add the pages of the review queue."""
    work = RunsWorkspace(studio.service.runs.places, studio.service.runs.jobs)
    known: Known = {}

    @page("/reviews")
    async def queue(request: Request, run: str = "", sample: str = "") -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Review queue", "/reviews"):
            await QueuePage(visitor, work, run, known).draw(sample)

    review.install(studio, work)


class QueuePage:
    """The queue of one run or of all, and what came of it."""

    def __init__(self, visitor: Visitor, work: RunsWorkspace, run: str, known: Known) -> None:
        self.visitor = visitor
        self.work = work
        self.run = run
        self.known = known
        self.spots: list[QueueCursor | None] = [None]  # where the pages so far began

    async def draw(self, sample: str) -> None:
        dialog = SampleDialog(self.visitor, self.work, self._drawn) if self.visitor.caller.may("author") else None
        with heading("Review queue"):
            if dialog is not None:
                ui.button("Draw a sample", icon="library_add", on_click=dialog.open).props("flat").classes("calm")
            self.go = ui.button("Score the next one", icon="rate_review", on_click=self._next).props("unelevated")
        try:
            known = await self.visitor.read(review_progress)
            if self.run not in {own.run for own in known}:
                self.run = EVERY_RUN
            piles = await self.visitor.read(count_items, self.run or None)
        except RubricaError as error:
            error_label(error)
            return
        self.go.set_visibility(bool(piles.open) and self.visitor.caller.may("player"))
        if not known:
            empty(
                "Nothing waits to be scored. A sample of a run's evaluations is drawn into the queue, and people score "
                "them without seeing what the judge gave."
            )
        else:
            runs = {EVERY_RUN: "all runs"} | {
                own.run: f"{own.run} ({own.done:,} of {own.open + own.done:,} done)" for own in known
            }
            await self._queue_card(runs, piles)
            self.agreement_cards = ui.element("div").classes("stacked-cards")
            ui.timer(0.01, self._stand, once=True)
        if sample and dialog is not None:
            await dialog.open(sample)

    # --- the queue ----------------------------------------------------------------------------------------

    async def _queue_card(self, runs: dict[str, str], piles: QueueCounts) -> None:
        with card():
            with ui.element("div").classes("row filters"):
                self.pile = (
                    ui.toggle(_titles(piles), value="open", on_change=self._narrow)
                    .props('no-caps unelevated toggle-color=primary aria-label="Which items"')
                    .classes("piles")
                )
                ui.element("span").classes("grow")
                self.which = (
                    ui.select(runs, label="Run", value=self.run, on_change=self._other)
                    .props("outlined dense options-dense")
                    .classes("choice")
                )
            self.disputed = ui.label("").classes("quiet")
            self.list = ui.element("div")
            with ui.element("div").classes("row paging") as self.paging:
                self.back = ui.button(icon="chevron_left", on_click=self._earlier).props(
                    'flat round dense aria-label="Previous page"'
                )
                self.on = ui.button(icon="chevron_right", on_click=self._later).props(
                    'flat round dense aria-label="Next page"'
                )
            self._tell(piles)
            await self._show()

    def _tell(self, piles: QueueCounts) -> None:
        self.pile.set_options(_titles(piles), value=self.pile.value)
        self.disputed.set_text(
            f"{piles.disputed:,} of the open ones are disputed: judges disagree, or are not sure. They come first."
            if piles.disputed
            else ""
        )
        self.disputed.set_visibility(bool(piles.disputed) and self.pile.value == "open")

    async def _show(self) -> None:
        try:
            found = await self.visitor.read(list_items, self.pile.value, self.run or None, self.spots[-1], PAGE + 1)
        except RubricaError as error:
            show_error(self.list, error)
            return
        shown = found[:PAGE]
        self.list.clear()
        with self.list:
            if shown:
                head = (("Case", ""), ("Rubric", ""), ("Run", ""), ("Drawn", ""), ("Scored by", ""))
                drawing(table(head, [_row(brief) for brief in shown], "Review items"))
            else:
                ui.label("Nothing here.").classes("quiet")
        self.last = shown[-1].spot if shown else None
        several = len(found) > PAGE or len(self.spots) > 1
        self.paging.set_visibility(several)
        self.back.set_enabled(len(self.spots) > 1)
        self.on.set_enabled(len(found) > PAGE)

    async def _narrow(self) -> None:
        self.spots = [None]
        try:
            self._tell(await self.visitor.read(count_items, self.run or None))
        except RubricaError as error:
            ui.notify(error_text(error), type="negative")
        await self._show()

    async def _other(self) -> None:
        self.run = self.which.value or ""
        ui.navigate.history.replace(f"/reviews?{run_link('x', run=self.run).partition('?')[2]}".rstrip("?"))
        await self._narrow()
        await self._stand()

    async def _earlier(self) -> None:
        self.spots = self.spots[:-1] or [None]
        await self._show()

    async def _later(self) -> None:
        if self.last != self.spots[-1]:  # a second click before the page is there leads no further
            self.spots.append(self.last)
            await self._show()

    async def _next(self) -> None:
        try:
            item = await self.visitor.read(next_item, self.run or None)
        except RubricaError as error:
            ui.notify(error_text(error), type="negative")
            return
        if item is None:
            ui.notify("Nothing waits for you.")
        else:
            ui.navigate.to(f"/reviews/{item}")

    def _drawn(self, run: str) -> None:
        ui.navigate.to(f"/reviews?{run_link('x', run=run).partition('?')[2]}")

    # --- how the judge stands -----------------------------------------------------------------------------

    async def _stand(self) -> None:
        self.agreement_cards.clear()
        with self.agreement_cards:
            ui.spinner(size="1.4em")
        try:
            found = await self._stood()
        except RubricaError as error:
            show_error(self.agreement_cards, error)
            return
        self.agreement_cards.clear()
        with self.agreement_cards:
            if not found.items:
                ui.label("Agreement with the judge is shown here once somebody has scored something.").classes("quiet")
            else:
                agreement_card(found)
                labels_card(self.visitor, found)

    async def _stood(self) -> AgreementReport:
        """How the judge stands; worked out anew where somebody has scored something since."""
        runs = tuple(await self.visitor.read(reviewed_runs, self.run or None))
        latest = await self.visitor.read(last_opinion, runs)
        kept = self.known.get(runs)
        if kept is None or kept[0] != latest:
            done = await self.visitor.read(done_items, runs)
            kept = latest, await asyncio.to_thread(agreement_report, done, self.work.rubrics)
            while len(self.known) >= MOST_KNOWN:
                del self.known[next(iter(self.known))]
            self.known[runs] = kept
        return kept[1]


def _titles(piles: QueueCounts) -> dict[Pile, str]:
    counts: dict[Pile, int] = {"open": piles.open, "mine": piles.mine, "second": piles.second, "all": piles.all}
    return {pile: f"{title} {counts[pile]:,}" for pile, title in PILES.items()}


def _row(brief: ItemSummary) -> list[Cell]:
    people = count_of(brief.opinions, "person", "people") if brief.opinions else "nobody yet"
    return [
        link(brief.case_id or "(no id)", f"/reviews/{brief.id}"),
        brief.rubric,
        brief.run,
        f"{brief.created_at.astimezone(UTC):%Y-%m-%d}",
        f"{people}, with me" if brief.mine and brief.opinions > 1 else "me" if brief.mine else people,
    ]
