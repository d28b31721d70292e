"""Who may see a run and who may review it: the dialog of its owner."""

from __future__ import annotations

import asyncio

from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.studio.dialog_form import dialog_form
from rubrica.studio.parts import error_text
from rubrica.studio.runs.workspace import RunsWorkspace
from rubrica.studio.studio import Visitor
from rubrica.workspace.run_access import RunKey, give_run, open_review, run_settings, share_run

READERS = {"private": "only its owner and admins", "shared": "everybody who has a key"}
REVIEWERS = {"private": "only the people who are named", "shared": "everybody with the role player"}


class ReviewersFields:
    """Who may score the review items of a run."""

    def __init__(self) -> None:
        self.sharing = ui.select(REVIEWERS, label="Who may review it", value="private")
        self.sharing.props("outlined options-dense hide-bottom-space")
        self.names = ui.input("Named reviewers", placeholder="ann, bob").props("outlined hide-bottom-space")

    def read(self) -> list[str]:
        """The names that are written."""
        return (self.names.value or "").split(",")


class SharingDialog:
    """The dialog. What is chosen in it is checked again when it is saved."""

    def __init__(self, visitor: Visitor, work: RunsWorkspace, name: str) -> None:
        self.visitor, self.work, self.name = visitor, work, name
        self.owner: ui.input | None = None
        with dialog_form(self._save) as self.dialog:
            with ui.element("h2"):
                ui.label("Sharing")
            ui.label(
                "Whoever may see the run sees its cases, its texts and its rubric, and changes none of it."
            ).classes("quiet")
            self.sharing = ui.select(READERS, label="Who may see it", value="private")
            self.sharing.props("outlined options-dense hide-bottom-space")
            self.reviewers = ReviewersFields()
            if visitor.caller.is_admin:
                self.owner = ui.input("Owner", placeholder="nobody").props("outlined hide-bottom-space maxlength=100")
            self.fault = ui.label("").classes("fault").props('role="alert"')
            self.fault.set_visibility(False)
            with ui.element("div").classes("row end"):
                ui.button("Cancel", on_click=self.dialog.close).props("flat")
                ui.button("Save").props("unelevated type=submit")

    async def open(self) -> None:
        """Show it, with what holds now."""
        self.fault.set_visibility(False)
        try:
            known = await self.visitor.read(run_settings, await self._key())
        except RubricaError as error:
            self._say(error_text(error))
        else:
            self.sharing.set_value(known.sharing)
            self.reviewers.sharing.set_value(known.review_sharing)
            self.reviewers.names.set_value(", ".join(known.reviewers))
            if self.owner is not None:
                self.owner.set_value(known.owner or "")
        self.dialog.open()

    async def _save(self) -> None:
        self.fault.set_visibility(False)
        now = self.visitor.service.clock()
        try:
            key = await self._key()
            manifest = await asyncio.to_thread(self.work.manifest, self.name)
            hashes = [used.hash for used in manifest.rubrics]
            await self.visitor.write(share_run, key, self.sharing.value, hashes, now)
            await self.visitor.write(open_review, key, self.reviewers.sharing.value, self.reviewers.read(), now)
            if self.owner is not None:
                await self.visitor.write(give_run, key, self.owner.value or "", now)
        except RubricaError as error:
            self._say(error_text(error))
            return
        ui.notify("Saved", type="positive")
        self.dialog.close()

    async def _key(self) -> RunKey:
        return await asyncio.to_thread(self.work.key, self.name)

    def _say(self, text: str) -> None:
        self.fault.set_text(text)
        self.fault.set_visibility(True)
