"""Comparing responses: a prompt, two or more responses, and which of them the judges prefer."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from rubrica.errors import InputError, RubricaError
from rubrica.judges.preference import Preference
from rubrica.judges.response_names import ORDINALS
from rubrica.model.evaluation import Unscored
from rubrica.report.figures import count_of, figure
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, drawing, empty, error_text, heading, notifying_errors
from rubrica.studio.sandbox.picker import pick_rubric
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace import catalogue
from rubrica.workspace.preferences import NoJudgeError, PreferenceRequest

from .result import cost_text, outcome, standings, votes

LONGEST = 100_000
"""Characters of a prompt or a response."""
IN_GENERAL = "In general"


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/preferences")
    async def preferences(request: Request) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Preferences", "/preferences"):
            with heading("Preferences"):
                pass
            if not visitor.service.preferences.judges:
                reason = str(NoJudgeError())
                empty(f"{reason[0].upper()}{reason[1:]}.")
            elif not visitor.caller.may("player"):
                empty(f"Asking a judge costs money: it needs the role player, and yours is {visitor.caller.role}.")
            else:
                PreferencesPage(visitor).draw()


class PreferencesPage:
    """The responses, and what came of comparing them."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.rubric: str | None = None  # whose qualities count
        self.fields: list[tuple[ui.input, ui.textarea]] = []  # name and text of each response

    def draw(self) -> None:
        judges = self.visitor.service.preferences.judges
        with card():
            ui.label(f"Asked twice each, in either order: {', '.join(judges)}.").classes("quiet")
            self.prompt = _text("Prompt")
            self.responses = ui.element("div").classes("stack")
            self._add()
            self._add()
            with ui.element("div").classes("row"):
                self.more = ui.button("Add a response", icon="add", on_click=self._add).props("flat").classes("calm")
                self.quality = ui.button(f"What counts: {IN_GENERAL}", on_click=self._choose).props("flat no-caps")
                self.quality.classes("calm")
                self.graded = ui.switch("Grade from 1 to 7")
                ui.element("span").classes("grow")
                self.go = ui.button("Compare", icon="balance", on_click=self._compare).props("unelevated")
        self.fault = ui.label("").classes("fault").props('role="alert"')
        self.fault.set_visibility(False)
        self.result = ui.element("div").classes("pile").props('aria-live="polite"')

    def _add(self) -> None:
        number = len(self.fields)
        with self.responses:
            name = ui.input(f"Name of response {number + 1}", value=ORDINALS[number])
            name.props("outlined dense hide-bottom-space maxlength=60")
            self.fields.append((name, _text(f"Response {number + 1}")))
        if number >= 2:  # as soon as there are three
            self.graded.set_value(False)
            self.graded.set_enabled(False)
            self.more.set_enabled(len(self.fields) < len(ORDINALS))

    async def _choose(self) -> None:
        with notifying_errors():
            chosen = await pick_rubric(self.visitor, "The rubric whose qualities count")
            if chosen is None:
                return
            entry = await self.visitor.read(catalogue.entry, str(chosen))
            self.rubric = f"{entry.listing.id}@{entry.version.version}"
            self.quality.set_text(f"What counts: {entry.listing.name}")

    def _request(self) -> PreferenceRequest:
        given = [((name.value or "").strip(), text.value or "") for name, text in self.fields]
        if any(not text.strip() for _, text in given):
            raise InputError("write every response; an empty one cannot be compared")
        if len({name for name, _ in given}) < len(given) or not all(name for name, _ in given):
            raise InputError("give every response a name of its own")
        return PreferenceRequest(self.prompt.value or "", dict(given), self.rubric, bool(self.graded.value))

    async def _compare(self) -> None:
        self.go.disable()
        self.fault.set_visibility(False)
        self.result.clear()
        try:
            request = self._request()
            found = await self.visitor.service.preferences.compare(await self.visitor.still_here(), request)
            with self.result:
                draw_preference(found)
        except RubricaError as error:
            self.fault.set_text(error_text(error))
            self.fault.set_visibility(True)
        finally:
            self.go.enable()


def draw_preference(found: Preference | Unscored) -> None:
    """What came of it. Names and reasons are words of others: they are shown as text and nothing else."""
    with card("Outcome"):
        ui.label(outcome(found))
        if isinstance(found, Unscored):
            return
        sure = f"Confidence {figure(round(found.confidence, 2))}, by {count_of(len(found.votes), 'vote')}."
        ui.label(f"{sure} {cost_text(found)}").classes("quiet")
        drawing(standings(found))
    with card("Votes", "each judge in both orders"):
        drawing(votes(found))


def _text(label: str) -> ui.textarea:
    return ui.textarea(label).props(f"outlined autogrow maxlength={LONGEST}").classes("full")
