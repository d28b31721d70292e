"""Tournaments in a game: who takes part and by which rules, and how far they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import InputError, MissingError
from rubrica.store import games, players, tournaments
from rubrica.store.columns import new_id
from rubrica.store.games import Game
from rubrica.store.standings import Board, BoardFilter, page_of
from rubrica.store.tournaments import Tiebreak, Tournament, TournamentForm
from rubrica.workspace.access import Caller

from .games import hosted_game, visible_game
from .judging import composite_of
from .life import check_takes_rounds, takes_rounds
from .players import player_in
from .schedule import Match, MatchRules, MatchState, RobinRow, play_elimination, play_round_robin
from .teams import good_title
from .turns import AttachmentScore, AttachmentScores

MOST_ENTRANTS, MOST_TOURNAMENTS, MOST_MATCH_ROUNDS = 64, 100, 20


@dataclass(frozen=True, slots=True)
class TournamentRequest:
    """What somebody wants played."""

    name: str
    form: TournamentForm = "elimination"
    rounds_per_match: int = 1
    tiebreak: Tiebreak = "next_round"
    entrants: Sequence[str] = ()  # ids or names, the strongest first; none: the best of the leaderboard
    size: int = 8  # of these, how many


class MatchView(msgspec.Struct, frozen=True):
    """A match with names."""

    stage: int
    home: str | None
    away: str | None
    state: MatchState
    winner: str | None
    home_score: float | None
    away_score: float | None
    reason: str


class RobinTableRow(msgspec.Struct, frozen=True):
    """How one stands in a round robin."""

    player: str
    points: float
    won: int
    drawn: int
    lost: int


class TournamentView(msgspec.Struct, frozen=True):
    """A tournament, how far it is, and who has won."""

    id: UUID
    name: str
    form: TournamentForm
    rounds_per_match: int
    tiebreak: Tiebreak
    created_at: datetime
    entrants: list[str]  # the strongest first
    matches: list[MatchView]
    table: list[RobinTableRow]  # of a round robin
    winner: str | None
    finished: bool


def create_tournament(
    conn: Connection, caller: Caller, game_id: UUID, wanted: TournamentRequest, now: datetime
) -> TournamentView:
    """A new tournament in an open game of the caller's: rounds from now on count."""
    game = hosted_game(conn, caller, game_id, "making tournaments in")
    check_takes_rounds(game, now)
    if not 1 <= wanted.rounds_per_match <= MOST_MATCH_ROUNDS:
        raise InputError(f"a match takes 1 to {MOST_MATCH_ROUNDS} rounds of each player")
    if wanted.form == "elimination" and wanted.tiebreak == "draw":
        raise InputError("in an elimination one has to go on (choose the tiebreak next_round or seed)")
    if wanted.form == "round_robin" and wanted.tiebreak == "next_round":
        raise InputError("in a round robin every round belongs to a match (choose the tiebreak draw or seed)")
    if len(tournaments.tournaments_of(conn, game_id, MOST_TOURNAMENTS)) >= MOST_TOURNAMENTS:
        raise InputError(f"a game has at most {MOST_TOURNAMENTS} tournaments")
    made = Tournament(
        new_id(now),
        game_id,
        good_title(wanted.name, "a tournament"),
        wanted.form,
        wanted.rounds_per_match,
        wanted.tiebreak,
        _entrants(conn, game_id, wanted),
        caller.user_id,
        now,
    )
    tournaments.add_tournament(conn, made)
    return _view(conn, game, made, now)


def default_tiebreak(form: TournamentForm) -> Tiebreak:
    """How equal scores are decided where nobody says."""
    return "draw" if form == "round_robin" else "next_round"


def list_tournaments(conn: Connection, caller: Caller, game_id: UUID, now: datetime) -> list[TournamentView]:
    """The tournaments of a game, newest first."""
    game = visible_game(conn, caller, game_id)
    return [_view(conn, game, each, now) for each in tournaments.tournaments_of(conn, game_id, MOST_TOURNAMENTS)]


