"""Leaderboards: a table of players, by everything or by one dimension, and how the figures come about."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial

from markupsafe import Markup
from nicegui import ui

from rubrica.errors import RubricaError
from rubrica.games.board_pages import EVER, BoardQuery
from rubrica.games.eligibility import UncountedGame
from rubrica.games.leaderboard import LeaderboardRow, Way
from rubrica.games.leaderboard_access import Leaderboard
from rubrica.report.charts import share_bar
from rubrica.report.figures import figure, headline, percent
from rubrica.scoring.normalise import Method
from rubrica.studio.offset_pager import OffsetPager
from rubrica.studio.parts import drawing, empty, show_error
from rubrica.studio.rubrics.prose import table

PAGE = 50
MOST_UNCOUNTED = 20
OVERALL = EVERY = ""
WAYS: dict[Way, str] = {
    "normalized": "As the rubrics compare",
    "composite": "Share of full marks",
    "korgym": "Against each other",
}
METHODS: dict[Method, str] = {
    "none": "",
    "percentage_of_max": "of the most",
    "min_max": "lowest to highest",
    "log": "lowest to highest, logarithms",
    "z_score": "standard deviations from the mean",
}
HOW: dict[Way, tuple[str, ...]] = {
    "normalized": (
        "A player's points under a rubric are the mean over their rounds. They are compared with the other players' "
        "as the rubric's own normalisation says; a rubric that says nothing counts by its share of full marks. "
        "Rubrics count by their weight.",
        "A distance from the mean counts as the part of a normal distribution below it, so that everything that is "
        "weighed lies between 0 and 100 %. A lone player has nobody to be compared with, and counts by the share of "
        "full marks.",
    ),
    "composite": (
        "Every score is a share of full marks. A player's figure is the mean over their rounds, and rubrics count "
        "by their weight. Where something that counts has no score, there is none overall: what is missing is not "
        "counted as 0.",
    ),
    "korgym": (
        "Players are compared with each other, rubric by rubric. Where the largest score exceeds 1, every "
        "score S becomes ln(1 + S). Then the lowest player gets 0, the highest 1 and those between what lies between; "
        "if all are equal, each gets 0.5.",
        "A game's figure in a dimension is the weighted mean over its rubrics there, a dimension is the mean over "
        "its games, and overall is the mean over dimensions. Who has no score somewhere is left out there, and not "
        "counted as 0.",
    ),
}

Ask = Callable[[BoardQuery], Awaitable[Leaderboard]]
LinkOf = Callable[[LeaderboardRow], str]


class Standings:
    """A leaderboard that can be looked at in several ways."""

    def __init__(self, ask: Ask, ways: Sequence[Way], link_of: LinkOf | None = None, *, games: bool = False) -> None:
        self._ask, self._ways, self._link_of, self._games = ask, ways, link_of, games
        self.way: Way = ways[0]
        self.dimension = OVERALL
        self.seasons: Sequence[str] = ()
        self.teams: Sequence[str] = ()
        self.name, self.season, self.team = "", EVERY, EVERY
        self.titles: Mapping[str, str] = {}  # of dimensions that are called like a rubric

    async def draw(self) -> None:
        """Draw it for the first time."""
        with ui.element("div").classes("finder board-finder"):
            if len(self._ways) > 1:
                ways = ui.toggle({way: WAYS[way] for way in self._ways}, value=self.way)
                ways.props('no-caps unelevated toggle-color=primary aria-label="How players are compared"')
                ways.classes("calm").on_value_change(self._other_way)
            self.by = ui.select({OVERALL: "Overall"}, value=OVERALL, label="Rank by")
            self.by.props("outlined dense options-dense").classes("medium")
            self.by.on_value_change(self._other_dimension)
            if self._link_of is not None:
                self._draw_filters()
        self.body = ui.element("div").classes("stack")
        self.pager = OffsetPager(PAGE, self.show, "player")
        with ui.element("details").classes("how"):
            with ui.element("summary"):
                ui.label("How these figures come about")
            self.how = ui.element("div").classes("stack")
        self.left_out = ui.element("div").classes("stack")
        await self.show()

    async def show(self) -> None:
        """Read and draw the page."""
        try:
            board = await self._ask(self.query())
        except RubricaError as error:
            show_error(self.body, error)
            return
        self.by.set_options(
            {OVERALL: "Overall"} | {name: self._title(name) for name in board.dimensions}, value=self.dimension
        )
        self.body.clear()
        with self.body:
            if board.items:
                self._table(board.items, board.dimensions)
            else:
                empty("Nobody is here that fits." if self._narrowed else "Nobody has a score yet.")
            shown = {row.player_id for row in board.items}
            own = [row for row in board.own if row.player_id not in shown]
            if own:
                ui.label("Yours, elsewhere on the board").classes("quiet")
                self._table(own, board.dimensions)
        self.pager.tell(board.total)
        self.left_out.clear()
        with self.left_out:
            if board.uncounted:
                ui.label("Games that do not count here").classes("label")
                reasons = [[_game_link(game), game.reason] for game in board.uncounted[:MOST_UNCOUNTED]]
                drawing(table(("Game", "Why"), reasons))
        self.how.clear()
        with self.how:
            for sentence in HOW[self.way]:
                ui.label(sentence)

    def _table(self, rows: Sequence[LeaderboardRow], dimensions: Sequence[str]) -> None:
        titles = [self._title(name) for name in dimensions]
        drawing(board_table(rows, dimensions, self._link_of, titles=titles, games=self._games))

    def _title(self, dimension: str) -> str:
        return self.titles.get(dimension) or headline(dimension)

    def query(self) -> BoardQuery:
        """What is looked at now."""
        dimension, season, team = self.dimension or None, self.season or None, self.team or None
        start = self.pager.start
        return BoardQuery(self.way, dimension, season, EVER, team, self.name.strip() or None, start, PAGE)

    @property
    def _narrowed(self) -> bool:
        return bool(self.name.strip() or self.season or self.team)

    def _draw_filters(self) -> None:
        """Whom the board shows."""
        found = ui.input("Player", on_change=self._other_name).props("outlined dense clearable debounce=300")
        found.classes("medium")
        for label, names, chosen in (("Season", self.seasons, "season"), ("Team", self.teams, "team")):
            if names:
                choices = {EVERY: "All"} | {name: name for name in names}
                choice = ui.select(choices, value=EVERY, label=label).props("outlined dense options-dense")
                choice.classes("medium").on_value_change(partial(self._other_part, chosen))

    async def _other_name(self, event: object) -> None:
        self.name = getattr(event, "value", "") or ""
        self.pager.reset()
        await self.show()

    async def _other_part(self, which: str, event: object) -> None:
        setattr(self, which, getattr(event, "value", EVERY) or EVERY)
        self.pager.reset()
        await self.show()

    def forget(self) -> None:
        """Go back to everything, from the first player: what there was may be gone."""
        self.dimension = OVERALL
        self.pager.reset()

    async def _other_way(self, event: object) -> None:
        self.way = getattr(event, "value", self.way)
        self.pager.reset()
        await self.show()

    async def _other_dimension(self, event: object) -> None:
        wanted = getattr(event, "value", None) or OVERALL
        if wanted != self.dimension:
            self.dimension = wanted
            self.pager.reset()
            await self.show()


def _game_link(game: UncountedGame) -> Markup:
    return Markup('<a href="/games/{}">{}</a>').format(game.game_id, game.name)


def board_table(
    entries: Sequence[LeaderboardRow],
    dimensions: Sequence[str],
    link_of: LinkOf | None = None,
    *,
    titles: Sequence[str] = (),
    games: bool = False,
) -> Markup:
    """Players in their order: rank, overall, and every dimension, under its title where titles are given."""
    rows = []
    for entry in entries:
        name: Markup | str = entry.player
        if link_of is not None:
            name = Markup('<a href="{}">{}</a>').format(link_of(entry), entry.player)
        counts = [f"{entry.games:,}"] if games else []
        if entry.team is not None:
            name = Markup('{} <span class="chip">{}</span>').format(name, entry.team)
        row: list[Markup | str] = [_rank(entry), name, _overall(entry)]
        row += [_dimension(entry, dimension) for dimension in dimensions]
        rows.append([*row, f"{entry.rounds:,}", *counts, _missing(entry)])
    head = [
        "Rank",
        "Player",
        "Overall",
        *(titles or map(headline, dimensions)),
        "Rounds",
        *(["Games"] if games else []),
        "",
    ]
    return table(head, rows, range(3, len(head) - 1))


def _dimension(entry: LeaderboardRow, dimension: str) -> Markup:
    """A dimension's figure, and beside it the points and how they were compared, where one rubric makes it up."""
    own = [score for score in entry.scores if score.dimension == dimension and score.raw is not None]
    told = Markup("{}").format(percent(entry.by_dimension.get(dimension)))
    score = own[0] if len(own) == 1 else None
    if score is None or score.raw is None or score.normalized is None or score.method == "none":
        return told
    compared = f"{figure(round(score.normalized, 2))} {METHODS[score.method]}" if score.method == "z_score" else ""
    points = f"{figure(round(score.raw, 2))} points"
    return Markup('{} <span class="quiet nowrap">{}</span>').format(told, ", ".join(filter(None, (points, compared))))


