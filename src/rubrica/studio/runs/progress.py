"""A run that is under way, or was stopped: how far it is, and the ways to stop it and to go on."""

from __future__ import annotations

import asyncio

from nicegui import ui

from rubrica.report.figures import count_of
from rubrica.runs.files.manifest import read_manifest
from rubrica.studio.parts import card, notifying_errors
from rubrica.studio.runs.paths import run_link
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Visitor
from rubrica.workspace.case_files import folder_of
from rubrica.workspace.run_jobs import RunProgress, job_of
from rubrica.workspace.run_listing import done_so_far, is_running

EVERY = 0.5
EVERY_ELSEWHERE = 3.0
"""Seconds between two looks: at a run of this server, and at one of another process."""


def progress_card(visitor: Visitor, work: RunsWorkspace, name: str, *, may_change: bool) -> None:
    """How far an unfinished run is; the page is opened anew when it has ended."""
    run_progress = work.run_jobs.run_progress(name)
    if run_progress is not None and run_progress.state == "running":
        _OwnRun(visitor, work, name, run_progress).draw(may_change=may_change)
    elif is_running(work.runs / name):
        _elsewhere(work, name)
    else:
        _stopped(visitor, work, name, may_change=may_change)


class _OwnRun:
    """A run of this server."""

    def __init__(self, visitor: Visitor, work: RunsWorkspace, name: str, run_progress: RunProgress) -> None:
        self.visitor, self.work, self.name, self.run_progress = visitor, work, name, run_progress

    def draw(self, *, may_change: bool) -> None:
        with card("Under way", "this page can be left; the run goes on"):
            self.bar = ui.linear_progress(0, show_value=False, size="8px").props('rounded aria-label="Progress"')
            with ui.element("div").classes("row"):
                self.label = ui.label("").props('aria-live="polite"')
                ui.element("span").classes("grow")
                if may_change:
                    ui.button("Stop", icon="stop", on_click=self._stop).props("flat").classes("calm")
        self._look()
        self.timer = ui.timer(EVERY, self._look)

    def _look(self) -> None:
        run_progress = self.run_progress
        self.bar.set_value(run_progress.share or 0)
        of = f" of {run_progress.expected:,}" if run_progress.expected is not None else ""
        broken = f", {count_of(run_progress.broken, 'broken line')}" if run_progress.broken else ""
        self.label.set_text(f"{run_progress.done:,}{of} judged{broken}")
        if run_progress.state != "running":
            self.timer.deactivate()
            ui.navigate.to(run_link(self.name))

    async def _stop(self) -> None:
        with notifying_errors():
            await self.visitor.service.runs.cancel(await self.visitor.still_here(), self.name)


def _elsewhere(work: RunsWorkspace, name: str) -> None:
    with card("Under way", "in another process"):
        label = ui.label("").props('aria-live="polite"')

        async def look() -> None:
            if not is_running(work.runs / name):
                timer.deactivate()
                ui.navigate.to(run_link(name))
                return
            done = await asyncio.to_thread(done_so_far, work.runs / name)
            label.set_text(f"{count_of(done, 'evaluation')} so far")

        timer = ui.timer(EVERY_ELSEWHERE, look)


def _stopped(visitor: Visitor, work: RunsWorkspace, name: str, *, may_change: bool) -> None:
    folder = work.runs / name
    manifest = read_manifest(folder)
    ending = None if manifest is None else manifest.ending
    with card(f"{(ending or 'interrupted').capitalize()} before its end"):
        if manifest is not None and manifest.reason:
            ui.label(manifest.reason).classes("fault").props('role="alert"')
        job = None if manifest is None else job_of(folder, manifest, folder_of(work.runs))
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