def view_tournament(
    conn: Connection, caller: Caller, game_id: UUID, tournament_id: UUID, now: datetime
) -> TournamentView:
    """One tournament."""
    game = visible_game(conn, caller, game_id)
    for each in tournaments.tournaments_of(conn, game_id, MOST_TOURNAMENTS):
        if each.id == tournament_id:
            return _view(conn, game, each, now)
    raise MissingError(f"this game has no tournament {tournament_id}")


def _entrants(conn: Connection, game_id: UUID, wanted: TournamentRequest) -> list[UUID]:
    if wanted.entrants:
        found = [player_in(conn, game_id, each) for each in wanted.entrants]
    else:
        if not 2 <= wanted.size <= MOST_ENTRANTS:
            raise InputError(f"2 to {MOST_ENTRANTS} players take part in a tournament")
        rows = page_of(conn, Board(game_id, "composite"), BoardFilter(), 0, wanted.size)
        found = [row.player_id for row, _ in rows]
    if len(set(found)) < len(found):
        raise InputError("somebody takes part twice (name each player once)")
    if not 2 <= len(found) <= MOST_ENTRANTS:
        raise InputError(
            f"2 to {MOST_ENTRANTS} players take part in a tournament, and there would be {len(found)} (name them in "
            "`entrants`, or let more play a round first)"
        )
    for player_id in found:
        if not players.takes_part(conn, game_id, player_id):
            raise InputError(f"player {player_id} takes no part in this game")
    return found


def _view(conn: Connection, game: Game, tournament: Tournament, now: datetime) -> TournamentView:
    names = players.names_of(conn, tournament.entrants)
    rules = MatchRules(tournament.rounds_per_match, tournament.tiebreak, over=not takes_rounds(game, now))
    scores = _round_scores(conn, game, tournament)
    table: list[RobinRow[UUID]] = []
    matches: list[Match[UUID]]
    if tournament.form == "round_robin":
        matches, table = play_round_robin(tournament.entrants, scores, rules)
        finished = all(match.state == "decided" for match in matches)
        winner = table[0].entrant if finished and table[0].points > table[1].points else None
    else:
        matches, winner = play_elimination(tournament.entrants, scores, rules)
        finished = winner is not None
    return TournamentView(
        tournament.id,
        tournament.name,
        tournament.form,
        tournament.rounds_per_match,
        tournament.tiebreak,
        tournament.created_at,
        [names[each] for each in tournament.entrants],
        [_match_view(match, names) for match in matches],
        [RobinTableRow(names[row.entrant], row.points, row.won, row.drawn, row.lost) for row in table],
        None if winner is None else names[winner],
        finished,
    )


def _match_view(match: Match[UUID], names: dict[UUID, str]) -> MatchView:
    home, away, winner = (None if each is None else names[each] for each in (match.home, match.away, match.winner))
    return MatchView(match.stage, home, away, match.state, winner, match.home_score, match.away_score, match.reason)


def _round_scores(conn: Connection, game: Game, tournament: Tournament) -> dict[UUID, list[float]]:
    """The composites of each entrant's rounds since the tournament began, in order; a round that is not wholly scored
    yet ends the list, for what comes after it must not take its place."""
    attached = games.attachments(conn, [game.id])
    ids = [each.id for each in attached]
    marks: dict[UUID, dict[int, AttachmentScores]] = {}
    for share in tournaments.round_shares(conn, game.id, ids, tournament.entrants, tournament.created_at):
        own = marks.setdefault(share.player_id, {}).setdefault(share.round_number, {})
        own[share.attachment_id] = AttachmentScore(share.share, (0.0, 1.0), "")
    scores: dict[UUID, list[float]] = {}
    for player_id, by_round in marks.items():
        found = scores.setdefault(player_id, [])
        for given in by_round.values():
            score = composite_of(attached, given).score
            if score is None:
                break
            found.append(score)
    return scores
