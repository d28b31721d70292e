"""The rounds of a game: a page at a time, player by player, each with what it was given."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games import rounds
from rubrica.games.composite import Composite
from rubrica.games.games import GameView, hosts
from rubrica.games.rounds import RoundLine
from rubrica.report.charts import share_bar
from rubrica.report.excerpt import visible
from rubrica.report.figures import count_of, figure, headline, percent
from rubrica.store.games import Attachment
from rubrica.studio.cursor_pager import CursorPager
from rubrica.studio.parts import drawing, empty, notifying_errors, show_error
from rubrica.studio.rubrics.prose import table
from rubrica.studio.studio import Visitor

from .play import catch_up, judge_open

PAGE = 30
RESPONSE_SHOWN = 140
"""Characters of a response in the list."""


class Rounds:
    """The list of rounds, of everybody or of one player."""

    def __init__(self, visitor: Visitor, view: GameView, player: UUID | None) -> None:
        self.visitor, self.view, self.player = visitor, view, player

    async def draw(self) -> None:
        """Draw it for the first time."""
        self.top = ui.element("div").classes("row hollow")
        self.lacking = ui.element("div").classes("row hollow")
        self.body = ui.element("div").classes("stack")
        self.pager = CursorPager(PAGE, self.show)
        await self.show()

    async def show(self) -> None:
        """Read and draw one page."""
        game_id = self.view.game.id
        try:
            found = await self.visitor.read(rounds.list_rounds, game_id, self.player, self.pager.start, PAGE + 1)
        except RubricaError as error:
            show_error(self.body, error)
            return
        shown = found[:PAGE]
        self._draw_top(shown)
        self.body.clear()
        with self.body:
            if shown:
                attached = sorted(self.view.attachments, key=lambda each: each.dimension)
                drawing(rounds_table(game_id, shown, {each.dimension: dimension_title(each) for each in attached}))
            elif self.view.attachments:
                empty("No round has been played yet.")
            else:
                empty("No round has been played yet, and nothing is attached that would judge one.")
        last = shown[-1] if len(found) > PAGE else None
        self.pager.tell(len(shown), None if last is None else (last.player_id, last.round_number))

    def _draw_top(self, shown: list[RoundLine]) -> None:
        self.top.clear()
        self.lacking.clear()
        with self.top:
            if self.player is not None:
                name = shown[0].player if shown else "one player"
                button = ui.button(f"player {name}", icon="close", on_click=self._everybody)
                button.props("dense flat no-caps").classes("chip")
                button.props["aria-label"] = f"Not only player {name}"
        unjudged = any(missing.reason == "not judged yet" for line in shown for missing in line.composite.missing)
        if unjudged and self.visitor.caller.may("player"):
            with self.lacking, ui.element("div").classes("banner grow"):
                ui.label("Some rounds were played before everything was attached.").classes("grow")
                self.judging = ui.button("Judge them now", on_click=self._catch_up).props("flat").classes("calm")
        host = self.visitor.caller.may("author") and hosts(self.visitor.caller, self.view.game)
        if host and not unjudged and any(line.composite.missing for line in shown):
            with self.lacking, ui.element("div").classes("banner grow"):
                ui.label("Some scores are open. They are judged again by themselves, or now.").classes("grow")
                self.judging = ui.button("Judge them again", on_click=self._judge_open).props("flat").classes("calm")

    async def _everybody(self) -> None:
        self.player = None
        ui.navigate.history.replace(f"/games/{self.view.game.id}?tab=rounds")
        self.pager.reset()
        await self.show()

    async def _catch_up(self) -> None:
        """Judge what lacks a score, a stretch at a time, and say how far it is."""
        self.judging.set_enabled(False)
        judged, complete = 0, False
        with notifying_errors():
            while not complete:
                given, complete = await catch_up(self.visitor, self.view.game.id)
                judged += len(given)
                self.judging.set_text(f"{count_of(judged, 'round')} judged …")
            ui.notify(f"{count_of(judged, 'round')} judged.", type="positive")
        await self.show()

    async def _judge_open(self) -> None:
        """Judge again what a failed judge left open."""
        self.judging.set_enabled(False)
        with notifying_errors():
            given, _ = await judge_open(self.visitor, self.view.game.id)
            still = sum(each.composite.score is None for each in given)
            if not given:
                ui.notify("No judge has failed here: nothing is judged again.", type="info")
            elif still:
                ui.notify(f"{count_of(still, 'round')} still without a score.", type="warning")
            else:
                ui.notify(f"{count_of(len(given), 'round')} judged.", type="positive")
        await self.show()


def dimension_title(attachment: Attachment) -> str:
    """What an attached rubric counts for, as people call it: its own name where nothing else was said."""
    own = attachment.dimension == attachment.slug
    return attachment.name if own else headline(attachment.dimension)


def rounds_table(game_id: UUID, lines: list[RoundLine], dimensions: Mapping[str, str]) -> Markup:
    """Rounds with their composite and every dimension's own, under its title."""
    rows = []
    for line in lines:
        place = f"/games/{game_id}/rounds/{line.player_id}/{line.round_number}"
        said = " ".join(str(line.content.get("response", "")).split())
        said = "hidden until the game's rule reveals it" if line.hidden else said
        said = said if len(said) <= RESPONSE_SHOWN else said[: RESPONSE_SHOWN - 1] + "…"
        row: list[Markup | str] = [
            line.player,
            Markup('<a class="nowrap" href="{}">Round {}</a>{}').format(place, line.round_number, voided_mark(line)),
            score_cell(line.composite),
        ]
        row += [percent(line.composite.by_dimension.get(dimension)) for dimension in dimensions]
        rows.append([*row, Markup('<span class="excerpt" dir="auto">{}</span>').format(visible(said))])
    head = ("Player", "Round", "Score", *dimensions.values(), "Response")
    return table(head, rows, range(3, 3 + len(dimensions)))


def voided_mark(line: RoundLine) -> Markup:
    """That a round counts no more, and why."""
    if line.voided is None:
        return Markup("")
    return Markup(' <span class="quiet" title="{}">voided</span>').format(line.voided.reason)


def score_cell(composite: Composite) -> Markup:
    """A composite as a share, or what is known of it."""
    if composite.score is not None:
        return Markup("<b>{}</b>{}").format(percent(composite.score), share_bar(composite.score))
    low, high = composite.bounds
    told = "; ".join(f"{missing.rubric}: {missing.reason}" for missing in composite.missing)
    return Markup('<span class="nowrap quiet" title="{}">{} to {}</span>').format(
        told, figure(round(100 * low, 1)), percent(high)
    )
