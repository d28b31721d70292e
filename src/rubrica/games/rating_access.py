"""The ratings of a game's players that a caller may see, read from the database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.store import games, players, scores
from rubrica.workspace.access import Caller

from .composite import weighted_mean
from .games import visible_game
from .leaderboard import by_composite
from .ratings import rate

MOST_RATED = 50
"""Players that are compared with each other: those with the most rounds."""


class GameRating(msgspec.Struct, frozen=True):
    """One player's ratings beside their mean."""

    player_id: UUID
    player: str
    mean: float | None  # of the composites
    elo: float
    elo_bounds: tuple[float, float]
    bradley_terry: float
    bradley_terry_bounds: tuple[float, float]
    wins: int
    ties: int
    losses: int
    rounds: int
    provisional: bool


class GameRatings(msgspec.Struct, frozen=True):
    """The players of a game, the strongest first."""

    items: list[GameRating]
    unrated: int  # players beyond those that are compared


@dataclass(frozen=True, slots=True)
class GameResults:
    """What ratings are worked out from."""

    rounds: Sequence[Mapping[UUID, float]]  # by number: every player's composite
    means: Mapping[UUID, float | None]
    names: Mapping[UUID, str]
    unrated: int


def results_of_game(conn: Connection, caller: Caller, game_id: UUID) -> GameResults:
    """The composites of rounds of the same number; a round with an open score is left out."""
    game = visible_game(conn, caller, game_id)
    attached = games.attachments(conn, [game.id])
    totals = by_composite(attached, scores.standings(conn, games.is_game(game.id)))
    totals.sort(key=lambda line: (-line.rounds, line.player_id))
    means = {line.player_id: line.score for line in totals[:MOST_RATED]}
    weights = {each.id: each.weight for each in attached if each.weight > 0} or {each.id: 1.0 for each in attached}
    given: dict[int, dict[UUID, list[tuple[float, float]]]] = {}
    for player_id, number, attachment_id, share in scores.shares_of_game(conn, list(weights), list(means)):
        if share is not None:
            given.setdefault(number, {}).setdefault(player_id, []).append((weights[attachment_id], share))
    rounds = [
        {player_id: weighted_mean(own) for player_id, own in given[number].items() if len(own) == len(weights)}
        for number in sorted(given)
    ]
    return GameResults(rounds, means, players.names_of(conn, means), len(totals) - len(means))


def rated(results: GameResults) -> GameRatings:
    """The ratings; they take a while where many play."""
    items = [
        GameRating(
            each.player,
            results.names[each.player],
            results.means[each.player],
            each.elo,
            each.elo_bounds,
            each.bradley_terry,
            each.bradley_terry_bounds,
            each.wins,
            each.ties,
            each.losses,
            each.rounds,
            each.provisional,
        )
        for each in rate(results.rounds)
    ]
    return GameRatings(items, results.unrated)
