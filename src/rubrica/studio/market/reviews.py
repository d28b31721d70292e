"""Reviews of a listing, and the form for one's own."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from uuid import UUID

from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.report.excerpt import visible
from rubrica.store.market import MarketReview
from rubrica.studio.parts import card, drawing, error_label, error_text
from rubrica.studio.studio import Visitor
from rubrica.workspace import marketplace
from rubrica.workspace.market_search import ListingDetails
from rubrica.workspace.marketplace import LONGEST_REVIEW

from .wording import stars

PAGE = 10
WORDS = ("1 star: no use", "2 stars: poor", "3 stars: fair", "4 stars: good", "5 stars: excellent")


class Reviews:
    """The reviews of one offer, the newest first, and one's own rating."""

    def __init__(self, visitor: Visitor, looked: ListingDetails, rated: Callable[[], Awaitable[None]]) -> None:
        self.visitor = visitor
        self.listing = looked.offer.listing
        self.own = looked.review
        self._rated = rated
        self._after: tuple[datetime, UUID] | None = None

    async def draw(self) -> None:
        """Draw the form, then the reviews."""
        self._draw_form()
        with card("Reviews"):
            self.list = ui.element("div").classes("reviews")
            self.more = ui.button("Show more", on_click=self._show).props("flat").classes("calm self-start")
        await self._show()

    def _draw_form(self) -> None:
        caller = self.visitor.caller
        with card("Your rating"):
            if caller.owns(self.listing.created_by):
                ui.label("It is yours: others rate it.").classes("quiet")
                return
            if not caller.may("player"):
                ui.label(f"Rating needs the role player; you have {caller.role}.").classes("quiet")
                return
            own = self.own
            self.rating = ui.rating(value=None if own is None else own.rating, max=5, size="30px", color="amber-8")
            self.rating.props["icon-aria-label"] = list(WORDS)
            self.rating.props('aria-label="Stars" no-reset')
            self.text = ui.textarea("Review (if you like)", value="" if own is None else own.review)
            self.text.props(f"outlined autogrow maxlength={LONGEST_REVIEW}").classes("full")
            self.problem = ui.label().classes("fault").props('role="alert"')
            self.problem.set_visibility(False)
            self.button = ui.button("", on_click=self._rate).props("unelevated").classes("self-start")
            self._tell_button()

    def _tell_button(self) -> None:
        self.button.set_text("Rate it" if self.own is None else "Change your rating")

    async def _rate(self) -> None:
        self.problem.set_visibility(False)
        given = int(self.rating.value or 0)
        if not given:
            self._tell("Choose 1 to 5 stars.")
            return
        now = self.visitor.service.clock()
        try:
            await self.visitor.write(marketplace.rate, str(self.listing.id), given, self.text.value or "", now)
        except RubricaError as error:
            self._tell(error_text(error))
            return
        self.own = MarketReview(self.listing.id, self.visitor.caller.name, given, self.text.value or "", now, now)
        self._tell_button()
        ui.notify("Your rating counts.", type="positive")
        await self._rated()
        self._after = None
        self.list.clear()
        await self._show()

    def _tell(self, text: str) -> None:
        self.problem.set_text(text)
        self.problem.set_visibility(True)

    async def _show(self) -> None:
        """Add one page of reviews."""
        try:
            found = await self.visitor.read(marketplace.reviews, str(self.listing.id), PAGE + 1, self._after)
        except RubricaError as error:
            with self.list:
                error_label(error)
            return
        with self.list:
            for review in found[:PAGE]:
                drawing(_review(review))
            if not found and self._after is None:
                ui.label("Nobody has rated it yet.").classes("quiet")
        self.more.set_visibility(len(found) > PAGE)
        if len(found) > PAGE:
            last = found[PAGE - 1]
            self._after = (last.updated_at, last.id)


def _review(review: MarketReview) -> Markup:
    changed = " (changed)" if review.updated_at != review.created_at else ""
    text = Markup('<p class="said" dir="auto">{}</p>').format(visible(review.review)) if review.review else ""
    return Markup(
        '<article class="review"><p class="row">{}<b>{}</b><span class="quiet">{:%Y-%m-%d}{}</span></p>{}</article>'
    ).format(stars(review.rating), review.user, review.updated_at, changed, text)
