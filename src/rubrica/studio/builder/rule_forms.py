"""Draws the form of a rule, whatever its type, and the tester that marks what a pattern finds in the sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, assert_never

from markupsafe import Markup
from nicegui import ui

from rubrica.scorers.rule_form import FormField, FormRow
from rubrica.scorers.rule_table import rule_types
from rubrica.studio.builder.document import Path, append, at, list_at, mapping_at, move, put, remove
from rubrica.studio.builder.form_schema import field_at, fields_at
from rubrica.studio.builder.matches import LONGEST_SAMPLE, find_matches, mark_matches
from rubrica.studio.builder.rules import new_rule, type_of_draft

from .editor import DraftEditor
from .fields import (
    choice_field,
    folded_section,
    icon_button,
    number_field,
    switch_field,
    text_field,
    words_field,
    yaml_field,
)
from .formula_field import FormulaField
from .schema_fields import other_fields, schema_field

Redraw = Callable[[], None]


def draw_rules(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    """The list of rules at a place of the document."""
    for index, rule in enumerate(list_at(editor.document, path)):
        _rule(editor, (*path, index), rule, redraw)
    button = ui.button("Add a rule", icon="add").props("outline dense no-caps").classes("calm self-start")
    with button, ui.menu():
        for name, kind in rule_types().items():
            with ui.menu_item(on_click=partial(_add, editor, path, name, redraw)), ui.element("div"):
                ui.label(kind.title)
                ui.label(kind.says).classes("quiet")


def _add(editor: DraftEditor, path: Path, kind: str, redraw: Redraw) -> None:
    editor.opened.add((*path, len(list_at(editor.document, path))))
    editor.change(append(editor.document, path, new_rule(kind)), structural=True)
    redraw()


def _rule(editor: DraftEditor, path: Path, rule: Any, redraw: Redraw) -> None:
    kind = type_of_draft(rule)
    if kind is None:
        title, says = str(at(rule, ("type",), "") or "No rule"), "of no known type: as it stands in the document"
        told = says
    else:
        title, says = kind.title, kind.says
        told = str(at(rule, ("name",), "") or at(rule, ("because",), "") or kind.summary(rule))

    def body() -> None:
        with ui.element("div").classes("row tools"):
            ui.label(says.capitalize() + ".").classes("quiet grow")
            icon_button("arrow_upward", "Move the rule up", partial(_move, editor, path, -1, redraw))
            icon_button("arrow_downward", "Move the rule down", partial(_move, editor, path, 1, redraw))
            icon_button("delete", "Remove the rule", partial(_remove, editor, path, redraw))
        if kind is None:
            yaml_field(editor, path, "Rule (YAML)", (*path, "type"))  # that there is no such type is told here
            return
        for row in kind.form:
            _row(editor, path, row, redraw)
        other_fields(editor, path)

    folded_section(editor, path, title, told, body).classes("rule")


def _row(editor: DraftEditor, path: Path, row: FormRow, redraw: Redraw) -> None:
    if row.says:
        ui.label(row.says).classes("quiet")
    if len(row.fields) == 1:
        _field(editor, path, row.fields[0], redraw)
        return
    kinds = {field.kind or field_at(editor.document, (*path, *field.path)).kind for field in row.fields}
    with ui.element("div").classes("row top" if "formula" in kinds else "row"):
        for field in row.fields:
            _field(editor, path, field, redraw)


def _field(editor: DraftEditor, path: Path, field: FormField, redraw: Redraw) -> None:
    place: Path = (*path, *field.path)
    match field.kind:
        case None:
            schema_field(editor, place)
        case "line" | "name":
            text_field(editor, place, wide=field.kind == "line")
        case "formula":
            FormulaField(editor, place)
        case "patterns":
            _listed(editor, place, partial(_patterns, editor, place, redraw))
        case "thresholds":
            _listed(editor, place, partial(_thresholds, editor, place, redraw))
        case _:
            assert_never(field.kind)


def _listed(editor: DraftEditor, path: Path, draw: Callable[[], None]) -> None:
    """A list with a form of its own, and what is wrong with it."""
    with ui.element("div") as holder:
        draw()
        wrong = ui.label("").classes("wrong").props('role="alert"')
    editor.place(path, holder, lambda messages: wrong.set_text("\n".join(messages)))


def _move(editor: DraftEditor, path: Path, by: int, redraw: Redraw) -> None:
    editor.change(move(editor.document, path, by), structural=True)
    redraw()


def _remove(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    editor.opened.discard(path)
    editor.change(remove(editor.document, path), structural=True)
    redraw()


def _patterns(editor: DraftEditor, patterns: Path, redraw: Redraw) -> None:
    for index in range(len(list_at(editor.document, patterns))):
        with ui.element("div").classes("sub"):
            draw_pattern(editor, (*patterns, index), redraw)
            _worth(editor, (*patterns, index), redraw)
            if len(list_at(editor.document, patterns)) > 1:
                icon_button("delete", "Remove the pattern", partial(_remove, editor, (*patterns, index), redraw))

    def another() -> None:
        takes = "penalty" in fields_at(editor.document, (*patterns, 0))
        new = {"keywords": [], **({"penalty": -1, "reason": ""} if takes else {"score": 1})}
        editor.change(append(editor.document, patterns, new), structural=True)
        redraw()

    ui.button("Add a pattern", icon="add", on_click=another).props("flat dense no-caps")


def _worth(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    def counted() -> None:
        capped = at(editor.document, (*path, "count")) == "capped"
        most = at(editor.document, (*path, "at_most"), 3)
        editor.change(put(editor.document, (*path, "at_most"), most if capped else None))
        redraw()

    with ui.element("div").classes("row"):
        for key in ("score", "penalty", "reason"):
            if key in fields_at(editor.document, path):
                schema_field(editor, (*path, key))
        choice_field(editor, (*path, "count"), then=counted)
        if at(editor.document, (*path, "count")) == "capped":
            number_field(editor, (*path, "at_most"))
    other_fields(editor, path)


def draw_pattern(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    """What a pattern looks for, with its matches marked in the sample as one types."""
    by_regex = at(editor.document, (*path, "regex")) is not None

    def turn(event: Any) -> None:
        pattern = mapping_at(editor.document, path)
        other = {
            key: value for key, value in pattern.items() if key not in ("regex", "keywords", "match", "ignore_case")
        }
        if event.value == "regex":
            begun_with = "|".join(str(word) for word in list_at(pattern, ("keywords",))) or "\\bword\\b"
            editor.change(put(editor.document, path, {"regex": begun_with, **other}), structural=True)
        else:
            editor.change(put(editor.document, path, {"keywords": [], **other}), structural=True)
        redraw()

    with ui.element("div").classes("row"):
        ui.toggle(
            {"keywords": "Keywords", "regex": "Pattern"}, value="regex" if by_regex else "keywords", on_change=turn
        ).props("dense no-caps unelevated toggle-color=primary")
        choice_field(editor, (*path, "field"))
        if by_regex:
            switch_field(editor, (*path, "ignore_case"))
        else:
            choice_field(editor, (*path, "match"))
    if by_regex:
        looked = text_field(editor, (*path, "regex")).props("input-class=mono spellcheck=false")
    else:
        looked = words_field(editor, (*path, "keywords"))
    tester = ui.html("", sanitize=False).classes("tester").props('aria-live="polite"')

    def follow() -> None:
        tester.set_content(str(_tested(editor, mapping_at(editor.document, path))))

    looked.on_value_change(lambda _: follow())
    editor.live(tester, follow)
    follow()


def _tested(editor: DraftEditor, pattern: Mapping[str, Any]) -> Markup:
    field = pattern.get("field", "response")
    text = editor.sample.prompt if field == "prompt" else editor.sample.response
    if field == "history":
        return Markup('<span class="quiet">Earlier replies are tried in the sandbox.</span>')
    found = find_matches(pattern, text)
    if found.error:
        return Markup('<span class="wrong">{}</span>').format(found.error)
    count = len(found.spans)
    told = f"{count} match{'' if count == 1 else 'es'} in the sample’s {field}"
    return Markup('<div class="quiet">{}</div><div class="told small">{}</div>').format(
        told, mark_matches(text[:LONGEST_SAMPLE], [(found.spans, "tone-plus")])
    )


def _thresholds(editor: DraftEditor, rows: Path, redraw: Redraw) -> None:
    for index, row in enumerate(list_at(editor.document, rows)):
        with ui.element("div").classes("row sub-row"):
            if at(row, ("default",)):
                ui.label("otherwise").classes("short word")
            else:
                choice_field(editor, (*rows, index, "operator"))
                number_field(editor, (*rows, index, "value"))
            if at(row, ("score_formula",)) is not None:
                FormulaField(editor, (*rows, index, "score_formula"))
            else:
                number_field(editor, (*rows, index, "score"))
            other_fields(editor, (*rows, index))
            by_formula = at(row, ("score_formula",)) is not None
            label = "Give a number of points" if by_formula else "Give points by a formula"
            icon_button("functions", label, partial(_turn_points, editor, (*rows, index), redraw))
            icon_button("delete", "Remove the row", partial(_remove, editor, (*rows, index), redraw))

    def another() -> None:
        found = list_at(editor.document, rows)
        last = [row for row in found if at(row, ("default",))]
        ahead = [row for row in found if not at(row, ("default",))]
        editor.change(
            put(editor.document, rows, [*ahead, {"operator": ">=", "value": 0, "score": 0}, *last]), structural=True
        )
        redraw()

    def otherwise() -> None:
        editor.change(append(editor.document, rows, {"default": True, "score": 0}), structural=True)
        redraw()

    with ui.element("div").classes("row"):
        ui.button("Add a row", icon="add", on_click=another).props("flat dense no-caps")
        if not any(at(row, ("default",)) for row in list_at(editor.document, rows)):
            ui.button("Otherwise …", icon="add", on_click=otherwise).props("flat dense no-caps")


def _turn_points(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    row = mapping_at(editor.document, path)
    formula = row.pop("score_formula", None)
    points = row.pop("score", 0)
    editor.change(
        put(editor.document, path, {**row, **({"score": 0} if formula is not None else {"score_formula": f"{points}"})})
    )
    redraw()
