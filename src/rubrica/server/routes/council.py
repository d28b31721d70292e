"""The council: several models answer, review each other, and a chair has the last word. It costs money: for authors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response
from starlette.exceptions import HTTPException

from rubrica.council.events import Listener
from rubrica.council.quote import total_quote
from rubrica.council.ranking import Pool
from rubrica.council.result import CouncilResult
from rubrica.council.session import QuorumError
from rubrica.council.settings import Scoring
from rubrica.council.tiers import TierName
from rubrica.server.council_events import CouncilEvents
from rubrica.server.council_service import CouncilRequest, CouncilService, CouncilUnavailableError
from rubrica.server.depends import Serving, Signed
from rubrica.server.event_stream import EVENTS
from rubrica.server.gateway.presence import ClientPresence
from rubrica.server.idempotency import write_once
from rubrica.server.problems import refusal, refusal_of
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render
from rubrica.server.service import Service
from rubrica.server.shared import shared_instance
from rubrica.workspace.access import Caller, check_action

NO_COUNCIL = "this server has no models for a council (start it with `rubrica serve --model A --model B`)"
AGAIN = {"Retry-After": "30"}
GONE = 499
EXAMPLE = {"question": "Why is the sky blue?", "tier": "quick"}
STREAM: dict[str, Any] = {"schema": {"type": "string"}, "example": 'event: answered\ndata: {"model": "local:"}\n\n'}
RESULT = {
    "type": "object",
    "description": "What `rubrica council ask --json` prints.",
    "required": ["question", "answer", "ranking", "evaluations", "reviews", "answers", "final", "metadata"],
    "properties": {
        "question": {"type": "string"},
        "answer": {"type": "string", "description": "The final answer."},
        "ranking": {"type": "array", "items": {"type": "string"}, "description": "From best to worst."},
        "ties": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        "evaluations": {"type": "object", "description": "By response."},
        "reviews": {"type": "array", "items": {"type": "object"}},
        "answers": {"type": "object", "description": "By response: who wrote it, and what."},
        "final": {"type": "object"},
        "complete": {"type": "boolean", "description": "Whether nothing is missing."},
        "missing": {"type": "array", "items": {"type": "object"}, "description": "What is missing, and why."},
        "refusals": {"type": "array", "items": {"type": "object"}, "description": "Members that refused to answer."},
        "metadata": {"type": "object", "description": "Models, labels, who was dropped and why, timings, cost."},
    },
}

QUOTE = {
    "type": "object",
    "required": ["stages", "calls", "usd"],
    "properties": {
        "stages": {"type": "array", "items": {"type": "object"}, "description": "By stage."},
        "calls": {"type": "integer"},
        "usd": {"type": ["number", "null"], "description": "At most; null: a price is not known."},
    },
}

router = APIRouter(prefix="/v1/council", route_class=JsonRoute, tags=["council"])


@router.post(
    "/run",
    summary="Put a question to the council",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": RESULT}, EVENTS: STREAM}}},
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
async def run_council(request: Request, council_request: CouncilRequest, caller: Signed, service: Serving) -> Response:
    """Authors. Every model answers, reviews the others' answers by rubric, and the chair writes the final answer; that
    takes up to three times the seconds of a tier. With `Accept: text/event-stream` each step is told as it happens.
    The session ends when the client goes away. With too few answers what arrived is returned with `complete: false`;
    with none at all it is a 503, and `dropped` says why."""
    council_service = _council_service(caller, service)
    if EVENTS in request.headers.get("accept", ""):
        return _events(request, caller, service, council_request)
    found: list[CouncilResult] = []

    async def session() -> None:
        async with service.spending.paying(caller, await council_service.quote(council_request)):
            found.append(await council_service.hear(council_request))

    try:
        if not await shared_instance(request.app, ClientPresence).attend(request.receive, session()):
            return Response(status_code=GONE)  # which nobody sees
    except (QuorumError, CouncilUnavailableError) as error:
        return _refused(request.scope, error)
    plain = found[0].to_dict()
    if "claim" in request.scope["state"]:
        return await write_once(request, RouteAnswer, _unchanged, plain)  # a repeated request is not paid twice
    return render(RouteAnswer(plain))


@router.post(
    "/quote",
    summary="Tell what a council can cost",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": QUOTE}}}},
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
async def quote_council(council_request: CouncilRequest, caller: Signed, service: Serving) -> Response:
    """Authors. The most that each stage of a session can take, in calls, tokens and US dollars. Nobody is asked."""
    stages = await _council_service(caller, service).quote_stages(council_request)
    total = total_quote(stages)
    plain = [msgspec.to_builtins(stage) for stage in stages]
    return render(RouteAnswer({"stages": plain, "calls": total.calls, "usd": total.usd}))


@router.get(
    "/stream",
    summary="Put a question to the council, and watch",
    response_class=Response,
    responses={200: {"content": {EVENTS: STREAM}}, 204: {"description": "Connected again: the session is over."}},
)
async def stream_council(
    request: Request,
    caller: Signed,
    service: Serving,
    question: Annotated[str, Query(description="What is asked. A long one goes to POST /v1/council/run.")] = "",
    models: Annotated[str | None, Query(description="The members, as a,b,c.")] = None,
    chair: str | None = None,
    tier: TierName | None = None,
    scoring: Scoring | None = None,
    pool: Pool | None = None,
    seed: Annotated[int | None, Query(ge=0, lt=2**53)] = None,
) -> Response:
    """Authors. Server-sent events: `stage_started`, `answered`, `reviewed`, `dropped`, `cancelled`, `debate_started`,
    `ranked`, `writing`, `stage_finished`, and at the end `concluded` with the whole `result`, or `error` with a problem
    detail. A browser's EventSource connects
    again by itself after that; it is answered with 204, and nobody is asked twice."""
    _council_service(caller, service)
    if "last-event-id" in request.headers:
        return Response(status_code=204)
    members = None if models is None else tuple(name for part in models.split(",") if (name := part.strip()))
    council_request = CouncilRequest(
        question=question, models=members, chair=chair, tier=tier, scoring=scoring, pool=pool, seed=seed
    )
    return _events(request, caller, service, council_request)


def _council_service(caller: Caller, service: Service) -> CouncilService:
    check_action(caller, "asking the council")
    if service.council is None or len(service.council.models) < 2:
        raise HTTPException(503, NO_COUNCIL)
    return service.council


def _events(request: Request, caller: Caller, service: Service, council_request: CouncilRequest) -> Response:
    council_service = _council_service(caller, service)
    council_service.settings(council_request)  # what cannot be asked is told as a reply

    async def session(listener: Listener) -> CouncilResult:
        async with service.spending.paying(caller, await council_service.quote(council_request)):
            return await council_service.hear(council_request, listener)

    scope = request.scope
    return CouncilEvents(session, lambda error: _refused(scope, error), shared_instance(request.app, ClientPresence))


def _refused(scope: Mapping[str, Any], error: Exception) -> Response:
    """A problem detail; of a council without a quorum it says who was dropped, and why."""
    if isinstance(error, CouncilUnavailableError):
        return refusal(scope, 503, str(error), headers=AGAIN)
    if not isinstance(error, QuorumError):
        return refusal_of(scope, error)
    refused = refusal(scope, 503, str(error), kind="quorum", headers=AGAIN)
    dropped = [{"model": one.model, "stage": one.stage, "reason": one.reason} for one in error.dropped]
    body = {**msgspec.json.decode(refused.body), "dropped": dropped}
    return Response(msgspec.json.encode(body), refused.status_code, AGAIN, refused.media_type)


def _unchanged(_: Any, plain: dict[str, Any]) -> dict[str, Any]:
    return plain
