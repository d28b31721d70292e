"""The life of a game: copies, invitations, teams, seasons and tournaments."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

import msgspec
from fastapi import APIRouter, Path, Query, Request, Response

from rubrica.errors import InputError
from rubrica.games import copies, invitations, seasons, teams, tournaments
from rubrica.games.invitations import InvitationRequest, NewLink
from rubrica.games.teams import LONGEST_TEAM
from rubrica.games.tournaments import TournamentRequest
from rubrica.server.depends import Serving, Signed
from rubrica.server.game_shapes import GameShown
from rubrica.server.idempotency import write_once
from rubrica.server.life_shapes import (
    Acceptance,
    AcceptedShown,
    GameCopy,
    InvitationList,
    InvitationMade,
    NewInvitationBody,
    NewSeason,
    NewTeam,
    NewTournament,
    SeasonList,
    SeasonShown,
    TeamChoice,
    TeamList,
    TeamShown,
    TournamentList,
    TournamentShown,
)
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render

from .games import GameId, made_game
from .rounds import PlayerName

router = APIRouter(prefix="/api", route_class=JsonRoute, tags=["games"])
GAME = "/games/{game_id}"
PartName = Annotated[str, Path(min_length=1, max_length=LONGEST_TEAM, description="Its id or name.")]
SeasonName = Annotated[str | None, Query(max_length=LONGEST_TEAM, description="Of this season, by its id or name.")]


@router.post(f"{GAME}/copy", status_code=201, response_model=GameShown, summary="Copy a game")
async def copy(
    request: Request, game_id: GameId, caller: Signed, service: Serving, body: GameCopy | None = None
) -> Response:
    """Whoever made it, or an admin: its settings, limits and rubrics as a draft of your own, without rounds, players
    and deadline."""
    name = None if body is None else body.name
    return await write_once(request, made_game, copies.copy_game, caller, game_id, name, service.clock())


# --- invitations --------------------------------------------------------------------------------------------


@router.post(f"{GAME}/invitations", status_code=201, response_model=InvitationMade, summary="Invite to a game")
async def invite(
    request: Request, game_id: GameId, caller: Signed, service: Serving, body: NewInvitationBody | None = None
) -> Response:
    """Whoever made it, or an admin. One person by name, or a link: its token is told this once, it expires, and it may
    be limited to so many uses."""
    wanted = InvitationRequest() if body is None else InvitationRequest(body.user, body.most_uses, body.days)
    return await write_once(request, _invited, invitations.invite, caller, game_id, wanted, service.clock())


@router.get(f"{GAME}/invitations", response_model=InvitationList, summary="List invitations to a game")
async def invited(game_id: GameId, caller: Signed, service: Serving) -> Response:
    """Whoever made it, or an admin: the last 200, with how often each was used."""
    return _items(await service.database.read(invitations.list_invitations, caller, game_id))


@router.delete(f"{GAME}/invitations/{{invitation_id}}", status_code=204, summary="Take an invitation back")
async def revoke(game_id: GameId, invitation_id: UUID, caller: Signed, service: Serving) -> Response:
    """Whoever made the game, or an admin. Who has used it stays in the game."""
    await service.database.write(invitations.revoke, caller, game_id, invitation_id, service.clock())
    return Response(status_code=204)


@router.get("/invitations", response_model=InvitationList, summary="List your invitations")
async def own_invitations(caller: Signed, service: Serving) -> Response:
    """Those that name you and can still be accepted."""
    return _items(await service.database.read(invitations.own_invitations, caller, service.clock()))


@router.post("/invitations/accept", response_model=AcceptedShown, summary="Accept an invitation")
async def accept(request: Request, body: Acceptance, caller: Signed, service: Serving) -> Response:
    """Players. By the token of a link, or the id of an invitation that names you: you join the game."""
    now = service.clock()
    if body.token is not None and body.id is None:
        return await write_once(request, RouteAnswer, invitations.accept_link, caller, body.token, now)
    if body.id is not None and body.token is None:
        return await write_once(request, RouteAnswer, invitations.accept_named, caller, body.id, now)
    raise InputError("give either the token of a link, or the id of an invitation that names you")


# --- teams --------------------------------------------------------------------------------------------------


@router.post(f"{GAME}/teams", status_code=201, response_model=TeamShown, summary="Make a team")
async def make_team(request: Request, game_id: GameId, body: NewTeam, caller: Signed, service: Serving) -> Response:
    """Whoever made the game, or an admin."""
    return await write_once(request, _made, teams.create_team, caller, game_id, body.name, service.clock())


@router.get(f"{GAME}/teams", response_model=TeamList, summary="Teams of a game")
async def team_board(game_id: GameId, caller: Signed, service: Serving, season: SeasonName = None) -> Response:
    """In the order of their scores: the mean over the players of each who have one."""
    return _items(await service.database.read(teams.team_board, caller, game_id, season))


@router.delete(f"{GAME}/teams/{{team}}", status_code=204, summary="Drop a team")
async def remove_team(game_id: GameId, team: PartName, caller: Signed, service: Serving) -> Response:
    """Whoever made the game, or an admin. Its players stay in the game."""
    await service.database.write(teams.remove_team, caller, game_id, team)
    return Response(status_code=204)


@router.put(f"{GAME}/players/{{player}}/team", status_code=204, summary="Choose a team")
async def choose_team(
    game_id: GameId, player: PlayerName, body: TeamChoice, caller: Signed, service: Serving
) -> Response:
    """Whoever made the game moves anybody who plays in it; others their own player, until it has played a round. A
    player is in one team of a game at most."""
    await service.database.write(teams.put_in_team, caller, game_id, player, body.team)
    return Response(status_code=204)


# --- seasons ------------------------------------------------------------------------------------------------


@router.post(f"{GAME}/seasons", status_code=201, response_model=SeasonShown, summary="Make a season")
async def make_season(request: Request, game_id: GameId, body: NewSeason, caller: Signed, service: Serving) -> Response:
    """Whoever made the game, or an admin: a leaderboard over a range of time. Rounds that were played in it count."""
    span = (body.starts_at, body.ends_at)
    wanted = (caller, game_id, body.name, span, service.clock())
    return await write_once(request, _made, seasons.create_season, *wanted)


@router.get(f"{GAME}/seasons", response_model=SeasonList, summary="Seasons of a game")
async def listed_seasons(game_id: GameId, caller: Signed, service: Serving) -> Response:
    """The latest first. The leaderboard takes one as `season`, also when it is over."""
    return _items(await service.database.read(seasons.list_seasons, caller, game_id))


@router.delete(f"{GAME}/seasons/{{season}}", status_code=204, summary="Drop a season")
async def remove_season(game_id: GameId, season: PartName, caller: Signed, service: Serving) -> Response:
    """Whoever made the game, or an admin. Its rounds stay."""
    await service.database.write(seasons.remove_season, caller, game_id, season)
    return Response(status_code=204)


# --- tournaments --------------------------------------------------------------------------------------------


@router.post(f"{GAME}/tournaments", status_code=201, response_model=TournamentShown, summary="Make a tournament")
async def make_tournament(
    request: Request, game_id: GameId, body: NewTournament, caller: Signed, service: Serving
) -> Response:
    """Whoever made the game, or an admin, while it is open. A match takes the next rounds that both play from now on;
    the higher mean wins."""
    tiebreak = body.tiebreak or tournaments.default_tiebreak(body.form)
    wanted = TournamentRequest(body.name, body.form, body.rounds_per_match, tiebreak, tuple(body.entrants), body.size)
    return await write_once(request, _made, tournaments.create_tournament, caller, game_id, wanted, service.clock())


@router.get(f"{GAME}/tournaments", response_model=TournamentList, summary="Tournaments of a game")
async def listed_tournaments(game_id: GameId, caller: Signed, service: Serving) -> Response:
    """The newest first, each with its matches as far as they are played."""
    return _items(await service.database.read(tournaments.list_tournaments, caller, game_id, service.clock()))


@router.get(f"{GAME}/tournaments/{{tournament_id}}", response_model=TournamentShown, summary="Read a tournament")
async def read_tournament(game_id: GameId, tournament_id: UUID, caller: Signed, service: Serving) -> Response:
    """Who meets whom, and who won. Once the game is closed, who has not played loses."""
    wanted = (caller, game_id, tournament_id, service.clock())
    return render(RouteAnswer(await service.database.read(tournaments.view_tournament, *wanted)))


def _invited(made: NewLink) -> RouteAnswer:
    shown = msgspec.structs.asdict(made.invitation)
    link = None if made.token is None else f"/games/join/{made.token}"
    return RouteAnswer({**shown, "token": made.token, "link": link}, 201)


def _made(record: msgspec.Struct) -> RouteAnswer:
    return RouteAnswer(record, 201)


def _items(found: object) -> Response:
    return render(RouteAnswer({"items": found}))
