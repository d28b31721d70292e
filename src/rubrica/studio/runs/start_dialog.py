"""Starting a run: which rubric, which cases, and what it is called."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from nicegui import events, ui

from rubrica.errors import InputError, RubricaError
from rubrica.llm.public import public_name
from rubrica.report.figures import count_of
from rubrica.runs.files.case_source import count_cases
from rubrica.store.rubrics import RubricListing, RubricQuery
from rubrica.studio.dialog_form import dialog_form
from rubrica.studio.parts import Choice, error_text
from rubrica.studio.runs.paths import run_link
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Visitor
from rubrica.workspace import catalogue
from rubrica.workspace.case_files import case_file, case_files
from rubrica.workspace.entry import RubricEntry
from rubrica.workspace.run_service import NewRun

from .extent_fields import ExtentFields

OFFERED = 100
"""Rubrics in the list; others are found by typing."""
EXAMPLES = "\0examples"
"""Stands for the rubric's own examples in the list of files; no file is called so."""


class StartDialog:
    """The dialog. Everything in it is checked again when the run starts."""

    def __init__(self, visitor: Visitor, work: RunsWorkspace) -> None:
        self.visitor = visitor
        self.work = work
        self.judges = visitor.service.settings.judges
        self.owner = visitor.caller.user_id  # whose uploads are offered
        self.entry: RubricEntry | None = None
        with dialog_form(self._start) as self.dialog:
            with ui.element("h2"):
                ui.label("Start a run")
            self.rubric = (
                Choice({}, label="Rubric", with_input=True, on_change=self._chosen)
                .props("outlined options-dense hide-bottom-space")
                .on("input-value", self._search, throttle=0.3, leading_events=False)
            )
            self.cases = ui.select({}, label="Cases", on_change=self._counted).props(
                "outlined options-dense hide-bottom-space"
            )
            most = visitor.service.settings.max_body - 10_000
            self.upload = (
                ui.upload(
                    label=f"or upload a .jsonl, .json, .csv or .xlsx file (up to {most / 1e6:.1f} MB)",
                    auto_upload=True,
                    max_files=1,
                    max_file_size=most,
                    on_upload=self._uploaded,
                    on_rejected=lambda: self._say(
                        f"that file is no .jsonl, .json, .csv or .xlsx, or larger than {most / 1e6:.1f} MB; "
                        f"larger ones go into {work.runs}/cases"
                    ),
                )
                .props('accept=".jsonl,.json,.csv,.tsv,.xlsx" flat bordered')
                .classes("upload")
            )
            self.extent = ExtentFields(asks=bool(self.judges))
            self.name = ui.input("Name of the run").props("outlined hide-bottom-space maxlength=100")
            self.place: ui.select | None = None
            home, *others = work.places.startable
            if others:
                offered = {home: "this server's folder", **{one: one for one in others}}
                self.place = ui.select(offered, label="Kept in", value=home).props(
                    "outlined options-dense hide-bottom-space"
                )
            self.ask: ui.checkbox | None = None
            if self.judges:
                self.ask = ui.checkbox(f"Ask the judge: {', '.join(map(public_name, self.judges))}", value=True)
                self.ask.on_value_change(lambda event: self.extent.offer_repeats(bool(event.value)))
            else:
                ui.label(
                    "This server has no judge: judged dimensions use their offline scorer (serve --judge MODEL)."
                ).classes("quiet")
            self.fault = ui.label("").classes("fault").props('role="alert"')
            self.fault.set_visibility(False)
            with ui.element("div").classes("row end"):
                ui.button("Cancel", on_click=self.dialog.close).props("flat")
                self.go = ui.button("Start").props("unelevated type=submit")

    async def open(self) -> None:
        """Show it, with what there is to choose from now."""
        self.fault.set_visibility(False)
        try:
            await self._offer("")
        except RubricaError as error:
            self._say(error_text(error))
        self._files()
        self.dialog.open()

    async def _offer(self, text: str) -> None:
        found = await self.visitor.read(catalogue.browse, RubricQuery(q=text, order="newest"), OFFERED)
        offered = {str(one.id): self._named(one) for one in found}
        if self.entry is not None:
            offered.setdefault(str(self.entry.listing.id), self._named(self.entry.listing))
        self.rubric.set_options(offered, value=self.rubric.value if self.rubric.value in offered else None)

    def _named(self, one: RubricListing) -> str:
        """A rubric in the list: a fork is called as what it comes from, so it says whose it is."""
        whose = (
            ", with Rubrica" if one.created_by is None else ", mine" if self.visitor.caller.owns(one.created_by) else ""
        )
        return f"{one.name} ({one.slug}@{one.version}{whose})"

    async def _search(self, event: events.GenericEventArguments) -> None:
        text = event.args if isinstance(event.args, str) else ""
        try:
            await self._offer(text.strip()[:100])
        except RubricaError as error:
            self._say(error_text(error))

    async def _chosen(self) -> None:
        if not self.rubric.value:
            return
        try:
            self.entry = await self.visitor.read(catalogue.entry, self.rubric.value)
        except RubricaError as error:
            self._say(error_text(error))
            return
        self.fault.set_visibility(False)
        self._files()
        await self._counted()  # other examples may stand under the same choice
        now = self.visitor.service.clock()
        self.name.set_value(f"{self.entry.listing.slug}-{now:%Y%m%d-%H%M%S}")

    def _files(self, chosen: str | None = None) -> None:
        offered = {}
        if self.entry is not None and self.entry.version.examples:
            offered[EXAMPLES] = f"the rubric's {count_of(len(self.entry.version.examples), 'example')}"
        offered |= {
            own.name: f"{own.name} ({own.size / 1000:,.1f} kB)" for own in case_files(self.work.runs, self.owner)
        }
        value = chosen or self.cases.value
        self.cases.set_options(offered, value=value if value in offered else next(iter(offered), None))

    async def _counted(self) -> None:
        """Tell how many cases the chosen file has."""
        name = self.cases.value
        count: int | None = None
        if name == EXAMPLES and self.entry is not None:
            count = len(self.entry.version.examples)
        elif name:
            with suppress(RubricaError):  # told when the run starts
                count = await asyncio.to_thread(
                    lambda: count_cases(str(case_file(self.work.runs, str(name), self.owner)))
                )
        if self.cases.value == name:
            self.extent.tell(count)

    async def _uploaded(self, event: events.UploadEventArguments) -> None:
        try:
            caller = await self.visitor.still_here()
            kept = await self.visitor.service.runs.upload(caller, event.file.name, await event.file.read())
        except RubricaError as error:
            self._say(error_text(error))
            self.upload.reset()
            return
        self.fault.set_visibility(False)
        self._files(kept.name)

    async def _start(self) -> None:
        self.go.disable()
        try:
            name = await self._started()
        except RubricaError as error:
            self._say(error_text(error))
        else:
            ui.navigate.to(run_link(name))
        finally:
            self.go.enable()

    async def _started(self) -> str:
        if not self.rubric.value:
            raise InputError("choose a rubric")
        if not self.cases.value:
            raise InputError("choose a file of cases, or upload one")
        examples = self.cases.value == EXAMPLES
        wanted = NewRun(
            str(self.rubric.value),
            self.name.value or "",
            file=None if examples else str(self.cases.value),
            examples=examples,
            judges=None if self.ask is not None and self.ask.value else (),
            extent=self.extent.read(),
            place=str(self.place.value) if self.place is not None else "",
        )
        return await self.visitor.service.runs.start(await self.visitor.still_here(), wanted)

    def _say(self, text: str) -> None:
        self.fault.set_text(text)
        self.fault.set_visibility(True)
