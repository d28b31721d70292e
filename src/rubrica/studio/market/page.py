"""One listing of the marketplace: its rating, the rubric, its reviews, and importing it."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

from fastapi import Request
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.model.rubric import Rubric
from rubrica.report.figures import count_of
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, chip, drawing, error_label, heading, notifying_errors
from rubrica.studio.rubrics import drawing as drawn
from rubrica.studio.rubrics.actions import fork_dialog
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace import catalogue, marketplace
from rubrica.workspace.draft import rubric_of
from rubrica.workspace.market_search import ListingDetails, listing_details

from .reviews import Reviews
from .wording import author_text, listing_status

VERSIONS_SHOWN = 30


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/market/{reference}")
    async def offer(request: Request, reference: str) -> None:
        visitor = studio.visitor(request)
        try:
            looked = await visitor.read(listing_details, reference)
        except RubricaError as error:
            with frame(visitor, "Not on the marketplace", "/market"):
                with heading("Not on the marketplace", back=("Marketplace", "/market")):
                    pass
                error_label(error)
            return
        rubric = await asyncio.to_thread(rubric_of, looked.entry.version.definition)
        with frame(visitor, rubric.display_title, "/market"):
            await _Page(visitor, looked).draw(rubric)


class _Page:
    """The page of one offer."""

    def __init__(self, visitor: Visitor, looked: ListingDetails) -> None:
        self.visitor, self.looked = visitor, looked
        self.id = str(looked.offer.listing.id)

    async def draw(self, rubric: Rubric) -> None:
        listing = self.looked.offer.listing
        with heading(rubric.display_title, back=("Marketplace", "/market")):
            self._draw_actions()
        self._draw_chips()
        if listing.description:
            ui.label(listing.description).classes("lead")
        with ui.element("div").classes("offer-page"):
            with ui.element("div").classes("stack"):
                self._draw_rubric(rubric)
            with ui.element("div").classes("stack"):
                self.aside = ui.element("div").classes("stack")
                self.reviews = Reviews(self.visitor, self.looked, self.renew)
                self._draw_aside()
                await self.reviews.draw()

    async def renew(self) -> None:
        """Read and show anew what may have changed."""
        with notifying_errors():
            self.looked = await self.visitor.read(listing_details, self.id)
            self._draw_aside()

    def _draw_actions(self) -> None:
        caller = self.visitor.caller
        if caller.may("author"):
            ui.button("Import", icon="download", on_click=self._import).props("unelevated")
            fork = ui.button("Fork", icon="call_split", on_click=lambda: fork_dialog(self.visitor, self.looked.entry))
            fork.props("flat").classes("calm")
        ui.button("Try it", icon="science", on_click=lambda: ui.navigate.to(f"/sandbox?rubric={self.id}")).props(
            "flat"
        ).classes("calm")
        if caller.is_admin:
            self.featuring = ui.button("", icon="push_pin", on_click=self._feature).props("flat").classes("calm")
            self._tell_featuring()

    def _tell_featuring(self) -> None:
        self.featuring.set_text("Feature no longer" if self.looked.offer.featured else "Feature")

    def _draw_chips(self) -> None:
        offer, listing = self.looked.offer, self.looked.offer.listing
        with ui.element("div").classes("row"):
            chip(f"{listing.slug}@{listing.version}")
            chip("yours" if self.visitor.caller.owns(listing.created_by) else author_text(offer.author))
            if listing.category:
                ui.link(listing.category, f"/market?category={quote(listing.category)}").classes("chip")
            for tag in (tag for tag in listing.tags if tag != listing.category):
                ui.link(tag, f"/market?tag={quote(tag)}").classes("chip")
            chip(f"listed {offer.listed_at:%Y-%m-%d}")

    def _draw_rubric(self, rubric: Rubric) -> None:
        with card("What it looks at", count_of(len(rubric.dimensions), "dimension")):
            drawing(drawn.dimensions(rubric))
        if rubric.gates:
            with card("Gates"):
                drawing(drawn.gates(rubric))
        with card("Verdicts"):
            drawing(drawn.verdicts(rubric))
            ui.link("All about the rubric: documentation, versions, examples", f"/rubrics/{self.id}")

    def _draw_aside(self) -> None:
        self.aside.clear()
        with self.aside:
            with card("On the marketplace"):
                drawing(listing_status(self.looked.offer, self.visitor.service.clock()))
                taken = self.looked.offer.downloads
                people = count_of(taken, "person has", "people have") if taken else "Nobody has"
                ui.label(f"{people} imported it{'' if taken else ' yet'}.").classes("quiet")
            if self.looked.copies:
                self._draw_copies()

    def _draw_copies(self) -> None:
        with card("Your copies"):
            for copy in self.looked.copies:
                with ui.element("div").classes("row"):
                    ui.link(copy.slug, f"/rubrics/{copy.id}")
                    ui.label(f"version {copy.version} · {copy.created_at:%Y-%m-%d}").classes("quiet")
            ui.label("They stay as they are, whatever becomes of the original.").classes("quiet")

    async def _import(self) -> None:
        """Ask which version, and take it over."""
        with notifying_errors():
            listing = self.looked.offer.listing
            past = await self.visitor.read(catalogue.history, self.id, None, VERSIONS_SHOWN)
            labels = {edition.version: _edition(edition.version, edition.note) for edition in past}
            with ui.dialog() as dialog, ui.card().classes("dialog"):
                with ui.element("h2"):
                    ui.label(f"Import {listing.name}")
                ui.label("A private copy among your own rubrics, with its examples. It remembers where it comes from.")
                version = ui.select(labels, value=listing.version, label="Version").props("outlined").classes("full")
                with ui.element("div").classes("row actions"):
                    ui.button("Cancel", on_click=lambda: dialog.submit(None)).props("flat")
                    ui.button("Import", on_click=lambda: dialog.submit(version.value)).props("unelevated autofocus")
            chosen: Any = await dialog
            dialog.delete()
            if chosen is None:
                return
            made = await self.visitor.write(marketplace.import_copy, self.id, str(chosen), self.visitor.service.clock())
            ui.notify(f"Imported as {made.listing.slug}.", type="positive")
            await self.renew()

    async def _feature(self) -> None:
        with notifying_errors():
            await self.visitor.write(marketplace.feature, self.id, not self.looked.offer.featured)
            await self.renew()
            self._tell_featuring()


def _edition(version: str, note: str) -> str:
    return f"{version} · {note[:60]}" if note else version
