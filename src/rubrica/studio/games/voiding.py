"""Voiding a round, with a reason that is shown with it, and having it count again: for whoever made the game."""

from __future__ import annotations

from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games import rounds
from rubrica.games.rounds import LONGEST_REASON, RoundView
from rubrica.store.games import Game
from rubrica.studio.dialog_form import dialog_form
from rubrica.studio.parts import error_text, notifying_errors
from rubrica.studio.studio import Visitor


class VoidingButton:
    """What whoever made a game can do with one of its rounds."""

    def __init__(self, visitor: Visitor, game: Game, round_: RoundView) -> None:
        self.visitor, self.game, self.round = visitor, game, round_

    def draw(self) -> None:
        """Draw it."""
        if self.round.voided is not None:
            ui.button("Have it count again", icon="undo", on_click=self._restore).props("flat").classes("calm")
            return
        with dialog_form(self._void) as dialog:
            with ui.element("h2"):
                ui.label(f"Void round {self.round.round_number} of {self.round.player}")
            ui.label("It is kept and shown with the reason, and counts nowhere.").classes("quiet")
            self.reason = ui.input("Why").props(f"outlined autofocus maxlength={LONGEST_REASON}").classes("full")
            self.problem = ui.label().classes("fault").props('role="alert"')
            self.problem.set_visibility(False)
            with ui.element("div").classes("row actions"):
                ui.button("Cancel", on_click=dialog.close).props("flat type=button")
                ui.button("Void it").props("unelevated type=submit")
        ui.button("Void", icon="block", on_click=dialog.open).props("flat").classes("calm")

    async def _void(self) -> None:
        try:
            await self._write(self.reason.value or "")
        except RubricaError as error:
            self.problem.set_text(error_text(error))
            self.problem.set_visibility(True)

    async def _restore(self) -> None:
        with notifying_errors():
            await self._write(None)

    async def _write(self, reason: str | None) -> None:
        which = (str(self.round.player_id), self.round.round_number)
        await self.visitor.write(rounds.void_round, self.game.id, which, reason, self.visitor.service.clock())
        ui.navigate.reload()
