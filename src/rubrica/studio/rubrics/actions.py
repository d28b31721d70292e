"""What can be done with a rubric as a whole: import, fork, publish, delete. Each asks in a dialog of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from nicegui import events, ui

from rubrica.errors import InputError, RubricaError
from rubrica.studio.parts import error_text, notifying_errors
from rubrica.studio.studio import Visitor
from rubrica.workspace import catalogue
from rubrica.workspace.access import check_action
from rubrica.workspace.bundle import read_bundle
from rubrica.workspace.draft import LARGEST_DEFINITION, LARGEST_EXAMPLES, LONGEST_NAME
from rubrica.workspace.editing import set_public
from rubrica.workspace.entry import RubricEntry, SeenRevision
from rubrica.workspace.plain_data import plain_text

LARGEST_FILE = LARGEST_DEFINITION + LARGEST_EXAMPLES
"""Bytes of a bundle."""


async def import_dialog(visitor: Visitor) -> None:
    """Ask for a bundle or a bare rubric, as a file or as text, and open what it became."""
    with ui.dialog().props('aria-label="Import a rubric"') as dialog, ui.card().classes("dialog"):
        _title("Import a rubric")
        ui.label(
            "A bundle, as Export writes it, or a bare rubric document, in YAML or JSON. It becomes private and yours."
        )
        text = ui.textarea("Bundle").props("outlined input-class=mono rows=8")
        text.props(f"maxlength={LARGEST_FILE}").classes("full")
        file = ui.upload(label="Or choose a file", auto_upload=True, max_file_size=LARGEST_FILE, max_files=1)
        file.props('accept=".yaml,.yml,.json" flat bordered').classes("full upload")
        file.on("rejected", lambda: ui.notify(f"A bundle has at most {LARGEST_FILE:,} bytes.", type="negative"))
        problem = ui.label().classes("fault").props('role="alert"')
        problem.set_visibility(False)

        async def chosen(event: events.UploadEventArguments) -> None:
            try:
                text.set_value((await event.file.read()).decode())
            except UnicodeDecodeError:
                _show_error(problem, InputError("the file is not UTF-8 text"))

        async def bring() -> None:
            problem.set_visibility(False)
            try:
                check_action(await visitor.still_here(), "importing a rubric")
                draft = await asyncio.to_thread(read_bundle, text.value or "")
                made = await visitor.write(catalogue.import_draft, draft, visitor.service.clock())
            except RubricaError as error:
                _show_error(problem, error)
            else:
                dialog.close()
                ui.navigate.to(f"/rubrics/{made.listing.id}")

        file.on_upload(chosen)
        _buttons(dialog, "Import", bring)
    dialog.open()


async def fork_dialog(visitor: Visitor, entry: RubricEntry) -> None:
    """Ask how the copy is to be called, and open it."""
    listing, version = entry.listing, entry.version
    with ui.dialog() as dialog, ui.card().classes("dialog"):
        _title(f"Fork {listing.name}")
        ui.label(f"A private copy of version {version.version}, with its examples. It remembers where it comes from.")
        name = ui.input("Name of the copy", value=listing.name).props(f"outlined maxlength={LONGEST_NAME} autofocus")
        name.classes("full")
        problem = ui.label().classes("fault").props('role="alert"')
        problem.set_visibility(False)

        async def fork() -> None:
            try:
                wanted = plain_text(name.value or "", "the name", LONGEST_NAME)
                now = visitor.service.clock()
                label = None if wanted == listing.name or not wanted else wanted
                made = await visitor.write(catalogue.fork, str(listing.id), version.version, label, now)
            except RubricaError as error:
                _show_error(problem, error)
            else:
                dialog.close()
                ui.navigate.to(f"/rubrics/{made.listing.id}")

        name.on("keydown.enter", fork)
        _buttons(dialog, "Fork", fork)
    dialog.open()


async def delete_dialog(visitor: Visitor, entry: RubricEntry) -> None:
    """Ask once more, then delete."""
    listing = entry.listing
    with ui.dialog() as dialog, ui.card().classes("dialog"):
        _title(f"Delete {listing.name}?")
        ui.label("It leaves every list and the marketplace. Games and scores keep the versions they use.")

        async def delete() -> None:
            with notifying_errors():
                seen = SeenRevision(revision=listing.revision)
                await visitor.write(catalogue.delete, str(listing.id), seen, visitor.service.clock())
                dialog.close()
                ui.navigate.to("/rubrics")

        _buttons(dialog, "Delete", delete, "negative")
    dialog.open()


async def publish_dialog(visitor: Visitor, entry: RubricEntry) -> None:
    """Ask, then put a rubric on the marketplace or take it off."""
    listing, public = entry.listing, not entry.listing.is_public
    with ui.dialog() as dialog, ui.card().classes("dialog"):
        if public:
            _title(f"Publish {listing.name}?")
            ui.label("Everybody who may read sees it on the marketplace, with all its versions, and may import it.")
        else:
            _title(f"Take {listing.name} off the marketplace?")
            ui.label("Nobody else sees it any more. Copies that were imported stay with those who have them.")

        async def publish() -> None:
            with notifying_errors():
                await visitor.write(set_public, entry, public, visitor.service.clock())
                dialog.close()
                ui.navigate.reload()

        _buttons(dialog, "Publish" if public else "Make private", publish)
    dialog.open()


def _title(text: str) -> None:
    with ui.element("h2"):
        ui.label(text)


def _show_error(problem: ui.label, error: RubricaError) -> None:
    problem.set_text(error_text(error))
    problem.set_visibility(True)


def _buttons(dialog: ui.dialog, text: str, act: Callable[[], Awaitable[None]], colour: str = "primary") -> None:
    with ui.element("div").classes("row actions"):
        ui.button("Cancel", on_click=dialog.close).props("flat")
        ui.button(text, on_click=act, color=colour).props("unelevated")
