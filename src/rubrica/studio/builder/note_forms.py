"""Forms for judges' notes by subject or type, and for normalisation."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from rubrica.studio.builder import notes
from rubrica.studio.builder.document import Path, at, is_short, mapping_at
from rubrica.studio.builder.form_schema import choices_of, field_at
from rubrica.studio.builder.normalisation import WAYS, example_of, method_of, takes_logarithm

from .editor import DraftEditor, focus
from .fields import choice_field, folded_section, icon_button, name_field, retitle, switch_field, text_field
from .schema_fields import other_fields


def draw_notes(editor: DraftEditor) -> None:
    """Notes for the judge, each for one value of the context."""

    def body() -> None:
        ui.label(
            "A note is shown to the judge beside the rubric, but only where it fits: for the subject mathematics, say, "
            "or for questions of one type. Which one it is, each case says."
        ).classes("quiet")
        if notes.note_names(editor.document):
            with ui.element("div").classes("row"):
                text_field(editor, (*notes.ROOT, notes.BY), wide=False, hint="subject")
                ui.label("such as subject or question_type").classes("quiet")
                other_fields(editor, notes.ROOT)
        for name in notes.note_names(editor.document):
            _note(editor, name)
        ui.button("Add a note", icon="add", on_click=partial(_add, editor)).props("flat dense no-caps")

    told = ", ".join(notes.note_names(editor.document)) or "what a judge is shown beside the rubric, by subject or type"
    folded_section(editor, notes.ROOT, "Notes for the judge", told, body)


def _add(editor: DraftEditor) -> None:
    document, name = notes.with_note(editor.document)
    editor.opened.add((*notes.ROOT, name))
    editor.change(document, "notes")
    found = editor.nearest((*notes.ROOT, name, "name"))
    if found is not None:
        focus(editor.client, found[1].element)


def _note(editor: DraftEditor, name: str) -> None:
    path: Path = (*notes.ROOT, name)

    async def called(new_name: str) -> None:
        if new_name == notes.BY:
            ui.notify(f"{new_name} is a word of its own here: choose another.", type="warning")
        elif new_name in mapping_at(editor.document, notes.ROOT):
            ui.notify(f"There already is a note for {new_name}.", type="warning")
        else:
            await editor.move_path(path, (*notes.ROOT, new_name), lambda now: notes.rename_note(now, name, new_name))

    def tell(event: Any) -> None:
        editor.change(notes.write_note(editor.document, name, event.value or "", notes.also_of(editor.document, name)))

    def widen(event: Any) -> None:
        also = [value.strip() for value in (event.value or "").split(",") if value.strip()]
        editor.change(notes.write_note(editor.document, name, notes.text_of(editor.document, name), also))

    def drop() -> None:
        editor.change(notes.remove_note(editor.document, name), "notes")
        ui.notify(f"The note for {name} is removed. Undo brings it back.")

    def title(key: str) -> str:
        return field_at(editor.document, (*path, key)).title

    def body() -> None:
        with ui.element("div").classes("row tools"):
            editor.place((*path, "name"), name_field(editor, "For the value", path, called))
            also = ui.input(title("also"), value=", ".join(notes.also_of(editor.document, name)), on_change=widen)
            also.props("outlined dense").props["placeholder"] = "other values, separated by commas"
            editor.place((*path, "also"), also.classes("grow"))
            icon_button("delete", f"Remove the note for {name}", drop)
        text = ui.textarea(title("text"), value=notes.text_of(editor.document, name), on_change=tell)
        editor.place((*path, "text"), text.props("outlined dense autogrow").classes("grow"))

    def headings() -> tuple[str, str]:
        return name, notes.text_of(editor.document, name) or "nothing yet"

    retitle(editor, folded_section(editor, path, *headings(), body), headings)


def draw_comparing(editor: DraftEditor) -> None:
    """How scores of several players are made comparable, in plain words."""
    key = "normalization_config" if is_short(editor.document) else "normalization"

    def body() -> None:
        method, apply_log = method_of(editor.document, key), at(editor.document, (key, "apply_log")) is True
        ui.label(
            "It says how the scores of several players are meant to be compared. The score of one response stays as "
            "it is."
        ).classes("quiet")
        with ui.element("div").classes("row"):
            again = partial(editor.redraw, "comparing")
            choice_field(editor, (key, "method"), then=again)
            if takes_logarithm(method) or apply_log:
                switch_field(editor, (key, "apply_log"), then=again)
            other_fields(editor, (key,), then=again)
        ui.label(WAYS[method])
        ui.label(f"For example: {example_of(method, apply_log=apply_log)}").classes("quiet")

    method = method_of(editor.document, key)
    told = choices_of("Normalisation", "method")[method].lower()
    if key not in editor.document:
        told = "how scores of several players are compared"
    folded_section(editor, (key,), "Comparing players", told, body)
