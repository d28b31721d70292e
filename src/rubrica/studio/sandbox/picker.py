"""Choosing a rubric among any number of them: a search, and the first that fit."""

from __future__ import annotations

from uuid import UUID

from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.store.rubrics import RubricQuery
from rubrica.studio.parts import error_text
from rubrica.studio.studio import Visitor
from rubrica.workspace import catalogue
from rubrica.workspace.rubric_search import LONGEST_QUERY

SHOWN = 12


async def pick_rubric(visitor: Visitor, title: str) -> UUID | None:
    """Ask for a rubric; None if whoever was asked thought better of it."""
    with ui.dialog() as dialog, ui.card().classes("dialog"):
        with ui.element("h2"):
            ui.label(title)
        search = ui.input("Search rubrics").props(f"outlined dense autofocus debounce=200 maxlength={LONGEST_QUERY}")
        search.classes("full")
        found = ui.element("div").classes("choices")
        note = ui.label("").classes("quiet").props('aria-live="polite"')
        offered: dict[UUID, ui.button] = {}
        with ui.element("div").classes("row actions"):
            ui.button("Cancel", on_click=lambda: dialog.submit(None)).props("flat")

        async def show() -> None:
            query = (search.value or "").replace("\0", "")
            try:
                listed = await visitor.read(catalogue.browse, RubricQuery(query, order="name"), SHOWN + 1)
            except RubricaError as error:
                note.set_text(error_text(error))
                return
            if query != (search.value or "").replace("\0", ""):
                return
            fitting = {listing.id: f"{listing.name} · {listing.version}" for listing in listed[:SHOWN]}
            for gone in offered.keys() - fitting.keys():  # what still fits stays: somebody may be clicking it
                offered.pop(gone).delete()
            for place, (key, text) in enumerate(fitting.items()):
                if key not in offered:
                    with found:
                        offered[key] = ui.button(text, on_click=lambda chosen=key: dialog.submit(chosen))
                    offered[key].props("flat align=left").move(target_index=place)
            more = "There are more: search for a word of the name." if len(listed) > SHOWN else ""
            note.set_text(more if listed else "Nothing fits.")

        search.on_value_change(show)
        await show()
    chosen: UUID | None = await dialog
    dialog.delete()
    return chosen
