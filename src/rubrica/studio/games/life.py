"""The life of a game on its page: how it stands, opening and closing it, copying it, and inviting."""

from __future__ import annotations

from datetime import datetime

from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games import copies, games, invitations
from rubrica.games.invitations import DAYS, InvitationRequest
from rubrica.games.life import moment, takes_rounds
from rubrica.report.figures import count_of
from rubrica.store.games import Game, GameStatus
from rubrica.studio.parts import error_text, notifying_errors
from rubrica.studio.studio import Visitor


def life_texts(game: Game, now: datetime) -> list[str]:
    """What stands beside a game's name about its life."""
    told: list[str] = [
        game.status if game.status != "open" or takes_rounds(game, now) else "closed: the deadline has passed"
    ]
    if game.deadline is not None:
        told.append(f"deadline {moment(game.deadline)}")
    if game.most_rounds is not None:
        told.append(f"{count_of(game.most_rounds, 'round')} each")
    if game.most_players is not None:
        told.append(f"{count_of(game.most_players, 'player')} at most")
    return told


class LifeButtons:
    """What whoever made a game can do with it."""

    def __init__(self, visitor: Visitor, game: Game) -> None:
        self.visitor, self.game = visitor, game

    def draw(self) -> None:
        if self.game.status == "open":
            ui.button("Close", icon="lock", on_click=lambda: self._set("closed")).props("flat").classes("calm")
        else:
            again = "Open" if self.game.status == "draft" else "Open again"
            ui.button(again, icon="lock_open", on_click=lambda: self._set("open")).props("flat").classes("calm")
        ui.button("Copy", icon="content_copy", on_click=self._copy).props("flat").classes("calm")
        if self.game.status != "closed":
            ui.button("Invite", icon="person_add", on_click=self._invite).props("flat").classes("calm")

    async def _set(self, status: GameStatus) -> None:
        with notifying_errors():
            await self.visitor.write(games.change_game, self.game.id, {"status": status}, self.visitor.service.clock())
            ui.navigate.to(f"/games/{self.game.id}")

    async def _copy(self) -> None:
        with notifying_errors():
            made = await self.visitor.write(copies.copy_game, self.game.id, None, self.visitor.service.clock())
            ui.navigate.to(f"/games/{made.game.id}")

    def _invite(self) -> None:
        with ui.dialog() as dialog, ui.card().classes("dialog"):
            with ui.element("h2"):
                ui.label(f"Invite to {self.game.name}")
            user = ui.input("Who (a user's name; empty: a link)").props("outlined autofocus maxlength=100")
            user.classes("full")
            uses = ui.number("Uses of the link (empty: no limit)", min=1, precision=0).props("outlined")
            days = ui.number("Days until it expires", value=DAYS, min=0.1).props("outlined")
            told = ui.label().classes("told mono").props('role="status"')
            problem = ui.label().classes("fault").props('role="alert"')
            for each in (told, problem):
                each.set_visibility(False)

            async def send() -> None:
                problem.set_visibility(False)
                most = None if uses.value is None else int(uses.value)
                wanted = InvitationRequest((user.value or "").strip() or None, most, float(days.value or 0))
                now = self.visitor.service.clock()
                try:
                    made = await self.visitor.write(invitations.invite, self.game.id, wanted, now)
                except RubricaError as error:
                    problem.set_text(error_text(error))
                    problem.set_visibility(True)
                    return
                until = moment(made.invitation.expires_at)
                link = f"{ui.context.client.request.base_url}games/join/{made.token}"
                told.set_text(f"{wanted.user} is invited until {until}." if made.token is None else link)
                told.set_visibility(True)

            with ui.element("div").classes("row actions"):
                ui.button("Close", on_click=dialog.close).props("flat")
                ui.button("Invite", on_click=send).props("unelevated")
        dialog.open()
