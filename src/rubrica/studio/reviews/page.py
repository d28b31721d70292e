"""One item of the review queue: scored blind against the anchors, then held beside what the judge gave."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from uuid import UUID

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import MissingError, RubricaError
from rubrica.model.evaluation import Evaluation
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of, figure, headline, signed
from rubrica.report.roles import role_of
from rubrica.runs.review.queue_items import evaluation_of
from rubrica.runs.review.sampling import doubts
from rubrica.studio.frame import frame, page
from rubrica.studio.html_tables import NUMBER, Cell, badge, muted, table
from rubrica.studio.parts import card, chip, drawing, error_label, error_text, heading, notifying_errors
from rubrica.studio.runs.paths import case_link
from rubrica.studio.runs.permissions import check_readable
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace.review_agreement import ReviewDifference, differences, own_verdict
from rubrica.workspace.reviews import (
    LONGEST_NOTE,
    ReviewField,
    ReviewTask,
    ScoredItem,
    next_item,
    read_item,
    submit,
    withdraw_opinion,
)

BACK = ("Review queue", "/reviews")


def install(studio: Studio, work: RunsWorkspace) -> None:
    """Add the page."""

    @page("/reviews/{item}")
    async def one_item(request: Request, item: str) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Review", "/reviews"):
            try:
                seen = await visitor.read(read_item, _id(item))
            except RubricaError as error:
                with heading("Review", back=BACK):
                    pass
                error_label(error)
                return
            page = ReviewItemPage(visitor, work, seen)
            await page.draw()


def _id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise MissingError(f"there is no review item {text[:60]!r}") from None


class ReviewItemPage:
    """An item before and after it is scored."""

    def __init__(self, visitor: Visitor, work: RunsWorkspace, seen: ReviewTask | ScoredItem) -> None:
        self.visitor = visitor
        self.work = work
        self.seen = seen
        self.given: dict[str, float | None] = {}
        self.noted = ""
        self.knowingly: frozenset[str] = frozenset()  # what is left out on purpose
        self.hidden = False  # what the judge gave is not shown yet: until then an answer can be taken back

    @property
    def task(self) -> ReviewTask:
        return self.seen.task if isinstance(self.seen, ScoredItem) else self.seen

    async def draw(self) -> None:
        task = self.task
        with heading(task.case or "Review", back=BACK):
            chip(task.rubric)
            chip(f"run {task.run}")
        with ui.element("div").classes("reviewing"):
            with ui.element("div").classes("stacked-cards texts"):
                _texts(task)
            self.side = ui.element("div").classes("stacked-cards")
        await self._side()

    async def _side(self) -> None:
        self.side.clear()
        with self.side:
            if isinstance(self.seen, ScoredItem) and self.hidden:
                self._kept(self.seen)
            elif isinstance(self.seen, ScoredItem):
                await self._outcome(self.seen)
            elif self.visitor.caller.may("player"):
                self._form(self.seen)
            else:
                with card("To be scored"):
                    ui.label("Reviewing needs the role player.").classes("quiet")

    # --- before -------------------------------------------------------------------------------------------

    def _form(self, task: ReviewTask) -> None:
        with ui.element("form").classes("stacked-cards").on("submit.prevent", self._submit):
            for question in task.questions:
                with card():
                    self._question(question)
            with card():
                self.note = ui.textarea("Note (left out where there is nothing to say)", value=self.noted).props(
                    f"outlined autogrow hide-bottom-space maxlength={LONGEST_NOTE}"
                )
                self.fault = ui.label("").classes("fault").props('role="alert"')
                self.fault.set_visibility(False)
                with ui.element("div").classes("row"):
                    self.told = ui.label("").classes("quiet").props('aria-live="polite"')
                    ui.element("span").classes("grow")
                    self.go = ui.button("Submit").props("unelevated type=submit")
                ui.label("What the judge gave is shown after you have submitted; then your scores stand.").classes(
                    "quiet"
                )
        self._count()

    def _question(self, question: ReviewField) -> None:
        with ui.element("div").classes("row"):
            with ui.element("h2"):
                ui.label(question.title)
            ui.label(question.scale).classes("quiet")
        if question.asks:
            ui.label(question.asks)
        rows = []
        if question.anchors:
            with ui.element("ol").classes("review-anchors").props('aria-label="Anchors"'):
                for score, text in question.anchors:
                    with ui.element("li") as row:
                        ui.label(score).classes("anchor-score")
                        ui.label(text)
                    rows.append(row)

        def choose(value: float | None) -> None:
            self.given[question.name] = value
            at = question.anchor_at(value) if value is not None else None
            for place, row in enumerate(rows):
                row.classes(add="here" if place == at else "", remove="" if place == at else "here")
            self._count()

        if question.choices:
            options = {value: figure(value) for value in question.choices}
            control: ui.element = (
                ui.toggle(
                    options,
                    value=self.given.get(question.name),
                    clearable=True,
                    on_change=lambda event: choose(event.value),
                )
                .props("unelevated no-caps toggle-color=primary")
                .classes("score-buttons")
            )
        else:
            control = ui.number(
                f"Score, {question.scale}",
                min=question.low,
                max=question.high,
                value=self.given.get(question.name),
                on_change=lambda event: choose(event.value),
            ).props("outlined dense hide-bottom-space step=any")
        control.props["aria-label"] = f"{question.title}, {question.scale}"
        control.props["role"] = "group"

    def _count(self) -> None:
        done = sum(value is not None for value in self.given.values())
        if hasattr(self, "told"):
            self.told.set_text(f"{done} of {count_of(len(self.task.questions), 'question')} scored")
            self.go.set_text("Keep it so" if self.knowingly and self.knowingly == self._missing.keys() else "Submit")

    @property
    def _missing(self) -> dict[str, str]:
        """The questions without a score, and their titles."""
        asked = self.task.questions
        return {question.name: question.title for question in asked if self.given.get(question.name) is None}

    async def _submit(self) -> None:
        self.fault.set_visibility(False)
        missing = self._missing
        if missing and len(missing) < len(self.task.questions) and self.knowingly != missing.keys():
            self.knowingly = frozenset(missing)
            self._tell(
                f"Not scored: {', '.join(missing.values())}. Score what you can; where you cannot tell, keep it so."
            )
            self._count()
            return
        self.go.disable()
        self.noted = self.note.value or ""
        now = self.visitor.service.clock()
        try:
            self.seen = await self.visitor.write(submit, self.task.id, self.given, self.noted, now)
        except RubricaError as error:
            self._tell(error_text(error))
            self.go.enable()
            return
        self.hidden = True
        await self._side()
        ui.run_javascript("window.scrollTo({top: 0})")

    def _tell(self, text: str) -> None:
        self.fault.set_text(text)
        self.fault.set_visibility(True)

    # --- between: kept, and the judge's still hidden ------------------------------------------------------

    def _kept(self, done: ScoredItem) -> None:
        with card("Kept"):
            titles = {question.name: question.title for question in done.task.questions}
            rows = [(title, figure(done.mine.scores.get(name))) for name, title in titles.items()]
            drawing(table((("Dimension", ""), ("You", NUMBER)), rows, "Your scores"))
            ui.label("Once you see what the judge gave, your scores stand.").classes("quiet")
        with ui.element("div").classes("row end"):
            ui.button("Undo", icon="undo", on_click=self._take_back).props("flat").classes("calm")
            ui.button("Next item", icon="arrow_forward", on_click=self._next).props("flat").classes("calm")
            ui.button("What the judge gave", on_click=self._reveal).props("unelevated")

    async def _take_back(self) -> None:
        with notifying_errors():
            self.seen = await self.visitor.write(withdraw_opinion, self.task.id, self.visitor.service.clock())
            self.hidden, self.knowingly = False, frozenset()
            await self._side()

    async def _reveal(self) -> None:
        self.hidden = False
        await self._side()

    # --- after --------------------------------------------------------------------------------------------

    async def _outcome(self, done: ScoredItem) -> None:
        evaluation = evaluation_of(done.item)
        rubrics = await asyncio.to_thread(self.work.rubrics, done.item.run)
        rubric = rubrics.get(evaluation.rubric)
        asked = [(one.name, one.title, one.low, one.high) for one in done.task.questions]
        rows = differences(evaluation, done.mine.scores, [one.scores for one in done.others], asked)
        with card("You and the judge"):
            drawing(_verdicts(evaluation, done.mine.scores, rubrics, rubric))
            drawing(_differences_table(rows, bool(done.others)))
            for doubt in doubts(evaluation):
                ui.label(f"Disputed: {doubt}.").classes("quiet")
            if done.mine.note:
                ui.label(f"Your note: {done.mine.note}").classes("quiet")
            for other in done.others:
                if other.note:
                    ui.label(f"{other.reviewer}: {other.note}").classes("quiet")
        reasons = [(row.title, row.reason) for row in rows if row.reason]
        if reasons:
            with card("Why the judge gave it"):
                drawing(table((("Dimension", ""), ("Reason", "why")), reasons, "The judge's reasons"))
        with ui.element("div").classes("row end"):
            if rubric is not None and await self._may_read_run(done.item.run):
                case = case_link(done.item.run, done.item.case_id)
                ui.button("Full explanation", on_click=lambda: ui.navigate.to(case)).props("flat").classes("calm")
            ui.button("Next item", icon="arrow_forward", on_click=self._next).props("unelevated")

    async def _may_read_run(self, run: str) -> bool:
        try:
            await check_readable(self.visitor, self.work, run)
        except RubricaError:
            return False
        return True

    async def _next(self) -> None:
        try:
            item = await self.visitor.read(next_item, self.task.run)
        except RubricaError as error:
            ui.notify(error_text(error), type="negative")
            return
        ui.navigate.to(f"/reviews/{item}" if item is not None else "/reviews")


def _texts(task: ReviewTask) -> None:
    for title, text in (("Prompt", task.prompt), ("Response", task.response)):
        if text or title == "Response":
            with card(title):
                ui.label(text or "(empty)").classes("told tall").props('dir="auto" tabindex=0')
                if title == "Prompt" and task.about:
                    with ui.element("div").classes("row"):
                        for name, value in task.about.items():
                            chip(f"{headline(name)}: {value[:80]}")


def _verdicts(
    evaluation: Evaluation, mine: Mapping[str, float | None], rubrics: Mapping[str, Rubric], rubric: Rubric | None
) -> Markup:
    theirs = badge(evaluation.verdict, role_of(evaluation.verdict, rubric))
    score = "" if evaluation.score is None else f"{figure(round(evaluation.score, 1))} of {figure(evaluation.out_of)}"
    own = own_verdict(evaluation, mine, rubrics)
    said = Markup('<p class="row">The judge: {} {}</p>').format(theirs, muted(score))
    if own is not None:
        said += Markup('<p class="row">By your scores: {}</p>').format(badge(own, role_of(own, rubric)))
    return Markup('<div class="verdicts">{}</div>').format(said)


def _differences_table(rows: list[ReviewDifference], others: bool) -> Markup:
    head = [("Dimension", ""), ("You", NUMBER), ("Judge", NUMBER), ("Judge − you", NUMBER)]
    head += [("Others", NUMBER)] if others else []
    return table(head, [_difference_row(row, others) for row in rows], "Your scores and the judge's")


def _difference_row(row: ReviewDifference, others: bool) -> list[Cell]:
    gap = row.gap
    span = row.scale[1] - row.scale[0]
    tone = (
        "" if gap is None or not span or abs(gap) / span < 0.15 else "is-middle" if abs(gap) / span < 0.3 else "is-bad"
    )
    shown: Cell = (
        "—" if gap is None else Markup('<span class="gap-tone {}">{}</span>').format(tone, signed(round(gap, 2)))
    )
    cells: list[Cell] = [row.title, figure(row.mine), figure(row.judge), shown]
    if others:
        cells.append(", ".join(figure(value) for value in row.others) or "—")
    return cells
