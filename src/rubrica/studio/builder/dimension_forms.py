"""Dimensions: their weights, what is asked, anchors over the scale, and how each is scored."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from rubrica.studio.builder.advice import CriterionAdvice, take_advice
from rubrica.studio.builder.anchors import AnchorRow, anchors_of, coverage, rows_of, spread
from rubrica.studio.builder.dimensions import (
    add_dimension,
    first_recipe,
    kind_of,
    move_dimension,
    remove_dimension,
    scale_of,
    weighed_by_profiles,
    weights_of,
    with_scoring,
    with_weights,
)
from rubrica.studio.builder.document import Path, append, at, list_at, mapping_at, put, remove
from rubrica.studio.builder.form_schema import choices_of, field_at
from rubrica.studio.builder.score_ways import score_way, with_case_criteria
from rubrica.studio.builder.weights import normalise_weights, rebalance

from .answer_forms import draw_answers, draw_examples
from .criteria_card import draw_case_criteria, draw_criteria
from .criterion_forms import CriterionTree
from .editor import DraftEditor, focus, keep_focus
from .fields import (
    choice_field,
    folded_section,
    icon_button,
    name_field,
    number_field,
    rename_thing,
    retitle,
    switch_field,
    text_field,
)
from .formula_field import FormulaField
from .rule_forms import draw_rules
from .schema_fields import other_fields

SECTION = "dimensions"
# The page's own copy of the value follows at once, so that drawing it anew does not throw the slider back.
_MOVED = "(event) => { element.props.value = Number(event.target.value); emit(element.props.value) }"
OFFLINE = {"": "nothing: it stays unscored", "formula": "one formula", "rules": "rules", "checks": "a checklist"}
STAND_IN_CONFIDENCE = 0.3


def draw_dimensions(editor: DraftEditor) -> None:
    """The dimensions of a rubric."""
    root: Path = ("dimensions",)
    redraw = partial(editor.redraw, SECTION)
    if score_way(editor.document) == "points":
        with ui.element("div").classes("row"):
            with ui.element("h2"):
                ui.label("Criteria")
            ui.label("what is asked, and what each answer earns or costs").classes("quiet")
        draw_criteria(editor, root, _row_detail)
        return
    with ui.element("div").classes("row"):
        with ui.element("h2"):
            ui.label("Dimensions")
        ui.label("what is scored, and how much each weighs").classes("quiet")
    if at(editor.document, ("score", "formula")) is None and not weighed_by_profiles(editor.document):
        draw_weights(editor, root, weights_of(editor.document, root), partial(_weigh, editor, root))
    for name in mapping_at(editor.document, root):
        _folded(editor, (*root, name), redraw)
    holder = ui.element("div").classes("row")
    editor.place(root, holder, lambda messages: _show_messages(told, messages))
    with holder:
        ui.button("Add a dimension", icon="add", on_click=partial(_add, editor, root, "dimension")).props(
            "outline no-caps"
        ).classes("calm")
    told = ui.label("").classes("wrong")


def _folded(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    """A dimension, or a part of one, under its title."""

    def headings() -> tuple[str, str]:
        axis = at(editor.document, path)
        return str(at(axis, ("title",), "") or path[-1]), choices_of("Dimension", "scorer")[kind_of(axis)]

    retitle(editor, folded_section(editor, path, *headings(), partial(_axis, editor, path, redraw)), headings)


def _show_messages(label: ui.label, messages: Any) -> None:
    label.set_text("\n".join(messages))


def _add(editor: DraftEditor, path: Path, new_name: str) -> None:
    document, name = add_dimension(editor.document, path, new_name)
    editor.opened.add((*path, name))
    editor.change(document, SECTION, "profiles", "sections")
    found = editor.nearest((*path, name, "name"))
    if found is not None:
        focus(editor.client, found[1].element)


def _weigh(editor: DraftEditor, path: Path, weights: dict[str, float]) -> None:
    editor.change(with_weights(editor.document, path, weights))


def draw_weights(
    editor: DraftEditor, path: Path, weights: dict[str, float], keep: Callable[[dict[str, float]], None]
) -> None:
    """Sliders that keep their sum; the lock beside one keeps it where it is."""
    if len(weights) < 2:
        return
    now = dict(weights)
    sliders: dict[str, ui.element] = {}
    numbers: dict[str, ui.label] = {}

    def show(moved: str | None = None) -> None:
        for name, weight in now.items():
            if name != moved:
                sliders[name].props["value"] = weight
            numbers[name].set_text(f"{100 * weight:.3g} %")
        total = sum(now.values())
        sum_label.set_text("" if abs(total - 1) < 0.001 else f"They sum to {100 * total:.4g} %.")
        even.set_visibility(abs(total - 1) >= 0.001)

    def take(changed: dict[str, float], moved: str | None = None) -> None:
        nonlocal now
        now = changed
        show(moved)
        keep(now)

    def moved_to(name: str, event: Any) -> None:
        to = float(event.args)
        locked = {other for other in now if (*path, other) in editor.locked}
        changed = rebalance(now, name, to, locked)
        with sliders[name].props.suspend_updates():
            sliders[name].props["value"] = changed[name]
        take(changed, name if abs(changed[name] - to) < 1e-9 else None)  # where it went is not sent back while it moves

    def lock(name: str, button: ui.button) -> None:
        key = (*path, name)
        (editor.locked.discard if key in editor.locked else editor.locked.add)(key)
        _drawn_lock(editor, key, button)

    with ui.element("div").classes("weights"):
        for name, weight in weights.items():
            ui.label(str(at(editor.document, ("dimensions", name, "title"), "") or name)).classes("weight-name")
            slider = ui.element("input").props('type="range" min="0" max="1" step="0.01"').classes("range")
            slider.props["aria-label"] = f"Weight of {name}"
            slider.props["value"] = weight
            keep_focus(slider, (*path, name, "weight"))
            slider.on("input", partial(moved_to, name), js_handler=_MOVED, throttle=0.05)
            sliders[name] = slider
            numbers[name] = ui.label("").classes("weight number")
            button = ui.button().props("flat round dense size=sm").classes("tool")
            button.on_click(partial(lock, name, button))
            _drawn_lock(editor, (*path, name), button)
    with ui.element("div").classes("row hollow"):
        sum_label = ui.label("").classes("wrong")
        even = ui.button("Make them sum to 100 %", on_click=lambda: take(normalise_weights(now))).props(
            "flat dense no-caps"
        )
    show()


def _drawn_lock(editor: DraftEditor, key: Path, button: ui.button) -> None:
    is_locked = key in editor.locked
    button.props["icon"] = "lock" if is_locked else "lock_open"
    button.props["aria-label"] = f"{'Unlock' if is_locked else 'Lock'} the weight of {key[-1]}"
    button.props["aria-pressed"] = "true" if is_locked else "false"
    button.update()


def _axis(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    with ui.element("div").classes("row tools"):
        field = name_field(editor, "Name in formulas", path, partial(rename_thing, editor, path))
        editor.place((*path, "name"), field)
        text_field(editor, (*path, "title"))
        icon_button("arrow_upward", "Move up", partial(_shift, editor, path, -1))
        icon_button("arrow_downward", "Move down", partial(_shift, editor, path, 1))
        icon_button("delete", "Remove the dimension", partial(_drop, editor, path))
    if at(editor.document, (*path, "from")) is None:
        text_field(editor, (*path, "asks"), area=True)
        draw_advice(editor, path)
    _scoring(editor, path, redraw)


def _row_detail(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    """The form of a row: all but what the row itself has."""
    with ui.element("div").classes("row"):
        field = name_field(editor, "Name in formulas", path, partial(rename_thing, editor, path))
        editor.place((*path, "name"), field)
        for key in ("title", "asks"):
            if not editor.has_place((*path, key)) and (key == "title" or at(editor.document, (*path, key))):
                text_field(editor, (*path, key), area=key == "asks")
    _scoring(editor, path, redraw, is_row=True)


def _scoring(editor: DraftEditor, path: Path, redraw: Callable[[], None], *, is_row: bool = False) -> None:
    """How a dimension or a part is scored, and what that needs."""
    is_part, is_filled = path[-2] == "parts", at(editor.document, (*path, "from")) is not None
    kind = kind_of(at(editor.document, path))
    scorer = field_at(editor.document, (*path, "scorer"))
    ways: dict[str, str] = {
        **{name: words for name, words in (scorer.choices or {}).items() if name != "parts" or not is_row},
        **({} if is_part else {"criteria": "Each case brings its own criteria"}),
    }

    def turn(event: Any) -> None:
        if event.value == "criteria":
            document = with_case_criteria(editor.document, path)
        else:
            document = with_scoring(put(editor.document, (*path, "from"), None), path, event.value)
            if is_row and at(document, (*path, "points")) is None:
                document = put(document, (*path, "points"), 1)
        editor.change(document, structural=True)
        redraw()

    if not is_row or kind != "parts" or is_filled:
        way = "criteria" if is_filled else kind
        choice = ui.select(ways, label=scorer.title, value=way, on_change=turn)
        keep_focus(choice.props("outlined dense options-dense").classes("medium"), (*path, "scorer"))
    if is_filled:
        draw_answers(editor, path, redraw)
        draw_case_criteria(editor, path)
    elif kind == "judge":
        draw_answers(editor, path, redraw)
        if not mapping_at(editor.document, (*path, "answers")):
            draw_anchors(editor, path, str(path[1]))
        draw_examples(editor, path, redraw)
        _offline(editor, path, redraw)
    elif kind == "parts" and not is_row:
        _parts(editor, (*path, "parts"))
    elif kind != "parts":
        draw_recipe(editor, path, kind, redraw)
    told = "pictures" if is_part else "its own scale, when it applies, pictures"
    if not is_part or kind == "judge":
        folded_section(editor, (*path, "more"), "More", told, partial(_more, editor, path))


def draw_advice(editor: DraftEditor, path: Path) -> None:
    """What lint says of a criterion, with a button that takes its wording over."""
    holder = ui.element("div").classes("advice-list")
    shown: list[Any] = [()]

    def take(advice: CriterionAdvice) -> None:
        editor.change(take_advice(editor.document, advice), SECTION, "profiles", "sections")
        editor.go_to((*path, "asks"))

    def follow() -> None:
        found = editor.examination.advice.get(path, ())
        if found == shown[0]:
            return
        shown[0] = found
        holder.clear()
        with holder:
            for advice in found:
                with ui.element("div").classes("advice"):
                    ui.label(advice.why)
                    if advice.wording:
                        with ui.element("q"):
                            ui.label(advice.wording)
                    if advice.action:
                        button = ui.element("button").classes("advice-take").props('type="button"')
                        button.on("click", partial(take, advice))
                        with button:
                            ui.label(advice.action)

    editor.live(holder, follow)
    follow()


def _shift(editor: DraftEditor, path: Path, by: int) -> None:
    editor.change(move_dimension(editor.document, path, by), SECTION, "sections")


def _drop(editor: DraftEditor, path: Path) -> None:
    editor.change(remove_dimension(editor.document, path), SECTION, "profiles", "sections")
    ui.notify(f"{path[-1]} is removed. Undo brings it back.")


def draw_anchors(editor: DraftEditor, path: Path, dimension: str) -> None:
    """Anchors as rows, with a bar that shows which values of the scale they cover."""
    place: Path = (*path, "anchors")
    rows = rows_of(at(editor.document, place))
    holder = ui.element("div").classes("anchors")

    def draw() -> None:
        holder.clear()
        with holder:
            ui.label("Anchors: what each range of the scale looks like").classes("label")
            bar = ui.element("div").classes("cover")
            told = ui.label("").classes("wrong")
            for index in range(len(rows)):
                _anchor(index)
            with ui.element("div").classes("row"):
                ui.button("Add an anchor", icon="add", on_click=another).props("flat dense no-caps")
                if not rows:
                    ui.button("Four even ranges", on_click=even).props("flat dense no-caps")
            cover.clear()
            cover.update({"bar": bar, "told": told})
            show()

    def show() -> None:
        found = coverage(rows, scale_of(editor.document, dimension))
        cover["bar"].clear()
        with cover["bar"]:
            for stretch in found.stretches if rows else ():
                piece = ui.label(stretch.label).classes(f"stretch is-{stretch.kind}").style(f"width: {stretch.width}%")
                piece.tooltip(
                    {"anchor": "covered", "gap": "nothing covers this", "overlap": "covered twice"}[stretch.kind]
                )
        cover["told"].set_text("; ".join(found.problems) if rows else "")

    def keep() -> None:
        editor.put(place, anchors_of(rows) or None)
        show()

    def change(index: int, key: str, event: Any) -> None:
        row = rows[index]
        ends = {"low": row.low, "high": row.high, "text": row.text} | {key: event.value}
        rows[index] = AnchorRow(ends["low"], ends["high"], ends["text"] or "")
        keep()

    def _anchor(index: int) -> None:
        row = rows[index]
        own: Path = (*place, f"{row.low} {row.high}")
        with ui.element("div").classes("anchor"):
            low = ui.number("From", value=row.low, on_change=partial(change, index, "low"))
            high = ui.number("To", value=row.high, on_change=partial(change, index, "high"))
            area = ui.textarea("Looks like", value=row.text, on_change=partial(change, index, "text"))
            for key, field in (("low", low), ("high", high), ("text", area.props("autogrow").classes("grow"))):
                keep_focus(field.props("outlined dense"), (*own, key))
            icon_button("delete", "Remove the anchor", partial(drop, index))

    def drop(index: int) -> None:
        rows.pop(index)
        keep()
        draw()

    def another() -> None:
        rows.append(AnchorRow(None, None))
        keep()
        draw()

    def even() -> None:
        rows.extend(spread(scale_of(editor.document, dimension)))
        keep()
        draw()

    cover: dict[str, Any] = {}
    editor.place(place, holder, lambda _: None)
    draw()
    editor.live(holder, show)


def _offline(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    place: Path = (*path, "offline")
    recipe = mapping_at(editor.document, place)
    way = next((key for key in ("formula", "rules", "checks") if key in recipe), "")

    def turn(event: Any) -> None:
        begun = None
        if event.value:
            begun = {**first_recipe(editor.document, path, event.value), "confidence": STAND_IN_CONFIDENCE}
        editor.change(put(editor.document, place, begun), structural=True)
        redraw()

    with ui.element("div").classes("row"):
        choice = ui.select(OFFLINE, label="Without a model, it is scored by", value=way, on_change=turn)
        keep_focus(choice.props("outlined dense options-dense").classes("medium"), (*place, "way"))
    if way:
        with ui.element("div").classes("sub"):
            draw_recipe(editor, place, "check" if way == "checks" else way, redraw)
            other_fields(editor, place)


def draw_recipe(editor: DraftEditor, path: Path, kind: str, redraw: Callable[[], None]) -> None:
    """A way to score without a model: a formula, a checklist, or rules."""
    if kind == "formula":
        FormulaField(editor, (*path, "formula"))
    elif kind == "check":
        _checks(editor, (*path, "checks"), redraw)
    else:
        with ui.element("div").classes("row"):
            number_field(editor, (*path, "start"))
            choice_field(editor, (*path, "scoring"), then=redraw)
            if at(editor.document, (*path, "scoring")) == "proportional":
                number_field(editor, (*path, "possible"))
            if at(editor.document, (*path, "scoring")) == "binary":
                number_field(editor, (*path, "win_at"))
        draw_rules(editor, (*path, "rules"), redraw)
    number_field(editor, (*path, "confidence"))


def _checks(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    for index in range(len(list_at(editor.document, path))):
        with ui.element("div").classes("row top sub-row"):
            text_field(editor, (*path, index, "name"), wide=False)
            FormulaField(editor, (*path, index, "that"))
            number_field(editor, (*path, index, "weight"))
            icon_button("delete", "Remove the check", partial(_cut, editor, (*path, index), redraw))
            text_field(editor, (*path, index, "otherwise"))
            other_fields(editor, (*path, index))

    def another() -> None:
        editor.change(append(editor.document, path, {"name": "", "that": "word_count > 0"}), structural=True)
        redraw()

    ui.button("Add a check", icon="add", on_click=another).props("flat dense no-caps")


def _cut(editor: DraftEditor, path: Path, redraw: Callable[[], None]) -> None:
    editor.change(remove(editor.document, path), structural=True)
    redraw()


def _parts(editor: DraftEditor, path: Path) -> None:
    """What a dimension is weighed from, as a tree."""
    CriterionTree(editor, path, _row_detail)
    wrong = ui.label("").classes("wrong").props('role="alert"')
    editor.place(path, wrong, lambda messages: _show_messages(wrong, messages))


def _more(editor: DraftEditor, path: Path) -> None:
    if kind_of(at(editor.document, path)) == "judge":
        switch_field(editor, (*path, "looks"))
    other_fields(editor, path)
