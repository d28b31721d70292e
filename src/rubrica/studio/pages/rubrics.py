"""The rubrics one can see, with search and tags."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import urlencode

from fastapi import Request
from markupsafe import Markup
from nicegui import ui
from sqlalchemy import Connection

from rubrica.arena import catalogue, market
from rubrica.arena.access import Caller
from rubrica.arena.draft import LONGEST_CATEGORY, LONGEST_TAG
from rubrica.arena.plain import plain_text
from rubrica.errors import RubricaError
from rubrica.store.evaluations import Listing, Order, Wanted
from rubrica.store.offers import Filters
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import empty, fault, heading
from rubrica.studio.studio import Studio, Visitor

from .rubric_actions import import_dialog

View = Literal["all", "mine", "public"]
VIEWS: dict[View, str] = {"all": "All", "mine": "Mine", "public": "Public"}
ORDERS: dict[Order, str] = {"newest": "Newest first", "name": "By name"}
PAGE = 25
LONGEST_QUERY = 200
"""Characters."""
DESCRIPTION_SHOWN = 160
"""Characters of a description in a list."""


@dataclass(frozen=True, slots=True)
class Sought:
    """What the list is narrowed down to, as the page's address says it."""

    q: str = ""
    view: View = "all"
    category: str = ""
    tags: tuple[str, ...] = ()
    order: Order = "newest"

    @property
    def address(self) -> str:
        """The page's path with what it is narrowed down to; what is usual is left out.

        >>> Sought("speed", view="mine", tags=("fast",)).address
        '/rubrics?q=speed&view=mine&tag=fast'
        """
        said: list[tuple[str, str]] = [("q", self.q)] if self.q else []
        said += [("view", self.view)] if self.view != "all" else []
        said += [("category", self.category)] if self.category else []
        said += [("tag", tag) for tag in self.tags]
        said += [("sort", self.order)] if self.order != "newest" else []
        return f"/rubrics?{urlencode(said)}" if said else "/rubrics"

    @property
    def narrowed(self) -> bool:
        return bool(self.q or self.category or self.tags or self.view != "all")


@dataclass(frozen=True, slots=True)
class Slice:
    """One page of a list, and where the next one starts; None: there is none."""

    rows: tuple[Listing, ...]
    after: Any = None


def sought_from(request: Request) -> Sought:
    """What an address asks for; what it says wrongly is passed over."""
    asked = request.query_params
    return Sought(
        asked.get("q", "")[:LONGEST_QUERY].replace("\0", ""),
        next((view for view in VIEWS if view == asked.get("view")), "all"),
        asked.get("category", "")[:LONGEST_CATEGORY].replace("\0", ""),
        tuple(tag[:LONGEST_TAG].replace("\0", "") for tag in asked.getlist("tag") if tag.strip()),
        next((order for order in ORDERS if order == asked.get("sort")), "newest"),
    )


