"""A leaderboard that follows its game: drawn anew when something has changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import background_tasks, ui

from rubrica.games.life import takes_rounds
from rubrica.store.games import Game
from rubrica.studio.studio import Visitor

PATIENCE = 30.0
"""Seconds after which it is looked whether the page is still there."""


def follow(visitor: Visitor, game: Game, show: Callable[[], Awaitable[None]]) -> None:
    """Call `show` whenever a game's leaderboard changes, for as long as the page is open."""
    client, game_id = ui.context.client, game.id
    playing = takes_rounds(game, visitor.service.clock())
    told = "Live: it follows the game as it is played." if playing else "No rounds are taken now: it stays as it is."
    with ui.element("div").classes("row"):
        ui.label(told).classes("quiet")

    async def watch() -> None:
        async with visitor.service.live_boards.watching(game_id) as live:
            first = await live.after(None, PATIENCE)
            mark = None if first is None else first.mark
            while not client.is_deleted:
                news = await live.after(mark, PATIENCE)
                if news is None or client.is_deleted:
                    continue
                mark = news.mark
                with client:
                    await show()

    watching = background_tasks.create(watch(), name="leaderboard")
    client.on_delete(lambda: watching.cancel())