def _rank(entry: LeaderboardRow) -> Markup:
    if entry.rank is None:
        return Markup('<span class="quiet">—</span>')
    tied = Markup(' <span class="quiet">tied</span>') if entry.tied else ""
    return Markup("<b>{}</b>{}").format(entry.rank, tied)


def _overall(entry: LeaderboardRow) -> Markup:
    if entry.overall is not None:
        return Markup('<span class="nowrap"><b>{}</b></span>{}{}').format(
            percent(entry.overall), share_bar(entry.overall), _provisional(entry)
        )
    if entry.bounds is None:
        return Markup("—")
    low, high = entry.bounds
    return Markup('<span class="nowrap quiet">{} to {}</span>').format(figure(round(100 * low, 1)), percent(high))


def _provisional(entry: LeaderboardRow) -> Markup:
    """That a figure may still move, and between what."""
    if not entry.open:
        return Markup("")
    between = ""
    if entry.bounds is not None:
        between = f", {figure(round(100 * entry.bounds[0], 1))} to {percent(entry.bounds[1])}"
    return Markup(' <span class="quiet">provisional: {} open{}</span>').format(entry.open, between)


def _missing(entry: LeaderboardRow) -> Markup:
    if not entry.missing:
        return Markup("")
    told = "; ".join(f"{missing.rubric}: {missing.reason}" for missing in entry.missing)
    return Markup('<span class="quiet">{}</span>').format(told)
