"""One game: its leaderboard, its rounds, what is attached to it, and playing."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import Request
from nicegui import ui

from rubrica.errors import MissingError, RubricaError
from rubrica.games import games, seasons, teams
from rubrica.games.board_pages import BoardQuery, board_page
from rubrica.games.games import GameView, hosts
from rubrica.games.leaderboard import LeaderboardRow
from rubrica.games.leaderboard_access import Leaderboard
from rubrica.games.life import takes_rounds
from rubrica.report.figures import count_of
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, chip, error_label, heading, notifying_errors
from rubrica.studio.studio import Studio, Visitor

from . import invitation_page, round_page
from .attachment_editor import AttachmentEditor, attached_card
from .board import Standings
from .contests import Contests
from .dialogs import config_text, game_dialog
from .life import LifeButtons, life_texts
from .live import follow
from .play_form import play_dialog
from .rating_panel import draw_ratings
from .rounds import Rounds

TABS = {"board": "Leaderboard", "rounds": "Rounds", "rubrics": "Rubrics", "contests": "Teams, seasons, tournaments"}


def install(studio: Studio) -> None:
    """Add the page, that of a round, and that of an invitation."""
    round_page.install(studio)
    invitation_page.install(studio)

    @page("/games/{game_id}")
    async def game(request: Request, game_id: str) -> None:
        visitor = studio.visitor(request)
        try:
            known = as_id(game_id)
            if known is None:
                raise MissingError("there is no such game")
            view = await visitor.read(games.view_game, known)
        except RubricaError as error:
            with frame(visitor, "No such game", "/games"):
                with heading("No such game", back=("Games", "/games")):
                    pass
                error_label(error)
            return
        asked = request.query_params
        with frame(visitor, view.game.name, "/games"):
            tab = asked.get("tab", "").replace("evaluations", "rubrics")  # what older links call it
            await _Page(visitor, view).draw(tab, as_id(asked.get("player", "")))


def as_id(text: str) -> UUID | None:
    """An id out of an address.

    >>> as_id("nonsense") is None
    True
    """
    try:
        return UUID(text)
    except ValueError:
        return None


class _Page:
    """The page of one game."""

    def __init__(self, visitor: Visitor, view: GameView) -> None:
        self.visitor, self.view = visitor, view

    async def draw(self, tab: str, player: UUID | None) -> None:
        game, caller = self.view.game, self.visitor.caller
        with heading(game.name, back=("Games", "/games")):
            if caller.may("player") and takes_rounds(game, self.visitor.service.clock()):
                ui.button("Play a round", icon="casino", on_click=lambda: play_dialog(self.visitor, self.view)).props(
                    "unelevated"
                )
            if hosts(caller, game) and caller.may("author"):
                ui.button("Change", icon="edit", on_click=lambda: game_dialog(self.visitor, game)).props(
                    "flat"
                ).classes("calm")
                LifeButtons(self.visitor, game).draw()
        with ui.element("div").classes("row"):
            for told in life_texts(game, self.visitor.service.clock()):
                chip(told)
            chip("public" if game.is_public else "private")
            if caller.owns(game.created_by):
                chip("yours")
            chip(f"made {game.created_at:%Y-%m-%d}")
            chip(count_of(len(self.view.attachments), "rubric"))
        chosen = "rounds" if player is not None else tab if tab in TABS else "board"
        with ui.tabs().props("align=left no-caps inline-label dense").classes("tabs") as tabs:
            for name, title in TABS.items():
                ui.tab(name, title)
        with ui.tab_panels(tabs, value=chosen, animated=False).classes("panels"):
            with ui.tab_panel("board"), card():
                self.board = Standings(self._ask, ["normalized", "composite", "korgym"], self._rounds_of)
                self.board.seasons = [each.name for each in await self.visitor.read(seasons.list_seasons, game.id)]
                self.board.teams = [each.team for each in await self.visitor.read(teams.team_board, game.id)]
                await self.board.draw()
                follow(self.visitor, game.id, self.board.show)
                draw_ratings(self.visitor, game.id)
            with ui.tab_panel("rounds"), card("Rounds", "player by player"):
                self.rounds = Rounds(self.visitor, self.view, player)
                await self.rounds.draw()
            editor: AttachmentEditor | None = None
            with ui.tab_panel("rubrics"):
                if hosts(caller, game) and caller.may("author"):
                    editor = AttachmentEditor(self.visitor, self.view, self._renew)
                    editor.draw()
                else:
                    attached_card(self.view)
                if game.config:
                    with card("Settings", "rubrics read them as game_config"):
                        ui.label(config_text(game.config)).classes("told mono")
            with ui.tab_panel("contests"):
                await Contests(self.visitor, game).draw()
        tabs.on_value_change(self._turned)
        if editor is not None:
            await ui.context.client.connected()
            await editor.restore()

    async def _ask(self, query: BoardQuery) -> Leaderboard:
        service = self.visitor.service
        return await self.visitor.read(board_page, self.view.game.id, query, service.clock(), service.boards)

    def _rounds_of(self, entry: LeaderboardRow) -> str:
        return f"/games/{self.view.game.id}?tab=rounds&player={entry.player_id}"

    def _turned(self, event: Any) -> None:
        ui.navigate.history.replace(f"/games/{self.view.game.id}?tab={event.value}")

    async def _renew(self) -> None:
        """Show anew what depends on what is attached."""
        with notifying_errors():
            self.view = await self.visitor.read(games.view_game, self.view.game.id)
            self.rounds.view = self.view
            self.board.forget()
            await self.board.show()
            await self.rounds.show()
