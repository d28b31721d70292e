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

from .build_desk import Desk
from .build_fields import (
    amount_field,
    choice_field,
    fold,
    icon_button,
    number_field,
    switch_field,
    text_field,
    words_field,
)
from .build_formula import FormulaField

Redraw = Callable[[], None]
FIELDS = {"response": "in the response", "prompt": "in the prompt", "history": "in earlier replies"}
COUNTS = {"once": "once", "each": "for each match", "capped": "for each, up to"}
MATCHES = {"word": "whole words", "prefix": "beginnings of words", "substring": "anywhere"}
OPERATORS = ("<", "<=", ">", ">=", "==", "!=")


def draw_rules(desk: Desk, path: Path, redraw: Redraw) -> None:
    """The list of rules at a place of the document."""
    for index, rule in enumerate(listed(desk.document, path)):
        _rule(desk, (*path, index), rule, redraw)
    button = ui.button("Add a rule", icon="add").props("outline dense no-caps").classes("calm self-start")
    with button, ui.menu():
        for name in RULE_TYPES:
            kind = KINDS[name]
            with ui.menu_item(on_click=partial(_add, desk, path, name, redraw)), ui.element("div"):
                ui.label(kind.title)
                ui.label(kind.says).classes("quiet")


def _add(desk: Desk, path: Path, kind: str, redraw: Redraw) -> None:
    desk.opened.add((*path, len(listed(desk.document, path))))
    desk.change(append(desk.document, path, begun(kind)), structural=True)
    redraw()


def _rule(desk: Desk, path: Path, rule: Any, redraw: Redraw) -> None:
    kind = kind_of(rule)
    told = str(at(rule, ("name",), "") or at(rule, ("because",), "") or _summary(rule))

    def body() -> None:
        with ui.element("div").classes("row tools"):
            ui.label(kind.says.capitalize() + ".").classes("quiet grow")
            icon_button("arrow_upward", "Move the rule up", partial(_move, desk, path, -1, redraw))
            icon_button("arrow_downward", "Move the rule down", partial(_move, desk, path, 1, redraw))
            icon_button("delete", "Remove the rule", partial(_remove, desk, path, redraw))
        _FORMS[kind.type](desk, path, redraw)

    fold(desk, path, kind.title, told, body).classes("rule")


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


def _move(desk: Desk, path: Path, by: int, redraw: Redraw) -> None:
    desk.change(move(desk.document, path, by), structural=True)
    redraw()


def _remove(desk: Desk, path: Path, redraw: Redraw) -> None:
    desk.opened.discard(path)
    desk.change(remove(desk.document, path), structural=True)
    redraw()


def _pattern_rule(desk: Desk, path: Path, redraw: Redraw) -> None:
    text_field(desk, (*path, "name"), "Name", wide=False)
    kind = kind_of(at(desk.document, path)).type
    patterns: Path = (*path, "patterns")
    for index in range(len(listed(desk.document, patterns))):
        with ui.element("div").classes("sub"):
            draw_pattern(desk, (*patterns, index), redraw)
            _worth(desk, (*patterns, index), kind, redraw)
            if len(listed(desk.document, patterns)) > 1:
                icon_button("delete", "Remove the pattern", partial(_remove, desk, (*patterns, index), redraw))

    def another() -> None:
        desk.change(append(desk.document, patterns, another_pattern(kind)), structural=True)
        redraw()

    ui.button("Add a pattern", icon="add", on_click=another).props("flat dense no-caps")


def _worth(desk: Desk, path: Path, kind: str, redraw: Redraw) -> None:
    with ui.element("div").classes("row"):
        if kind == "penalty":
            number_field(desk, (*path, "penalty"), "Points taken (below 0)")
            text_field(desk, (*path, "reason"), "Reason that is shown")
        else:
            number_field(desk, (*path, "score"), "Points")
            text_field(desk, (*path, "category"), "Category", wide=False)

        def counted() -> None:
            capped = at(desk.document, (*path, "count")) == "capped"
            most = at(desk.document, (*path, "at_most"), 3)
            desk.change(put(desk.document, (*path, "at_most"), most if capped else None))
            redraw()

        choice_field(desk, (*path, "count"), "Count", COUNTS, default="once", then=counted)
        if at(desk.document, (*path, "count")) == "capped":
            number_field(desk, (*path, "at_most"), "At most")


def draw_pattern(desk: Desk, path: Path, redraw: Redraw) -> None:
    """What a pattern looks for, with its matches marked in the sample as one types."""
    by_regex = at(desk.document, (*path, "regex")) is not None

    def turn(event: Any) -> None:
        pattern = mapped(desk.document, path)
        other = {
            key: value for key, value in pattern.items() if key not in ("regex", "keywords", "match", "ignore_case")
        }
        if event.value == "regex":
            begun_with = "|".join(str(word) for word in listed(pattern, ("keywords",))) or "\\bword\\b"
            desk.change(put(desk.document, path, {"regex": begun_with, **other}), structural=True)
        else:
            desk.change(put(desk.document, path, {"keywords": [], **other}), structural=True)
        redraw()

    with ui.element("div").classes("row"):
        ui.toggle(
            {"keywords": "Keywords", "regex": "Pattern"}, value="regex" if by_regex else "keywords", on_change=turn
        ).props("dense no-caps unelevated toggle-color=primary")
        choice_field(desk, (*path, "field"), "Where", FIELDS, default="response")
        if by_regex:
            switch_field(desk, (*path, "ignore_case"), "Any case")
        else:
            choice_field(desk, (*path, "match"), "Match", MATCHES, default="word")
    if by_regex:
        looked = text_field(desk, (*path, "regex"), "Pattern (RE2, linear time)").props(
            "input-class=mono spellcheck=false"
        )
    else:
        looked = words_field(desk, (*path, "keywords"), "Keywords")
    tester = ui.html("", sanitize=False).classes("tester").props('aria-live="polite"')

    def follow() -> None:
        tester.set_content(str(_tested(desk, mapped(desk.document, path))))

    looked.on_value_change(lambda _: follow())
    desk.live(tester, follow)
    follow()


