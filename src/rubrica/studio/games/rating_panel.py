"""Ratings of a game's players: Elo and Bradley–Terry with their intervals, beside the mean."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games import rating_access
from rubrica.games.rating_access import GameRating
from rubrica.report.figures import count_of, percent
from rubrica.studio.parts import drawing, empty, show_error
from rubrica.studio.rubrics.prose import table
from rubrica.studio.studio import Visitor

HEAD = ("Player", "Mean", "Elo", "Bradley–Terry", "Won, tied, lost", "")
WORDS = (
    "Who did better in rounds of the same number won against the other. Elo goes by the order of rounds, Bradley–Terry "
    "by all of them at once; beside each stands what it lies between with 95 % certainty."
)


def rating_table(items: Sequence[GameRating]) -> Markup:
    """Players, the strongest first."""
    rows = [
        [
            one.player,
            percent(one.mean),
            _between(one.elo, one.elo_bounds),
            _between(one.bradley_terry, one.bradley_terry_bounds),
            f"{one.wins:,}, {one.ties:,}, {one.losses:,}",
            Markup('<span class="quiet">{}</span>').format("provisional" if one.provisional else ""),
        ]
        for one in items
    ]
    return table(HEAD, rows, range(2, 6))


def draw_ratings(visitor: Visitor, game_id: UUID) -> None:
    """Ratings that are worked out when somebody opens them: they take a while where many play."""
    with ui.expansion("Ratings", icon="leaderboard").classes("calm") as panel:
        body = ui.element("div").classes("stack")

    async def show() -> None:
        if not panel.value:
            return
        try:
            results = await visitor.read(rating_access.results_of_game, game_id)
            found = await visitor.service.work.of(visitor.caller.user_id)(rating_access.rated, results)
        except RubricaError as error:
            show_error(body, error)
            return
        body.clear()
        with body:
            if not found.items:
                empty("Nobody has met another player in a round yet.")
                return
            drawing(rating_table(found.items))
            ui.label(WORDS).classes("quiet")
            if found.unrated:
                ui.label(f"{count_of(found.unrated, 'player')} with fewer rounds have no rating.").classes("quiet")

    panel.on_value_change(show)


def _between(value: float, bounds: tuple[float, float]) -> Markup:
    return Markup('<b>{}</b> <span class="quiet nowrap">{} to {}</span>').format(
        round(value), round(bounds[0]), round(bounds[1])
    )
