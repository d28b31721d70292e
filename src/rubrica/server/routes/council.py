"""The council: several models answer, review each other, and a chair has the last word. It costs money: for authors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Query, Request, Response
from starlette.exceptions import HTTPException

from rubrica.council.quote import StageQuote, total_quote
from rubrica.council.ranking import Pool
from rubrica.council.result import CouncilResult
from rubrica.council.settings import Scoring
from rubrica.council.tiers import Rounds, TierName, TokenLimit
from rubrica.council.verdict_mode import VerdictResult
from rubrica.errors import RubricaError
from rubrica.server.council_events import followed, resumed, session_path
from rubrica.server.council_problems import council_refusal
from rubrica.server.council_service import CouncilRequest, CouncilService, SeedNumber, VerdictRequest
from rubrica.server.council_sessions import reply_owner
from rubrica.server.depends import Serving, Signed
from rubrica.server.event_stream import EVENTS
from rubrica.server.gateway.presence import ClientPresence
from rubrica.server.idempotency import write_once
from rubrica.server.live_session import LiveSession
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, render
from rubrica.server.service import Service
from rubrica.server.shared import shared_instance
from rubrica.workspace.access import Caller, check_action

NO_COUNCIL = "this server has no models for a council (start it with `rubrica serve --model A --model B`)"
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

VERDICT = {
    "type": "object",
    "description": "What `rubrica council verdict --json` prints.",
    "required": ["question", "verdict", "votes", "counts", "dissent", "agreement", "confidence", "complete"],
    "properties": {
        "question": {"type": "string"},
        "verdict": {"type": "string", "enum": ["yes", "no", "undecided"]},
        "why": {"type": "string", "description": "Why it is undecided."},
        "votes": {"type": "array", "items": {"type": "object"}, "description": "Each member's vote, with its reason."},
        "counts": {"type": "object", "description": "How many votes yes, no and unclear have."},
        "dissent": {"type": "array", "items": {"type": "object"}, "description": "The votes against it, surest first."},
        "agreement": {"type": ["number", "null"], "description": "Its share of the votes; null: it is undecided."},
        "confidence": {"type": ["number", "null"], "description": "The chance that the votes together give it."},
        "complete": {"type": "boolean", "description": "Whether a quorum has voted."},
    },
}
MAY_IT = {"question": "May this change be released?", "tier": "quick", "majority": 0.66}

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
    A session ends when a client that waits for its result goes away; what had arrived is kept. One that is told event
    by event goes on, and is followed again by `Last-Event-ID`. With too few answers what arrived is returned with
    `complete: false`; with none at all it is a 503, and `dropped` says why."""
    _council_service(caller, service)
    if EVENTS in request.headers.get("accept", ""):
        return await _events(request, caller, service, council_request)
    begun: list[LiveSession] = []
    found: list[CouncilResult] = []

    async def session() -> None:
        begun.append(await service.sessions.start(caller, council_request))
        found.append(await begun[0].result())

    try:
        if not await shared_instance(request.app, ClientPresence).attend(request.receive, session()):
            if begun:
                await service.sessions.abandon(begun[0])
            return Response(status_code=GONE)  # which nobody sees
    except RubricaError as error:
        return council_refusal(request.scope, error)
    kept_at = {"Content-Location": session_path(begun[0].line.id)}
    return await _paid_once(request, RouteAnswer(found[0].to_dict(), headers=kept_at))


