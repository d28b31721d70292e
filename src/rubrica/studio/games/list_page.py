"""The list of games, making one, the leaderboard across games, and one's own players."""

from __future__ import annotations

from typing import Any

import msgspec
from fastapi import Request
from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games import leaderboard_access
from rubrica.games.board_pages import BoardQuery
from rubrica.games.games import GameView, list_views
from rubrica.games.leaderboard_access import Leaderboard
from rubrica.report.figures import percent
from rubrica.studio.cursor_pager import CursorPager
from rubrica.studio.frame import frame, page
from rubrica.studio.parts import card, empty, heading, show_error
from rubrica.studio.studio import Studio, Visitor
from rubrica.workspace.access import Caller

from .board import Standings
from .dialogs import game_dialog
from .own_invitations import draw_own_invitations
from .players import Players

PAGE = 25


def install(studio: Studio) -> None:
    """Add the page."""

    @page("/games")
    async def games(request: Request) -> None:
        visitor = studio.visitor(request)
        with frame(visitor, "Games", "/games"):
            with heading("Games"):
                if visitor.caller.may("author"):
                    ui.button("New game", icon="add", on_click=lambda: game_dialog(visitor)).props("unelevated")
            if visitor.caller.may("player"):
                await draw_own_invitations(visitor)
            with ui.tabs().props("align=left no-caps inline-label dense").classes("tabs") as tabs:
                listed, board, players = ui.tab("Games"), ui.tab("Leaderboard"), ui.tab("Players")
            with ui.tab_panels(tabs, value=listed, animated=False).classes("panels"):
                with ui.tab_panel(listed):
                    first = _List(visitor)
                    await first.draw()
                with ui.tab_panel(board):
                    across = ui.element("div").classes("stack")
                with ui.tab_panel(players):
                    own = ui.element("div").classes("stack")

        async def turned(event: Any) -> None:
            """What stands under a tab is read when it is first looked at."""
            if event.value == "Leaderboard" and not across.default_slot.children:
                with across, card("Across all games you see", "players against each other"):
                    await _across(visitor).draw()
            if event.value == "Players" and not own.default_slot.children:
                with own:
                    await Players(visitor).draw()

        tabs.on_value_change(turned)


def _across(visitor: Visitor) -> Standings:
    async def ask(query: BoardQuery) -> Leaderboard:
        board = await visitor.read(leaderboard_access.across_games, query.dimension, visitor.service.boards)
        end = query.offset + query.limit
        return msgspec.structs.replace(board, items=board.items[query.offset : end], offset=query.offset)

    return Standings(ask, ["korgym"], games=True)


class _List:
    """The games one sees, the newest first."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor
        self.mine = False

    async def draw(self) -> None:
        with ui.element("div").classes("row"):
            views = ui.toggle({False: "All", True: "Mine"}, value=False, on_change=self._other)
            views.props('no-caps unelevated toggle-color=primary aria-label="Which games"').classes("calm")
        self.body = ui.element("div").classes("stack")
        self.pager = CursorPager(PAGE, self.show)
        await self.show()

    async def _other(self, event: Any) -> None:
        self.mine = bool(event.value)
        self.pager.reset()
        await self.show()

    async def show(self) -> None:
        """Read and draw one page."""
        try:
            found, after = await self.visitor.read(list_views, self.mine, self.pager.start, PAGE)
        except RubricaError as error:
            show_error(self.body, error)
            return
        self.body.clear()
        with self.body:
            if found:
                rows = Markup("").join(_row(view, self.visitor.caller) for view in found)
                ui.html(str(Markup('<ul class="rubric-list">{}</ul>').format(rows)), sanitize=False)
            elif self.visitor.caller.may("author"):
                empty("There are no games here yet.", "Make one", lambda: game_dialog(self.visitor))
            else:
                empty("There are no games here yet.")
        self.pager.tell(len(found), after)


def _row(view: GameView, caller: Caller) -> Markup:
    game = view.game
    traces = [*([] if game.status == "open" else [game.status]), "public" if game.is_public else "private"]
    traces += ["yours"] if caller.owns(game.created_by) else []
    traces.append(f"made {game.created_at:%Y-%m-%d}")
    chips = Markup("").join(
        Markup('<span class="chip">{} {}</span>').format(each.name, percent(each.weight)) for each in view.attachments
    )
    return Markup(
        '<li><p class="row"><a href="/games/{}"><b>{}</b></a><span class="quiet">{}</span></p>'
        '<p class="row">{}</p></li>'
    ).format(game.id, game.name, " · ".join(traces), chips or Markup('<span class="quiet">nothing attached yet</span>'))
