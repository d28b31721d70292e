"""A form for each type of rule, and the tester that marks what a pattern finds in the sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from markupsafe import Markup
from nicegui import ui

from rubrica.model.rules import RULE_TYPES
from rubrica.studio.builder.document import Path, append, at, listed, mapped, move, put, remove
from rubrica.studio.builder.matches import LONGEST_SAMPLE, found_in, marked
from rubrica.studio.builder.rules import KINDS, another_pattern, begun, kind_of

from .editor import DraftEditor
from .fields import amount_field, choice_field, fold, icon_button, number_field, switch_field, text_field, words_field
from .formula_field import FormulaField

Redraw = Callable[[], None]
FIELDS = {"response": "in the response", "prompt": "in the prompt", "history": "in earlier replies"}
COUNTS = {"once": "once", "each": "for each match", "capped": "for each, up to"}
MATCHES = {"word": "whole words", "prefix": "beginnings of words", "substring": "anywhere"}
OPERATORS = ("<", "<=", ">", ">=", "==", "!=")


def draw_rules(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    """The list of rules at a place of the document."""
    for index, rule in enumerate(listed(editor.document, path)):
        _rule(editor, (*path, index), rule, redraw)
    button = ui.button("Add a rule", icon="add").props("outline dense no-caps").classes("calm self-start")
    with button, ui.menu():
        for name in RULE_TYPES:
            kind = KINDS[name]
            with ui.menu_item(on_click=partial(_add, editor, path, name, redraw)), ui.element("div"):
                ui.label(kind.title)
                ui.label(kind.says).classes("quiet")


def _add(editor: DraftEditor, path: Path, kind: str, redraw: Redraw) -> None:
    editor.opened.add((*path, len(listed(editor.document, path))))
    editor.change(append(editor.document, path, begun(kind)), structural=True)
    redraw()


def _rule(editor: DraftEditor, path: Path, rule: Any, redraw: Redraw) -> None:
    kind = kind_of(rule)
    told = str(at(rule, ("name",), "") or at(rule, ("because",), "") or _summary(rule))

    def body() -> None:
        with ui.element("div").classes("row tools"):
            ui.label(kind.says.capitalize() + ".").classes("quiet grow")
            icon_button("arrow_upward", "Move the rule up", partial(_move, editor, path, -1, redraw))
            icon_button("arrow_downward", "Move the rule down", partial(_move, editor, path, 1, redraw))
            icon_button("delete", "Remove the rule", partial(_remove, editor, path, redraw))
        _FORMS[kind.type](editor, path, redraw)

    fold(editor, path, kind.title, told, body).classes("rule")


def _summary(rule: Any) -> str:
    match kind_of(rule).type:
        case "adjust":
            return f"{at(rule, ('add',), '')} when {at(rule, ('when',), 'always')}"
        case "metric_threshold":
            return f"by {at(rule, ('metric',), '')}"
        case "custom_expression":
            return str(at(rule, ("expression",), ""))
        case "cross_round_analysis":
            return str(at(rule, ("track",), ""))
        case _:
            words = [_looked_for(pattern) for pattern in listed(rule, ("patterns",))]
            return "; ".join(word for word in words if word)


def _looked_for(pattern: Any) -> str:
    keywords = listed(pattern, ("keywords",))
    return str(at(pattern, ("regex",), "")) or ", ".join(str(word) for word in keywords[:6])


def _move(editor: DraftEditor, path: Path, by: int, redraw: Redraw) -> None:
    editor.change(move(editor.document, path, by), structural=True)
    redraw()


def _remove(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    editor.opened.discard(path)
    editor.change(remove(editor.document, path), structural=True)
    redraw()


def _pattern_rule(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    text_field(editor, (*path, "name"), "Name", wide=False)
    kind = kind_of(at(editor.document, path)).type
    patterns: Path = (*path, "patterns")
    for index in range(len(listed(editor.document, patterns))):
        with ui.element("div").classes("sub"):
            draw_pattern(editor, (*patterns, index), redraw)
            _worth(editor, (*patterns, index), kind, redraw)
            if len(listed(editor.document, patterns)) > 1:
                icon_button("delete", "Remove the pattern", partial(_remove, editor, (*patterns, index), redraw))

    def another() -> None:
        editor.change(append(editor.document, patterns, another_pattern(kind)), structural=True)
        redraw()

    ui.button("Add a pattern", icon="add", on_click=another).props("flat dense no-caps")


def _worth(editor: DraftEditor, path: Path, kind: str, redraw: Redraw) -> None:
    with ui.element("div").classes("row"):
        if kind == "penalty":
            number_field(editor, (*path, "penalty"), "Points taken (below 0)")
            text_field(editor, (*path, "reason"), "Reason that is shown")
        else:
            number_field(editor, (*path, "score"), "Points")
            text_field(editor, (*path, "category"), "Category", wide=False)

        def counted() -> None:
            capped = at(editor.document, (*path, "count")) == "capped"
            most = at(editor.document, (*path, "at_most"), 3)
            editor.change(put(editor.document, (*path, "at_most"), most if capped else None))
            redraw()

        choice_field(editor, (*path, "count"), "Count", COUNTS, default="once", then=counted)
        if at(editor.document, (*path, "count")) == "capped":
            number_field(editor, (*path, "at_most"), "At most")


def draw_pattern(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    """What a pattern looks for, with its matches marked in the sample as one types."""
    by_regex = at(editor.document, (*path, "regex")) is not None

    def turn(event: Any) -> None:
        pattern = mapped(editor.document, path)
        other = {
            key: value for key, value in pattern.items() if key not in ("regex", "keywords", "match", "ignore_case")
        }
        if event.value == "regex":
            begun_with = "|".join(str(word) for word in listed(pattern, ("keywords",))) or "\\bword\\b"
            editor.change(put(editor.document, path, {"regex": begun_with, **other}), structural=True)
        else:
            editor.change(put(editor.document, path, {"keywords": [], **other}), structural=True)
        redraw()

    with ui.element("div").classes("row"):
        ui.toggle(
            {"keywords": "Keywords", "regex": "Pattern"}, value="regex" if by_regex else "keywords", on_change=turn
        ).props("dense no-caps unelevated toggle-color=primary")
        choice_field(editor, (*path, "field"), "Where", FIELDS, default="response")
        if by_regex:
            switch_field(editor, (*path, "ignore_case"), "Any case")
        else:
            choice_field(editor, (*path, "match"), "Match", MATCHES, default="word")
    if by_regex:
        looked = text_field(editor, (*path, "regex"), "Pattern (RE2, linear time)").props(
            "input-class=mono spellcheck=false"
        )
    else:
        looked = words_field(editor, (*path, "keywords"), "Keywords")
    tester = ui.html("", sanitize=False).classes("tester").props('aria-live="polite"')

    def follow() -> None:
        tester.set_content(str(_tested(editor, mapped(editor.document, path))))

    looked.on_value_change(lambda _: follow())
    editor.live(tester, follow)
    follow()


def _tested(editor: DraftEditor, pattern: Mapping[str, Any]) -> Markup:
    field = pattern.get("field", "response")
    text = editor.sample.prompt if field == "prompt" else editor.sample.response
    if field == "history":
        return Markup('<span class="quiet">Earlier replies are tried in the sandbox.</span>')
    found = found_in(pattern, text)
    if found.error:
        return Markup('<span class="wrong">{}</span>').format(found.error)
    count = len(found.spans)
    told = f"{count} match{'' if count == 1 else 'es'} in the sample’s {field}"
    return Markup('<div class="quiet">{}</div><div class="told small">{}</div>').format(
        told, marked(text[:LONGEST_SAMPLE], [(found.spans, "tone-plus")])
    )


def _metric(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    with ui.element("div").classes("row"):
        text_field(editor, (*path, "name"), "Name", wide=False)
        FormulaField(editor, (*path, "metric"), "Number to look at")
    rows: Path = (*path, "thresholds")
    for index, row in enumerate(listed(editor.document, rows)):
        with ui.element("div").classes("row sub-row"):
            if at(row, ("default",)):
                ui.label("otherwise").classes("short word")
            else:
                choice_field(editor, (*rows, index, "operator"), "If it is", OPERATORS, default=None)
                number_field(editor, (*rows, index, "value"), "than / to")
            if at(row, ("score_formula",)) is not None:
                FormulaField(editor, (*rows, index, "score_formula"), "Points by formula")
            else:
                number_field(editor, (*rows, index, "score"), "Points")
            by_formula = at(row, ("score_formula",)) is not None
            label = "Give a number of points" if by_formula else "Give points by a formula"
            icon_button("functions", label, partial(_turn_points, editor, (*rows, index), redraw))
            icon_button("delete", "Remove the row", partial(_remove, editor, (*rows, index), redraw))

    def another() -> None:
        found = listed(editor.document, rows)
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
        if not any(at(row, ("default",)) for row in listed(editor.document, rows)):
            ui.button("Otherwise …", icon="add", on_click=otherwise).props("flat dense no-caps")


def _turn_points(editor: DraftEditor, path: Path, redraw: Redraw) -> None:
    row = mapped(editor.document, path)
    formula = row.pop("score_formula", None)
    points = row.pop("score", 0)
    editor.change(
        put(editor.document, path, {**row, **({"score": 0} if formula is not None else {"score_formula": f"{points}"})})
    )
    redraw()


def _cross_round(editor: DraftEditor, path: Path, redraw: Redraw) -> None:  # noqa: ARG001 - every form is called alike
    with ui.element("div").classes("row"):
        text_field(editor, (*path, "name"), "Name", wide=False)
        text_field(editor, (*path, "track"), "Track: entity_mentions, year_mentions or a metric")
    ui.label("Points for each finding; 0 is not looked for.").classes("quiet")
    with ui.element("div").classes("row"):
        number_field(editor, (*path, "scoring", "callback_detected"), "Callback", default=0)
        number_field(editor, (*path, "scoring", "escalation_detected"), "Escalation", default=0)
        number_field(editor, (*path, "scoring", "consistency_bonus"), "Consistency", default=0)
    with ui.element("div").classes("row"):
        number_field(editor, (*path, "callback_items"), "Items that recur", default=1)
        number_field(editor, (*path, "callback_gap"), "Rounds back", default=1)
        number_field(editor, (*path, "escalation_rounds"), "Rounds that rise", default=2)
        number_field(editor, (*path, "consistency_share"), "Share of rounds", default=0.5)
        number_field(editor, (*path, "consistency_tolerance"), "Tolerance", default=0.2)


def _expression(editor: DraftEditor, path: Path, redraw: Redraw) -> None:  # noqa: ARG001
    text_field(editor, (*path, "name"), "Name", wide=False)
    FormulaField(editor, (*path, "expression"), "Points")
    words_field(editor, (*path, "required_context"), "Names it cannot do without")


def _adjust(editor: DraftEditor, path: Path, redraw: Redraw) -> None:  # noqa: ARG001
    with ui.element("div").classes("row top"):
        FormulaField(editor, (*path, "when"), "When")
        amount_field(editor, (*path, "add"), "Add (number or formula)")
    text_field(editor, (*path, "because"), "Because")


_FORMS: Mapping[str, Callable[[DraftEditor, Path, Redraw], None]] = {
    "pattern_detection": _pattern_rule,
    "penalty": _pattern_rule,
    "metric_threshold": _metric,
    "cross_round_analysis": _cross_round,
    "custom_expression": _expression,
    "adjust": _adjust,
}
