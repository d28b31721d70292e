"""The versions of a rubric: what changed from one to another, in words, and the way back to an older one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec
import yaml
from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.report.figures import count_of, headline
from rubrica.store.versions import VersionSummary
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, drawing, error_label, heading, notifying_errors
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace import catalogue
from rubrica.workspace.definition_diff import NAMES, DefinitionChange, difference
from rubrica.workspace.editing import may_change, two_versions
from rubrica.workspace.entry import RubricEntry

PAGE = 50
LONGEST_VALUE = 2_000
"""Characters of a value that is shown in a difference."""
SIGNS = {"added": "+", "removed": "−", "changed": "~", "moved": "↕"}


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/rubrics/{reference}/versions")
    async def versions(request: Request, reference: str) -> None:
        visitor = studio.visitor(request)
        try:
            found = await visitor.read(catalogue.entry, reference)
            editions = await visitor.read(catalogue.history, str(found.listing.id), None, PAGE + 1)
        except RubricaError as error:
            with frame(visitor, "No such rubric", "/rubrics"):
                with heading("No such rubric", back=("Rubrics", "/rubrics")):
                    pass
                error_label(error)
            return
        with frame(visitor, f"Versions of {found.listing.name}", "/rubrics"):
            with heading("Versions", back=(found.listing.name, f"/rubrics/{found.listing.id}")):
                pass
            await _Versions(visitor, found, editions).draw(
                request.query_params.get("from"), request.query_params.get("to")
            )


class _Versions:
    """The list of versions, and the difference of two of them."""

    def __init__(self, visitor: Visitor, found: RubricEntry, editions: Sequence[VersionSummary]) -> None:
        self.visitor, self.found = visitor, found
        self.editions = list(editions[:PAGE])
        self.more = len(editions) > PAGE

    async def draw(self, older: str | None, newer: str | None) -> None:
        labels = {edition.version: _version_title(edition) for edition in self.editions}
        first = self.editions[0].version
        before = self.editions[1].version if len(self.editions) > 1 else first
        with card("What changed"):
            with ui.element("div").classes("row"):
                self.older = ui.select(labels, label="From", value=older if older in labels else before)
                self.newer = ui.select(labels, label="To", value=newer if newer in labels else first)
                for choice in (self.older, self.newer):
                    choice.props("outlined dense options-dense").classes("medium").on_value_change(self.compare)
            self.changes = ui.element("div").classes("diff").props('aria-live="polite"')
        with card("All versions"):
            self.table = ui.element("ul").classes("rubric-list")
            self.foot = ui.element("div").classes("row")
        self._draw_table(self.editions)
        await self.compare()

    async def compare(self) -> None:
        """Show the difference of the two that are chosen."""
        self.changes.clear()
        try:
            listing = self.found.listing
            old, new = await self.visitor.read(two_versions, str(listing.id), self.older.value, self.newer.value)
            said = [{**one.definition, "examples": list(one.examples)} for one in (old, new)]
            changes = await asyncio.to_thread(difference, *said)
        except RubricaError as error:
            with self.changes:
                error_label(error)
            return
        ui.navigate.history.replace(f"/rubrics/{listing.id}/versions?from={quote(old.version)}&to={quote(new.version)}")
        with self.changes:
            if old.revision == new.revision:
                ui.label("These are the same version.").classes("quiet")
            else:
                drawing(change_list(changes, *said))
            place = (
                f"/sandbox?rubric={quote(f'{listing.id}@{new.version}')}&with={quote(f'{listing.id}@{old.version}')}"
            )
            if old.revision != new.revision:
                ui.link("Compare them in the sandbox, on the same input", place)

    def _draw_table(self, editions: Sequence[VersionSummary]) -> None:
        with self.table:
            for edition in editions:
                self._draw_row(edition)
        self.foot.clear()
        if self.more:
            with self.foot:
                ui.button("Older versions", on_click=self._older).props("flat")

    def _draw_row(self, edition: VersionSummary) -> None:
        listing = self.found.listing
        newest = edition.revision == listing.revision
        with ui.element("li"):
            with ui.element("div").classes("row"):
                ui.link(edition.version, f"/rubrics/{listing.id}@{quote(edition.version)}").classes("strong")
                ui.label(f"revision {edition.revision} · {_when(edition.created_at)}").classes("quiet")
                if newest:
                    ui.label("newest").classes("chip")
                ui.element("span").classes("grow")
                if not newest and may_change(self.visitor.caller, self.found):
                    button = ui.button("Restore", icon="history", on_click=lambda: self._restore(edition)).props(
                        "flat dense"
                    )
                    button.props["aria-label"] = f"Restore {edition.version}"
            if edition.note:
                ui.label(edition.note).classes("quiet")

    async def _older(self) -> None:
        with notifying_errors():
            last = self.editions[-1].revision
            found = await self.visitor.read(catalogue.history, str(self.found.listing.id), last, PAGE + 1)
            self.more = len(found) > PAGE
            self.editions += found[:PAGE]
            labels = {edition.version: _version_title(edition) for edition in self.editions}
            for choice in (self.older, self.newer):
                choice.set_options(labels)
            self._draw_table(found[:PAGE])

    async def _restore(self, edition: VersionSummary) -> None:
        with ui.dialog() as dialog, ui.card().classes("dialog"):
            with ui.element("h2"):
                ui.label(f"Restore version {edition.version}?")
            ui.label("What it said then comes back as a new version. Nothing is lost.")

            async def restore() -> None:
                with notifying_errors():
                    listing, now = self.found.listing, self.visitor.service.clock()
                    made = await self.visitor.write(catalogue.restore, str(listing.id), edition.version, "", now)
                    dialog.close()
                    ui.navigate.to(f"/rubrics/{made.listing.id}/versions")

            with ui.element("div").classes("row actions"):
                ui.button("Cancel", on_click=dialog.close).props("flat")
                ui.button("Restore", on_click=restore).props("unelevated")
        dialog.open()


def change_list(changes: Sequence[DefinitionChange], before: Mapping[str, Any], after: Mapping[str, Any]) -> Markup:
    """Everything that differs, by the part of the rubric it belongs to; old text struck out, new text marked."""
    if not changes:
        return Markup('<p class="quiet">Nothing differs but the version itself.</p>')
    groups: dict[str, list[DefinitionChange]] = {}
    for change in changes:
        groups.setdefault(str(change.path[0]), []).append(change)
    told = Markup('<p class="quiet">{}</p>').format(count_of(len(changes), "change"))
    for key, found in groups.items():
        lines = Markup("").join(_change(change, before if change.kind == "removed" else after) for change in found)
        told += Markup('<h3>{}</h3><ul class="difference">{}</ul>').format(headline(key), lines)
    return told


def _change(change: DefinitionChange, document: Mapping[str, Any]) -> Markup:
    before, after = _format_value(change.before), _format_value(change.after)
    match change.kind:
        case "added":
            values = Markup("<ins>{}</ins>").format(after)
        case "removed":
            values = Markup("<del>{}</del>").format(before)
        case "changed":
            values = Markup('<del>{}</del> <span aria-label="becomes">→</span> <ins>{}</ins>').format(before, after)
        case "moved":
            values = Markup("in another order: {} → {}").format(before, after)
    return Markup('<li class="{}"><span class="sign" title="{}">{}</span><div><b>{}</b> {}</div></li>').format(
        change.kind, change.kind, SIGNS[change.kind], " › ".join(path_names(change.path, document)), values
    )


def path_names(path: Sequence[str | int], document: Mapping[str, Any]) -> list[str]:
    """The way to a place below the document's own keys, things in a list by their name where they have one.

    >>> path_names(("gates", 1, "cap"), {"gates": [{}, {"name": "accuracy-ceiling"}]})
    ['accuracy-ceiling', 'cap']
    >>> path_names(("tags", 0), {"tags": ["a"]})
    ['1']
    """
    steps: list[str] = []
    here: Any = document
    for step in path:
        try:
            here = here[step]
        except (KeyError, IndexError, TypeError):
            here = None
        named = next((here[key] for key in NAMES if isinstance(here, Mapping) and isinstance(here.get(key), str)), None)
        steps.append(step.replace("_", " ") if isinstance(step, str) else str(named or step + 1))
    return steps[1:]


def _format_value(value: Any) -> Markup:
    """A value as a person reads it: text as it is, things with parts as a few lines."""
    if isinstance(value, str):
        text = value
    elif isinstance(value, bool | int | float) or value is None:
        text = msgspec.json.encode(value).decode()
    elif isinstance(value, Mapping) or any(isinstance(item, Mapping | list) for item in value):
        text = yaml.safe_dump(msgspec.to_builtins(value), sort_keys=False, allow_unicode=True, width=90).strip()
    else:
        text = ", ".join(str(item) for item in value)
    text = text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
    return Markup("{}").format(text)


def _version_title(edition: VersionSummary) -> str:
    return f"{edition.version} · {_when(edition.created_at)}"


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
