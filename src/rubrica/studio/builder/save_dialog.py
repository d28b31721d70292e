"""Saving a draft, and what happens when somebody else saved first: nothing is lost."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from nicegui import ui

from rubrica.errors import RubricaError, StaleError
from rubrica.studio.builder.checking import check_payload, payload
from rubrica.studio.builder.document import Data
from rubrica.studio.builder.merging import EditConflict, edit_conflict
from rubrica.studio.parts import error_label, error_text
from rubrica.workspace import catalogue
from rubrica.workspace.definition_diff import DefinitionChange, difference
from rubrica.workspace.draft import LONGEST_NOTE, Draft
from rubrica.workspace.editing import both_sides, save_as_fork
from rubrica.workspace.entry import RubricEntry, SeenRevision
from rubrica.workspace.rubric_text import from_text

from .editor import DraftEditor, editable_document

MOST_SHOWN = 30
Then = Callable[[RubricEntry], None]


def comparable(document: Data, is_public: bool) -> Data:
    """A document with whether everybody may see it, for comparing."""
    return {**document, "is_public": is_public}


def change_lines(changes: Sequence[DefinitionChange]) -> None:
    """Changes in words, one on each line."""
    with ui.element("ul").classes("changes"):
        for change in changes[:MOST_SHOWN]:
            with ui.element("li"):
                ui.label(change.text)
        if len(changes) > MOST_SHOWN:
            with ui.element("li"):
                ui.label(f"and {len(changes) - MOST_SHOWN} more")
    if not changes:
        ui.label("Nothing.").classes("quiet")


async def ask_to_save(editor: DraftEditor, then: Then) -> None:
    """Show what would be saved, ask for a note, and save."""
    entry = editor.entry
    with editor.client, ui.dialog() as dialog, ui.element("div").classes("card build-dialog").props('role="document"'):
        with ui.element("h2"):
            ui.label("Save a new version" if entry is not None else "Save the rubric")
        if entry is not None:
            before = comparable(editable_document(entry), entry.listing.is_public)
            change_lines(difference(before, comparable(editor.document, editor.is_public)))
        ui.label(
            "Everybody can find it and copy it."
            if editor.is_public
            else "Only you can see it; publish it when it is ready."
        ).classes("quiet")
        note = ui.input("What changed, and why (may stay empty)").props(
            f"outlined dense autofocus maxlength={LONGEST_NOTE}"
        )
        wrong = ui.element("div")

        async def take() -> RubricEntry:
            return await _save_draft(editor, await _draft(editor, note.value or ""))

        async def save() -> None:
            await _finish(dialog, wrong, take, lambda: show_clash(editor, note.value or "", then), then)

        note.on("keydown.enter", save)
        with ui.element("div").classes("row"):
            ui.element("span").classes("grow")
            ui.button("Cancel", on_click=dialog.close).props("flat no-caps")
            ui.button("Save", on_click=save).props("unelevated no-caps")
    dialog.on("hide", dialog.delete)
    dialog.open()


async def _finish(
    dialog: ui.dialog,
    wrong: ui.element,
    take: Callable[[], Awaitable[RubricEntry]],
    clashed: Callable[[], Awaitable[None]],
    then: Then,
) -> None:
    """Keep what a dialog asked about; an error stands in it, and another one follows when somebody was faster."""
    wrong.clear()
    try:
        kept = await take()
    except StaleError:
        dialog.close()
        await clashed()
    except RubricaError as error:
        with wrong:
            error_label(error)
    else:
        dialog.close()
        then(kept)


async def _draft(editor: DraftEditor, note: str) -> Draft:
    """The draft as it is handed in; a RubricError tells everything that keeps it from being kept."""
    if editor.unreadable:
        from_text(editor.text)
    return await asyncio.to_thread(check_payload, payload(editor.document, is_public=editor.is_public, note=note))


async def _save_draft(editor: DraftEditor, draft: Draft, on_top_of: RubricEntry | None = None) -> RubricEntry:
    """Keep a draft as something new, or as the version after the one it was made from."""
    now = editor.visitor.service.clock()
    seen = on_top_of or editor.entry
    if seen is None:
        return await editor.visitor.write(catalogue.create, draft, now)
    read = SeenRevision(tags=frozenset({seen.tag}))
    return await editor.visitor.write(catalogue.update, str(seen.listing.id), draft, read, now)


async def show_clash(editor: DraftEditor, note: str, then: Then) -> None:
    """What the other person changed beside what one changed oneself, and the ways on."""
    mine = editor.entry
    if mine is None:
        return
    try:
        base, theirs, who = await editor.visitor.read(both_sides, str(mine.listing.id), mine.listing.revision)
    except RubricaError as error:
        ui.notify(error_text(error), type="negative", multi_line=True)
        return
    start = base or mine
    found = edit_conflict(
        comparable(editable_document(start), mine.listing.is_public),
        comparable(editor.document, editor.is_public),
        comparable(editable_document(theirs), theirs.listing.is_public),
    )
    with (
        editor.client,
        ui.dialog().props("persistent") as dialog,
        ui.element("div").classes("card build-dialog wide-dialog"),
    ):
        with ui.element("h2"):
            ui.label("It was changed since you opened it")
        said = f" They wrote: {theirs.version.note}" if theirs.version.note else ""
        ui.label(
            f"{who} saved version {theirs.version.version} meanwhile.{said} Nothing of yours is lost: "
            "choose how to go on."
        )
        with ui.element("div").classes("sides"):
            with ui.element("div"):
                with ui.element("h3"):
                    ui.label("What they changed")
                change_lines(found.theirs)
            with ui.element("div"):
                with ui.element("h3"):
                    ui.label("What you changed")
                change_lines(found.mine)
        wrong = ui.element("div")
        with ui.element("div").classes("ways"):
            for way in _ways(editor, found, theirs, note):
                _button(dialog, wrong, way, then, lambda: show_clash(editor, note, then))
            ui.button("Go on editing", on_click=dialog.close).props("flat no-caps")
    dialog.on("hide", dialog.delete)
    dialog.open()


def unlabelled(editor: DraftEditor) -> Data:
    """The document without a version that it has only because it was read with it: the next one is counted up."""
    read = None if editor.entry is None else editor.entry.version.version
    return {key: value for key, value in editor.document.items() if key != "version" or value != read}


@dataclass(frozen=True, slots=True)
class _Way:
    """One way on after a clash."""

    title: str
    says: str
    take: Callable[[], Awaitable[RubricEntry]]


def _ways(editor: DraftEditor, found: EditConflict, theirs: RubricEntry, note: str) -> list[_Way]:
    async def combine() -> RubricEntry:
        merged = dict(found.merged or {})
        editor.is_public = bool(merged.pop("is_public", editor.is_public))
        handed = payload(merged, is_public=editor.is_public, note=note)
        return await _save_draft(editor, await asyncio.to_thread(check_payload, handed), theirs)

    async def on_top() -> RubricEntry:
        handed = payload(unlabelled(editor), is_public=editor.is_public, note=note)
        return await _save_draft(editor, await asyncio.to_thread(check_payload, handed), theirs)

    async def fork() -> RubricEntry:
        handed = payload(unlabelled(editor), note=note or "kept beside a change of somebody else")
        draft = await asyncio.to_thread(check_payload, handed)
        now = editor.visitor.service.clock()
        return await editor.visitor.write(save_as_fork, str(theirs.listing.id), draft, now)

    async def take_theirs() -> RubricEntry:
        store_in_browser(editor)
        return theirs

    ways = [
        _Way("Keep mine as a new version on top", "Theirs stays in the history.", on_top),
        _Way("Save mine as a fork", "Two rubrics: theirs as it is, yours under a name of its own.", fork),
        _Way("Take theirs", "Yours is set aside in this browser, and can be brought back.", take_theirs),
    ]
    if found.merged is not None:
        ways.insert(0, _Way("Put both together", "You changed different places: a new version holds both.", combine))
    return ways


def _button(dialog: ui.dialog, wrong: ui.element, way: _Way, then: Then, again: Callable[[], Awaitable[None]]) -> None:
    async def chosen() -> None:
        await _finish(dialog, wrong, way.take, again, then)

    with ui.element("button").classes("way").props('type="button"').on("click", chosen):
        ui.label(way.title)
        ui.label(way.says).classes("quiet")


def store_in_browser(editor: DraftEditor) -> None:
    """Leave a draft in the browser, beside the one that is worked on."""
    kept = json.dumps({"text": editor.text, "is_public": editor.is_public, "label": editor.label})
    editor.client.run_javascript(f"localStorage.setItem({json.dumps(editor.storage + ':aside')}, {json.dumps(kept)})")
