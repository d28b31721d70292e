"""Every error as a problem detail (RFC 9457): what, where, and the way out; never what goes on inside."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, get_args

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route
from starlette.types import Scope

from rubrica.errors import (
    BusyError,
    ConflictError,
    ContextError,
    DeniedError,
    InputError,
    MissingError,
    Problem,
    RubricaError,
    RubricError,
    SpendingLimitError,
    StaleError,
    StoredError,
    StoreError,
)
from rubrica.hints import did_you_mean
from rubrica.phrases import fault_path, fault_words

MEDIA_TYPE = "application/problem+json"
TYPES = "urn:rubrica:problem:"
LOG = logging.getLogger("rubrica.server")

KINDS: Mapping[type[RubricaError], tuple[int, str]] = {
    SpendingLimitError: (429, "spending-limit"),
    StaleError: (412, "stale"),
    ConflictError: (409, "conflict"),
    MissingError: (404, "missing"),
    DeniedError: (403, "denied"),
    StoreError: (503, "unavailable"),
    BusyError: (503, "unavailable"),
    RubricError: (422, "rubric"),
    ContextError: (422, "context"),
    InputError: (422, "input"),
    StoredError: (500, "internal"),
    RubricaError: (422, "input"),
}
"""Status and type by error; the first that an error is an instance of."""

_BY_STATUS = {400: "malformed", 401: "unauthenticated", 403: "denied", 404: "missing", 405: "method"}
_BY_STATUS |= {408: "timeout", 409: "conflict", 412: "stale", 413: "too-large", 415: "media-type", 422: "input"}
_BY_STATUS |= {428: "precondition", 429: "too-many", 500: "internal", 503: "unavailable"}

MOST_KEYS_LISTED = 12
INTERNAL = "something went wrong here, not with the request; the server's log has it under this request_id"


def retry_after(seconds: float) -> dict[str, str]:
    """The header that tells a client when to come back.

    >>> retry_after(0.2)
    {'Retry-After': '1'}
    """
    return {"Retry-After": str(max(1, math.ceil(seconds)))}


def refusal(
    scope: Mapping[str, Any],
    status: int,
    detail: str,
    *,
    kind: str | None = None,
    problems: Sequence[Problem] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """A problem detail as a response; `scope` is the ASGI scope of the request it answers."""
    body: dict[str, object] = {
        "type": TYPES + (kind or _BY_STATUS.get(status, "other")),
        "title": _title(status),
        "status": status,
        "detail": detail,
        "instance": scope.get("path", ""),
    }
    if request_id := scope.get("state", {}).get("request_id"):
        body["request_id"] = request_id
    if problems:
        body["problems"] = [_problem_dict(problem) for problem in problems]
    return Response(msgspec.json.encode(body), status, dict(headers or {}), MEDIA_TYPE)


def refusal_of(scope: Mapping[str, Any], error: Exception) -> Response:
    """The problem detail of any error. What nobody foresaw is logged, and told without its insides."""
    if isinstance(error, RubricaError):
        status, kind = next(told for known, told in KINDS.items() if isinstance(error, known))
        if status == 500:
            return _unforeseen(scope, error)
        if isinstance(error, StoreError):
            LOG.error("%s: %s", scope.get("state", {}).get("request_id"), error)
            detail = "the database cannot be used now; nothing was half-written (try again)"
            return refusal(scope, status, detail, kind=kind, headers={"Retry-After": "1"})
        if isinstance(error, BusyError):
            return refusal(scope, 429 if error.own else 503, str(error), headers={"Retry-After": "5"})
        if isinstance(error, SpendingLimitError):
            if error.retry_after is None:  # waiting does not help
                return refusal(scope, 402, str(error), kind=kind)
            return refusal(scope, status, str(error), kind=kind, headers=retry_after(error.retry_after))
        problems = error.problems if isinstance(error, RubricError) else ()
        return refusal(scope, status, str(error), kind=kind, problems=problems)
    if isinstance(error, HTTPException):
        if error.status_code >= 500 and error.status_code != 503:
            return _unforeseen(scope, error)
        return refusal(scope, error.status_code, _detail(error), headers=error.headers)
    if isinstance(error, RequestValidationError):
        return _invalid(scope, error)
    return _unforeseen(scope, error)


def install(app: FastAPI) -> None:
    """Make an app answer every error this way."""

    async def answer(request: Request, error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.status_code == 405:
            allowed = ", ".join(_methods(app, request.scope))
            return refusal(request.scope, 405, f"this path takes {allowed}", headers={"Allow": allowed})
        return refusal_of(request.scope, error)

    for kind in (RubricaError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, answer)


def _unforeseen(scope: Mapping[str, Any], error: Exception) -> Response:
    request_id = scope.get("state", {}).get("request_id")
    LOG.error("%s: %s %s", request_id, scope.get("method"), scope.get("path"), exc_info=error)
    return refusal(scope, 500, INTERNAL)


def _invalid(scope: Mapping[str, Any], error: RequestValidationError) -> Response:
    """What FastAPI and pydantic found wrong with a body, a query or a path."""
    problems = []
    for fault in error.errors():
        place, *path = fault["loc"] or ("body",)
        found = fault_path({**fault, "loc": path}, error.body) if place == "body" else (place, *path)
        if fault["type"] == "json_invalid":
            return refusal(scope, 400, f"the body is not JSON: {fault['ctx']['error']}")
        problems.append(Problem(fault_words(fault), found, fix=_hint(scope, fault, found)))
    detail = "\n".join(str(problem) for problem in problems)
    return refusal(scope, 422, detail, problems=problems)


def _hint(scope: Mapping[str, Any], fault: Mapping[str, Any], path: Sequence[str | int]) -> str:
    """What a key of a body that nobody knows may have been meant to be."""
    if fault["type"] != "extra_forbidden" or not path:
        return ""
    body = getattr(scope.get("route"), "body_field", None)
    models = [] if body is None else _models(body.field_info.annotation)
    for step in path[:-1]:
        if isinstance(step, str):
            fields = [model.model_fields[step] for model in models if step in model.model_fields]
            models = [inner for field in fields for inner in _models(field.annotation)]
    known = {name for model in models for name in model.model_fields}
    listed = f"there are {', '.join(sorted(known))}" if 0 < len(known) <= MOST_KEYS_LISTED else ""
    return did_you_mean(str(path[-1]), known, listed)


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models in a type, such as those that a list or a choice is of."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for inner in get_args(annotation) for model in _models(inner)]


def _problem_dict(problem: Problem) -> dict[str, object]:
    told: dict[str, object] = {"message": problem.message, "path": list(problem.path), "where": problem.where}
    if problem.fix:
        told["fix"] = problem.fix
    if problem.line is not None:
        told["line"] = problem.line
    return told


def _detail(error: HTTPException) -> str:
    if error.status_code == 404 and error.detail == "Not Found":
        return "there is no such path here (GET /docs lists them)"
    return str(error.detail)


def _methods(app: FastAPI, scope: Scope) -> list[str]:
    """What a path takes: its routes are one for each method."""
    fitting = [route for route in app.routes if isinstance(route, Route) and route.matches(scope)[0] != Match.NONE]
    return sorted({method for route in fitting for method in route.methods or ()})


def _title(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Refused"
