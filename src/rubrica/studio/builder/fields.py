"""The fields of the builder's forms: each edits one place of the document."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from nicegui import background_tasks, ui

from rubrica.errors import RubricError
from rubrica.studio.builder.dimensions import NAME, rename_dimension
from rubrica.studio.builder.document import Path, at, mapping_at
from rubrica.studio.builder.form_schema import FieldSchema, field_at, may_leave_out
from rubrica.studio.builder.sentences import amount_of
from rubrica.workspace.rubric_text import from_text, to_text

from .editor import LONGEST_FIELD, DraftEditor, keep_focus, show_problems, text_at, typed_text

E = TypeVar("E", bound=ui.element)
Then = Callable[[], None] | None
LONG_CHOICE = 22
"""Characters of a choice that need a wider field."""
SETTLES = 0.25
"""Seconds after which a field that was left is drawn anew."""


def text_field(
    editor: DraftEditor, path: Path, *, label: str = "", area: bool = False, wide: bool = True, hint: str = ""
) -> ui.input:
    """A line of text, or several. An empty one takes the key away."""

    def changed(event: Any) -> None:
        editor.put(path, typed_text(event.value) or None)

    make = ui.textarea if area else ui.input
    field = field_at(editor.document, path)
    element = make(
        label or field.title, value=text_at(editor.document, path), on_change=changed, placeholder=hint or None
    )
    element.props("outlined dense" + (" autogrow" if area else "")).classes("grow" if wide else "short")
    element.props(f"maxlength={LONGEST_FIELD}")
    return _placed(editor, path, element, field)


def number_field(editor: DraftEditor, path: Path, *, label: str = "", then: Then = None) -> ui.number:
    """A number. An empty one takes the key away, and so does what counts anyway."""
    field = field_at(editor.document, path)

    def changed(event: Any) -> None:
        value = event.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        _write(editor, path, value, then)

    found = at(editor.document, path, field.default)
    start = found if isinstance(found, int | float) else None
    element = ui.number(label or field.title, value=start, on_change=changed).props("outlined dense").classes("short")
    element.props["step"] = "1" if field.kind == "integer" else "any"
    for key, bound in (("min", field.least), ("max", field.most)):  # told, not forced: the draft's problems say more
        if bound is not None:
            element.props[key] = f"{bound:g}"
    return _placed(editor, path, element, field)


def amount_field(editor: DraftEditor, path: Path) -> ui.input:
    """A number or a formula."""

    def changed(event: Any) -> None:
        text = typed_text(event.value)
        editor.put(path, amount_of(text) if text.strip() else None)

    field = field_at(editor.document, path)
    element = ui.input(field.title, value=text_at(editor.document, path), on_change=changed)
    element.props("outlined dense input-class=mono data-formula").classes("short")
    return _placed(editor, path, element, field)


def choice_field(
    editor: DraftEditor, path: Path, *, options: Mapping[Any, str] | None = None, then: Then = None
) -> ui.select:
    """One of a few. What counts anyway takes the key away. `options`: what the draft itself allows."""
    field = field_at(editor.document, path)
    known = dict(options if options is not None else field.choices or {})

    def changed(event: Any) -> None:
        _write(editor, path, event.value, then)

    found = at(editor.document, path, field.default)
    found = found if found in known else field.default
    element = ui.select(known, label=field.title, value=found, on_change=changed)
    element.props("outlined dense options-dense").classes(
        "medium" if max(map(len, known.values()), default=0) > LONG_CHOICE else "short"
    )
    if field.is_optional and None not in known:
        element.props("clearable")
    return _placed(editor, path, element, field)


def switch_field(editor: DraftEditor, path: Path, *, then: Then = None) -> ui.switch:
    """Yes or no. What counts anyway takes the key away."""
    field = field_at(editor.document, path)

    def changed(event: Any) -> None:
        _write(editor, path, bool(event.value), then)

    element = ui.switch(field.title, value=bool(at(editor.document, path, field.default)), on_change=changed)
    keep_focus(element, path)
    editor.place(path, element, lambda _: None)
    return _explained(element, field)


def words_field(editor: DraftEditor, path: Path, *, hint: str = "one per line, or separated by commas") -> ui.textarea:
    """A list of words."""

    def changed(event: Any) -> None:
        words = [
            word.strip() for line in typed_text(event.value).split("\n") for word in line.split(",") if word.strip()
        ]
        editor.put(path, words)

    found = at(editor.document, path, [])
    start = ", ".join(str(word) for word in found) if isinstance(found, list) else ""
    field = field_at(editor.document, path)
    element = ui.textarea(field.title, value=start, on_change=changed, placeholder=hint)
    element.props("outlined dense autogrow").classes("grow")
    return _placed(editor, path, element, field)


def _write(editor: DraftEditor, path: Path, value: Any, then: Then) -> None:
    """Put a value where it stands, unless it counts anyway."""
    editor.put(path, None if may_leave_out(editor.document, path, value) else value)
    if then is not None:
        then()


def _placed(editor: DraftEditor, path: Path, element: E, field: FieldSchema) -> E:
    editor.place(path, element)
    return _explained(element, field)


def _explained(element: E, field: FieldSchema) -> E:
    """Let a field tell what it is for, to a pointer that rests on it and to a screen reader."""
    if field.description and field.description.casefold() != field.title.casefold():
        element.props["title"] = field.description[0].upper() + field.description[1:] + "."
    return element


def yaml_field(editor: DraftEditor, path: Path, label: str, place: Path = ()) -> ui.textarea:
    """A mapping for which there is no form, as YAML. What is wrong with it, or at `place`, is told here."""
    found = at(editor.document, path, "")

    def changed(event: Any) -> None:
        text = typed_text(event.value)
        try:
            value = from_text(text)[0] if text.strip() else None
        except RubricError as error:
            show_problems(element, [problem.message for problem in error.problems])
        else:
            editor.put(path, value)

    text = to_text(found) if isinstance(found, Mapping) else str(found)
    element = ui.textarea(label, value=text, on_change=changed).classes("grow")
    element.props(f"outlined dense autogrow input-class=mono spellcheck=false maxlength={LONGEST_FIELD}")
    editor.place(place or path, element)
    return element


def name_field(editor: DraftEditor, label: str, path: Path, rename: Callable[[str], Awaitable[None]]) -> ui.input:
    """A name that others refer to: it changes when one leaves the field or presses Enter."""
    name = str(path[-1])
    element = ui.input(label, value=name).props("outlined dense input-class=mono").classes("short")
    keep_focus(element, (*path, "name"))

    def leave() -> None:
        wanted = typed_text(element.value).strip()
        if not wanted:
            element.value = name
        elif wanted != name and not element.is_deleted:
            background_tasks.create(later(wanted))

    async def later(wanted: str) -> None:
        await asyncio.sleep(SETTLES)  # whatever was clicked to leave the field is still where it was
        with editor.client:
            if name in mapping_at(editor.document, path[:-1]):
                await rename(wanted)

    element.on("change", leave)
    return element


async def rename_thing(editor: DraftEditor, path: Path, name: str) -> None:
    """Call a dimension, a part, a setting or a pattern otherwise, wherever it is read."""
    if NAME.fullmatch(name) is None:
        ui.notify("A name is a letter, then letters, digits and _.", type="warning")
    elif name in mapping_at(editor.document, path[:-1]):
        ui.notify(f"There already is one called {name}.", type="warning")
    else:
        await editor.move_path(path, (*path[:-1], name), lambda now: rename_dimension(now, path, name), reads=True)


def icon_button(icon: str, label: str, then: Callable[[], object]) -> ui.button:
    """A small button that says what it does."""
    button = ui.button(icon=icon, on_click=then).props(f'flat round dense size=sm aria-label="{label}"').classes("tool")
    button.tooltip(label)
    return button


def folded_section(editor: DraftEditor, path: Path, title: str, note: str, draw: Callable[[], None]) -> ui.expansion:
    """A part of the form that is drawn when it is unfolded."""
    with ui.expansion(title, caption=note or None, value=path in editor.opened).classes("fold") as element:
        body = ui.element("div").classes("fold-body")

    def fill() -> None:
        body.clear()
        if path in editor.opened:
            with body:
                draw()

    def turned(event: Any) -> None:
        (editor.opened.add if event.value else editor.opened.discard)(path)
        fill()
        editor.touched()

    element.on_value_change(turned)
    editor.place(path, element, lambda messages: _flag(element, bool(messages)))
    fill()
    return element


def retitle(editor: DraftEditor, element: ui.expansion, headings: Callable[[], tuple[str, str]]) -> None:
    """Let the title and the note of a fold follow what is typed in it."""

    def follow() -> None:
        title, note = headings()
        for key, text in (("label", title), ("caption", note)):
            if element.props.get(key, "") != text:
                element.props[key] = text

    editor.live(element, follow)


def _flag(element: ui.element, wrong: bool) -> None:
    element.classes(add="is-wrong") if wrong else element.classes(remove="is-wrong")
