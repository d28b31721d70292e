"""A run that is under way, or was stopped: how far it is, and the ways to stop it and to go on."""

from __future__ import annotations

import asyncio

from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.report.figures import count_of
from rubrica.studio.parts import card, notifying_errors
from rubrica.studio.runs.paths import run_link
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Visitor
from rubrica.workspace.run_listing import UNDER_WAY
from rubrica.workspace.run_service import RunStatus

EVERY = 0.5
EVERY_ELSEWHERE = 3.0
"""Seconds between two looks: at a run that can be stopped here, and at one of another process."""


async def progress_card(visitor: Visitor, work: RunsWorkspace, name: str, *, may_change: bool) -> bool:
    """How far an unfinished run is; the page is opened anew when it has ended. Whether it is under way."""
    status = await visitor.service.runs.status(await visitor.still_here(), name)
    if status.line.state in UNDER_WAY:
        _RunUnderWay(visitor, name).draw(status)
        return True
    await _stopped(visitor, work, name, may_change=may_change)
    return False


class _RunUnderWay:
    """A run that is worked off by this server, by a worker, or by some other process."""

    def __init__(self, visitor: Visitor, name: str) -> None:
        self.visitor, self.name = visitor, name

    def draw(self, status: RunStatus) -> None:
        with card("Under way", "this page can be left; the run goes on" if status.here else "in another process"):
            self.bar = ui.linear_progress(0, show_value=False, size="8px").props('rounded aria-label="Progress"')
            with ui.element("div").classes("row"):
                self.label = ui.label("").props('aria-live="polite"')
                ui.element("span").classes("grow")
                if status.may_change and status.here:
                    ui.button("Stop", icon="stop", on_click=self._stop).props("flat").classes("calm")
        self._show(status)
        self.timer = ui.timer(EVERY if status.here else EVERY_ELSEWHERE, self._look)

    async def _look(self) -> None:
        try:
            status = await self.visitor.service.runs.status(await self.visitor.still_here(), self.name)
        except RubricaError:  # the page says why
            status = None
        if status is None or status.line.state not in UNDER_WAY:
            self.timer.deactivate()
            ui.navigate.to(run_link(self.name))
        else:
            self._show(status)

    def _show(self, status: RunStatus) -> None:
        done = status.line.evaluations
        self.bar.set_value(min(done / status.expected, 1.0) if status.expected else 0)
        if status.line.state == "waiting":
            why = f": {status.line.why}" if status.line.why else ""
            so_far = f"; {count_of(done, 'evaluation')} so far" if done else ""
            self.label.set_text(f"Waiting for a worker{why}{so_far}")
            return
        of = f" of {status.expected:,}" if status.expected is not None else ""
        broken = f", {count_of(status.broken, 'broken line')}" if status.broken else ""
        self.label.set_text(f"{done:,}{of} judged{broken}")

    async def _stop(self) -> None:
        with notifying_errors():
            await self.visitor.service.runs.cancel(await self.visitor.still_here(), self.name)


async def _stopped(visitor: Visitor, work: RunsWorkspace, name: str, *, may_change: bool) -> None:
    manifest = await asyncio.to_thread(work.places.manifest, name)
    job = await asyncio.to_thread(visitor.service.runs.stopped_job, name)
    ending = None if manifest is None else manifest.ending
    with card(f"{(ending or 'interrupted').capitalize()} before its end"):
        if manifest is not None and manifest.reason:
            ui.label(manifest.reason).classes("fault").props('role="alert"')
        if job is None:
            ui.label("The command that started it goes on where it stopped.").classes("quiet")
            return
        if not may_change:
            ui.label("Whoever owns it can go on with it.").classes("quiet")
            return

        async def go_on() -> None:
            with notifying_errors():
                await visitor.service.runs.resume(await visitor.still_here(), name)
                ui.navigate.to(run_link(name))

        with ui.element("div").classes("row"):
            ui.button("Go on", icon="play_arrow", on_click=go_on).props("unelevated")
            ui.label("No case is judged twice.").classes("quiet")
