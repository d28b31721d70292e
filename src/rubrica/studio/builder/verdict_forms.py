"""Gates and verdicts: sentences, with a small editor for each piece of one."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from rubrica.engine.vocabulary import Scope
from rubrica.errors import InputError
from rubrica.studio.builder.document import Path, append, at, free_name, list_at, mapping_at, move, put, remove
from rubrica.studio.builder.form_schema import field_at
from rubrica.studio.builder.sentences import (
    EFFECTS,
    effect_of,
    gate_sentence,
    read_gate,
    read_verdict,
    verdict_sentence,
)

from .editor import DraftEditor, keep_focus, text_at
from .fields import amount_field, icon_button, number_field, switch_field, text_field
from .formula_field import FormulaField
from .schema_fields import other_fields

GATES: Path = ("gates",)
VERDICTS: Path = ("verdicts",)


def draw_gates(editor: DraftEditor) -> None:
    """Gates, each as a sentence that unfolds into its pieces."""
    with ui.element("div").classes("row"):
        with ui.element("h2"):
            ui.label("Gates")
        ui.label("what holds whatever the weights say").classes("quiet")
    for index in range(len(list_at(editor.document, GATES))):
        _sentence(editor, (*GATES, index))
    entry = (
        ui.input("Write a gate", placeholder="if accuracy < 5 then at most 40").props("outlined dense").classes("grow")
    )
    told = ui.label("").classes("wrong")

    def add() -> None:
        names = [str(at(gate, ("name",), "")) for gate in list_at(editor.document, GATES)]
        try:
            gate = read_gate(entry.value or "", free_name(names, "gate").replace("_", "-"))
        except InputError as error:
            told.set_text(str(error))
            return
        editor.change(append(editor.document, GATES, gate), "gates")

    entry.on("keydown.enter", add)
    ui.button("Add the gate", icon="add", on_click=add).props("outline no-caps").classes("calm self-start")


def draw_verdicts(editor: DraftEditor) -> None:
    """Verdicts, tried from top to bottom."""
    with ui.element("div").classes("row"):
        with ui.element("h2"):
            ui.label("Verdicts")
        ui.label("tried from top to bottom; the last has no condition").classes("quiet")
    holder = ui.element("div").classes("row")
    editor.place(VERDICTS, holder, lambda messages: wrong.set_text("\n".join(messages)))
    with holder:
        number_field(editor, ("threshold",))
        ui.label("named threshold in conditions").classes("quiet")
    verdict_lines(editor, VERDICTS)
    wrong = ui.label("").classes("wrong")
    write_verdict(editor, VERDICTS, "Write a verdict", "revise if 50 <= score < 70")


def verdict_lines(editor: DraftEditor, path: Path) -> None:
    """The verdicts at a place of the document, each as a sentence that unfolds into its pieces."""
    for index in range(len(list_at(editor.document, path))):
        _sentence(editor, (*path, index))


def write_verdict(editor: DraftEditor, path: Path, label: str, example: str) -> None:
    """A line in which a further verdict is written as a sentence."""
    entry = ui.input(label, placeholder=example).props("outlined dense").classes("grow")
    told = ui.label("").classes("wrong")

    def add() -> None:
        try:
            verdict = read_verdict(entry.value or "")
        except InputError as error:
            told.set_text(str(error))
            return
        found = list_at(editor.document, path)
        if "when" in verdict:  # before the one that takes whatever is left
            last = [one for one in found[-1:] if at(one, ("when",)) is None]
            kept = [*found[: len(found) - len(last)], verdict, *last]
        else:
            kept = [*[one for one in found if at(one, ("when",)) is not None], verdict]
        editor.put(path, kept, str(path[0]), "gates")

    entry.on("keydown.enter", add)
    ui.button("Add the verdict", icon="add", on_click=add).props("outline no-caps").classes("calm self-start")


def _sentence(editor: DraftEditor, path: Path) -> None:
    section = str(path[0])
    is_open = path in editor.opened

    def turn() -> None:
        (editor.opened.discard if path in editor.opened else editor.opened.add)(path)
        editor.redraw(section)
        editor.touched()

    with ui.element("div").classes("sentence" + (" open" if is_open else "")) as holder:
        with ui.element("div").classes("row tools"):
            line = (
                ui.element("button").classes("line grow").props(f'type="button" aria-expanded={str(is_open).lower()}')
            )
            line.on("click", turn)
            keep_focus(line, (*path, "sentence"))
            with line:
                label = ui.label("")
            icon_button("arrow_upward", "Move up", partial(_move, editor, path, -1))
            icon_button("arrow_downward", "Move down", partial(_move, editor, path, 1))
            icon_button("delete", "Remove", partial(_remove, editor, path))
        wrong = ui.label("").classes("wrong")
        if is_open:
            (_gate if section == "gates" else _verdict)(editor, path)

    def follow() -> None:
        label.set_text(_sentence_of(editor, path))

    editor.place(path, holder if is_open else line, lambda messages: wrong.set_text("\n".join(messages)))
    editor.live(holder, follow)
    follow()


def _sentence_of(editor: DraftEditor, path: Path) -> str:
    thing = mapping_at(editor.document, path)
    if path[0] == "gates":
        return gate_sentence(thing)
    return verdict_sentence(thing, last=path[-1] == len(list_at(editor.document, path[:-1])) - 1)


def _gate(editor: DraftEditor, path: Path) -> None:
    gate = mapping_at(editor.document, path)
    effect = effect_of(gate)
    labels = [text_at(verdict, ("label",)) for verdict in list_at(editor.document, VERDICTS)]

    def turn(event: Any) -> None:
        kept = {key: value for key, value in mapping_at(editor.document, path).items() if key not in EFFECTS}
        start: Any = {"cap": 40, "floor": 60, "verdict": labels[-1] if labels else "fail"}[event.value]
        editor.change(put(editor.document, path, {**kept, event.value: start}), "gates")

    FormulaField(editor, (*path, "when"), "context" if gate.get("before") is True else "gates")
    with ui.element("div").classes("row"):
        ui.select(dict(EFFECTS), label="then", value=effect, on_change=turn).props(
            "outlined dense options-dense"
        ).classes("short")
        if effect == "verdict":
            options = list(dict.fromkeys([label for label in (*labels, text_at(gate, ("verdict",))) if label]))
            label = field_at(editor.document, (*path, "verdict")).title
            choice = ui.select(options, label=label, value=text_at(gate, ("verdict",)) or None)
            choice.on_value_change(lambda event: editor.put((*path, "verdict"), event.value))
            choice.props("outlined dense options-dense").classes("short")
            editor.place((*path, "verdict"), choice)
        else:
            amount_field(editor, (*path, effect))
    text_field(editor, (*path, "because"))
    with ui.element("div").classes("row"):
        text_field(editor, (*path, "name"), wide=False)
        if not isinstance(gate.get("before"), str):
            switch_field(editor, (*path, "before"), then=partial(editor.redraw, "gates"))
    other_fields(editor, path, scope="gates")


def _verdict(editor: DraftEditor, path: Path) -> None:
    scope: Scope = "section" if path[0] == "sections" else "gates"
    with ui.element("div").classes("row top"):
        text_field(editor, (*path, "label"), wide=False)
        FormulaField(editor, (*path, "when"), scope)
    text_field(editor, (*path, "because"))
    other_fields(editor, path, scope=scope)


def _move(editor: DraftEditor, path: Path, by: int) -> None:
    editor.opened -= _listed_beside(editor, path)
    editor.change(move(editor.document, path, by), str(path[0]))


def _remove(editor: DraftEditor, path: Path) -> None:
    editor.opened -= _listed_beside(editor, path)
    editor.change(remove(editor.document, path), str(path[0]))


def _listed_beside(editor: DraftEditor, path: Path) -> set[Path]:
    """What is unfolded of the list that a thing stands in: their numbers are other things' numbers after a move."""
    return {way for way in editor.opened if len(way) >= len(path) and way[: len(path) - 1] == path[:-1]}
