"""Joining and leaving games, by whoever a player belongs to."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Response

from rubrica.games import players
from rubrica.server.depends import Serving, Signed
from rubrica.server.game_shapes import PlayerShown
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render

from .games import GameId

router = APIRouter(prefix="/api/games", route_class=JsonRoute, tags=["games"])
PlayerId = Annotated[UUID, Path(description="A player of yours.")]


@router.put("/{game_id}/players/{player_id}", response_model=PlayerShown, summary="Join a game")
async def join(game_id: GameId, player_id: PlayerId, caller: Signed, service: Serving) -> Response:
    """Players. Whoever made the game may then submit rounds for your player and sees its `info`, and its rounds there
    count across games. Submitting a round yourself joins too."""
    return render(
        RouteAnswer(await service.database.write(players.join_game, caller, game_id, player_id, service.clock()))
    )


@router.delete("/{game_id}/players/{player_id}", status_code=204, summary="Leave a game")
async def leave(game_id: GameId, player_id: PlayerId, caller: Signed, service: Serving) -> Response:
    """Players. Rounds that were played stay, and count for that game alone."""
    await service.database.write(players.leave_game, caller, game_id, player_id)
    return Response(status_code=204)
