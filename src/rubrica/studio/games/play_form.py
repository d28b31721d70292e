"""Playing: a form for one round, which is judged at once and then kept."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games.fair_play import TIME, rules_of
from rubrica.games.games import GameView, hosts
from rubrica.games.starts import start_round
from rubrica.report.figures import duration, headline
from rubrica.studio.browser_memory import BrowserMemory
from rubrica.studio.parts import error_text, notifying_errors
from rubrica.studio.sandbox.form import Form, FormMetric
from rubrica.studio.studio import Visitor

from .play import names_asked, play, submission_of

LONGEST_TEXT = 100_000
"""Characters of a text that is typed or pasted."""


async def play_dialog(visitor: Visitor, view: GameView) -> None:
    """Ask for a round, have it judged, and open it."""
    with notifying_errors():
        await _Table(visitor, view).open()


class _Table:
    """The form of one round."""

    def __init__(self, visitor: Visitor, view: GameView) -> None:
        self.visitor, self.view = visitor, view
        self.metrics: dict[str, ui.input] = {}
        self.token: UUID | None = None  # of the round's start, where the server measures time
        self.began: datetime | None = None
        self.client = ui.context.client
        self.memory = BrowserMemory(f"rubrica-round:{visitor.caller.user_id}:{view.game.id}")

    async def open(self) -> None:
        names = await names_asked(self.visitor, self.view.attachments)
        game = self.view.game
        if TIME in names and rules_of(game).clock == "server" and not hosts(self.visitor.caller, game):
            names = tuple(name for name in names if name != TIME)
            begun = await self.visitor.write(start_round, game.id, None, None, self.visitor.service.clock())
            self.token, self.began = begun.token, begun.started_at
        kept = await self.memory.read()
        typed = kept if isinstance(kept, dict) else {}
        with ui.dialog() as self.dialog, ui.card().classes("dialog"):
            with ui.element("h2"):
                ui.label("Play a round")
            self.player: ui.input | None = None
            if hosts(self.visitor.caller, self.view.game):
                self.player = ui.input("Player (a name; empty: you)").props("outlined maxlength=255").classes("full")
            else:
                timed = told_time(self.began, self.visitor.service.clock())
                ui.label(f"You play as {self.visitor.caller.name}.{timed}").classes("quiet")
            self.prompt = ui.textarea("Prompt", value=str(typed.get("prompt", "")))
            self.prompt.props(f"outlined autogrow debounce=200 maxlength={LONGEST_TEXT}").classes("full")
            self.response = ui.textarea("Response", value=str(typed.get("response", ""))).props(
                f"outlined autogrow autofocus debounce=200 maxlength={LONGEST_TEXT} input-style='min-height: 110px'"
            )
            self.response.classes("full")
            for field in (self.prompt, self.response):
                field.on_value_change(self._remember)
            with ui.element("div").classes("finder"):
                for name in names:
                    self.metrics[name] = ui.input(headline(name)).props("outlined dense").classes("medium")
            with ui.expansion("More (JSON)").classes("fold full"):
                self.rest = ui.textarea('Other context, such as {"metadata": {"model_used": "x"}}')
                self.rest.props("outlined autogrow input-class=mono").classes("full")
            self.problem = ui.label().classes("fault").props('role="alert"')
            self.problem.set_visibility(False)
            self.busy = ui.element("div").classes("row")
            with self.busy:
                ui.spinner(size="1.2em")
                ui.label("Being judged. You may close this: it is kept when it is done.").classes("quiet")
            self.busy.set_visibility(False)
            with ui.element("div").classes("row actions"):
                ui.button("Close", on_click=self.dialog.close).props("flat")
                self.button = ui.button("Submit", on_click=self._submit).props("unelevated")
        self.dialog.open()

    def _remember(self) -> None:
        """Leave in the browser what is typed: who closes the form, or the page, finds it again."""
        typed = {"prompt": self.prompt.value or "", "response": self.response.value or ""}
        if any(typed.values()):
            self.memory.keep(self.client, typed)
        else:
            self.memory.forget(self.client)

    async def _submit(self) -> None:
        self.problem.set_visibility(False)
        if not (self.response.value or "").strip():
            self._fault("Write a response first.")
            return
        metrics = tuple(FormMetric(name, field.value or "") for name, field in self.metrics.items())
        form = Form(self.prompt.value or "", self.response.value or "", (), metrics, self.rest.value or "")
        self.button.set_enabled(False)
        self.busy.set_visibility(True)
        try:
            wanted = submission_of(form, "" if self.player is None else self.player.value or "", self.token)
            given = await play(self.visitor, self.view.game.id, wanted)
        except RubricaError as error:
            self._fault(error_text(error))
        else:
            made = given[0]
            self.memory.forget(self.client)
            if self.dialog.value:
                ui.navigate.to(f"/games/{self.view.game.id}/rounds/{made.player_id}/{made.round_number}")
            else:
                ui.notify(f"Round {made.round_number} of {made.player} was judged.", type="positive")
        finally:
            self.button.set_enabled(True)
            self.busy.set_visibility(False)

    def _fault(self, text: str) -> None:
        self.problem.set_text(text)
        self.problem.set_visibility(True)


def told_time(began: datetime | None, now: datetime) -> str:
    """Since when a round's time runs. Who opens the form again has begun before.

    >>> at = datetime(2026, 5, 4, 12, 0, 0)
    >>> told_time(None, at), told_time(at, at), told_time(at, at.replace(minute=2, second=5))
    ('', ' Your time runs from now.', ' Your time has been running for 2 min 5 s.')
    """
    if began is None:
        return ""
    seconds = (now - began).total_seconds()
    return (
        f" Your time has been running for {duration(seconds * 1000)}." if seconds >= 2 else " Your time runs from now."
    )
