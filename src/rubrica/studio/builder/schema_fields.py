"""Forms made from the rubric's schema: what a model gets shows here without a line for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import assert_never

from nicegui import ui

from rubrica.engine.vocabulary import Scope
from rubrica.studio.builder.document import Data, Path, append, list_at, remove
from rubrica.studio.builder.form_schema import FieldSchema, field_at, fields_at
from rubrica.studio.builder.hand_made import HAND_MADE

from .editor import DraftEditor
from .fields import (
    Then,
    amount_field,
    choice_field,
    icon_button,
    number_field,
    switch_field,
    text_field,
    words_field,
    yaml_field,
)
from .formula_field import FormulaField

SMALL = ("line", "number", "integer", "switch", "choice", "amount")
"""Kinds of fields that stand side by side."""


def schema_field(
    editor: DraftEditor, path: Path, *, then: Then = None, scope: Scope = "context", wide: bool = True
) -> None:
    """Whatever field the schema says there is at a place of the document."""
    field = field_at(editor.document, path)
    match field.kind:
        case "line":
            text_field(editor, path, wide=wide)
        case "prose":
            text_field(editor, path, area=True)
        case "number" | "integer":
            number_field(editor, path, then=then)
        case "switch":
            switch_field(editor, path, then=then)
        case "choice":
            choice_field(editor, path, then=then)
        case "words":
            words_field(editor, path)
        case "formula":
            FormulaField(editor, path, "reliability" if "reliability" in path else scope)
        case "amount":
            amount_field(editor, path)
        case "group":
            with ui.element("div").classes("row"):
                other_fields(editor, path, then=then, scope=scope)
                ui.label(field.description).classes("quiet")
        case "groups":
            _groups(editor, path, field, scope)
        case "mapping":
            yaml_field(editor, path, f"{field.title} (YAML)")
        case "other":
            ui.label(f"Edited in the Document tab: {path[-1]}.").classes("quiet")
        case _:
            assert_never(field.kind)


def other_fields(editor: DraftEditor, path: Path, *, then: Then = None, scope: Scope = "context") -> None:
    """The fields of the mapping at a place that no form has drawn before, as the schema tells them."""
    left = [field for field in fields_at(editor.document, path).values() if _is_left(editor, (*path, field.key), field)]
    small = [field for field in left if field.kind in SMALL]
    if small:
        with ui.element("div").classes("row fields"):
            for field in small:
                schema_field(editor, (*path, field.key), then=then, wide=False)
    for field in left:
        if field.kind not in SMALL:
            schema_field(editor, (*path, field.key), then=then, scope=scope)


def _groups(editor: DraftEditor, path: Path, field: FieldSchema, scope: Scope) -> None:
    """A list of mappings, each with its fields."""
    name = field.title.lower()
    with ui.element("div").classes("label"):
        ui.label(field.title)
        ui.label(field.description).classes("quiet")
    holder, wrong = ui.element("div").classes("rows"), ui.label("").classes("wrong").props('role="alert"')

    def draw() -> None:
        holder.clear()
        with holder:
            for index in range(len(list_at(editor.document, path))):
                with ui.element("div").classes("sub"):
                    other_fields(editor, (*path, index), scope=scope)
                    change = partial(remove, path=(*path, index))
                    icon_button("delete", f"Remove {name} {index + 1}", partial(take, change))
            add = partial(append, path=path, item={})
            button = ui.button(f"Add {name}", icon="add", on_click=partial(take, add))
            button.props("flat dense no-caps").classes("self-start")

    def take(change: Callable[[Data], Data]) -> None:
        editor.change(change(editor.document), structural=True)
        draw()

    editor.place(path, holder, lambda messages: wrong.set_text("\n".join(messages)))
    draw()


def _is_left(editor: DraftEditor, path: Path, field: FieldSchema) -> bool:
    """Whether a field has no form yet. Of a group, one field is enough."""
    if field.key in HAND_MADE.get(field.model, {}) or editor.has_place(path):
        return False
    inner = fields_at(editor.document, path) if field.kind == "group" else {}
    return not inner or any(_is_left(editor, (*path, key), one) for key, one in inner.items())
