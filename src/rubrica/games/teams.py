"""Teams of a game: who is in which, and how they stand. A team's score is the mean over its players who have one."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

import msgspec
from sqlalchemy import Connection

from rubrica.errors import ConflictError, InputError, MissingError
from rubrica.store import players, rounds, seasons, teams
from rubrica.store.standings import Board
from rubrica.store.teams import Team
from rubrica.workspace.access import Caller, require
from rubrica.workspace.plain_data import plain_text

from .composite import NOISE_DIGITS
from .games import hosted_game, hosts, visible_game
from .players import represents

MOST_TEAMS = 1_000
LONGEST_TEAM = 100


class TeamRank(msgspec.Struct, frozen=True):
    """How a team stands. Teams with the same score share a rank."""

    rank: int | None  # None: there is no score to rank by
    team_id: UUID
    team: str
    score: float | None  # the mean over its players who have a score
    players: int
    scored: int  # of these, how many have a score
    rounds: int


def create_team(conn: Connection, caller: Caller, game_id: UUID, name: str, now: datetime) -> Team:
    """A new team in a game of the caller's."""
    hosted_game(conn, caller, game_id, "making teams in")
    if len(teams.teams_of(conn, game_id)) >= MOST_TEAMS:
        raise InputError(f"a game has at most {MOST_TEAMS:,} teams")
    return teams.add_team(conn, game_id, good_title(name, "a team"), now)


def remove_team(conn: Connection, caller: Caller, game_id: UUID, team: str) -> None:
    """Drop a team; its players stay in the game."""
    hosted_game(conn, caller, game_id, "dropping teams of")
    teams.remove_team(conn, team_called(conn, game_id, team).id)


def put_in_team(conn: Connection, caller: Caller, game_id: UUID, player_id: UUID, team: str | None) -> None:
    """Put a player into a team, out of whichever it was in; None: out of all.

    Whoever made the game may move anybody who plays in it. Others move their own player, until it has played a round.
    """
    require(caller, "player", "choosing a team")
    game = visible_game(conn, caller, game_id)
    player = players.player_by_id(conn, player_id)
    allowed = player is not None and (hosts(caller, game) or represents(caller, player))
    if player is None or not allowed or not players.takes_part(conn, game_id, player_id):
        raise MissingError(f"no player {player_id} of yours takes part in this game (joining comes first)")
    chosen = teams.team_of(conn, game_id, player_id) is not None
    if chosen and not hosts(caller, game) and rounds.progress(conn, game_id, player_id).count:
        raise ConflictError(f"{player.name} has played, and so stays (whoever made the game may move them)")
    teams.set_team(conn, game_id, player_id, None if team is None else team_called(conn, game_id, team).id)


def team_board(conn: Connection, caller: Caller, game_id: UUID, season: str | None = None) -> list[TeamRank]:
    """The teams of a game in their order."""
    visible_game(conn, caller, game_id)
    board_id = game_id if season is None else season_called(conn, game_id, season).id
    totals = {total.team_id: total for total in teams.team_totals(conn, game_id, Board(board_id, "composite"))}
    lines = []
    for team in teams.teams_of(conn, game_id):
        total = totals.get(team.id)
        if total is None:
            lines.append(TeamRank(None, team.id, team.name, None, 0, 0, 0))
        else:
            score = None if total.score is None else round(total.score, NOISE_DIGITS)
            lines.append(TeamRank(None, team.id, team.name, score, total.players, total.scored, total.rounds))
    return ranked_teams(lines)


def ranked_teams(lines: list[TeamRank]) -> list[TeamRank]:
    """Teams in the order of their scores, those without one last; equal ones share a rank.

    >>> ids = [UUID(int=n) for n in range(3)]
    >>> lines = [TeamRank(None, id, name, score, 1, 1, 1) for id, name, score in zip(ids, "abc", (0.5, None, 0.5))]
    >>> [(line.team, line.rank) for line in ranked_teams(lines)]
    [('a', 1), ('c', 1), ('b', None)]
    """
    scored = sorted(
        (line for line in lines if line.score is not None), key=lambda line: (-(line.score or 0), line.team)
    )
    placed: list[TeamRank] = []
    for place, line in enumerate(scored, 1):
        same = placed and placed[-1].score == line.score
        placed.append(msgspec.structs.replace(line, rank=placed[-1].rank if same else place))
    return placed + sorted((line for line in lines if line.score is None), key=lambda line: line.team)


def team_called(conn: Connection, game_id: UUID, wanted: str) -> Team:
    """A team by its id or its name."""
    known = teams.teams_of(conn, game_id)
    found = next((team for team in known if wanted in (str(team.id), team.name)), None)
    if found is None:
        raise MissingError(f"this game has no team {wanted!r} ({_told([team.name for team in known])})")
    return found


def season_called(conn: Connection, game_id: UUID, wanted: str) -> seasons.Season:
    """A season by its id or its name."""
    known = seasons.seasons_of(conn, game_id)
    found = next((season for season in known if wanted in (str(season.id), season.name)), None)
    if found is None:
        raise MissingError(f"this game has no season {wanted!r} ({_told([season.name for season in known])})")
    return found


def good_title(text: str, what: str) -> str:
    """A name for a part of a game."""
    name = plain_text(text, "name", LONGEST_TEAM)
    if not name:
        raise InputError(f"{what} needs a name of at least one character")
    return name


def _told(names: list[str]) -> str:
    return "there are none" if not names else "there are " + ", ".join(names[:10]) + (" …" if len(names) > 10 else "")
