"""Runs: many cases judged by one rubric. Start one, follow it, stop it, go on with it."""

from __future__ import annotations

import time
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Request, Response

from rubrica.server.depends import Serving, Signed
from rubrica.server.event_stream import EVENTS
from rubrica.server.gateway.presence import ClientPresence
from rubrica.server.idempotency import write_once
from rubrica.server.request_bodies import JsonRoute
from rubrica.server.responses import RouteAnswer, decode_cursor, encode_cursor, page, render
from rubrica.server.run_events import RunEvents, event_id
from rubrica.server.run_shapes import (
    CaseFileList,
    CaseFileShown,
    NewRunBody,
    ResumedRun,
    RunList,
    RunShown,
    run_row,
    run_shown,
)
from rubrica.server.shared import shared_instance
from rubrica.workspace.access import Caller, check_action
from rubrica.workspace.case_files import CaseFile
from rubrica.workspace.run_listing import UNDER_WAY, narrowed
from rubrica.workspace.run_service import Query as RunQuery
from rubrica.workspace.run_service import RunStatus

from .games import PAGE, Cursor, Limit

LONGEST_NAME = 255
ADMITTED_FOR = 10.0
"""Seconds after which a stream asks whether the key is still good."""
EXAMPLE = {
    "rubric": "speed-demon",
    "cases": [{"id": "a", "response": "Paris."}, {"id": "b", "response": "I think it may be Paris."}],
}
STREAM: dict[str, Any] = {
    "schema": {"type": "string"},
    "example": 'id: 0f2-1-0-running\nevent: progress\ndata: {"name": "monday", "state": "running"}\n\n',
}
UPLOAD = {
    "requestBody": {
        "required": True,
        "description": "The file as it is.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}

router = APIRouter(route_class=JsonRoute, tags=["runs"])
RunName = Annotated[str, Path(min_length=1, max_length=LONGEST_NAME, description="The run's name.")]


@router.post(
    "/api/runs",
    status_code=201,
    response_model=RunShown,
    summary="Start a run",
    openapi_extra={"requestBody": {"content": {"application/json": {"example": EXAMPLE}}}},
)
async def start(request: Request, body: NewRunBody, caller: Signed, service: Serving) -> Response:
    """Authors. The run is yours and private. It goes on by itself: follow it at `Location`. 409 while the server is at
    work on as many runs as it takes, or where workers take them, while 100 of yours wait; 402 or 429 if it could cost
    more than you may spend."""
    check_action(caller, "starting a run")
    reply: list[Response] = []

    async def keep(claim: RunQuery) -> None:
        reply.append(await write_once(request, _started, claim))

    await service.runs.start(caller, body.wanted, keep)
    return reply[0]


@router.get("/api/runs", response_model=RunList, summary="List runs")
async def listed(
    caller: Signed,
    service: Serving,
    q: Annotated[str, Query(max_length=100, description="In its name, rubric, judge or commit.")] = "",
    rubric: Annotated[str | None, Query(max_length=200, description="Only of this rubric, by its name.")] = None,
    limit: Limit = PAGE,
    cursor: Cursor = None,
) -> Response:
    """Your own and shared ones, the latest first. An admin sees everybody's."""
    readable = [line for line in await service.runs.lines(caller) if line.state != "unreadable"]
    found = narrowed(readable, q, rubric)
    if cursor is not None:
        after = decode_cursor(cursor, str, str)
        found = [line for line in found if (line.started, line.name) < after]
    shown = found[:limit]
    following = encode_cursor([shown[-1].started, shown[-1].name]) if len(found) > limit else None
    return render(RouteAnswer(page([run_row(line) for line in shown], following)))


@router.get("/api/runs/{name}", response_model=RunShown, summary="Read a run")
async def read(name: RunName, caller: Signed, service: Serving) -> Response:
    """How far it is, or what it came to."""
    return render(RouteAnswer(run_shown(await service.runs.status(caller, name))))


@router.get(
    "/api/runs/{name}/events",
    summary="Follow a run",
    response_class=Response,
    responses={200: {"content": {EVENTS: STREAM}}, 204: {"description": "Connected again: nothing is left to tell."}},
)
async def follow(
    request: Request,
    name: RunName,
    caller: Signed,
    service: Serving,
    last_event_id: Annotated[str, Header(max_length=100, description="What a client has seen already.")] = "",
) -> Response:
    """Server-sent events: `progress` whenever the run has come further, and `ended` with what it came to. Each holds
    what `GET` shows. Who connects again is told what has changed since, and 204 if the run has ended since."""
    status = await service.runs.status(caller, name)
    if status.line.state not in UNDER_WAY and last_event_id == event_id(status):
        return Response(status_code=204)
    admitted = time.monotonic()

    async def look() -> RunStatus | None:
        nonlocal admitted
        if time.monotonic() - admitted > ADMITTED_FOR:
            admitted = time.monotonic()
            door = await request.app.state.door.admit(request.scope)
            if not isinstance(door, Caller) and door.status_code in (401, 403):
                return None
        return await service.runs.status(caller, name)

    return RunEvents(status, look, shared_instance(request.app, ClientPresence), last_event_id)


@router.post("/api/runs/{name}/cancel", response_model=RunShown, summary="Stop a run")
async def cancel(request: Request, name: RunName, caller: Signed, service: Serving) -> Response:
    """Its owner, or an admin. What is being judged is finished first; what was judged is kept, and `resume` goes on. A
    run that has ended stays as it is."""
    status = await service.runs.cancel(caller, name)
    return await write_once(request, _shown, lambda _: status)


@router.post("/api/runs/{name}/resume", response_model=RunShown, summary="Go on with a run")
async def resume(
    request: Request, name: RunName, caller: Signed, service: Serving, body: ResumedRun | None = None
) -> Response:
    """Its owner, or an admin. Goes on with a run that was stopped, failed or was interrupted: no case is judged twice.
    409 if it is under way or finished."""
    reply: list[Response] = []

    async def keep(begun: RunQuery) -> None:
        reply.append(await write_once(request, _shown, begun))

    await service.runs.resume(caller, name, None if body is None else body.budget, keep)
    return reply[0]


@router.get("/api/cases", response_model=CaseFileList, summary="List files of cases")
async def files(caller: Signed, service: Serving) -> Response:
    """Authors. Those that you uploaded, and those that whoever runs the server has put there for everybody."""
    return render(RouteAnswer({"items": [_file(own) for own in await service.runs.files(caller)]}))


@router.post(
    "/api/cases", status_code=201, response_model=CaseFileShown, summary="Upload a file of cases", openapi_extra=UPLOAD
)
async def upload(
    request: Request,
    caller: Signed,
    service: Serving,
    name: Annotated[str, Query(min_length=1, max_length=200, description="With its ending, such as cases.jsonl.")],
) -> Response:
    """Authors. JSON lines, JSON, CSV, TSV, Excel or Parquet, for you alone. A name that is taken gets a number: the
    reply says how the file is called."""
    check_action(caller, "uploading cases")
    kept = await service.runs.upload(caller, name, await request.body())
    return await write_once(request, lambda own: RouteAnswer(_file(own), 201), lambda _: kept)


def _file(own: CaseFile) -> CaseFileShown:
    return CaseFileShown(name=own.name, size=own.size)


def _shown(status: RunStatus) -> RouteAnswer:
    return RouteAnswer(run_shown(status))


def _started(status: RunStatus) -> RouteAnswer:
    return RouteAnswer(run_shown(status), 201, {"Location": f"/api/runs/{quote(status.line.name, safe='')}"})