@router.post(
    "/quote",
    summary="Tell what a council can cost",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": QUOTE}}}},
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
async def quote_council(council_request: CouncilRequest, caller: Signed, service: Serving) -> Response:
    """Authors. The most that each stage of a session can take, in calls, tokens and US dollars. Nobody is asked."""
    return _quoted(await _council_service(caller, service).quote_stages(council_request))


@router.post(
    "/verdict",
    summary="Have the council decide by yes or no",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": VERDICT}}}},
    openapi_extra={"requestBody": {"content": {"application/json": {"example": MAY_IT}}}},
)
async def reach_verdict(
    request: Request, verdict_request: VerdictRequest, caller: Signed, service: Serving
) -> Response:
    """Authors. Every model votes yes or no, with its confidence and its reason; with `debate` they read each other's
    reasons and may change their vote. A tie, too few votes, and less than the `majority` are `undecided`. It is not
    kept as a session; send an `Idempotency-Key`, or a `seed`, to have the same again without paying for it."""
    council = _council_service(caller, service)
    found: list[VerdictResult] = []

    async def vote() -> None:
        quote = total_quote(await council.quote_verdict(verdict_request))
        async with service.spending.paying(caller, quote):
            found.append(await council.decide(verdict_request, owner=reply_owner(caller)))

    try:
        if not await shared_instance(request.app, ClientPresence).attend(request.receive, vote()):
            return Response(status_code=GONE)  # which nobody sees
    except RubricaError as error:
        return council_refusal(request.scope, error)
    return await _paid_once(request, RouteAnswer(found[0].to_dict()))


@router.post(
    "/verdict/quote",
    summary="Tell what a verdict can cost",
    response_class=Response,
    responses={200: {"content": {"application/json": {"schema": QUOTE}}}},
    openapi_extra={"requestBody": {"content": {"application/json": {"example": MAY_IT}}}},
)
async def quote_verdict(verdict_request: VerdictRequest, caller: Signed, service: Serving) -> Response:
    """Authors. The most that a verdict can take, in calls, tokens and US dollars. Nobody is asked."""
    return _quoted(await _council_service(caller, service).quote_verdict(verdict_request))


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
    seed: SeedNumber | None = None,
    max_tokens: Annotated[TokenLimit | None, Query(description="Of one answer.")] = None,
    review_tokens: Annotated[TokenLimit | None, Query(description="Of one review.")] = None,
    final_tokens: Annotated[TokenLimit | None, Query(description="Of the final answer.")] = None,
    debate: Annotated[Rounds | None, Query(description="Rounds of debate.")] = None,
    early: Annotated[bool | None, Query(description="Stop once no review can change the winner.")] = None,
) -> Response:
    """Authors. Server-sent events: `stage_started`, `answered`, `reviewed`, `dropped`, `cancelled`, `debate_started`,
    `ranked`, `writing`, `stage_finished`, and at the end `concluded` with the whole `result`, or `error` with a problem
    detail. A browser's EventSource connects again by itself, and its `Last-Event-ID` goes on with the same session:
    nobody is asked twice. Once all is told it is answered with 204."""
    _council_service(caller, service)
    if "last-event-id" in request.headers:
        return await resumed(request, caller, service)
    members = None if models is None else tuple(name for part in models.split(",") if (name := part.strip()))
    council_request = CouncilRequest(
        question=question,
        models=members,
        chair=chair,
        tier=tier,
        scoring=scoring,
        pool=pool,
        seed=seed,
        max_tokens=max_tokens,
        review_tokens=review_tokens,
        final_tokens=final_tokens,
        debate=debate,
        early=early,
    )
    return await _events(request, caller, service, council_request)


def _council_service(caller: Caller, service: Service) -> CouncilService:
    check_action(caller, "asking the council")
    if service.council is None or len(service.council.models) < 2:
        raise HTTPException(503, NO_COUNCIL)
    return service.council


async def _events(request: Request, caller: Caller, service: Service, council_request: CouncilRequest) -> Response:
    _council_service(caller, service)
    try:
        live = await service.sessions.start(caller, council_request)
    except RubricaError as error:
        return council_refusal(request.scope, error)
    return followed(request, caller, service, live.line.id)


def _quoted(stages: Sequence[StageQuote]) -> Response:
    total = total_quote(stages)
    plain = [msgspec.to_builtins(stage) for stage in stages]
    return render(RouteAnswer({"stages": plain, "calls": total.calls, "usd": total.usd}))


async def _paid_once(request: Request, answer: RouteAnswer) -> Response:
    """An answer that a repeated request gets again, and is not paid for twice."""
    if "claim" in request.scope["state"]:
        return await write_once(request, _unchanged, lambda _: answer)
    return render(answer)


def _unchanged(answer: RouteAnswer) -> RouteAnswer:
    return answer
