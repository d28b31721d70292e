"""The fields of the builder's forms: each edits one place of the document."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from nicegui import background_tasks, ui

from rubrica.errors import RubricError
from rubrica.studio.builder.dimensions import NAME, rename_dimension
from rubrica.studio.builder.document import Path, at, mapping_at
from rubrica.studio.builder.sentences import amount_of
from rubrica.workspace.rubric_text import from_text, to_text

from .editor import LONGEST_FIELD, DraftEditor, keep_focus, show_problems, text_at, typed_text

Then = Callable[[], None] | None
SETTLES = 0.25
"""Seconds after which a field that was left is drawn anew."""


def text_field(
    editor: DraftEditor, path: Path, label: str, *, area: bool = False, wide: bool = True, hint: str = ""
) -> ui.input:
    """A line of text, or several. An empty one takes the key away."""

    def changed(event: Any) -> None:
        editor.put(path, typed_text(event.value) or None)

    make = ui.textarea if area else ui.input
    element = make(label, value=text_at(editor.document, path), on_change=changed, placeholder=hint or None)
    element.props("outlined dense" + (" autogrow" if area else "")).classes("grow" if wide else "short")
    element.props(f"maxlength={LONGEST_FIELD}")
    editor.place(path, element)
    return element


def number_field(
    editor: DraftEditor, path: Path, label: str, *, default: float | None = None, then: Then = None
) -> ui.number:
    """A number. An empty one, or the default, takes the key away."""

    def changed(event: Any) -> None:
        value = event.value
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        editor.put(path, None if value is not None and value == default else value)
        if then is not None:
            then()

    found = at(editor.document, path, default)
    start = found if isinstance(found, int | float) else None
    element = ui.number(label, value=start, on_change=changed).props("outlined dense").classes("short")
    editor.place(path, element)
    return element


def amount_field(editor: DraftEditor, path: Path, label: str) -> ui.input:
    """A number or a formula."""

    def changed(event: Any) -> None:
        text = typed_text(event.value)
        editor.put(path, amount_of(text) if text.strip() else None)

    element = ui.input(label, value=text_at(editor.document, path), on_change=changed)
    element.props("outlined dense input-class=mono data-formula").classes("short")
    editor.place(path, element)
    return element


def choice_field(
    editor: DraftEditor,
    path: Path,
    label: str,
    options: Mapping[Any, str] | Sequence[str],
    *,
    default: Any,
    then: Then = None,
    size: str = "short",
) -> ui.select:
    """One of a few. The default takes the key away."""

    def changed(event: Any) -> None:
        editor.put(path, None if event.value == default else event.value)
        if then is not None:
            then()

    known = dict(options) if isinstance(options, Mapping) else {option: option for option in options}
    found = at(editor.document, path, default)
    found = found if found in known else default
    element = ui.select(known, label=label, value=found, on_change=changed).props("outlined dense options-dense")
    element.classes(size)
    editor.place(path, element)
    return element


def switch_field(editor: DraftEditor, path: Path, label: str, *, then: Then = None) -> ui.switch:
    """Yes or no. No takes the key away."""

    def changed(event: Any) -> None:
        editor.put(path, True if event.value else None)
        if then is not None:
            then()

    element = ui.switch(label, value=bool(at(editor.document, path, False)), on_change=changed)
    keep_focus(element, path)
    editor.place(path, element, lambda _: None)
    return element


def words_field(
    editor: DraftEditor, path: Path, label: str, *, hint: str = "one per line, or separated by commas"
) -> ui.textarea:
    """A list of words."""

    def changed(event: Any) -> None:
        words = [
            word.strip() for line in typed_text(event.value).split("\n") for word in line.split(",") if word.strip()
        ]
        editor.put(path, words)

    found = at(editor.document, path, [])
    start = ", ".join(str(word) for word in found) if isinstance(found, list) else ""
    element = ui.textarea(label, value=start, on_change=changed, placeholder=hint)
    element.props("outlined dense autogrow").classes("grow")
    editor.place(path, element)
    return element


def yaml_field(editor: DraftEditor, path: Path, label: str) -> ui.textarea:
    """A part of the document for which there is no form, as YAML. What is wrong with it is told where it stands."""
    found = at(editor.document, path)

    def changed(event: Any) -> None:
        try:
            value = from_text(typed_text(event.value))[0]
        except RubricError as error:
            show_problems(element, [problem.message for problem in error.problems])
        else:
            editor.put(path, value)

    text = to_text(found) if isinstance(found, Mapping) else str(found)
    element = ui.textarea(label, value=text, on_change=changed).classes("grow")
    element.props(f"outlined dense autogrow input-class=mono spellcheck=false maxlength={LONGEST_FIELD}")
    editor.place((*path, "type"), element)  # that there is no such type is told here
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


def retitle(editor: DraftEditor, element: ui.expansion, heads: Callable[[], tuple[str, str]]) -> None:
    """Let the title and the note of a fold follow what is typed in it."""

    def follow() -> None:
        title, note = heads()
        for key, text in (("label", title), ("caption", note)):
            if element.props.get(key, "") != text:
                element.props[key] = text

    editor.live(element, follow)


def _flag(element: ui.element, wrong: bool) -> None:
    element.classes(add="is-wrong") if wrong else element.classes(remove="is-wrong")
