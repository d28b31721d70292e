"""Teams, seasons and tournaments of a game: how they stand, and making them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from markupsafe import Markup
from nicegui import ui

from rubrica.errors import InputError
from rubrica.games import seasons, teams, tournaments
from rubrica.games.games import LONGEST_NAME, hosts
from rubrica.games.life import moment
from rubrica.games.teams import LONGEST_TEAM
from rubrica.games.tournaments import MatchView, TournamentRequest, TournamentView
from rubrica.report.figures import percent
from rubrica.store.games import Game
from rubrica.store.tournaments import TournamentForm
from rubrica.studio.parts import card, drawing, empty, notifying_errors
from rubrica.studio.rubrics.prose import table
from rubrica.studio.studio import Visitor

FORMS: dict[TournamentForm, str] = {"elimination": "Single elimination", "round_robin": "Round robin"}


class Contests:
    """The tab of a game's page."""

    def __init__(self, visitor: Visitor, game: Game) -> None:
        self.visitor, self.game = visitor, game
        self.hosting = hosts(visitor.caller, game) and visitor.caller.may("author")

    async def draw(self) -> None:
        """Draw it for the first time."""
        self.body = ui.element("div").classes("stack")
        await self.show()

    async def show(self) -> None:
        """Read and draw everything."""
        now = self.visitor.service.clock()
        ranks = await self.visitor.read(teams.team_board, self.game.id)
        known = await self.visitor.read(seasons.list_seasons, self.game.id)
        cups = await self.visitor.read(tournaments.list_tournaments, self.game.id, now)
        self.body.clear()
        with self.body:
            with card("Teams", "a team scores as its players do on the mean"):
                if ranks:
                    rows = [
                        [f"{team.rank or '—'}", team.team, percent(team.score), f"{team.players:,}", f"{team.rounds:,}"]
                        for team in ranks
                    ]
                    drawing(table(("Rank", "Team", "Score", "Players", "Rounds"), rows, range(2, 5)))
                else:
                    empty("There are no teams.")
                if ranks and self.visitor.caller.may("player"):
                    self._choice([team.team for team in ranks])
                if self.hosting:
                    self._form("Name of a new team", self._add_team)
            with card("Seasons", "each has a leaderboard of its own"):
                if known:
                    spans = [[each.name, moment(each.starts_at), moment(each.ends_at)] for each in known]
                    drawing(table(("Season", "From", "Until"), spans))
                else:
                    empty("There are no seasons.")
                if self.hosting:
                    self._season_form()
            with card("Tournaments", "matches are decided by the rounds that both play next"):
                for cup in cups:
                    _draw_tournament(cup)
                if not cups:
                    empty("There are no tournaments.")
                if self.hosting and self.game.status == "open":
                    self._tournament_form()

    def _form(self, label: str, add: Callable[[str], Awaitable[object]]) -> None:
        with ui.element("div").classes("finder"):
            name = ui.input(label).props(f"outlined dense maxlength={LONGEST_TEAM}").classes("grow")
            ui.button("Add", icon="add", on_click=lambda: self._done(partial(add, name.value or ""))).props(
                "unelevated"
            )

    def _choice(self, names: Sequence[str]) -> None:
        """Who goes into which team: whoever made the game moves anybody, others themselves."""
        with ui.element("div").classes("finder"):
            player = None
            if self.hosting:
                player = ui.input("Player").props(f"outlined dense maxlength={LONGEST_NAME}").classes("grow")
            team = ui.select([*names], value=names[0], label="Team" if self.hosting else "Your team")
            team.props("outlined dense options-dense").classes("medium")

            async def move() -> None:
                who = (player.value or "").strip() if player is not None else self.visitor.caller.name
                await self.visitor.write(teams.put_in_team, self.game.id, who, team.value)

            put = "Put in team" if self.hosting else "Join team"
            ui.button(put, on_click=lambda: self._done(move)).props("flat").classes("calm")

    def _season_form(self) -> None:
        with ui.element("div").classes("finder"):
            name = ui.input("Name of a new season").props(f"outlined dense maxlength={LONGEST_TEAM}").classes("grow")
            first, last = (ui.input(label).props("outlined dense type=date stack-label") for label in ("From", "Until"))

            async def add() -> None:
                span = (_day(first.value), _day(last.value))
                arguments = (self.game.id, name.value or "", span, self.visitor.service.clock())
                await self.visitor.write(seasons.create_season, *arguments)

            ui.button("Add season", icon="add", on_click=lambda: self._done(add)).props("unelevated")

    def _tournament_form(self) -> None:
        with ui.element("div").classes("finder"):
            name = (
                ui.input("Name of a new tournament").props(f"outlined dense maxlength={LONGEST_TEAM}").classes("grow")
            )
            form = ui.select(FORMS, value="elimination", label="Form").props("outlined dense options-dense")
            size = ui.number("Entrants", value=8, min=2, max=64, precision=0).props("outlined dense")

            async def add() -> None:
                chosen: TournamentForm = "round_robin" if form.value == "round_robin" else "elimination"
                tiebreak = tournaments.default_tiebreak(chosen)
                wanted = TournamentRequest(name.value or "", chosen, 1, tiebreak, (), int(size.value or 0))
                now = self.visitor.service.clock()
                await self.visitor.write(tournaments.create_tournament, self.game.id, wanted, now)

            ui.button("Add tournament", icon="add", on_click=lambda: self._done(add)).props("unelevated")

    async def _add_team(self, name: str) -> None:
        await self.visitor.write(teams.create_team, self.game.id, name, self.visitor.service.clock())

    async def _done(self, work: Callable[[], Awaitable[object]]) -> None:
        with notifying_errors():
            await work()
            await self.show()


def _draw_tournament(cup: TournamentView) -> None:
    with ui.element("h3"):
        won = f"won by {cup.winner}" if cup.winner else "over" if cup.finished else "under way"
        ui.label(f"{cup.name}: {FORMS[cup.form]}, {won}")
    if cup.table:
        lines = [[row.player, f"{row.points:g}", str(row.won), str(row.drawn), str(row.lost)] for row in cup.table]
        drawing(table(("Player", "Points", "Won", "Drawn", "Lost"), lines, range(1, 5)))
    rows = [[f"{match.stage}", _side(match, "home"), _side(match, "away"), _outcome(match)] for match in cup.matches]
    drawing(table(("Stage", "Player", "Against", "How it went"), rows))


def _side(match: MatchView, which: str) -> Markup:
    name, score = getattr(match, which), getattr(match, f"{which}_score")
    won = name is not None and match.winner == name
    told = Markup("<b>{}</b>").format(name) if won else Markup("{}").format(name or "—")
    return told if score is None else Markup('{} <span class="quiet">{}</span>').format(told, percent(score))


def _outcome(match: MatchView) -> str:
    if match.reason:
        return match.reason
    return {"waiting": "waits for those before", "playing": "rounds are awaited", "bye": "goes on", "decided": ""}[
        match.state
    ]


def _day(text: str | None) -> datetime:
    """A day that was typed, at its start in UTC.

    >>> _day("2026-05-04").isoformat()
    '2026-05-04T00:00:00+00:00'
    """
    try:
        return datetime.fromisoformat(text or "").replace(tzinfo=UTC)
    except ValueError:
        raise InputError("a season has a first day, and a day before which it ends") from None
