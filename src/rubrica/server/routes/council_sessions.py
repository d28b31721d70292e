"""The sessions of the council: start one, list them, open, follow, stop, export and delete them, and audit them."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from uuid import UUID

import msgspec
from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.exceptions import HTTPException

from rubrica.council.audit import audit
from rubrica.council.saved import SavedCouncil
from rubrica.council.transcript import exported, markdown, trail
from rubrica.errors import RubricaError
from rubrica.server.council_events import followed, resumed, seen_of, session_path
from rubrica.server.council_problems import council_refusal
from rubrica.server.council_service import CouncilRequest
from rubrica.server.council_sessions import SessionQuery
from rubrica.server.council_shapes import SessionPage, SessionShown, line_dict, session_dict, transcript_of
from rubrica.server.depends import Serving, Signed
from rubrica.server.event_stream import EVENTS
from rubrica.server.idempotency import write_once
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, page, render
from rubrica.server.service import Service
from rubrica.server.shared import run_for_user
from rubrica.store.council_sessions import SessionLine, StoredEvent, StoredSession
from rubrica.workspace.access import Caller, check_action
from rubrica.workspace.council_sessions import (
    audited_results,
    forget_session,
    own_sessions,
    session_id_of,
    session_news,
    session_with_events,
)

from .council import EXAMPLE, NO_COUNCIL, STREAM
from .games import PAGE, Cursor, Limit

router = APIRouter(prefix="/api/council", route_class=JsonRoute, tags=["council"])
SessionId = Annotated[str, Path(max_length=100, description="The session's id.")]
ANY: dict[str, Any] = {"schema": {"type": "object"}}


@router.post(
    "/sessions",
    status_code=201,
    response_model=SessionShown,
    summary="Start a session",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
async def start(request: Request, body: CouncilRequest, caller: Signed, service: Serving) -> Response:
    """Authors. Puts a question to the council. The session is yours and private, and goes on by itself: follow it at
    `Location` + `/events`."""
    check_action(caller, "asking the council")
    if service.council is None or len(service.council.models) < 2:
        raise HTTPException(503, NO_COUNCIL)
    reply: list[Response] = []

    def started(line: SessionLine) -> RouteAnswer:
        shown = {**line_dict(line), "request": body.model_dump(mode="json", exclude_unset=True)}
        return RouteAnswer(
            {**shown, "answers": {}, "result": None, "problem": None}, 201, {"Location": session_path(line.id)}
        )

    async def keep(query: SessionQuery) -> None:
        reply.append(await write_once(request, started, query))

    try:
        await service.sessions.start(caller, body, keep)
    except RubricaError as error:
        return council_refusal(request.scope, error)
    return reply[0]


@router.get("/sessions", response_model=SessionPage, summary="List sessions")
async def listed(caller: Signed, service: Serving, limit: Limit = PAGE, cursor: Cursor = None) -> Response:
    """Your own, the latest first. An admin sees everybody's."""
    before = None if cursor is None else decode_cursor(cursor, UUID)[0]
    found = await service.database.read(own_sessions, caller, before, limit + 1)
    following = encode_cursor([found[limit - 1].id]) if len(found) > limit else None
    return render(RouteAnswer(page([line_dict(line) for line in found[:limit]], following)))


@router.get("/sessions/{session_id}", response_model=SessionShown, summary="Read a session")
async def read(session_id: SessionId, caller: Signed, service: Serving) -> Response:
    """What was asked, how far it is, and what it came to; of one without a result, what had arrived."""
    return render(RouteAnswer(session_dict(*await _whole(service, caller, session_id))))


@router.get(
    "/sessions/{session_id}/events",
    summary="Follow a session",
    response_class=Response,
    responses={200: {"content": {EVENTS: STREAM}}, 204: {"description": "Connected again: nothing is left to tell."}},
)
async def follow(
    request: Request,
    session_id: SessionId,
    caller: Signed,
    service: Serving,
    last_event_id: Annotated[str, Header(max_length=100, description="What a client has seen already.")] = "",
) -> Response:
    """Server-sent events from the beginning, or from after `Last-Event-ID`, also of a session that has ended, and
    after the server was started anew. The last one is `concluded` with the whole `result`, or `error`."""
    known = session_id_of(session_id)
    await service.database.read(session_news, caller, known)
    seen = seen_of(last_event_id)
    if seen is not None and seen[0] == known:
        return await resumed(request, caller, service)
    return followed(request, caller, service, known)


@router.post("/sessions/{session_id}/cancel", response_model=SessionShown, summary="Stop a session")
async def cancel(request: Request, session_id: SessionId, caller: Signed, service: Serving) -> Response:
    """Its owner, or an admin. What had arrived is kept. A session that has ended stays as it is."""
    await service.sessions.stop(caller, session_id_of(session_id))
    shown = session_dict(*await _whole(service, caller, session_id))
    return await write_once(request, RouteAnswer, lambda _: shown)


@router.delete("/sessions/{session_id}", status_code=204, summary="Delete a session")
async def remove(session_id: SessionId, caller: Signed, service: Serving) -> Response:
    """Its owner, or an admin. 409 while it is under way."""
    await service.database.write(forget_session, caller, session_id_of(session_id))
    return render(RouteAnswer(None, 204))


@router.get(
    "/sessions/{session_id}/export",
    summary="Export a session",
    response_class=Response,
    responses={200: {"content": {"application/json": ANY, "text/markdown": {"schema": {"type": "string"}}}}},
)
async def export(
    session_id: SessionId,
    caller: Signed,
    service: Serving,
    form: Annotated[Literal["json", "markdown"], Query(alias="format")] = "json",
) -> Response:
    """As a file. JSON is one line that `rubrica council audit` reads, with the session and its events beside the
    result; Markdown is for people."""
    transcript = transcript_of(*await _whole(service, caller, session_id))
    ending, media = ("json", "application/json") if form == "json" else ("md", "text/markdown; charset=utf-8")
    body = msgspec.json.encode(exported(transcript)) + b"\n" if form == "json" else markdown(transcript).encode()
    about_id = transcript.about["id"]
    named = {"Content-Disposition": f'attachment; filename="council-{about_id}.{ending}"'}
    return Response(body, headers={**named, "X-Content-Type-Options": "nosniff"}, media_type=media)


@router.get("/sessions/{session_id}/audit", response_class=Response, summary="Audit a session")
async def audited(session_id: SessionId, caller: Signed, service: Serving) -> Response:
    """Who was asked in which stage, when, and at what cost; which model stands behind which label; in which order each
    reviewer saw the answers."""
    return render(RouteAnswer(trail(transcript_of(*await _whole(service, caller, session_id)))))


@router.get("/audit", response_class=Response, summary="Audit your sessions")
async def audited_together(request: Request, caller: Signed, service: Serving) -> Response:
    """What `rubrica council audit` tells, over your latest 500 finished sessions; for an admin over everybody's."""
    results = await service.database.read(audited_results, caller)
    return render(RouteAnswer(await run_for_user(request.app, caller, _audit, results)))


async def _whole(service: Service, caller: Caller, session_id: str) -> tuple[StoredSession, list[StoredEvent]]:
    return await service.database.read(session_with_events, caller, session_id_of(session_id))


def _audit(results: list[Any]) -> dict[str, Any]:
    saved = []
    for result in results:
        try:
            saved.append(msgspec.convert(result, SavedCouncil))
        except msgspec.ValidationError:  # of another version
            continue
    return audit(saved).to_dict()