def look(conn: Connection, caller: Caller, sought: Sought, after: Any, limit: int = PAGE) -> Slice:
    """One page of the rubrics that somebody sees; `after` is where the page before ended."""
    query = plain_text(sought.q, "the search", LONGEST_QUERY)
    category = sought.category or None
    if sought.view == "public":
        found = market.browse(conn, Filters(query, category, sought.tags), sought.order, limit, after)
        return Slice(tuple(offer.listing for offer in found.offers), found.after)
    wanted = Wanted(query, category, sought.tags, None, sought.view == "mine", sought.order, after)
    rows = catalogue.browse(conn, caller, wanted, limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    return Slice(tuple(rows[:limit]), None if last is None else (last.slug, last.id))


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
            await _List(visitor, sought_from(request)).draw()


class _List:
    """The list with what it is narrowed down to, and the way back through its pages."""

    def __init__(self, visitor: Visitor, sought: Sought) -> None:
        self.visitor, self.sought = visitor, sought
        self.starts: list[Any] = [None]  # where each page so far began

    async def draw(self) -> None:
        with ui.element("div").classes("finder").props('role="search"'):
            search = ui.input("Search", value=self.sought.q, placeholder="Name, description, category or tag")
            search.props(f"outlined dense clearable debounce=250 maxlength={LONGEST_QUERY} type=search").classes("grow")
            search.on_value_change(lambda event: self.narrow(q=event.value or ""))
            views = ui.toggle(VIEWS, value=self.sought.view, on_change=lambda event: self.narrow(view=event.value))
            views.props("no-caps unelevated toggle-color=primary").classes("calm").mark("views")
            order = ui.select(ORDERS, value=self.sought.order, label="Order")
            order.props("outlined dense options-dense").classes("medium")
            order.on_value_change(lambda event: self.narrow(order=event.value))
        self.chips = ui.element("div").classes("row")
        self.body = ui.element("div").classes("listing")
        self.foot = ui.element("nav").classes("row pager").props('aria-label="Pages"')
        await self.show()

    async def narrow(self, **changes: Any) -> None:
        """Look for something else, from its first page."""
        self.sought = replace(self.sought, **changes)
        self.starts = [None]
        ui.navigate.history.replace(self.sought.address)
        await self.show()

    async def turn(self, start: Any) -> None:
        if start == self.starts[-1]:
            return  # a second click before the page is there leads no further
        self.starts.append(start)
        await self.show()
        ui.run_javascript("window.scrollTo(0, 0)")

    async def back(self) -> None:
        if len(self.starts) > 1:
            self.starts.pop()
            await self.show()

    async def show(self) -> None:
        asked = self.sought
        try:
            found = await self.visitor.read(look, asked, self.starts[-1])
        except RubricaError as error:
            self.body.clear()
            with self.body:
                fault(error)
            return
        if asked is not self.sought:
            return  # something else was typed meanwhile
        self._draw_chips()
        self.body.clear()
        with self.body:
            self._draw_rows(found)
        self.foot.clear()
        if len(self.starts) > 1 or found.after is not None:
            with self.foot:
                self._draw_foot(found)

    def _draw_chips(self) -> None:
        self.chips.clear()
        sought = self.sought
        with self.chips:
            if sought.category:
                self._chip(f"category {sought.category}", lambda: self.narrow(category=""))
            for tag in sought.tags:
                others = tuple(other for other in sought.tags if other != tag)
                self._chip(f"tag {tag}", lambda others=others: self.narrow(tags=others))

    def _chip(self, text: str, remove: Any) -> None:
        button = ui.button(text, icon="close", on_click=remove, color=None).props("dense flat no-caps")
        button.props["aria-label"] = f"Remove {text}"
        button.classes("chip")

    def _draw_rows(self, found: Slice) -> None:
        if not found.rows:
            self._draw_nothing()
            return
        with ui.element("ul").classes("rubric-list"):
            for listing in found.rows:
                with ui.element("li"):
                    ui.html(str(_about(listing, self.visitor.caller)), sanitize=False)
                    with ui.element("div").classes("row"):
                        if listing.category:
                            self._filter(listing.category, "category", category=listing.category)
                        for tag in (tag for tag in listing.tags if tag != listing.category):
                            self._filter(tag, "tag", tags=tuple(dict.fromkeys((*self.sought.tags, tag))))

    def _filter(self, text: str, kind: str, **changes: Any) -> None:
        button = ui.button(text, on_click=lambda: self.narrow(**changes), color=None)
        button.props("dense flat no-caps").classes("chip")
        button.props["aria-label"] = f"Only {kind} {text}"

    def _draw_nothing(self) -> None:
        if self.sought.narrowed:
            empty("Nothing fits.", "Show all rubrics", lambda: ui.navigate.to("/rubrics"))
        elif self.visitor.caller.may("author"):
            empty("There are no rubrics yet.", "Build the first one", lambda: ui.navigate.to("/build/new"))
        else:
            empty("There are no rubrics yet.")

    def _draw_foot(self, found: Slice) -> None:
        first = (len(self.starts) - 1) * PAGE
        back = ui.button("Previous", icon="chevron_left", on_click=self.back).props("flat")
        back.set_enabled(len(self.starts) > 1)
        ui.label(f"{first + 1:,}–{first + len(found.rows):,}").classes("quiet")
        after = found.after
        forth = ui.button("Next", on_click=lambda: self.turn(after)).props("flat icon-right=chevron_right")
        forth.set_enabled(after is not None)


def _about(listing: Listing, caller: Caller) -> Markup:
    """One row of the list: what it is called, what it is for, whose it is."""
    told = listing.description
    told = told if len(told) <= DESCRIPTION_SHOWN else told[: DESCRIPTION_SHOWN - 1].rstrip() + "…"
    whose = "yours" if caller.owns(listing.created_by) else "comes with Rubrica" if listing.created_by is None else ""
    seen = "public" if listing.is_public else "private"
    traces = " · ".join(part for part in (f"version {listing.version}", seen, whose) if part)
    return Markup(
        '<p class="row"><a href="/rubrics/{}"><b>{}</b></a><span class="quiet">{}</span></p><p>{}</p>'
    ).format(listing.id, listing.name, traces, told)
