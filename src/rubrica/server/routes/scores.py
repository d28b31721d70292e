"""Scores: what was given, with every point explained."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Query, Response

from rubrica.server.depends import Serving, Signed
from rubrica.server.payloads import payload, payloads
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, page, render
from rubrica.server.score_shapes import ScorePage, ScoreShown
from rubrica.store.scores import ScoreQuery
from rubrica.workspace import scores

from .games import PAGE, Cursor, Limit

router = APIRouter(prefix="/api/scores", route_class=JsonRoute, tags=["scores"])


@router.get("", response_model=ScorePage, summary="List scores")
async def listed(
    caller: Signed,
    service: Serving,
    rubric_id: Annotated[UUID | None, Query(alias="evaluation_id")] = None,
    game_id: Annotated[UUID | None, Query()] = None,
    player_id: Annotated[UUID | None, Query()] = None,
    limit: Limit = PAGE,
    cursor: Cursor = None,
) -> Response:
    """Your own, newest first; all scores of a game that you made, or of a player that you are. An admin sees all."""
    before = None if cursor is None else decode_cursor(cursor, UUID)[0]
    narrowed = ScoreQuery(None, rubric_id, game_id, player_id)
    found = await service.database.read(scores.list_scores, caller, narrowed, before, limit + 1)
    following = encode_cursor([found[limit - 1].id]) if len(found) > limit else None
    return render(RouteAnswer(page(payloads(found[:limit]), following)))


@router.get("/{score_id}", response_model=ScoreShown, summary="Read a score")
async def read(
    score_id: Annotated[UUID, Path(description="The score's id.")], caller: Signed, service: Serving
) -> Response:
    """For whoever had it made, plays as its player or made its game, and admins. It names the version it used."""
    return render(RouteAnswer(payload(await service.database.read(scores.view_score, caller, score_id))))
