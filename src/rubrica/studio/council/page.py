"""The council: ask a question, and find the sessions that were held."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui
from pydantic import ValidationError

from rubrica.council.tiers import TIERS
from rubrica.errors import RubricaError
from rubrica.phrases import fault_words
from rubrica.server.council_service import LONGEST, CouncilRequest, CouncilService
from rubrica.studio.council.matrix import SCORINGS
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, empty, error_text, heading
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace.council_sessions import open_session, session_id_of

from . import session_page
from .session_list import SessionList, session_link

BEST = ""
NO_MODELS = (
    "This server has no models for a council. Start it with at least two: "
    "`rubrica serve --model openai:gpt-4o-mini --model anthropic:claude-haiku-4-5`"
)
POOLS = {"mean": "mean of the scores", "borda": "by who beats whom", "z": "by each reviewer's own measure"}


def install(studio: Studio) -> None:
    """Add the council's page."""

    @page("/council")
    async def council(request: Request, again: str = "") -> None:
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
                QuestionForm(visitor, council_service).draw(await _question_of(visitor, again))
            await SessionList(visitor).draw()

    session_page.install(studio)


async def _question_of(visitor: Visitor, again: str) -> str:
    """The question of a session that is to be asked again; empty where there is none."""
    try:
        session = await visitor.read(open_session, session_id_of(again)) if again else None
    except RubricaError:
        return ""
    return "" if session is None else str(session.request["question"])


class QuestionForm:
    """A question, and how the council shall be held. Asking it leads to the page of its session."""

    def __init__(self, visitor: Visitor, council_service: CouncilService) -> None:
        self.visitor = visitor
        self.council_service = council_service
        self.asking = False

    def draw(self, question: str = "") -> None:
        usual = self.council_service.settings(CouncilRequest(question="?"))
        with card():
            ui.label(
                "Several models answer, review each other's answers without knowing whose they are, and a chair "
                "writes the final answer."
            ).classes("quiet")
            self.question = (
                ui.textarea("Question", value=question).props(f"outlined autogrow maxlength={LONGEST}").classes("full")
            )
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
                self.ask = ui.button("Ask", icon="groups", on_click=self._ask).props("unelevated")
        self.fault = ui.label("").classes("fault").props('role="alert"')
        self.fault.set_visibility(False)

    async def _ask(self) -> None:
        if self.asking:
            return
        self.fault.set_visibility(False)
        self._busy(True)
        try:
            caller = await self.visitor.still_here()
            live = await self.visitor.service.sessions.start(caller, self._council_request())
        except (RubricaError, ValidationError) as error:
            self._failed(error)
            self._busy(False)
            return
        ui.navigate.to(session_link(live.line.id))

    def _busy(self, busy: bool) -> None:
        self.asking = busy
        self.ask.set_enabled(not busy)

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

    def _failed(self, error: RubricaError | ValidationError) -> None:
        told = error_text(error) if isinstance(error, RubricaError) else f"Question: {fault_words(error.errors()[0])}"
        self.fault.set_text(told)
        self.fault.set_visibility(True)


def _choice(label: str, options: object, value: object, *, multiple: bool = False) -> ui.select:
    chosen = ui.select(options, value=value, label=label, multiple=multiple)  # type: ignore[arg-type]
    return chosen.props("outlined dense" + (" use-chips" if multiple else "")).classes(
        "wide-choice" if multiple else ""
    )
