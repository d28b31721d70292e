"""The council: ask a question, watch the stages, see who gave whom what and why the ranking is as it is."""

from __future__ import annotations

import asyncio
import time

from fastapi import Request
from nicegui import background_tasks, ui

from rubrica.council.events import Event
from rubrica.council.session import QuorumError
from rubrica.council.tiers import TIERS
from rubrica.errors import RubricaError
from rubrica.server.council_service import LONGEST, CouncilRequest, CouncilService
from rubrica.studio.council.matrix import SCORINGS
from rubrica.studio.council.progress import TITLES, SessionProgress, progress_drawing
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, empty, error_text, heading
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace.access import check_action

from .result import draw_result

GRACE = 2.0
"""Seconds that a lost connection may take to come back before its session ends."""
BEST = ""
NO_MODELS = (
    "This server has no models for a council. Start it with at least two: "
    "`rubrica serve --model openai:gpt-4o-mini --model anthropic:claude-haiku-4-5`"
)
POOLS = {"mean": "mean of the scores", "borda": "by who beats whom", "z": "by each reviewer's own measure"}


def install(studio: Studio) -> None:
    """Add the council's page."""

    @page("/council")
    async def council(request: Request) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Council", "/council"):
            with heading("Council"):
                pass
            council_service = studio.service.council
            if council_service is None or len(council_service.models) < 2:
                empty(NO_MODELS)
            elif not visitor.caller.may("author"):
                empty(f"Asking the council costs money: it needs the role author, and yours is {visitor.caller.role}.")
            else:
                CouncilPage(visitor, council_service).draw()


class CouncilPage:
    """A question, and the session that is held about it. A page holds one at a time."""

    def __init__(self, visitor: Visitor, council_service: CouncilService) -> None:
        self.visitor = visitor
        self.council_service = council_service
        self.session: asyncio.Task[None] | None = None
        self.session_progress = SessionProgress()
        self.began = 0.0  # the stage under way

    def draw(self) -> None:
        usual = self.council_service.settings(CouncilRequest(question="?"))
        with card():
            ui.label(
                "Several models answer, review each other's answers without knowing whose they are, and a chair "
                "writes the final answer."
            ).classes("quiet")
            self.question = ui.textarea("Question").props(f"outlined autogrow maxlength={LONGEST}").classes("full")
            self.question.on("keydown.ctrl.enter", self._ask)
            with ui.element("div").classes("council-choices"):
                self.members = _choice("Members", list(self.council_service.models), list(usual.models), multiple=True)
                chairs = {BEST: "whoever ranks best", **{name: name for name in self.council_service.models}}
                self.chair = _choice("Chair", chairs, usual.chair or BEST)
                tiers = {name: f"{name}, {tier.seconds:g} s a stage" for name, tier in TIERS.items()}
                self.tier = _choice("Time", tiers, usual.tier)
                self.scoring = _choice("Scoring", dict(SCORINGS), usual.scoring)
                self.pool = _choice("Ranking", POOLS, usual.pool)
            with ui.element("div").classes("row"):
                self.gate = ui.switch("Safety gate: cap answers with unsafe statements", value=usual.safety_gate)
                self.gate.set_enabled(not usual.safety_gate)  # what the server demands cannot be left out
                ui.element("span").classes("grow")
                self.stop = ui.button("Stop", icon="stop", on_click=self._stop).props("flat").classes("calm")
                self.stop.set_visibility(False)
                self.ask = ui.button("Ask", icon="groups", on_click=self._ask).props("unelevated")
        self.fault = ui.label("").classes("fault").props('role="alert"')
        self.fault.set_visibility(False)
        with card("Stages"), ui.element("div").classes("stack"):
            self.told = ui.label("").classes("quiet").props('aria-live="polite"')
            self.progress = ui.linear_progress(0, show_value=False, size="6px").props(
                'rounded instant-feedback aria-label="Time used of this stage"'
            )
            self.progress.set_visibility(False)
            self.stages = ui.html(str(progress_drawing(self.session_progress)), sanitize=False)
        self.result = ui.element("div").classes("pile")
        self.timer = ui.timer(0.5, self._tick, active=False)
        client = ui.context.client
        client.on_disconnect(self._left)
        client.on_delete(self._stop)

    async def _ask(self) -> None:
        if self.session is not None:
            return
        self.fault.set_visibility(False)
        try:
            check_action(await self.visitor.still_here(), "asking the council")
            council_request = self._council_request()
            self.council_service.settings(council_request)
        except RubricaError as error:
            self._failed(error)
            return
        if self.session is not None:  # asked twice before the first could begin
            return
        self.session_progress = SessionProgress()
        self.result.clear()
        self._draw_stages()
        self._busy(True)
        self.session = background_tasks.create(self._hold(council_request), name="council")

    def _council_request(self) -> CouncilRequest:
        return CouncilRequest(
            question=self.question.value or "",
            models=tuple(self.members.value),
            chair=self.chair.value or None,
            tier=self.tier.value,
            scoring=self.scoring.value,
            pool=self.pool.value,
            safety_gate=True if self.gate.value else None,
        )

    async def _hold(self, council_request: CouncilRequest) -> None:
        """The session itself; it ends with the page, by its button, or with a result."""
        try:
            quote = await self.council_service.quote(council_request)
            async with self.visitor.service.spending.paying(self.visitor.caller, quote):
                result = await self.council_service.hear(council_request, self._heard)
            self.told.set_text("The council has answered.")
            with self.result:
                draw_result(result)
        except asyncio.CancelledError:
            self.told.set_text("Stopped. What was under way is given up; what was answered so far is paid for.")
        except QuorumError as error:
            self.told.set_text("Too few members answered.")
            self._failed(error)
        except RubricaError as error:
            self.told.set_text("There is no result.")
            self._failed(error)
        finally:
            self.session = None
            self._busy(False)

    def _heard(self, event: Event) -> None:
        stage = self.session_progress.stage
        self.session_progress.hear(event)
        if self.session_progress.stage != stage:
            self.began = time.monotonic()
        self._draw_stages()

    def _draw_stages(self) -> None:
        self.stages.set_content(str(progress_drawing(self.session_progress)))
        self._tick()

    def _tick(self) -> None:
        stage, deadline = self.session_progress.stage, self.session_progress.deadline
        if self.session is None or stage is None or deadline is None:
            return
        used = time.monotonic() - self.began
        self.progress.set_value(min(used / deadline, 1.0))
        self.told.set_text(f"{TITLES[stage][0]}: {used:.0f} of at most {deadline:g} seconds")

    def _busy(self, busy: bool) -> None:
        self.ask.set_enabled(not busy)
        self.stop.set_visibility(busy)
        self.progress.set_visibility(busy)
        self.progress.set_value(0)
        self.timer.active = busy
        if busy:
            self.told.set_text("The council gathers.")

    def _failed(self, error: RubricaError) -> None:
        self.fault.set_text(error_text(error))
        self.fault.set_visibility(True)

    def _stop(self) -> None:
        if self.session is not None:
            self.session.cancel()

    async def _left(self) -> None:
        """Nobody watches any more: what is asked from here on would be paid for in vain."""
        client = self.result.client
        await asyncio.sleep(GRACE)
        if not client.has_socket_connection:
            self._stop()


def _choice(label: str, options: object, value: object, *, multiple: bool = False) -> ui.select:
    chosen = ui.select(options, value=value, label=label, multiple=multiple)  # type: ignore[arg-type]
    return chosen.props("outlined dense" + (" use-chips" if multiple else "")).classes(
        "wide-choice" if multiple else ""
    )
