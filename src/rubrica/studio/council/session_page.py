"""One session of the council: watched while it goes on, and read afterwards, however often the page is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import msgspec
from fastapi import Request
from nicegui import ui

from rubrica.council.events import Event
from rubrica.council.stored_result import result_of
from rubrica.council.transcript import SessionTranscript, scores_text
from rubrica.errors import RubricaError
from rubrica.report.figures import count_of
from rubrica.store.council_sessions import SessionLine, StoredEvent, StoredSession
from rubrica.studio.council.progress import TITLES, SessionProgress, progress_drawing
from rubrica.studio.frame import frame, page
from rubrica.studio.moments import moment
from rubrica.studio.parts import card, chip, drawing, error_label, heading, notifying_errors
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace.council_sessions import (
    forget_session,
    open_session,
    session_id_of,
    session_news,
    session_with_events,
)

from .result import draw_result
from .session_list import STATES

LONGEST_TITLE = 80
EVERY = 0.5
"""Seconds between two looks at a session that is under way."""


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/council/{session_id}")
    async def council_session(request: Request, session_id: str) -> None:
        visitor = studio.visitor(request)
        try:
            session, events = await visitor.read(session_with_events, session_id_of(session_id))
        except RubricaError as error:
            with frame(visitor, "No such session", "/council"):
                with heading("No such session", back=("Council", "/council")):
                    pass
                error_label(error)
            return
        title = session.line.title
        shown = title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"
        with frame(visitor, "Council", "/council"):
            await SessionView(visitor, session).draw(shown, events)


class SessionView:
    """A session on a page."""

    def __init__(self, visitor: Visitor, session: StoredSession) -> None:
        self.visitor = visitor
        self.session = session
        self.line: SessionLine = session.line
        self.progress = SessionProgress()
        self.events: list[StoredEvent] = []
        self.began = session.line.created_at  # the stage under way

    async def draw(self, title: str, events: Sequence[StoredEvent]) -> None:
        line = self.line
        with heading(title, back=("Council", "/council")):
            self.actions = ui.element("div").classes("row")
        with ui.element("div").classes("row"):
            chip(f"asked {moment(line.created_at.isoformat())} UTC by {line.owner}")
            self.state = ui.element("span")
        with card("Question"):
            ui.label(self.session.request["question"]).classes("told").props('dir="auto"')
        with card("Stages"), ui.element("div").classes("stack"):
            self.told = ui.label("").classes("quiet").props('aria-live="polite"')
            self.bar = ui.linear_progress(0, show_value=False, size="6px").props(
                'rounded instant-feedback aria-label="Time used of this stage"'
            )
            self.stages = ui.html("", sanitize=False)
        self.result = ui.element("div").classes("pile")
        self._hear(events)
        self.timer = ui.timer(EVERY, self._look, active=line.state == "running")
        self._show()

    async def _look(self) -> None:
        """See what has happened since."""
        after = self.events[-1].number if self.events else 0
        try:
            news = await self.visitor.read(session_news, self.line.id, after)
            if news.line.state != "running":
                self.session = await self.visitor.read(open_session, self.line.id)
        except RubricaError as error:
            self.timer.deactivate()
            self.told.set_text(str(error))
            return
        changed = news.line.state != self.line.state
        self.line = news.line
        self._hear(news.events)
        if changed:
            self.timer.deactivate()
            self._show()
        self._tick()

    def _hear(self, events: Sequence[StoredEvent]) -> None:
        for event in events:
            self.events.append(event)
            stage = self.progress.stage
            try:
                self.progress.hear(msgspec.convert(event.data, Event))
            except (msgspec.ValidationError, KeyError):  # the end, or of another version
                continue
            if self.progress.stage != stage:
                self.began = event.created_at
        if events:
            self.stages.set_content(str(progress_drawing(self.progress)))

    def _tick(self) -> None:
        stage, deadline = self.progress.stage, self.progress.deadline
        if self.line.state != "running" or stage is None or deadline is None:
            return
        used = max((self.visitor.service.clock() - self.began).total_seconds(), 0.0)
        self.bar.set_value(min(used / deadline, 1.0))
        self.told.set_text(f"{TITLES[stage][0]}: {used:.0f} of at most {deadline:g} seconds")

    # --- what stands on the page ----------------------------------------------------------------------------

    def _show(self) -> None:
        running = self.line.state == "running"
        self.progress.ended = not running
        self.stages.set_content(str(progress_drawing(self.progress)))
        self.bar.set_visibility(running)
        self.state.clear()
        with self.state:
            drawing(STATES[self.line.state])
        self._actions(running)
        self.result.clear()
        with self.result:
            if self.line.state == "finished":
                whole = (self.session.result or {}).get("complete", True)
                self.told.set_text("The council has answered." if whole else "The council has answered in part.")
                self._finished()
            elif running:
                self.told.set_text("The council gathers.")
            else:
                self._without_result()
        self._tick()

    def _actions(self, running: bool) -> None:
        self.actions.clear()
        with self.actions:
            if running:
                if self.visitor.caller.may("author"):
                    ui.button("Stop", icon="stop", on_click=self._stop).props("flat").classes("calm")
                return
            for text, form in (("JSON", "json"), ("Markdown", "markdown")):
                ui.button(text, icon="download", on_click=lambda form=form: self._download(form)).props(
                    f'flat aria-label="Export as {text}"'
                ).classes("calm")
            if self.visitor.caller.may("author"):
                ui.button("Ask again", icon="replay", on_click=self._again).props("flat").classes("calm")
                ui.button(icon="delete", on_click=self._delete).props('flat round aria-label="Delete this session"')

    def _finished(self) -> None:
        result = None if self.session.record is None else result_of(self.session.record)
        if result is not None:
            draw_result(result)
        elif self.session.result is not None:  # kept by another version
            draw_plain_result(self.session.result)

    def _without_result(self) -> None:
        problem = self.events[-1].data if self.events else {}
        self.told.set_text("There is no result.")
        ui.label(str(problem.get("detail", ""))).classes("fault").props('role="alert"')
        answers = [event.data for event in self.events if event.name == "answered" and event.data.get("text")]
        if answers:
            with card("What had arrived", count_of(len(answers), "answer")):
                for answer in answers:
                    ui.label(str(answer["model"])).classes("label")
                    ui.label(str(answer["text"])).classes("told").props('dir="auto"')
        reviews = SessionTranscript({}, {}, [event.data for event in self.events], None).reviews
        if reviews:
            with card("Reviews that had arrived", count_of(len(reviews), "review")):
                for review in reviews:
                    ui.label(f"{review['reviewer']} on {review['model']}").classes("label")
                    ui.label(f"{scores_text(review)}. {review['notes']}").classes("told").props('dir="auto"')

    async def _stop(self) -> None:
        with notifying_errors():
            await self.visitor.service.sessions.stop(await self.visitor.still_here(), self.line.id)
            await self._look()

    async def _delete(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("dialog"):
            with ui.element("h2"):
                ui.label("Delete this session?")
            ui.label("Its answers and its audit go with it.")
            with ui.element("div").classes("row"):
                ui.button("Delete", on_click=lambda: dialog.submit(True)).props("unelevated color=negative")
                ui.button("Keep it", on_click=lambda: dialog.submit(False)).props("flat").classes("calm")
        if await dialog:
            with notifying_errors():
                await self.visitor.write(forget_session, self.line.id)
                ui.navigate.to("/council")

    def _again(self) -> None:
        ui.navigate.to(f"/council?again={self.line.id}")

    def _download(self, form: str) -> None:
        ui.download.from_url(_export(self.line.id, form))


def _export(session_id: UUID, form: str) -> str:
    return f"/api/council/sessions/{session_id}/export?format={form}"


def draw_plain_result(result: Mapping[str, Any]) -> None:
    """The answer and the ranking of a result that only its plain form is left of."""
    with card("Final answer"):
        ui.label(str(result["answer"])).classes("told tall").props('dir="auto"')
    with card("Ranking"), ui.element("ol"):
        for name in result["ranking"]:
            with ui.element("li"):
                ui.label(f"{name} · {result['metadata']['labels'][name]}")
