"""The players that belong to a visitor."""

from __future__ import annotations

from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games import players
from rubrica.games.games import LONGEST_NAME
from rubrica.store.players import Player
from rubrica.studio.cursor_pager import CursorPager
from rubrica.studio.parts import card, drawing, empty, error_text, show_error
from rubrica.studio.rubrics.prose import table
from rubrica.studio.studio import Visitor

PAGE = 50


class Players:
    """A table of players, and the form for a new one."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor = visitor

    async def draw(self) -> None:
        """Draw it for the first time."""
        with card("Players", "people and models that you made or stand behind"):
            if self.visitor.caller.may("player"):
                self._draw_form()
            self.body = ui.element("div").classes("stack")
            self.pager = CursorPager(PAGE, self.show)
        await self.show()

    def _draw_form(self) -> None:
        with ui.element("div").classes("finder"):
            self.name = ui.input("Name of a new player").props(f"outlined dense maxlength={LONGEST_NAME}")
            self.name.classes("grow").on("keydown.enter", self._make)
            self.user: ui.input | None = None
            if self.visitor.caller.may("author"):
                self.user = ui.input("Who plays as it (a user; empty: a model)")
                self.user.props(f"outlined dense maxlength={LONGEST_NAME}").classes("grow")
                self.user.on("keydown.enter", self._make)
            ui.button("Add", icon="person_add", on_click=self._make).props("unelevated")
        self.problem = ui.label().classes("fault").props('role="alert"')
        self.problem.set_visibility(False)

    async def _make(self) -> None:
        self.problem.set_visibility(False)
        user = (self.user.value or "").strip() if self.user is not None else ""
        now = self.visitor.service.clock()
        try:
            made = await self.visitor.write(players.create_player, self.name.value or "", {}, user or None, now)
        except RubricaError as error:
            self.problem.set_text(error_text(error))
            self.problem.set_visibility(True)
            return
        ui.notify(f"{made.name} may play now.", type="positive")
        self.name.set_value("")
        self.pager.reset()
        await self.show()

    async def show(self) -> None:
        """Read and draw one page."""
        try:
            found = await self.visitor.read(players.list_players, self.pager.start, PAGE + 1)
        except RubricaError as error:
            show_error(self.body, error)
            return
        shown = found[:PAGE]
        self.body.clear()
        with self.body:
            if shown:
                drawing(table(("Player", "What", "Since"), ([p.name, self._what(p), _day(p)] for p in shown)))
            else:
                empty("No players yet. Whoever submits a round becomes one.")
        self.pager.tell(len(shown), shown[-1].id if len(found) > PAGE else None)

    def _what(self, player: Player) -> str:
        if self.visitor.caller.owns(player.user_id):
            return "you"
        return "somebody with a key" if player.user_id is not None else "a model, or somebody without a key"


def _day(player: Player) -> Markup:
    return Markup('<span class="nowrap">{:%Y-%m-%d}</span>').format(player.created_at)
