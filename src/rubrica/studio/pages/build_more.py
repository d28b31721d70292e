"""The rest of the form: what the rubric is called, profiles, settings, named patterns, context names, judging."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from rubrica.engine.expand import slug
from rubrica.studio.builder.dimensions import (
    profile_names,
    profile_weights,
    weights_of,
    with_profile,
    with_profile_called,
)
from rubrica.studio.builder.document import Path, at, free_name, is_short, mapped, put

from .build_desk import Desk, stay, written
from .build_dimensions import draw_weights
from .build_fields import (
    choice_field,
    fold,
    icon_button,
    name_field,
    number_field,
    rename_thing,
    switch_field,
    text_field,
    words_field,
)
from .build_formula import FormulaField
from .build_rules import draw_pattern, draw_rules

FORM_KEYS = frozenset(
    {"name", "version", "title", "description", "category", "tags", "scale", "score", "threshold", "dimensions"}
    | {"profiles", "gates", "verdicts", "on_unscored", "judging", "settings", "patterns", "context"}
    | {"sections", "bands", "notes", "normalization"}
    | {"scoring_type", "rules", "max_score", "win_at", "normalization_config"}
)
UNSCORED = {"inconclusive": "assume nothing", "neutral": "count a neutral value", "skip": "share its weight out"}
MODES = {"each": "one call for each dimension", "together": "one call for all", "listwise": "responses side by side"}
POOLS = {"median": "median", "mean": "mean", "trimmed": "trimmed mean", "weighted": "weighted"}


def draw_about(desk: Desk) -> None:
    """What the rubric is called and where it is found."""
    with ui.element("h2"):
        ui.label("About")
    with ui.element("div").classes("row"):
        if is_short(desk.document):
            text_field(desk, ("name",), "Name")
        else:
            title = text_field(desk, ("title",), "Title")
            name = text_field(desk, ("name",), "Name", wide=False)
            title.on_value_change(lambda event: _follow_title(desk, name, written(event.value)))
            name.on("keydown", lambda: setattr(desk, "named", True))
        text_field(desk, ("version",), "Version", wide=False)
    text_field(desk, ("description",), "What good means here, in a sentence or two", area=True)
    with ui.element("div").classes("row"):
        text_field(desk, ("category",), "Category", wide=False)
        words_field(desk, ("tags",), "Tags", hint="separated by commas")
    if is_short(desk.document):
        _short_form(desk)
        return
    with ui.element("div").classes("row"):
        number_field(desk, ("scale", "min"), "Scale from")
        number_field(desk, ("scale", "max"), "Scale to")
        number_field(desk, ("score", "out_of"), "Score out of")
        number_field(desk, ("score", "round"), "Decimals")
    by_formula = at(desk.document, ("score", "formula")) is not None
    choices = {False: "the weighted mean of the dimensions", True: "a formula"}

    def turn(event: Any) -> None:
        names = ", ".join(mapped(desk.document, ("dimensions",))) or "1"
        score = {key: value for key, value in mapped(desk.document, ("score",)).items() if key in ("out_of", "round")}
        score |= {"formula": f"mean({names})"} if event.value else {"weighted": True}
        desk.put(("score",), score, "about", "dimensions")

    choice = ui.select(choices, label="The score is", value=by_formula, on_change=turn)
    stay(choice.props("outlined dense options-dense").classes("medium"), ("score", "way"))
    if by_formula:
        FormulaField(desk, ("score", "formula"), "Score", "score")


def _follow_title(desk: Desk, name: ui.input, title: str) -> None:
    """While something new has no name of its own, it is named after its title."""
    if desk.entry is None and not desk.named and title.strip():
        name.value = slug(title)


def _short_form(desk: Desk) -> None:
    ui.label("The short form: one list of rules that give points.").classes("quiet")
    with ui.element("div").classes("row"):
        kinds = {"cumulative": "points add up", "proportional": "a share of what is possible", "binary": "won or lost"}
        choice_field(desk, ("scoring_type",), "Scoring", kinds, default=None, then=partial(desk.redraw, "about"))
        number_field(desk, ("max_score",), "Most points")
        if at(desk.document, ("scoring_type",)) == "binary":
            number_field(desk, ("win_at",), "Points that win")
    draw_rules(desk, ("rules",), partial(desk.redraw, "about"))


def draw_profiles(desk: Desk) -> None:
    """Profiles by question type: weights and a threshold of their own."""

    def body() -> None:
        if profile_names(desk.document):
            with ui.element("div").classes("row"):
                text_field(desk, ("profiles", "by"), "Chosen by the context name", wide=False)
                names: dict[Any, str] = {None: "none", **{name: name for name in profile_names(desk.document)}}
                choice_field(desk, ("profiles", "default"), "Otherwise", names, default=None)
        for name in profile_names(desk.document):
            _profile(desk, name)
        ui.button("Add a profile", icon="add", on_click=partial(_add_profile, desk)).props("flat dense no-caps")

    names = profile_names(desk.document)
    fold(desk, ("profiles",), "Profiles", ", ".join(names) or "weights and threshold by question type", body)


def _add_profile(desk: Desk) -> None:
    name = free_name(profile_names(desk.document), "TYPE")
    desk.change(with_profile(desk.document, "question_type", name), "profiles")


def _profile(desk: Desk, name: str) -> None:
    path: Path = ("profiles", name)

    async def called(wish: str) -> None:
        if wish in ("by", "default"):
            ui.notify(f"{wish} is a word of its own here: choose another name.", type="warning")
            return
        await desk.move_path(path, (*path[:-1], wish), lambda now: with_profile_called(now, name, wish))

    def drop() -> None:
        document = put(desk.document, path, None)
        if at(document, ("profiles", "default")) == name:
            document = put(document, ("profiles", "default"), None)
        if not profile_names(document):
            document = put(document, ("profiles",), None)
        desk.change(document, "profiles")

    with ui.element("div").classes("sub"):
        with ui.element("div").classes("row tools"):
            name_field(desk, "Value", path, called)
            text_field(desk, (*path, "title"), "Title")
            number_field(desk, (*path, "threshold"), "Threshold")
            icon_button("delete", "Remove the profile", drop)
        weights = profile_weights(desk.document, name)
        draw_weights(desk, (*path, "weights"), weights, partial(desk.put, (*path, "weights")))


def draw_names(desk: Desk) -> None:
    """Settings, named patterns and context names: what formulas may read besides."""
    settings = mapped(desk.document, ("settings",))
    told = ", ".join(settings) or "named numbers that formulas read and users may set"
    fold(desk, ("settings",), "Settings", told, partial(_settings, desk))
    patterns = mapped(desk.document, ("patterns",))
    told = ", ".join(patterns) or "in a formula, the name is the number of matches"
    fold(desk, ("patterns",), "Named patterns", told, partial(_patterns, desk))
    context = mapped(desk.document, ("context",))
    told = ", ".join(context) or "what formulas may read from a case besides its texts"
    fold(desk, ("context",), "Context names", told, partial(_context, desk))


def _settings(desk: Desk) -> None:
    for name, value in mapped(desk.document, ("settings",)).items():
        path: Path = ("settings", name)
        with ui.element("div").classes("row"):
            name_field(desk, "Setting", path, partial(rename_thing, desk, path))
            if isinstance(value, bool):
                holder = ui.switch("on", value=value)
                holder.on_value_change(lambda event, path=path: desk.put(path, bool(event.value)))
            else:
                number_field(desk, path, "Value")
            icon_button("delete", "Remove the setting", partial(desk.put, path, None, "names"))
    with ui.element("div").classes("row"):
        for label, wish, value in (("Add a number", "setting", 0), ("Add a switch", "switch", True)):
            add = partial(_add, desk, "settings", wish, value)
            ui.button(label, icon="add", on_click=add).props("flat dense no-caps")


def _patterns(desk: Desk) -> None:
    for name in mapped(desk.document, ("patterns",)):
        path: Path = ("patterns", name)
        with ui.element("div").classes("sub"):
            with ui.element("div").classes("row tools"):
                name_field(desk, "Name in formulas", path, partial(rename_thing, desk, path))
                ui.element("span").classes("grow")
                icon_button("delete", "Remove the pattern", partial(desk.put, path, None, "names"))
            draw_pattern(desk, path, partial(desk.redraw, "names"))
    ui.button(
        "Add a named pattern", icon="add", on_click=partial(_add, desk, "patterns", "found", {"keywords": []})
    ).props("flat dense no-caps")


def _context(desk: Desk) -> None:
    ui.label("Once one is declared, formulas may read no other.").classes("quiet")
    for name, given in mapped(desk.document, ("context",)).items():
        path: Path = ("context", name)
        with ui.element("div").classes("row"):
            name_field(desk, "Context name", path, partial(rename_thing, desk, path))
            if isinstance(given, str):
                text_field(desk, path, "What it means")
            else:
                text_field(desk, (*path, "says"), "What it means")
                number_field(desk, (*path, "default"), "When missing")
                switch_field(desk, (*path, "optional"), "May be absent")
            icon_button("delete", "Remove the name", partial(desk.put, path, None, "names"))
    ui.button("Add a context name", icon="add", on_click=partial(_add, desk, "context", "metric", {"says": " "})).props(
        "flat dense no-caps"
    )


def _add(desk: Desk, key: str, wish: str, value: Any) -> None:
    name = free_name({**mapped(desk.document, (key,)), **weights_of(desk.document, ("dimensions",))}, wish)
    desk.put((key, name), value, "names")


def draw_judging(desk: Desk) -> None:
    """How judges are asked, and what follows when something cannot be scored."""

    def policy(event: Any) -> None:
        desk.put(("on_unscored",), event.value, "judging")

    def body() -> None:
        found = at(desk.document, ("on_unscored",), "inconclusive")
        now = found if isinstance(found, str) else at(found, ("policy",), "neutral")
        with ui.element("div").classes("row"):
            ui.select(
                UNSCORED, label="What cannot be scored", value=now if now in UNSCORED else None, on_change=policy
            ).props("outlined dense options-dense").classes("medium")
            if not isinstance(found, str) or now == "neutral":
                ui.number("Neutral value", value=at(found, ("neutral",)) if not isinstance(found, str) else None).props(
                    "outlined dense"
                ).classes("short").on_value_change(
                    lambda event: desk.put(
                        ("on_unscored",), "neutral" if event.value is None else {"neutral": event.value}
                    )
                )
        with ui.element("div").classes("row"):
            choice_field(desk, ("judging", "mode"), "Judges are asked by", MODES, default="each", size="medium")
            number_field(desk, ("judging", "panel"), "Judges at least", default=1)
            choice_field(desk, ("judging", "pool"), "Votes become", POOLS, default="median")
            number_field(desk, ("judging", "repeats"), "Repeats", default=1)
            number_field(desk, ("judging", "deadline"), "Deadline, seconds")
            stops = {"never": "ask for everything", "decided": "stop once the verdict is decided"}
            choice_field(desk, ("judging", "stop"), "Stop", stops, default="never", size="medium")

    fold(desk, ("judging",), "Judging", "how judges are asked, and what cannot be scored", body)


def draw_others(desk: Desk) -> None:
    """What has no form."""
    others = [key for key in desk.document if key not in FORM_KEYS]
    if others:
        ui.label(f"Edited in the Document tab: {', '.join(others)}.").classes("quiet")


def card_section(desk: Desk, name: str, draw: Callable[[Desk], None]) -> None:
    """A section of the form in a box of its own."""
    with ui.element("section").classes("card build-card"):
        desk.section(name, partial(draw, desk))
