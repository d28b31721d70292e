"""The list of rubrics that a visitor may see, with search and tags."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.store.rubrics import Order, RubricListing
from rubrica.studio.cursor_pager import CursorPager
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import empty, heading, show_error
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace.access import Caller
from rubrica.workspace.rubric_search import LONGEST_QUERY, RubricPage, RubricSearch, RubricView, search_rubrics

from .actions import import_dialog
from .facets import draw_chosen_category, draw_chosen_tags, draw_facets, facets_from

VIEWS: dict[RubricView, str] = {"all": "All", "mine": "Mine", "public": "Public"}
ORDERS: dict[Order, str] = {"newest": "Newest first", "name": "By name"}
PAGE = 25
DESCRIPTION_SHOWN = 160
"""Characters of a description in a list."""


def address_of(criteria: RubricSearch) -> str:
    """The page's path with what it is narrowed down to; what is usual is left out.

    >>> address_of(RubricSearch("speed", view="mine", tags=("fast",)))
    '/rubrics?q=speed&view=mine&tag=fast'
    """
    said: list[tuple[str, str]] = [("q", criteria.q)] if criteria.q else []
    said += [("view", criteria.view)] if criteria.view != "all" else []
    said += [("category", criteria.category)] if criteria.category else []
    said += [("tag", tag) for tag in criteria.tags]
    said += [("sort", criteria.order)] if criteria.order != "newest" else []
    return f"/rubrics?{urlencode(said)}" if said else "/rubrics"


def search_from_request(request: Request) -> RubricSearch:
    """What an address asks for; what it says wrongly is passed over."""
    asked = request.query_params
    q, category, tags = facets_from(asked)
    return RubricSearch(
        q,
        next((view for view in VIEWS if view == asked.get("view")), "all"),
        category,
        tags,
        next((order for order in ORDERS if order == asked.get("sort")), "newest"),
    )


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/rubrics")
    async def rubrics(request: Request) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Rubrics", "/rubrics"):
            with heading("Rubrics"):
                if visitor.caller.may("author"):
                    ui.button("Import", icon="upload", on_click=lambda: import_dialog(visitor)).props("flat").classes(
                        "calm"
                    )
                    ui.button("New rubric", icon="add", on_click=lambda: ui.navigate.to("/build/new")).props(
                        "unelevated"
                    )
            await _List(visitor, search_from_request(request)).draw()


class _List:
    """The list with what it is narrowed down to, and the way through its pages."""

    def __init__(self, visitor: Visitor, criteria: RubricSearch) -> None:
        self.visitor, self.criteria = visitor, criteria

    async def draw(self) -> None:
        with ui.element("div").classes("finder").props('role="search"'):
            search = ui.input("Search", value=self.criteria.q, placeholder="Name, description, category or tag")
            search.props(f"outlined dense clearable debounce=250 maxlength={LONGEST_QUERY} type=search").classes("grow")
            search.on_value_change(lambda event: self.narrow(q=event.value or ""))
            views = ui.toggle(VIEWS, value=self.criteria.view, on_change=lambda event: self.narrow(view=event.value))
            views.props("no-caps unelevated toggle-color=primary").classes("calm").mark("views")
            order = ui.select(ORDERS, value=self.criteria.order, label="Order")
            order.props("outlined dense options-dense").classes("medium")
            order.on_value_change(lambda event: self.narrow(order=event.value))
        self.chips = ui.element("div").classes("row")
        self.body = ui.element("div").classes("listing")
        self.pager = CursorPager(PAGE, self.show)
        await self.show()

    async def narrow(self, **changes: Any) -> None:
        """Look for something else, from its first page."""
        self.criteria = replace(self.criteria, **changes)
        self.pager.reset()
        ui.navigate.history.replace(address_of(self.criteria))
        await self.show()

    async def show(self) -> None:
        asked = self.criteria
        try:
            found = await self.visitor.read(search_rubrics, asked, self.pager.start, PAGE)
        except RubricaError as error:
            show_error(self.body, error)
            return
        if asked is not self.criteria:
            return  # something else was typed meanwhile
        self._draw_chips()
        self.body.clear()
        with self.body:
            self._draw_rows(found)
        self.pager.tell(len(found.rows), found.after)

    def _draw_chips(self) -> None:
        self.chips.clear()
        with self.chips:
            if self.criteria.category:
                draw_chosen_category(self.criteria.category, self.narrow)
            draw_chosen_tags(self.criteria.tags, self.narrow)

    def _draw_rows(self, found: RubricPage) -> None:
        if not found.rows:
            self._draw_nothing()
            return
        with ui.element("ul").classes("rubric-list"):
            for listing in found.rows:
                with ui.element("li"):
                    ui.html(str(_about(listing, self.visitor.caller)), sanitize=False)
                    draw_facets(listing, self.criteria.tags, self.narrow)

    def _draw_nothing(self) -> None:
        if self.criteria.narrowed:
            empty("Nothing fits.", "Show all rubrics", lambda: ui.navigate.to("/rubrics"))
        elif self.visitor.caller.may("author"):
            empty("There are no rubrics yet.", "Build the first one", lambda: ui.navigate.to("/build/new"))
        else:
            empty("There are no rubrics yet.")


def _about(listing: RubricListing, caller: Caller) -> Markup:
    """One row of the list: what it is called, what it is for, whose it is."""
    told = listing.description
    told = told if len(told) <= DESCRIPTION_SHOWN else told[: DESCRIPTION_SHOWN - 1].rstrip() + "…"
    whose = "yours" if caller.owns(listing.created_by) else "comes with Rubrica" if listing.created_by is None else ""
    seen = "public" if listing.is_public else "private"
    traces = " · ".join(part for part in (f"version {listing.version}", seen, whose) if part)
    return Markup(
        '<p class="row"><a href="/rubrics/{}"><b>{}</b></a><span class="quiet">{}</span></p><p>{}</p>'
    ).format(listing.id, listing.name, traces, told)