def _tested(desk: Desk, pattern: Mapping[str, Any]) -> Markup:
    field = pattern.get("field", "response")
    text = desk.sample.prompt if field == "prompt" else desk.sample.response
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


def _metric(desk: Desk, path: Path, redraw: Redraw) -> None:
    with ui.element("div").classes("row"):
        text_field(desk, (*path, "name"), "Name", wide=False)
        FormulaField(desk, (*path, "metric"), "Number to look at")
    rows: Path = (*path, "thresholds")
    for index, row in enumerate(listed(desk.document, rows)):
        with ui.element("div").classes("row sub-row"):
            if at(row, ("default",)):
                ui.label("otherwise").classes("short word")
            else:
                choice_field(desk, (*rows, index, "operator"), "If it is", OPERATORS, default=None)
                number_field(desk, (*rows, index, "value"), "than / to")
            if at(row, ("score_formula",)) is not None:
                FormulaField(desk, (*rows, index, "score_formula"), "Points by formula")
            else:
                number_field(desk, (*rows, index, "score"), "Points")
            by_formula = at(row, ("score_formula",)) is not None
            label = "Give a number of points" if by_formula else "Give points by a formula"
            icon_button("functions", label, partial(_turn_points, desk, (*rows, index), redraw))
            icon_button("delete", "Remove the row", partial(_remove, desk, (*rows, index), redraw))

    def another() -> None:
        found = listed(desk.document, rows)
        last = [row for row in found if at(row, ("default",))]
        ahead = [row for row in found if not at(row, ("default",))]
        desk.change(
            put(desk.document, rows, [*ahead, {"operator": ">=", "value": 0, "score": 0}, *last]), structural=True
        )
        redraw()

    def otherwise() -> None:
        desk.change(append(desk.document, rows, {"default": True, "score": 0}), structural=True)
        redraw()

    with ui.element("div").classes("row"):
        ui.button("Add a row", icon="add", on_click=another).props("flat dense no-caps")
        if not any(at(row, ("default",)) for row in listed(desk.document, rows)):
            ui.button("Otherwise …", icon="add", on_click=otherwise).props("flat dense no-caps")


def _turn_points(desk: Desk, path: Path, redraw: Redraw) -> None:
    row = mapped(desk.document, path)
    formula = row.pop("score_formula", None)
    points = row.pop("score", 0)
    desk.change(
        put(desk.document, path, {**row, **({"score": 0} if formula is not None else {"score_formula": f"{points}"})})
    )
    redraw()


def _cross_round(desk: Desk, path: Path, redraw: Redraw) -> None:  # noqa: ARG001 - every form is called alike
    with ui.element("div").classes("row"):
        text_field(desk, (*path, "name"), "Name", wide=False)
        text_field(desk, (*path, "track"), "Track: entity_mentions, year_mentions or a metric")
    ui.label("Points for each finding; 0 is not looked for.").classes("quiet")
    with ui.element("div").classes("row"):
        number_field(desk, (*path, "scoring", "callback_detected"), "Callback", default=0)
        number_field(desk, (*path, "scoring", "escalation_detected"), "Escalation", default=0)
        number_field(desk, (*path, "scoring", "consistency_bonus"), "Consistency", default=0)
    with ui.element("div").classes("row"):
        number_field(desk, (*path, "callback_items"), "Items that recur", default=1)
        number_field(desk, (*path, "callback_gap"), "Rounds back", default=1)
        number_field(desk, (*path, "escalation_rounds"), "Rounds that rise", default=2)
        number_field(desk, (*path, "consistency_share"), "Share of rounds", default=0.5)
        number_field(desk, (*path, "consistency_tolerance"), "Tolerance", default=0.2)


def _expression(desk: Desk, path: Path, redraw: Redraw) -> None:  # noqa: ARG001
    text_field(desk, (*path, "name"), "Name", wide=False)
    FormulaField(desk, (*path, "expression"), "Points")
    words_field(desk, (*path, "required_context"), "Names it cannot do without")


def _adjust(desk: Desk, path: Path, redraw: Redraw) -> None:  # noqa: ARG001
    with ui.element("div").classes("row top"):
        FormulaField(desk, (*path, "when"), "When")
        amount_field(desk, (*path, "add"), "Add (number or formula)")
    text_field(desk, (*path, "because"), "Because")


_FORMS: Mapping[str, Callable[[Desk, Path, Redraw], None]] = {
    "pattern_detection": _pattern_rule,
    "penalty": _pattern_rule,
    "metric_threshold": _metric,
    "cross_round_analysis": _cross_round,
    "custom_expression": _expression,
    "adjust": _adjust,
}
