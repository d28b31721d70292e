"""The OpenAPI document: FastAPI's, with API keys and problem details declared once for all routes."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

DESCRIPTION = """
A *rubric* is a versioned definition of quality that one engine runs. Paths and payloads call it an evaluation
(`/api/evaluations`, `evaluation_id`). Create one, try it with `/test` (nothing is stored), `/execute` it, or attach it
to a game with a weight and submit rounds.

**Keys.** `Authorization: Bearer rk_…` (or `X-API-Key`). `rubrica keys create --role admin` makes the first. A server
without keys serves its own machine only, and everybody there is an admin. Roles: *viewer* reads, and tries rubrics out;
*player* also executes, plays and rates; *author* also creates and changes rubrics and games; *admin* may do everything.
Somebody else's private things do not exist for you: 404.

**Errors** are problem details (RFC 9457, `application/problem+json`): `detail` says what is wrong and the way out;
`problems` lists everything wrong with a document, each with its `path`.

**Lists** come in pages: `{"items": […], "next": cursor}`. Give `next` back as `cursor` for the following page.

**Two editors.** `GET` gives an `ETag`; send it as `If-Match` with a change, and it is refused (412) if somebody else
was quicker.

**Repeats.** A `POST` with an `Idempotency-Key` of your own making has one effect and one reply, however often it is
sent within 24 hours.
""".strip()

TAGS = [
    {"name": "evaluations", "description": "Rubrics: create, read, change, try out, execute."},
    {"name": "versions", "description": "Every change is a new version: read, compare, restore, fork, move."},
    {"name": "marketplace", "description": "Public rubrics: browse, import, rate."},
    {"name": "games", "description": "Rounds of players, judged by the attached rubrics; leaderboards."},
    {"name": "players", "description": "Who plays."},
    {"name": "scores", "description": "What was given, with every point explained."},
    {"name": "runs", "description": "Many cases judged by one rubric: start, follow, stop, go on."},
    {"name": "reviews", "description": "People score a sample of a run, and the judge is held against them."},
    {"name": "preferences", "description": "Which of several responses is better."},
    {"name": "council", "description": "Several models answer, review each other, and one has the last word."},
    {"name": "webhooks", "description": "Addresses that are told when a session or a run has ended."},
    {"name": "education", "description": "Questions for learners: written, and judged."},
    {"name": "keys", "description": "Who may call."},
    {"name": "server", "description": "Whether it lives."},
]

METHODS = ("get", "post", "put", "patch", "delete")
PROBLEM = {
    "type": "object",
    "title": "Problem",
    "description": "A problem detail (RFC 9457).",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "Which kind, as a URN.", "examples": ["urn:rubrica:problem:stale"]},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong, and the way out."},
        "instance": {"type": "string", "description": "The path that was asked for."},
        "request_id": {"type": "string", "description": "Finds the request in the server's log."},
        "problems": {
            "type": "array",
            "description": "Everything wrong with the document, not just the first.",
            "items": {
                "type": "object",
                "required": ["message", "path", "where"],
                "properties": {
                    "message": {"type": "string"},
                    "path": {"type": "array", "items": {"type": ["string", "integer"]}},
                    "where": {"type": "string", "examples": ["rules[0].patterns[1].regex"]},
                    "fix": {"type": "string"},
                    "line": {"type": "integer"},
                },
            },
        },
    },
}
SCHEMES = {
    "bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "rk_…"},
    "header": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
}
ONCE = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Of your own making, new for each request: repeats have one effect and one reply.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
}


def describe(app: FastAPI) -> None:
    """Make the app describe itself this way."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            made = get_openapi(
                title=app.title,
                version=app.version,
                summary=app.summary,
                description=app.description,
                routes=app.routes,
                tags=app.openapi_tags,
            )
            app.openapi_schema = _completed(made)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # the way FastAPI documents


def _completed(document: dict[str, Any]) -> dict[str, Any]:
    components = document.setdefault("components", {})
    components["securitySchemes"] = SCHEMES
    components["responses"] = {
        "Problem": {
            "description": "It did not work; the body says why, and the way out.",
            "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
    }
    schemas = components.setdefault("schemas", {})
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = PROBLEM
    document["security"] = [{"bearer": []}, {"header": []}]
    for path, item in document["paths"].items():
        for method, operation in item.items():
            _complete(operation, path, method)
    document["paths"] = {
        path: {method: item[method] for method in METHODS if method in item}
        for path, item in sorted(document["paths"].items())
    }
    return document


def _complete(operation: dict[str, Any], path: str, method: str) -> None:
    """Every operation may end in a problem; which, its status says."""
    responses = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422", "")):
        del responses["422"]
    for status, response in responses.items():
        if response["description"] == "Successful Response":  # FastAPI's word for anything that works
            response["description"] = HTTPStatus(int(status)).phrase
    responses["default"] = {"$ref": "#/components/responses/Problem"}
    if path == "/healthz":
        operation["security"] = []
    if method == "post" and path not in ("/api/keys", "/api/webhooks"):
        operation.setdefault("parameters", []).append(ONCE)
