"""One rubric: what it looks at, how that becomes a verdict, where it comes from, and what can be done with it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
import yaml
from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.model.rubric import Rubric
from rubrica.packs.validity import card_place
from rubrica.report.figures import count_of, figure
from rubrica.report.rubric_page import rubric_blocks
from rubrica.report.wording import unscored_sentence
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, chip, drawing, empty, error_label, heading
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace.catalogue import Lineage
from rubrica.workspace.draft import rubric_of
from rubrica.workspace.editing import may_change, open_rubric
from rubrica.workspace.entry import RubricEntry

from . import drawing as drawn
from .actions import delete_dialog, fork_dialog, publish_dialog
from .prose import documentation

EXAMPLE_SHOWN = 220
"""Characters of an example's text."""
FORKS_SHOWN = 20


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/rubrics/{reference}")
    async def rubric(request: Request, reference: str) -> None:
        visitor = studio.visitor(request)
        try:
            found, lineage, author = await visitor.read(open_rubric, reference)
        except RubricaError as error:
            with frame(visitor, "No such rubric", "/rubrics"):
                with heading("No such rubric", back=("Rubrics", "/rubrics")):
                    pass
                error_label(error)
            return
        read = await asyncio.to_thread(rubric_of, found.version.definition)
        with frame(visitor, read.display_title, "/rubrics"):
            _head(visitor, found, read, author)
            with ui.tabs().props("align=left no-caps inline-label dense").classes("tabs") as tabs:
                overview = ui.tab("Overview")
                words = ui.tab("Documentation")
                document = ui.tab("Document")
                examples = ui.tab(f"Examples ({len(found.version.examples)})")
                origin = ui.tab("Lineage")
            with ui.tab_panels(tabs, value=overview, animated=False).classes("panels"):
                with ui.tab_panel(overview):
                    _overview(read)
                with ui.tab_panel(words), card():
                    drawing(documentation(rubric_blocks(read)))
                    ui.link("As a page of its own", _api(found, "docs"), new_tab=True)
                with ui.tab_panel(document), card():
                    _document(found)
                with ui.tab_panel(examples):
                    _examples(found, read)
                with ui.tab_panel(origin), card():
                    _lineage(lineage)


def _head(visitor: Visitor, found: RubricEntry, rubric: Rubric, author: str) -> None:
    listing, version, caller = found.listing, found.version, visitor.caller
    place = f"{listing.id}@{version.version}" if version.revision != listing.revision else str(listing.id)
    with heading(rubric.display_title, back=("Rubrics", "/rubrics")):
        ui.button("Try it", icon="science", on_click=lambda: ui.navigate.to(f"/sandbox?rubric={quote(place)}")).props(
            "unelevated"
        )
        if may_change(caller, found):
            ui.button("Edit", icon="edit", on_click=lambda: ui.navigate.to(f"/build/{listing.id}")).classes(
                "calm"
            ).props("flat")
        if caller.may("author"):
            ui.button("Fork", icon="call_split", on_click=lambda: fork_dialog(visitor, found)).classes("calm").props(
                "flat"
            )
        with ui.button(icon="more_vert").props('flat round aria-label="More"').classes("text-inherit"), ui.menu():
            _more(visitor, found)
    with ui.element("div").classes("row"):
        chip(f"{listing.slug}@{version.version}")
        chip("public" if listing.is_public else "private")
        whose = "yours" if caller.owns(listing.created_by) else f"by {author}" if author else "comes with Rubrica"
        chip(whose)
        if listing.category:
            ui.link(listing.category, f"/rubrics?category={quote(listing.category)}").classes("chip")
        for tag in (tag for tag in listing.tags if tag != listing.category):
            ui.link(tag, f"/rubrics?tag={quote(tag)}").classes("chip")
        ui.link(count_of(listing.revision, "version"), f"/rubrics/{listing.id}/versions")
    if version.revision != listing.revision:
        with ui.element("p").classes("told"):
            ui.label(f"This is what it said at version {version.version}. ")
            ui.link(f"The newest is {listing.version}", f"/rubrics/{listing.id}")
    if rubric.description:
        ui.label(rubric.description).classes("lead")


def _more(visitor: Visitor, found: RubricEntry) -> None:
    listing = found.listing

    def item(text: str, act: Any) -> None:
        ui.menu_item(text, on_click=act)

    item("Versions", lambda: ui.navigate.to(f"/rubrics/{listing.id}/versions"))
    item("Export a bundle (YAML)", lambda: ui.download.from_url(_api(found, "export?format=yaml")))
    item("Export a bundle (JSON)", lambda: ui.download.from_url(_api(found, "export?format=json")))
    name = f"{listing.slug}.yaml"
    item("Export the rubric alone (YAML)", lambda: ui.download.content(document_text(found.document), name))
    if may_change(visitor.caller, found):
        ui.separator()
        item(
            "Make private" if listing.is_public else "Publish to the marketplace",
            lambda: publish_dialog(visitor, found),
        )
        item("Delete", lambda: delete_dialog(visitor, found))


