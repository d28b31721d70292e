"""The marketplace: browse and search public rubrics, import them, and see one's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import Request
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.studio.cursor_pager import CursorPager
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import empty, error_label, heading, notifying_errors, show_error
from rubrica.studio.rubrics.actions import publish_dialog
from rubrica.studio.rubrics.facets import draw_chosen_tags, draw_facets
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace import catalogue
from rubrica.workspace.market_search import (
    MarketPage,
    MarketSearch,
    OwnRubric,
    market_categories,
    recommended,
    search_market,
)
from rubrica.workspace.rubric_search import LONGEST_QUERY

from .search import PAGE, RATINGS, SORTS, VIEWS, address_of, search_from_query
from .wording import listing_card, own_rubric_card


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/market")
    async def market(request: Request) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Marketplace", "/market"):
            editor = _Market(visitor, search_from_query(request.query_params))
            with heading("Marketplace"):
                if visitor.caller.may("author"):
                    publish = ui.button("Publish one of yours", icon="publish", on_click=editor.to_own)
                    publish.props("flat").classes("calm")
            await editor.draw()


class _Market:
    """The shelves, what they are narrowed down to, and the way through their pages."""

    def __init__(self, visitor: Visitor, criteria: MarketSearch) -> None:
        self.visitor, self.criteria = visitor, criteria

    async def draw(self) -> None:
        try:
            known = dict(await self.visitor.read(market_categories))
        except RubricaError as error:
            error_label(error)
            return
        with ui.element("div").classes("finder").props('role="search"'):
            search = ui.input("Search", value=self.criteria.q, placeholder="Name, description, category or tag")
            search.props(f"outlined dense clearable debounce=250 maxlength={LONGEST_QUERY} type=search").classes("grow")
            search.on_value_change(lambda event: self.narrow(q=event.value or ""))
            self.views = ui.toggle(
                VIEWS, value=self.criteria.view, on_change=lambda event: self.narrow(view=event.value)
            )
            self.views.props('no-caps unelevated toggle-color=primary aria-label="What is shown"').classes("calm")
        with ui.element("div").classes("finder"):
            self.categories = {"": "Every category"} | {name: f"{name} ({count:,})" for name, count in known.items()}
            self.category = ui.select(self.categories, value="", label="Category")
            self.category.on_value_change(lambda event: self.narrow(category=event.value or ""))
            self.rating = ui.select(dict(RATINGS), value=self.criteria.least, label="Rating")
            self.rating.on_value_change(lambda event: self.narrow(least=event.value))
            self.order = ui.select(SORTS, value=self.criteria.sort, label="Order")
            self.order.on_value_change(lambda event: self.narrow(sort=event.value))
            for choice in (self.category, self.rating, self.order):
                choice.props("outlined dense options-dense").classes("medium")
            self.chips = ui.element("div").classes("row")
        self.body = ui.element("div").classes("shelves")
        self.pager = CursorPager(PAGE, self.show)
        await self.show()

    async def narrow(self, **changes: Any) -> None:
        """Look for something else, from its first page."""
        wanted = replace(self.criteria, **changes)
        if wanted == self.criteria:
            return
        self.criteria = wanted
        self.pager.reset()
        ui.navigate.history.replace(address_of(wanted))
        await self.show()

    def to_own(self) -> None:
        """Show one's own rubrics: each has the way to the marketplace beside it."""
        self.views.set_value("yours")

    async def show(self) -> None:
        asked, visitor = self.criteria, self.visitor
        self.order.set_visibility(asked.view in ("all", "featured"))
        self.rating.set_visibility(asked.view != "yours")
        self._choose_category(asked.category)
        self._draw_chips()
        try:
            run_rubrics = await visitor.read(search_market, asked, self.pager.start, PAGE, visitor.service.clock())
            first = not asked.narrowed and self.pager.first
            chosen = await visitor.read(recommended) if first else ()
        except RubricaError as error:
            show_error(self.body, error)
            return
        if asked is not self.criteria:
            return  # something else was asked for meanwhile
        self.body.clear()
        with self.body:
            if chosen:
                _title("Featured")
                self._draw_offers(chosen)
                _title("All")
            if asked.view == "yours":
                self._draw_own(run_rubrics)
            elif run_rubrics.offers:
                self._draw_offers(run_rubrics.offers)
            else:
                self._draw_nothing()
        self.pager.tell(len(run_rubrics.offers) + len(run_rubrics.own), run_rubrics.after)

    def _choose_category(self, name: str) -> None:
        if name not in self.categories:  # of many it is none of the fullest
            self.categories[name] = name
            self.category.set_options(self.categories, value=name)
        else:
            self.category.set_value(name)

    def _draw_chips(self) -> None:
        self.chips.clear()
        with self.chips:
            draw_chosen_tags(self.criteria.tags, self.narrow)

    def _draw_offers(self, offers: Any) -> None:
        now = self.visitor.service.clock()
        with ui.element("div").classes("grid wares"):
            for offer in offers:
                with ui.element("article").classes("card ware"):
                    ui.html(str(listing_card(offer, now)), sanitize=False).classes("ware-words")
                    draw_facets(offer.listing, self.criteria.tags, self.narrow)

    def _draw_own(self, run_rubrics: MarketPage) -> None:
        if not run_rubrics.own:
            self._draw_nothing()
            return
        now = self.visitor.service.clock()
        with ui.element("ul").classes("rubric-list own-list"):
            for own in run_rubrics.own:
                with ui.element("li").classes("own"):
                    ui.html(str(own_rubric_card(own, now)), sanitize=False).classes("ware-words")
                    if self.visitor.caller.may("author"):
                        self._draw_publishing(own)

    def _draw_publishing(self, own: OwnRubric) -> None:
        listing = own.listing

        async def publish() -> None:
            with notifying_errors():
                entry = await self.visitor.read(catalogue.entry, str(listing.id))
                await publish_dialog(self.visitor, entry)

        button = ui.button("Make private" if listing.is_public else "Publish", on_click=publish)
        button.props("flat").classes("calm")
        button.props["aria-label"] = f"{'Make private' if listing.is_public else 'Publish'}: {listing.name}"

    def _draw_nothing(self) -> None:
        def all_offers() -> None:
            ui.navigate.to("/market")

        match self.criteria.view:
            case "yours" if not (self.criteria.q or self.criteria.category or self.criteria.tags):
                if self.visitor.caller.may("author"):
                    empty("You have no rubrics yet.", "Build one", lambda: ui.navigate.to("/build/new"))
                else:
                    empty("You have no rubrics: making and importing them needs the role author.")
            case "trending":
                empty("Nothing that fits was imported or liked lately.", "Show everything", all_offers)
            case "featured":
                empty("Nothing that fits is featured.", "Show everything", all_offers)
            case _ if self.criteria.narrowed:
                empty("Nothing fits.", "Show everything", all_offers)
            case _:
                empty("Nothing is public yet.")


def _title(text: str) -> None:
    with ui.element("h2"):
        ui.label(text)
