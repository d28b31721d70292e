"""Forms for title, profiles, settings, named patterns, context names and judging."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from rubrica.engine.expand import slug
from rubrica.model.decisions import Profiles
from rubrica.studio.builder.dimensions import (
    profile_names,
    profile_weights,
    weights_of,
    with_profile,
    with_profile_called,
)
from rubrica.studio.builder.document import Path, at, free_name, is_short, mapping_at, put
from rubrica.studio.builder.form_schema import field_at, fields_at
from rubrica.studio.builder.score_ways import WAYS, score_way, with_score_way

from .dimension_forms import draw_weights
from .editor import DraftEditor, keep_focus, typed_text
from .fields import (
    choice_field,
    folded_section,
    icon_button,
    name_field,
    number_field,
    rename_thing,
    switch_field,
    text_field,
    words_field,
)
from .formula_field import FormulaField
from .rule_forms import draw_pattern, draw_rules
from .schema_fields import other_fields


def draw_about(editor: DraftEditor) -> None:
    """What the rubric is called and where it is found."""
    with ui.element("h2"):
        ui.label("About")
    with ui.element("div").classes("row"):
        if is_short(editor.document):
            text_field(editor, ("name",))
        else:
            title = text_field(editor, ("title",))
            name = text_field(editor, ("name",), wide=False)
            title.on_value_change(lambda event: _follow_title(editor, name, typed_text(event.value)))
            name.on("keydown", lambda: setattr(editor, "named", True))
        text_field(editor, ("version",), wide=False)
    text_field(editor, ("description",), area=True)
    with ui.element("div").classes("row"):
        text_field(editor, ("category",), wide=False)
        words_field(editor, ("tags",), hint="separated by commas")
    if is_short(editor.document):
        _short_form(editor)
        return
    with ui.element("div").classes("row"):
        other_fields(editor, ("scale",))
        other_fields(editor, ("score",))
    way = score_way(editor.document)

    def turn(event: Any) -> None:
        document, told = with_score_way(editor.document, event.value)
        editor.score_news = told
        editor.change(document, "about", "dimensions", "profiles")

    choice = ui.select(dict(WAYS), label="The score is", value=way, on_change=turn)
    keep_focus(choice.props("outlined dense options-dense").classes("medium"), ("score", "way"))
    if editor.score_news:
        with ui.element("div").classes("banner").props('role="status"'):
            ui.label(" ".join(editor.score_news)).classes("grow")
            ui.button("Undo", on_click=editor.undo).props("flat dense no-caps")
        editor.score_news = []
    if way == "points":
        switch_field(editor, ("score", "clip"))
        ui.label(
            "The score is the points earned over the sum of the positive ones. A response that loses more than it "
            "earns gets 0; switched off, it gets less than 0, which suits rewards."
        ).classes("quiet")
    if way == "formula":
        FormulaField(editor, ("score", "formula"), "score")


def _follow_title(editor: DraftEditor, name: ui.input, title: str) -> None:
    """While something new has no name of its own, it is named after its title."""
    if editor.entry is None and not editor.named and title.strip():
        name.value = slug(title)


def _short_form(editor: DraftEditor) -> None:
    ui.label("The short form: one list of rules that give points.").classes("quiet")
    with ui.element("div").classes("row"):
        choice_field(editor, ("scoring_type",), then=partial(editor.redraw, "about"))
        if at(editor.document, ("scoring_type",)) == "binary":
            number_field(editor, ("win_at",))
        other_fields(editor, ())
    draw_rules(editor, ("rules",), partial(editor.redraw, "about"))


def draw_profiles(editor: DraftEditor) -> None:
    """Profiles by question type: weights and a threshold of their own."""

    def body() -> None:
        if profile_names(editor.document):
            with ui.element("div").classes("row"):
                text_field(editor, ("profiles", "by"), wide=False)
                names: dict[Any, str] = {None: "none", **{name: name for name in profile_names(editor.document)}}
                choice_field(editor, ("profiles", "default"), options=names)
                other_fields(editor, ("profiles",))
        for name in profile_names(editor.document):
            _profile(editor, name)
        ui.button("Add a profile", icon="add", on_click=partial(_add_profile, editor)).props("flat dense no-caps")

    names = profile_names(editor.document)
    folded_section(
        editor, ("profiles",), "Profiles", ", ".join(names) or "weights and threshold by question type", body
    )


def _add_profile(editor: DraftEditor) -> None:
    name = free_name(profile_names(editor.document), "TYPE")
    editor.change(with_profile(editor.document, "question_type", name), "profiles")


def _profile(editor: DraftEditor, name: str) -> None:
    path: Path = ("profiles", name)

    async def called(new_name: str) -> None:
        if new_name in Profiles.model_fields:
            ui.notify(f"{new_name} is a word of its own here: choose another name.", type="warning")
            return
        await editor.move_path(path, (*path[:-1], new_name), lambda now: with_profile_called(now, name, new_name))

    def drop() -> None:
        document = put(editor.document, path, None)
        if at(document, ("profiles", "default")) == name:
            document = put(document, ("profiles", "default"), None)
        if not profile_names(document):
            document = put(document, ("profiles",), None)
        editor.change(document, "profiles")

    with ui.element("div").classes("sub"):
        with ui.element("div").classes("row tools"):
            name_field(editor, "Value", path, called)
            text_field(editor, (*path, "title"))
            number_field(editor, (*path, "threshold"))
            icon_button("delete", "Remove the profile", drop)
        other_fields(editor, path)
        weights = profile_weights(editor.document, name)
        draw_weights(editor, (*path, "weights"), weights, partial(editor.put, (*path, "weights")))


def draw_names(editor: DraftEditor) -> None:
    """Settings, named patterns and context names: what formulas may read besides."""
    settings = mapping_at(editor.document, ("settings",))
    told = ", ".join(settings) or "named numbers that formulas read and users may set"
    folded_section(editor, ("settings",), "Settings", told, partial(_settings, editor))
    patterns = mapping_at(editor.document, ("patterns",))
    told = ", ".join(patterns) or "in a formula, the name is the number of matches"
    folded_section(editor, ("patterns",), "Named patterns", told, partial(_patterns, editor))
    context = mapping_at(editor.document, ("context",))
    told = ", ".join(context) or "what formulas may read from a case besides its texts"
    folded_section(editor, ("context",), "Context names", told, partial(_context, editor))


def _settings(editor: DraftEditor) -> None:
    for name, value in mapping_at(editor.document, ("settings",)).items():
        path: Path = ("settings", name)
        with ui.element("div").classes("row"):
            name_field(editor, "Setting", path, partial(rename_thing, editor, path))
            if isinstance(value, bool):
                holder = ui.switch("on", value=value)
                holder.on_value_change(lambda event, path=path: editor.put(path, bool(event.value)))
            else:
                number_field(editor, path, label="Value")
            icon_button("delete", "Remove the setting", partial(editor.put, path, None, "names"))
    with ui.element("div").classes("row"):
        for label, new_name, value in (("Add a number", "setting", 0), ("Add a switch", "switch", True)):
            add = partial(_add, editor, "settings", new_name, value)
            ui.button(label, icon="add", on_click=add).props("flat dense no-caps")


def _patterns(editor: DraftEditor) -> None:
    for name in mapping_at(editor.document, ("patterns",)):
        path: Path = ("patterns", name)
        with ui.element("div").classes("sub"):
            with ui.element("div").classes("row tools"):
                name_field(editor, "Name in formulas", path, partial(rename_thing, editor, path))
                ui.element("span").classes("grow")
                icon_button("delete", "Remove the pattern", partial(editor.put, path, None, "names"))
            draw_pattern(editor, path, partial(editor.redraw, "names"))
    ui.button(
        "Add a named pattern", icon="add", on_click=partial(_add, editor, "patterns", "found", {"keywords": []})
    ).props("flat dense no-caps")


def _context(editor: DraftEditor) -> None:
    ui.label("Once one is declared, formulas may read no other.").classes("quiet")
    for name, given in mapping_at(editor.document, ("context",)).items():
        path: Path = ("context", name)
        with ui.element("div").classes("row"):
            name_field(editor, "Context name", path, partial(rename_thing, editor, path))
            if isinstance(given, str):
                text_field(editor, path, label=field_at(editor.document, (*path, "says")).title)
            else:
                text_field(editor, (*path, "says"))
                other_fields(editor, path)
            icon_button("delete", "Remove the name", partial(editor.put, path, None, "names"))
    ui.button(
        "Add a context name", icon="add", on_click=partial(_add, editor, "context", "metric", {"says": " "})
    ).props("flat dense no-caps")


def _add(editor: DraftEditor, key: str, new_name: str, value: Any) -> None:
    name = free_name({**mapping_at(editor.document, (key,)), **weights_of(editor.document, ("dimensions",))}, new_name)
    editor.put((key, name), value, "names")


def draw_judging(editor: DraftEditor) -> None:
    """How judges are asked, and what follows when something cannot be scored."""

    def policy(event: Any) -> None:
        editor.put(("on_unscored",), event.value, "judging")

    def body() -> None:
        found = at(editor.document, ("on_unscored",), "inconclusive")
        now = found if isinstance(found, str) else at(found, ("policy",), "neutral")
        said, neutral = (field_at(editor.document, ("on_unscored", key)) for key in ("policy", "neutral"))
        choices = dict(said.choices or {})
        with ui.element("div").classes("row"):
            ui.select(choices, label=said.title, value=now if now in choices else None, on_change=policy).props(
                "outlined dense options-dense"
            ).classes("medium")
            if not isinstance(found, str) or now == "neutral":
                ui.number(neutral.title, value=at(found, ("neutral",)) if not isinstance(found, str) else None).props(
                    "outlined dense"
                ).classes("short").on_value_change(
                    lambda event: editor.put(
                        ("on_unscored",), "neutral" if event.value is None else {"neutral": event.value}
                    )
                )
        other_fields(editor, ("judging",))

    folded_section(editor, ("judging",), "Judging", "how judges are asked, and what cannot be scored", body)


def draw_others(editor: DraftEditor) -> None:
    """What has no form of its own: by the schema, or by its name where only the document has it."""
    other_fields(editor, ())
    known = fields_at(editor.document, ())
    others = [key for key in editor.document if key not in known or key == "calibration"]
    if others:
        ui.label(f"Edited in the Document tab: {', '.join(others)}.").classes("quiet")


def card_section(editor: DraftEditor, name: str, draw: Callable[[DraftEditor], None]) -> None:
    """A section of the form in a box of its own."""
    with ui.element("section").classes("card build-card"):
        editor.section(name, partial(draw, editor))
