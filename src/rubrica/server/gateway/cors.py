"""Web pages of named origins may use the gateway from a browser; without any, browsers keep all others out."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Receive, Scope, Send

EXPOSED = (
    "retry-after",
    "x-request-id",
    "x-should-retry",
    *(
        f"x-sleipner-{name}"
        for name in (
            "cache", "cost", "degraded", "model", "question-type", "refused", "savings", "score", "tier", "trace",
        )
    ),
)  # fmt: skip
"""Headers that a page may read."""

REMEMBERED = 600
"""Seconds for which a browser need not ask again."""


def with_origins(app: ASGIApp, origins: Sequence[str]) -> ASGIApp:
    """The application for pages of these origins, too. What browsers ask first is answered without a key."""
    if not origins:
        return app
    return CORSMiddleware(
        AllowedOrigins(app, origins),
        allow_origins=origins,
        allow_methods=["GET", "POST"],
        allow_headers=["*"],
        expose_headers=EXPOSED,
        max_age=REMEMBERED,
    )


class AllowedOrigins:
    """Takes the Origin header off requests from pages that are allowed: a gateway without keys refuses all others."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self._app, self._allowed = app, {origin.encode() for origin in origins}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            kept = [
                (name, value) for name, value in scope["headers"] if name != b"origin" or value not in self._allowed
            ]
            scope = {**scope, "headers": kept}
        await self._app(scope, receive, send)
