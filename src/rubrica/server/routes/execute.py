"""Executing a rubric. Nothing is asked for more often, so it takes the shortest way through the framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.routing import request_response

from rubrica.errors import ContextError
from rubrica.games.execution import (
    NOWHERE,
    ExecutionReply,
    context_of,
    execution_of,
    keep_execution,
    open_surroundings,
    read_execution,
)
from rubrica.games.turns import MovedError
from rubrica.server.idempotency import write_once
from rubrica.server.payloads import payload
from rubrica.server.request_bodies import is_json, read_json, run_by_size
from rubrica.server.responses import RouteAnswer
from rubrica.server.rubric_shapes import CONTEXTS
from rubrica.server.score_shapes import ScoreMade
from rubrica.server.service import Service
from rubrica.server.shared import TargetCache, shared_instance
from rubrica.workspace import catalogue, score_records
from rubrica.workspace.access import Caller

TRIES = 5
"""How often a rubric may change while it is executed."""

REFERENCE = {
    "name": "reference",
    "in": "path",
    "required": True,
    "description": "An id, a slug, or slug@version.",
    "schema": {"type": "string", "examples": ["speed-demon"]},
}
BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "description": "A context, with `game_id` and `player_id` beside it if it belongs to a game; or the "
                "three of them under `context`, `game_id` and `player_id`.",
            },
            "examples": {
                "context": CONTEXTS["context"],
                "game": {
                    "summary": "In a game: the player's earlier rounds there are looked at too",
                    "value": {
                        "response": "In 1974 my doctor had a moth.",
                        "metadata": {"round_number": 2},
                        "game_id": "01a1de08-5f03-7395-9a18-1e4f56cf4987",
                        "player_id": "01a1de08-6ed3-759c-bd56-35b841c36cef",
                    },
                },
            },
        }
    },
}


class LeanRoute(APIRoute):
    """Calls its endpoint with the request and nothing else. What it takes and gives is declared for readers only."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        self.app = request_response(endpoint)


router = APIRouter(prefix="/api/evaluations", route_class=LeanRoute, tags=["evaluations"])


@router.post(
    "/{reference}/execute",
    status_code=201,
    response_model=ScoreMade,
    summary="Execute a rubric",
    openapi_extra={"parameters": [REFERENCE], "requestBody": BODY},
)
async def execute(request: Request) -> Response:
    """Players. Judges a context and stores the score, with where every point came from. In a game, what the context
    does not bring along comes from there: `game_config`, `player_info` and the player's own earlier rounds."""
    scope = request.scope
    caller: Caller = scope["state"]["caller"]
    service: Service = scope["app"].state.service
    body = await request.body()
    if body and not is_json(request.headers.get("content-type", "")):
        raise HTTPException(415, "this path takes JSON (send it with Content-Type: application/json)")
    draft = await run_by_size(body, lambda: read_execution(read_json(body)))
    targets, reference = shared_instance(scope["app"], TargetCache), scope["path_params"]["reference"]
    tries = 0
    while True:
        tries += 1
        ready = await targets.of(service, caller, reference)
        around = await service.database.read(open_surroundings, caller, draft) if draft.in_game else NOWHERE
        try:
            context = await run_by_size(body, context_of, draft, around)
            async with service.spending.judging(caller, [(ready.plan, context)]):
                evaluation = await score_records.judge(ready.plan, context, service.work.of(caller.user_id))
        except ContextError:  # it says what the rubric wants: for those only who may see it
            await service.database.lookup(catalogue.find, caller, reference)
            raise
        now = service.clock()
        execution = await run_by_size(
            body, execution_of, ready.target, context, around, evaluation, caller.user_id, now
        )
        try:
            return await write_once(request, _score_answer, keep_execution, caller, ready.target, execution)
        except MovedError:
            targets.forget(ready.target.rubric_id)
            if tries == TRIES:
                raise


def _score_answer(score: ExecutionReply) -> RouteAnswer:
    return RouteAnswer(payload(score), 201, {"Location": f"/api/scores/{score.id}"})