def _api(found: RubricEntry, what: str) -> str:
    return f"/api/evaluations/{found.listing.id}@{found.version.version}/{what}"


def document_text(document: Mapping[str, Any]) -> str:
    """A rubric document as a person writes it.

    >>> print(document_text({"name": "brief", "tags": ["a"]}), end="")
    name: brief
    tags:
    - a
    """
    return str(yaml.safe_dump(msgspec.to_builtins(dict(document)), sort_keys=False, allow_unicode=True, width=110))


def _overview(rubric: Rubric) -> None:
    with card("Dimensions", _how(rubric)):
        drawing(drawn.dimensions(rubric))
    with ui.element("div").classes("two"):
        if rubric.gates:
            with card("Gates", "they hold whatever the other scores say"):
                drawing(drawn.gates(rubric))
        with card("Verdicts", "the first that fits" if len(rubric.verdicts) > 1 else ""):
            drawing(drawn.verdicts(rubric))
    if rubric.sections:
        with card("Sections"):
            drawing(drawn.sections(rubric))
    if rubric.profiles is not None:
        with card("Profiles"):
            drawing(drawn.profiles(rubric))
    if rubric.settings:
        with card("Settings", "named numbers that formulas read"):
            drawing(drawn.settings(rubric))
    with card("When something cannot be scored"):
        ui.label(unscored_sentence(rubric))
    if known := drawn.validity(rubric):
        with card("What its scores are worth without a judge", f"more in the documentation: {card_place(rubric.name)}"):
            drawing(known)


def _how(rubric: Rubric) -> str:
    out_of = figure(rubric.score.out_of)
    if rubric.score.formula is not None:
        return f"the score is {rubric.score.formula}, out of {out_of}"
    if len(rubric.dimensions) == 1:
        return f"out of {out_of}"
    by = "the weights of the profile that fits" if rubric.profiles else "their weights"
    return f"weighed by {by}; full marks make {out_of}"


def _document(found: RubricEntry) -> None:
    text = document_text(found.document)
    with ui.element("div").classes("row"):
        ui.label("As its author wrote it").classes("quiet grow")
        ui.button("Copy", icon="content_copy", on_click=lambda: ui.clipboard.write(text)).props("flat dense")
    drawing(Markup('<pre class="source" tabindex="0">{}</pre>').format(text))


def _examples(found: RubricEntry, rubric: Rubric) -> None:
    if not found.version.examples:
        empty("It has no examples. They show what it does, and are tried whenever it is changed.")
        return
    with card():
        for index, example in enumerate(found.version.examples):
            with ui.element("div").classes("example"):
                with ui.element("div").classes("row"):
                    ui.label(str(example.get("id") or f"Example {index + 1}")).classes("strong")
                    expected = _expected(example)
                    if expected:
                        ui.label("expected:").classes("quiet")
                        drawing(drawn.badge(expected, rubric))
                    ui.element("span").classes("grow")
                    place = f"{found.listing.id}@{found.version.version}"
                    ui.link("Try it", f"/sandbox?rubric={quote(place)}&example={index}")
                for key in ("prompt", "response"):
                    if example.get(key):
                        ui.label(f"{key}: {_short(example[key])}").classes("quiet" if key == "prompt" else "")


def _expected(example: Mapping[str, Any]) -> str:
    expect = example.get("expect")
    verdict = expect.get("verdict") if isinstance(expect, Mapping) else expect
    return verdict if isinstance(verdict, str) else ""


def _short(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else msgspec.json.encode(value).decode()).split())
    return text if len(text) <= EXAMPLE_SHOWN else text[: EXAMPLE_SHOWN - 1] + "…"


def _lineage(lineage: Lineage) -> None:
    with ui.element("h2"):
        ui.label("Where it comes from")
    if not lineage.ancestors and not lineage.hidden:
        ui.label("It was written here, from nothing.").classes("quiet")
    for origin in lineage.ancestors:
        with ui.element("div").classes("row"):
            ui.icon("subdirectory_arrow_right").props("aria-hidden=true").classes("quiet")
            ui.link(f"{origin.name}@{origin.version}", f"/rubrics/{origin.rubric_id}@{quote(origin.version)}")
    if lineage.hidden:
        ui.label(f"{count_of(lineage.hidden, 'further origin')} that you may not see, or that is gone.").classes(
            "quiet"
        )
    with ui.element("h2"):
        ui.label("What was made of it")
    if not lineage.forks:
        ui.label("Nobody has forked or imported it yet.").classes("quiet")
    for fork in lineage.forks[:FORKS_SHOWN]:
        with ui.element("div").classes("row"):
            ui.icon("call_split").props("aria-hidden=true").classes("quiet")
            ui.link(fork.name, f"/rubrics/{fork.id}")
            ui.label(f"version {fork.version}").classes("quiet")
    if len(lineage.forks) > FORKS_SHOWN:
        ui.label(f"and {len(lineage.forks) - FORKS_SHOWN:,} more").classes("quiet")
