"""Leaderboards: of one game, and across games."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response

from rubrica.games import board_pages, leaderboard_access
from rubrica.games.attachments import LONGEST_DIMENSION
from rubrica.games.board_csv import board_csv
from rubrica.games.games import visible_game
from rubrica.server.board_events import BoardEvents
from rubrica.server.board_shapes import MOST, PAGE, BoardParameters
from rubrica.server.depends import Serving, Signed
from rubrica.server.event_stream import EVENTS
from rubrica.server.game_shapes import LeaderboardShown
from rubrica.server.gateway.presence import ClientPresence
from rubrica.server.payloads import leaderboard_payload
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render
from rubrica.server.shared import shared_instance
from rubrica.workspace.access import Caller

from .games import GameId
from .runs import ADMITTED_FOR

router = APIRouter(prefix="/api", route_class=JsonRoute, tags=["games"])

STREAM: dict[str, Any] = {
    "schema": {"type": "string"},
    "example": 'id: 2-7-1.25-open-public\nevent: board\ndata: {"game": "Moth night", "items": []}\n\n',
}

Axis = Annotated[
    str | None, Query(max_length=LONGEST_DIMENSION, description="Rank by this dimension; left out: overall.")
]
Limit = Annotated[int, Query(ge=1, le=MOST, description="Players that are listed.")]


@router.get(
    "/games/{game_id}/leaderboard",
    response_model=LeaderboardShown,
    summary="Who stands where in a game",
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
async def of_game(
    game_id: GameId,
    caller: Signed,
    service: Serving,
    asked: Annotated[BoardParameters, Query()],
) -> Response:
    """Per dimension and overall, page by page; `own` are your players, wherever they stand. Players with the same score
    share a rank, and are told to be tied. Ranks are those of the whole board, whatever is shown of it."""
    arguments = (caller, game_id, asked.query(), service.clock(), service.boards)
    board = await service.database.read(board_pages.board_page, *arguments)
    if asked.format == "csv":
        headers = {"Content-Disposition": 'attachment; filename="leaderboard.csv"'}
        return Response(board_csv(board), headers=headers, media_type="text/csv; charset=utf-8")
    return render(RouteAnswer(leaderboard_payload(board)))


@router.get(
    "/games/{game_id}/leaderboard/events",
    summary="Follow a leaderboard",
    response_class=Response,
    responses={200: {"content": {EVENTS: STREAM}}, 204: {"description": "Connected again: nothing is left to tell."}},
)
async def follow(
    request: Request,
    game_id: GameId,
    caller: Signed,
    service: Serving,
    last_event_id: Annotated[str, Header(max_length=100, description="What a client has seen already.")] = "",
) -> Response:
    """Server-sent events: `board` with the first 100 players whenever something has changed, and `ended` once no more
    rounds are taken. Who connects again is told what has changed since, and 204 if the game has ended since."""
    await service.database.read(visible_game, caller, game_id)
    if last_event_id:
        news = await service.live_boards.now(game_id)
        if news.ended and news.mark == last_event_id:
            return Response(status_code=204)
    admitted = time.monotonic()

    async def admit() -> bool:
        nonlocal admitted
        if time.monotonic() - admitted > ADMITTED_FOR:
            admitted = time.monotonic()
            door = await request.app.state.door.admit(request.scope)
            if not isinstance(door, Caller) and door.status_code in (401, 403):
                return False
        await service.database.lookup(visible_game, caller, game_id)
        return True

    return BoardEvents(service.live_boards, game_id, admit, shared_instance(request.app, ClientPresence), last_event_id)


@router.get("/leaderboard", response_model=LeaderboardShown, summary="Who stands where across games")
async def across_games(caller: Signed, service: Serving, dimension: Axis = None, limit: Limit = PAGE) -> Response:
    """Over all games that you see, in each the players who joined it. Scores of a rubric in a game become
    ln(1 + S) where one exceeds 1, then shares between the lowest (0) and the highest (1); equal ones become 0.5. Games
    are averaged per dimension, dimensions over all."""
    board = await service.database.read(leaderboard_access.across_games, caller, dimension, service.boards)
    return render(RouteAnswer(leaderboard_payload(board.first(limit))))
