"""The gateway's dashboard: pass rates, escalation, cost, latency, and the last requests."""

from __future__ import annotations

from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.gateway.dashboard import GatewayFigures, recent_requests, spending_of, window_figures
from rubrica.store.address import address
from rubrica.store.gateway_recent import Outcome
from rubrica.studio.cursor_pager import CursorPager
from rubrica.studio.frame import frame, page
from rubrica.studio.gateway.spans import SPANS, SpanName
from rubrica.studio.gateway.wording import by_type, charts, gauges, mix, recently, spending, troubles
from rubrica.studio.parts import Choice, card, error_text, heading, notifying_errors
from rubrica.studio.runs.drawings import counts, stack
from rubrica.studio.studio import Studio, Visitor

from . import request_page

EVERY = 3.0
"""Seconds between two looks, at least; a look that takes long is followed by a longer rest."""
REST = 10.0
PAGE = 20
ALL_TYPES = ""
OUTCOMES: dict[Outcome, str] = {"all": "All", "failed": "Did not pass", "troubled": "Troubles"}
START = "rubrica gateway --tier0 MODEL --tier1 MODEL --grader MODEL --db {}"


def install(studio: Studio) -> None:
    """Add the pages of the gateway."""

    @page("/gateway")
    def gateway(request: Request) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Gateway", "/gateway"):
            GatewayPage(visitor).draw()

    request_page.install(studio)


class GatewayPage:
    """The figures of the time that was chosen, looked at again every few seconds."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.span: SpanName = "day"
        self.kind = ALL_TYPES
        self.kinds: set[str] = set()
        self.looking = False
        self.next = 0.0  # not before this time is there another look

    def draw(self) -> None:
        with heading("Gateway"):
            self.live = ui.switch("Live", value=True).props('aria-label="Look again every few seconds"')
            self.type = Choice({ALL_TYPES: "All types"}, value=ALL_TYPES, label="Question type").props("outlined dense")
            self.type.classes("medium").on_value_change(self._chosen)
            self.spans = ui.toggle({name: span.title for name, span in SPANS.items()}, value=self.span)
            self.spans.props('unelevated no-caps aria-label="Time"').classes("spans").on_value_change(self._chosen)
        self.fault = ui.label("").classes("fault").props('role="alert"')
        self.fault.set_visibility(False)
        self._nothing()
        with ui.element("div").classes("pile") as self.board:
            with card():
                self.gauges = _piece()
            with card("Over time", "times are UTC"):
                self.charts = _piece()
            with card("By question type", "the line is the 95% interval"):
                self.types = _piece()
            with card("Who answered"):
                self.mix = _piece()
            with card("Spending", "in US dollars, of requests whose price is known"):
                self.spending = _piece()
            with card("Last requests"):
                with ui.element("div").classes("row"):
                    self.outcome = ui.toggle(OUTCOMES, value="all").props('unelevated no-caps aria-label="Which"')
                    self.outcome.classes("spans").on_value_change(self._leafed)
                self.recent = _piece()
                self.pager = CursorPager(PAGE, self._turn_page)
        self.board.set_visibility(False)
        self.empty.set_visibility(False)
        with ui.element("div").classes("row waiting") as self.waiting:  # figures of many requests take a moment
            ui.spinner(size="1.6em")
            ui.label("Adding up what the gateway did").props('aria-live="polite"')
        ui.timer(0.05, self._look, once=True)
        ui.timer(EVERY, self._again)

    def _nothing(self) -> None:
        with ui.element("div").classes("empty") as self.empty:
            self.nothing = ui.label("")
            ui.label("A gateway that writes into this database shows here what it does, as it does it:")
            database = address(self.visitor.service.settings.database).shown
            with ui.element("code").classes("command"):
                ui.label(START.format(database if self.visitor.caller.is_admin else "DATABASE"))

    async def _chosen(self) -> None:
        self.span, self.kind = self.spans.value, self.type.value
        self.pager.reset()
        await self._look()

    async def _again(self) -> None:
        if self.live.value and not self.looking and self.visitor.service.clock().timestamp() >= self.next:
            await self._look()

    async def _look(self) -> None:
        """Look at the database, and draw what is different now; what is not wanted any more is not drawn."""
        self.looking = True
        wanted = (self.span, self.kind)
        clock = self.visitor.service.clock
        began = clock()
        span = SPANS[self.span]
        try:
            window = span.window(began, self.kind or None)
            found = await self.visitor.read(window_figures, window, span.bucket)
            if wanted != (self.span, self.kind):
                return
            self._show(found)
            spent = await self.visitor.read(spending_of, window.since, window.until)
            _put(self.spending, spending(spent))
            if self.pager.first:
                await self._requests()
            self.fault.set_visibility(False)
        except RubricaError as error:
            self.fault.set_text(error_text(error))
            self.fault.set_visibility(True)
        finally:
            self.looking = False
            self.waiting.set_visibility(False)
            ended = clock()
            self.next = (ended + REST * (ended - began)).timestamp()

    def _show(self, found: GatewayFigures) -> None:
        figures = found.figures
        some = figures.all.requests > 0
        self.board.set_visibility(some)
        self.empty.set_visibility(not some)
        self.nothing.set_text(f"No request in {_in_words(self.span)}.")
        if not self.kind and self.kinds != set(figures.types):
            self.kinds = set(figures.types)
            self.type.set_options({ALL_TYPES: "All types", **{name: name for name in sorted(self.kinds)}})
        if some:
            drawn = mix(figures)
            _put(self.gauges, gauges(figures, found.window.until))
            _put(self.charts, charts(found))
            _put(self.types, by_type(figures))
            _put(self.mix, stack(drawn) + counts(drawn) + troubles(figures))

    async def _leafed(self) -> None:
        self.pager.reset()
        await self._turn_page()

    async def _turn_page(self) -> None:
        with notifying_errors():
            await self._requests()

    async def _requests(self) -> None:
        window = SPANS[self.span].window(self.visitor.service.clock(), self.kind or None)
        outcome: Outcome = self.outcome.value
        wanted = (self.span, self.kind, outcome, self.pager.start)
        found = await self.visitor.read(recent_requests, window, outcome, self.pager.start, PAGE + 1)
        if wanted != (self.span, self.kind, self.outcome.value, self.pager.start):
            return  # somebody has leafed on meanwhile
        shown = found[:PAGE]
        none = Markup('<p class="quiet none">{}</p>').format("None in this time.")
        _put(self.recent, recently(shown) if shown else none)
        self.pager.tell(len(shown), shown[-1].spot if len(found) > PAGE else None)


def _piece() -> ui.html:
    return ui.html("", sanitize=False)


def _put(piece: ui.html, drawn: Markup) -> None:
    """Draw what is different: an unchanged page keeps its focus and its selection."""
    if piece.content != drawn:
        piece.set_content(str(drawn))


def _in_words(span: SpanName) -> str:
    return {"hour": "the last hour", "day": "the last day", "week": "the last week", "month": "the last 30 days"}[span]
