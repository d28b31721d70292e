"""Drawing a sample of a run into the review queue."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nicegui import ui

from rubrica.errors import InputError, RubricaError
from rubrica.report.figures import count_of
from rubrica.runs.review.queue_items import new_items
from rubrica.runs.review.sampling import draw
from rubrica.store.reviews import NewReviewItem
from rubrica.studio.dialog_form import dialog_form
from rubrica.studio.parts import error_text
from rubrica.studio.runs.permissions import changeable_lines, check_changeable
from rubrica.studio.runs.sharing_dialog import ReviewersFields
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Visitor
from rubrica.workspace.reviews import enqueue
from rubrica.workspace.run_access import open_review, run_settings

MOST_DRAWN = 2_000
"""Items that are put into the queue at once: each holds a whole evaluation."""


class SampleDialog:
    """The dialog; `then` is called with the run's name once its sample is in the queue."""

    def __init__(self, visitor: Visitor, work: RunsWorkspace, then: Callable[[str], None]) -> None:
        self.visitor, self.work, self.then = visitor, work, then
        with dialog_form(self._draw) as self.dialog:
            with ui.element("h2"):
                ui.label("Draw a sample")
            ui.label(
                "It takes a share of every verdict, of every quarter of full marks, and of what is disputed: at least "
                "one of each. What is in the queue already stays."
            ).classes("quiet")
            self.run = ui.select([], label="Run", with_input=True).props("outlined options-dense hide-bottom-space")
            with ui.element("div").classes("row"):
                self.share = (
                    ui.number("Share in percent", value=10, min=0.1, max=100)
                    .props("outlined hide-bottom-space step=any")
                    .classes("grow")
                )
                self.seed = ui.number("Seed", value=0, min=0, precision=0).props("outlined hide-bottom-space")
            self.reviewers = ReviewersFields()
            self.run.on_value_change(self._chosen)
            self.fault = ui.label("").classes("fault").props('role="alert"')
            self.fault.set_visibility(False)
            with ui.element("div").classes("row end"):
                self.busy = ui.spinner(size="1.4em")
                self.busy.set_visibility(False)
                ui.button("Cancel", on_click=self.dialog.close).props("flat")
                self.go = ui.button("Draw").props("unelevated type=submit")

    async def open(self, run: str = "") -> None:
        """Show it, with the runs that there are now."""
        self.fault.set_visibility(False)
        try:
            lines = await changeable_lines(self.visitor)
        except RubricaError as error:
            self._say(error_text(error))
            lines = []
        names = [line.name for line in lines if line.state in ("finished", "stopped") and line.evaluations]
        self.run.set_options(names, value=run if isinstance(run, str) and run in names else next(iter(names), None))
        self.dialog.open()

    async def _chosen(self) -> None:
        """Show who reviews the run that is chosen."""
        if not self.run.value:
            return
        try:
            key = await asyncio.to_thread(self.work.key, str(self.run.value))
            known = await self.visitor.read(run_settings, key)
        except RubricaError as error:
            self._say(error_text(error))
            return
        self.reviewers.sharing.set_value(known.review_sharing)
        self.reviewers.names.set_value(", ".join(known.reviewers))

    async def _draw(self) -> None:
        self.fault.set_visibility(False)
        self.busy.set_visibility(True)
        self.go.disable()
        try:
            added = await self._drawn()
        except RubricaError as error:
            self._say(error_text(error))
        else:
            self.dialog.close()
            ui.notify(f"{count_of(added, 'new item')} in the queue", type="positive")
            self.then(str(self.run.value))
        finally:
            self.busy.set_visibility(False)
            self.go.enable()

    async def _drawn(self) -> int:
        if not self.run.value:
            raise InputError("choose a run")
        key = await check_changeable(self.visitor, self.work, str(self.run.value), "drawing a sample for review")
        if not self.share.value or self.seed.value is None:
            raise InputError("say which share to draw, such as 10, and a seed, such as 0")
        name, share, seed = str(self.run.value), float(self.share.value) / 100, int(self.seed.value)
        items = await asyncio.to_thread(self._items, name, share, seed)
        now = self.visitor.service.clock()
        await self.visitor.write(open_review, key, self.reviewers.sharing.value, self.reviewers.read(), now)
        return await self.visitor.write(enqueue, key, items, now)

    def _items(self, name: str, share: float, seed: int) -> list[NewReviewItem]:
        run = self.work.stored(name)
        drawn = draw(run.evaluations, share, seed=seed)
        if not drawn:
            raise InputError(f"{name} holds no evaluation to review")
        if len(drawn) > MOST_DRAWN:
            raise InputError(f"that would be {len(drawn):,} items; draw at most {MOST_DRAWN:,} at once")
        return new_items(drawn, run.rubrics())

    def _say(self, text: str) -> None:
        self.fault.set_text(text)
        self.fault.set_visibility(True)
