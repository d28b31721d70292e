"""The gateway's other routes: models, feedback, analytics, metrics, health."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from rubrica import __version__
from rubrica.errors import InputError, MissingError
from rubrica.gateway.analytics import LENGTHS, analytics
from rubrica.gateway.feedback import read_feedback
from rubrica.gateway.gateway import Gateway
from rubrica.gateway.model_names import AUTO, ITSELF, ModelNames
from rubrica.gateway.spend_report import spend_report
from rubrica.store.gateway import add_feedback
from rubrica.text.question_type import TYPES
from rubrica.workspace.access import Caller, Role, require

from .allowances import Allowances
from .intake import receive_body

LONGEST_BODY = 100_000
RECENT = timedelta(days=7)
ELSEWHERE = 0.5
"""Seconds in which another process writes what it has booked."""

PATIENCE = 2.0
"""Seconds to wait for what was booked just now to be written."""


async def list_models(request: Request) -> Response:
    """The models that can be asked for, in OpenAI's shape."""
    names = await _names(request, _signed(request, "viewer", "listing models"))
    return _json({"object": "list", "data": [_model(name) for name in names]})


async def show_model(request: Request) -> Response:
    """One of them."""
    names = await _names(request, _signed(request, "viewer", "showing a model"))
    name = request.path_params["model"]
    if name not in names:
        raise MissingError(f"there is no model {name!r} here; any name may be asked for, and {AUTO!r} answers")
    return _json(_model(name))


async def give_feedback(request: Request) -> Response:
    """Keep what somebody thinks of an answer, in place of what they thought before."""
    caller, gateway = _signed(request, "player", "rating an answer"), _gateway(request)
    try:
        known = gateway.parts.main.grader.question_types or TYPES
        given = read_feedback(await receive_body(request.scope, request.receive, LONGEST_BODY), known)
    except ClientDisconnect:
        return Response(status_code=400)  # which nobody sees
    await gateway.written(PATIENCE)
    try:
        await gateway.database.write(add_feedback, given, caller.user_id, gateway.clock())
    except MissingError:  # another worker may have answered, and write its record a moment later
        await asyncio.sleep(ELSEWHERE)
        await gateway.database.write(add_feedback, given, caller.user_id, gateway.clock())
    if given.question_type is not None:
        gateway.correct(given.trace, caller.key_id, given.question_type)
    told = {"object": "feedback", "trace": str(given.trace), "rating": given.given}
    return _json(told if given.question_type is None else {**told, "question_type": given.question_type})


async def show_analytics(request: Request) -> Response:
    """Figures over a time: the last week, unless `since` and `until` say otherwise."""
    _signed(request, "viewer", "reading analytics")
    gateway, query = _gateway(request), request.query_params
    until = _moment(query.get("until"), "until") or gateway.clock()
    since = _moment(query.get("since"), "since") or until - RECENT
    bucket = query.get("bucket", "day")
    if bucket not in LENGTHS:
        raise InputError(f"bucket: {bucket!r} is none of {', '.join(LENGTHS)}")
    kind = query.get("question_type")
    await gateway.written(PATIENCE)
    found = await gateway.database.read(analytics, since, until, kind.upper() if kind else None, bucket)
    return _json(found)


async def show_spending(request: Request) -> Response:
    """What was spent, by day, key, team and model: in the last week, unless `since` and `until` say otherwise."""
    caller, gateway = _signed(request, "viewer", "reading what was spent"), _gateway(request)
    until = _moment(request.query_params.get("until"), "until") or gateway.clock()
    since = _moment(request.query_params.get("since"), "since") or until - RECENT
    await gateway.written(PATIENCE)
    return _json(await gateway.database.read(spend_report, since, until, caller))


async def show_metrics(request: Request) -> Response:
    """The counters, for Prometheus."""
    _signed(request, "viewer", "reading metrics")
    return Response(_gateway(request).figures(), media_type="text/plain; version=0.0.4; charset=utf-8")


async def show_health(request: Request) -> Response:  # noqa: ARG001
    """Whether the gateway lives."""
    return _json({"status": "ok", "version": __version__})


async def show_readiness(request: Request) -> Response:
    """Whether the gateway can do its work now, and if not, why."""
    found = await _gateway(request).readiness.report()
    reply = _json({"status": "ready" if found.ready else "unavailable", **msgspec.to_builtins(found)})
    reply.status_code = 200 if found.ready else 503
    return reply


def _signed(request: Request, role: Role, what: str) -> Caller:
    caller = cast("Caller", request.scope["state"]["caller"])
    require(caller, role, what)
    return caller


def _gateway(request: Request) -> Gateway:
    return cast("Gateway", request.app.state.gateway)


async def _names(request: Request, caller: Caller) -> Sequence[str]:
    state, gateway = request.app.state, _gateway(request)
    names = cast("ModelNames", state.names).listed(await cast("Allowances", state.allowances).of(caller.key_id))
    return [*names, gateway.council.name] if gateway.council is not None else names


def _model(name: str) -> dict[str, Any]:
    owner = name.partition(":")[0] if ":" in name else ITSELF
    return {"id": name, "object": "model", "created": 0, "owned_by": owner}


def _moment(text: str | None, name: str) -> datetime | None:
    """A point in time from a query. Without a time zone it is one of UTC."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InputError(f"{name}: {text!r} is no time, such as 2026-11-15T08:00:00Z") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _json(data: Any) -> Response:
    return Response(msgspec.json.encode(data), media_type="application/json")
