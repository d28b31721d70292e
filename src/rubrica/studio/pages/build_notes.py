"""What judges are told besides, by subject or type, and how the scores of several players are compared."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from rubrica.studio.builder import notes
from rubrica.studio.builder.comparing import WAYS, example_of, takes_logarithm, way_of
from rubrica.studio.builder.document import Path, at, is_short, mapped

from .build_desk import Desk, focus
from .build_fields import choice_field, fold, icon_button, name_field, retitle, switch_field, text_field


def draw_notes(desk: Desk) -> None:
    """Notes for the judge, each for one value of the context."""

    def body() -> None:
        ui.label(
            "A note is told to the judge besides the rubric, but only where it fits: for the subject mathematics, say, "
            "or for questions of one type. Which one it is, each case says."
        ).classes("quiet")
        if notes.note_names(desk.document):
            with ui.element("div").classes("row"):
                text_field(desk, (*notes.ROOT, notes.BY), "Chosen by the context name", wide=False, hint="subject")
                ui.label("such as subject or question_type").classes("quiet")
        for name in notes.note_names(desk.document):
            _note(desk, name)
        ui.button("Add a note", icon="add", on_click=partial(_add, desk)).props("flat dense no-caps")

    told = ", ".join(notes.note_names(desk.document)) or "what a judge is told besides, by subject or type"
    fold(desk, notes.ROOT, "Notes for the judge", told, body)


def _add(desk: Desk) -> None:
    document, name = notes.with_note(desk.document)
    desk.opened.add((*notes.ROOT, name))
    desk.change(document, "notes")
    found = desk.nearest((*notes.ROOT, name, "name"))
    if found is not None:
        focus(desk.client, found[1].element)


def _note(desk: Desk, name: str) -> None:
    path: Path = (*notes.ROOT, name)

    async def called(wish: str) -> None:
        if wish == notes.BY:
            ui.notify(f"{wish} is a word of its own here: choose another.", type="warning")
        elif wish in mapped(desk.document, notes.ROOT):
            ui.notify(f"There already is a note for {wish}.", type="warning")
        else:
            await desk.move_path(path, (*notes.ROOT, wish), lambda now: notes.called(now, name, wish))

    def tell(event: Any) -> None:
        desk.change(notes.written(desk.document, name, event.value or "", notes.also_of(desk.document, name)))

    def widen(event: Any) -> None:
        also = [value.strip() for value in (event.value or "").split(",") if value.strip()]
        desk.change(notes.written(desk.document, name, notes.text_of(desk.document, name), also))

    def drop() -> None:
        desk.change(notes.without(desk.document, name), "notes")
        ui.notify(f"The note for {name} is removed. Undo brings it back.")

    def body() -> None:
        with ui.element("div").classes("row tools"):
            desk.place((*path, "name"), name_field(desk, "For the value", path, called))
            also = ui.input("Also for", value=", ".join(notes.also_of(desk.document, name)), on_change=widen)
            also.props("outlined dense").props["placeholder"] = "other values, separated by commas"
            desk.place((*path, "also"), also.classes("grow"))
            icon_button("delete", f"Remove the note for {name}", drop)
        text = ui.textarea("What the judge is told", value=notes.text_of(desk.document, name), on_change=tell)
        desk.place((*path, "text"), text.props("outlined dense autogrow").classes("grow"))

    def heads() -> tuple[str, str]:
        return name, notes.text_of(desk.document, name) or "nothing yet"

    retitle(desk, fold(desk, path, *heads(), body), heads)


def draw_comparing(desk: Desk) -> None:
    """How scores of several players are made comparable, in plain words."""
    key = "normalization_config" if is_short(desk.document) else "normalization"

    def body() -> None:
        method, apply_log = way_of(desk.document, key), at(desk.document, (key, "apply_log")) is True
        ui.label(
            "It says how the scores of several players are meant to be compared. The score of one response stays as "
            "it is."
        ).classes("quiet")
        with ui.element("div").classes("row"):
            titles = {name: way.title for name, way in WAYS.items()}
            again = partial(desk.redraw, "comparing")
            choice_field(
                desk, (key, "method"), "Scores are compared", titles, default="none", then=again, size="medium"
            )
            if takes_logarithm(method) or apply_log:
                switch_field(desk, (key, "apply_log"), "Shrink large leads first (logarithm)", then=again)
        ui.label(WAYS[method].says)
        ui.label(f"For example: {example_of(method, apply_log=apply_log)}").classes("quiet")

    method = way_of(desk.document, key)
    told = WAYS[method].title.lower() if key in desk.document else "how scores of several players are compared"
    fold(desk, (key,), "Comparing players", told, body)
