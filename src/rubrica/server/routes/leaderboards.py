"""Leaderboards: of one game, and across games."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from rubrica.games import leaderboard_access
from rubrica.games.attachments import LONGEST_DIMENSION
from rubrica.games.leaderboard import Way
from rubrica.server.depends import Serving, Signed
from rubrica.server.game_shapes import LeaderboardShown
from rubrica.server.payloads import leaderboard_payload
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render

from .games import GameId

router = APIRouter(prefix="/api", route_class=JsonRoute, tags=["games"])
PAGE, MOST = 100, 1_000

Axis = Annotated[
    str | None, Query(max_length=LONGEST_DIMENSION, description="Rank by this dimension; left out: overall.")
]
Limit = Annotated[int, Query(ge=1, le=MOST, description="Players that are listed.")]


@router.get("/games/{game_id}/leaderboard", response_model=LeaderboardShown, summary="Who stands where in a game")
async def of_game(
    game_id: GameId,
    caller: Signed,
    service: Serving,
    by: Annotated[
        Way,
        Query(
            description="normalized: compared as each rubric's normalization says, by weight. composite: shares of "
            "full marks by weight. korgym: against the other players, whatever the rubrics say."
        ),
    ] = "normalized",
    dimension: Axis = None,
    limit: Limit = PAGE,
) -> Response:
    """Per dimension and overall. Players with the same score share a rank, and are told to be tied."""
    board = await service.database.read(leaderboard_access.of_game, caller, game_id, by, dimension)
    return render(RouteAnswer(leaderboard_payload(board.first(limit))))


@router.get("/leaderboard", response_model=LeaderboardShown, summary="Who stands where across games")
async def across_games(caller: Signed, service: Serving, dimension: Axis = None, limit: Limit = PAGE) -> Response:
    """Over all games that you see, in each the players who joined it. Scores of a rubric in a game become
    ln(1 + S) where one exceeds 1, then shares between the lowest (0) and the highest (1); equal ones become 0.5. Games
    are averaged per dimension, dimensions over all."""
    board = await service.database.read(leaderboard_access.across_games, caller, dimension)
    return render(RouteAnswer(leaderboard_payload(board.first(limit))))
