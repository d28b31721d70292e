"""Games and leaderboards on the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rubrica.report.figures import count_of, figure, percent

from .figures_table import FiguresTable
from .screen import out, safe


class GameAnswer(msgspec.Struct, frozen=True):
    """A game as a server tells of it."""

    id: str
    name: str
    is_public: bool
    status: str = "open"
    deadline: str | None = None
    most_rounds: int | None = None
    most_players: int | None = None
    evaluations: list[AttachedAnswer] = []
    config: dict[str, Any] = {}


class AttachedAnswer(msgspec.Struct, frozen=True):
    """An attached rubric as a server tells of it."""

    slug: str
    version: str
    weight: float
    dimension: str


class MeanAnswer(msgspec.Struct, frozen=True):
    """A player's mean by one rubric as a server tells of it."""

    dimension: str
    raw: float | None = None  # points
    open: int = 0


class RowAnswer(msgspec.Struct, frozen=True):
    """A player on a leaderboard as a server tells of it."""

    rank: int | None
    tied: bool
    player: str
    score: float | None
    by_dimension: dict[str, float | None]
    rounds: int
    team: str | None = None
    scores: list[MeanAnswer] = []

    def points(self, dimension: str) -> str:
        """The mean points in a dimension that one rubric counts for, beside what they are compared as."""
        own = [score for score in self.scores if score.dimension == dimension]
        return f" ({figure(round(own[0].raw, 2))})" if len(own) == 1 and own[0].raw is not None else ""


class BoardAnswer(msgspec.Struct, frozen=True):
    """A page of a leaderboard as a server tells of it."""

    by: str
    dimensions: list[str]
    items: list[RowAnswer]
    total: int
    offset: int = 0
    own: list[RowAnswer] = []


class RatingAnswer(msgspec.Struct, frozen=True):
    """A player's ratings as a server tells of them."""

    player: str
    mean: float | None
    elo: float
    elo_bounds: tuple[float, float]
    bradley_terry: float
    bradley_terry_bounds: tuple[float, float]
    wins: int
    ties: int
    losses: int
    rounds: int
    provisional: bool


class RatingsAnswer(msgspec.Struct, frozen=True):
    """The ratings of a game's players as a server tells of them."""

    items: list[RatingAnswer]
    unrated: int = 0


def print_games(games: Sequence[GameAnswer]) -> None:
    """A line for each game."""
    table = FiguresTable()
    for head in ("game", "status", "seen by", "deadline", "id"):
        table.add_column(head, justify="right" if head == "id" else "left")  # an id is never cut
    for game in games:
        seen = "everybody" if game.is_public else "its players"
        row = (game.name, game.status, seen, _day(game.deadline), game.id)
        table.add_row(*map(safe, row))
    out().print(table)


def print_game(game: GameAnswer) -> None:
    """Everything about one game."""
    console = out()
    console.print(safe(game.name), style="bold", markup=False)
    limits: Mapping[str, object] = {
        "id": game.id,
        "status": game.status,
        "seen by": "everybody" if game.is_public else "its players",
        "deadline": game.deadline or "none",
        "rounds of a player": game.most_rounds or "no limit",
        "players": game.most_players or "no limit",
    }
    for name, value in limits.items():
        console.print(safe(f"{name}: {value}"), markup=False)
    if not game.evaluations:
        console.print("nothing is attached yet", style="dim")
        return
    table = FiguresTable()
    table.add_column("rubric")
    table.add_column("counts for")
    table.add_column("weight", justify="right")
    for each in game.evaluations:
        table.add_row(safe(f"{each.slug}@{each.version}"), safe(each.dimension), percent(each.weight))
    console.print(table)


def print_board(board: BoardAnswer) -> None:
    """A page of a leaderboard, and where one's own players stand."""
    console = out()
    if not board.items:
        console.print("nobody is here", style="dim")
    else:
        console.print(_board_table(board, board.items))
        last = board.offset + len(board.items)
        console.print(f"{board.offset + 1:,} to {last:,} of {count_of(board.total, 'player')}", style="dim")
        if any(row.points(name) for row in board.items for name in board.dimensions):
            console.print("mean points are in brackets", style="dim")
        if any(score.open for row in board.items for score in row.scores):
            console.print("provisional: some scores are open (`rubrica games retry` has them judged)", style="dim")
    shown = {row.player for row in board.items}
    own = [row for row in board.own if row.player not in shown]
    if own:
        console.print("Yours", style="bold")
        console.print(_board_table(board, own))


def print_ratings(ratings: RatingsAnswer) -> None:
    """The players of a game by strength, each with what is known of it."""
    console = out()
    if not ratings.items:
        console.print("nobody is rated yet", style="dim")
        return
    table = FiguresTable()
    table.add_column("player")
    for head in ("Elo", "Bradley–Terry", "won–tied–lost", "mean", "rounds"):
        table.add_column(head, justify="right")
    for row in ratings.items:
        table.add_row(
            safe(row.player) + ("?" if row.provisional else ""),
            _rating(row.elo, row.elo_bounds),
            _rating(row.bradley_terry, row.bradley_terry_bounds),
            f"{row.wins:,}–{row.ties:,}–{row.losses:,}",
            percent(row.mean),
            f"{row.rounds:,}",
        )
    console.print(table)
    console.print("95 % intervals stand behind the ratings", style="dim")
    if any(row.provisional for row in ratings.items):
        console.print("? is provisional: too few rounds against others to tell", style="dim")
    if ratings.unrated:
        console.print(f"{count_of(ratings.unrated, 'player')} with fewer rounds not rated", style="dim")


def _rating(value: float, bounds: tuple[float, float]) -> str:
    return f"{value:.0f} ({bounds[0]:.0f}–{bounds[1]:.0f})"


def _board_table(board: BoardAnswer, rows: Sequence[RowAnswer]) -> FiguresTable:
    table = FiguresTable()
    table.add_column("rank", justify="right")
    table.add_column("player")
    teams = any(row.team for row in board.items)
    if teams:
        table.add_column("team")
    for head in ("score", *board.dimensions, "rounds"):
        table.add_column(safe(head), justify="right")
    for row in rows:
        rank = "—" if row.rank is None else f"{row.rank:,}{'=' if row.tied else ''}"
        figures = (percent(row.by_dimension.get(name)) + row.points(name) for name in board.dimensions)
        team = [safe(row.team or "")] if teams else []
        table.add_row(rank, safe(row.player), *team, percent(row.score), *figures, f"{row.rounds:,}")
    return table


def _day(moment: str | None) -> str:
    return "" if moment is None else moment[:16].replace("T", " ")
