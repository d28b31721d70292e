"""Players: make them, list them, read one."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request, Response

from rubrica.games import players
from rubrica.server.depends import Serving, Signed
from rubrica.server.game_shapes import NewPlayer, PlayerPage, PlayerShown
from rubrica.server.idempotency import write_once
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, page, render
from rubrica.store.players import Player

from .games import PAGE, Cursor, Limit

router = APIRouter(prefix="/api/players", route_class=JsonRoute, tags=["players"])


@router.post("", status_code=201, response_model=PlayerShown, summary="Make a player")
async def make(request: Request, body: NewPlayer, caller: Signed, service: Serving) -> Response:
    """Players. One called like you is you. Names that are submitted with a round become players by themselves; made
    beforehand, a player can have `info`, and a `user` who may play as it (authors)."""
    wanted = (body.name, body.info, body.user)
    return await write_once(request, _made, players.create_player, caller, *wanted, service.clock())


@router.get("", response_model=PlayerPage, summary="List players")
async def listed(caller: Signed, service: Serving, limit: Limit = PAGE, cursor: Cursor = None) -> Response:
    """Those you made and those you play as, newest first. An admin sees everybody's."""
    before = None if cursor is None else decode_cursor(cursor, UUID)[0]
    found = await service.database.read(players.list_players, caller, before, limit + 1)
    following = encode_cursor([found[limit - 1].id]) if len(found) > limit else None
    return render(RouteAnswer(page(found[:limit], following)))


@router.get("/{player_id}", response_model=PlayerShown, summary="Read a player")
async def read(
    player_id: Annotated[UUID, Path(description="The player's id.")], caller: Signed, service: Serving
) -> Response:
    """One that you made or play as, or that joined a game of yours."""
    return render(RouteAnswer(await service.database.read(players.view_player, caller, player_id)))


def _made(player: Player) -> RouteAnswer:
    return RouteAnswer(player, 201, {"Location": f"/api/players/{player.id}"})
