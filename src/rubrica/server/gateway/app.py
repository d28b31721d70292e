"""The gateway's application: OpenAI's and Anthropic's paths, startup and shutdown."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rubrica.errors import RubricaError
from rubrica.gateway.gateway import Gateway
from rubrica.gateway.model_names import ModelNames
from rubrica.server.plans import ServicePlans
from rubrica.server.service import Service, utc_now
from rubrica.server.sign_in import Authenticator

from . import extras
from .admission import GatewaySignIn
from .allowances import Allowances
from .completions import Completions
from .cors import with_origins
from .council import GatewayCouncil, council_of
from .embeddings import EmbeddingsEndpoint
from .messages_out import MessagesProtocol, error_response
from .protocol import ChatProtocol, ClientProtocol
from .refusals import ErrorReply, refusal_of
from .responses_out import ResponsesProtocol
from .token_counts import TokenCounts

PREFIXES = ("/v1", "/api/v1")
"""OpenAI's own, and the one that older clients of the gateway use."""

CHAT = "/chat/completions"
COMPLETIONS = frozenset(prefix + CHAT for prefix in PREFIXES)
PROTOCOLS: Mapping[str, Callable[[], ClientProtocol]] = {
    CHAT: ChatProtocol,
    "/messages": MessagesProtocol,
    "/responses": ResponsesProtocol,
}
"""How answers are asked for, by the path below each prefix."""


def create_app(gateway: Gateway, *, clock: Callable[[], datetime] = utc_now) -> ASGIApp:
    """OpenAI's protocol over a gateway, which is started and closed with the application, and so is its council."""
    council = gateway.council = council_of(gateway)
    door = Authenticator(Service(gateway.database, ServicePlans(), clock=clock))
    allowances = Allowances(gateway.database, gateway.settings.allowance)
    names = ModelNames.of(gateway.parts.main, gateway.settings.aliases)
    answering = {path: Completions(gateway, allowances, kind(), names) for path, kind in PROTOCOLS.items()}
    app = Starlette(
        routes=_routes(
            answering,
            {
                "/embeddings": EmbeddingsEndpoint(gateway, allowances).__call__,
                "/messages/count_tokens": TokenCounts(gateway.settings.max_body).__call__,
            },
        ),
        exception_handlers={RubricaError: _answer, HTTPException: _answer, Exception: _answer},
        lifespan=lambda _: _lifespan(gateway, door, council),
    )
    app.router.redirect_slashes = False
    app.state.gateway, app.state.allowances, app.state.names = gateway, allowances, names
    return with_origins(GatewaySignIn(CompletionsRouter(app, answering[CHAT]), door, clock), gateway.settings.cors)


class CompletionsRouter:
    """Sends requests for completions straight to where they are answered, and all else through Starlette.

    Completions tell their own errors, so that nothing has to stand around them.
    """

    def __init__(self, app: ASGIApp, completions: ASGIApp) -> None:
        self._app, self._completions = app, completions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asked = scope["type"] == "http" and scope["path"] in COMPLETIONS and scope["method"] == "POST"
        await (self._completions if asked else self._app)(scope, receive, send)


def _routes(
    answering: Mapping[str, ASGIApp], others: Mapping[str, Callable[[Request], Awaitable[Response]]]
) -> list[BaseRoute]:
    found: list[BaseRoute] = []
    for prefix in PREFIXES:
        found += [Route(prefix + path, endpoint, methods=["POST"]) for path, endpoint in answering.items()]
        found += [Route(prefix + path, endpoint, methods=["POST"]) for path, endpoint in others.items()]
        found += [
            Route(f"{prefix}/models", extras.list_models),
            Route(f"{prefix}/models/{{model:path}}", extras.show_model),
            Route(f"{prefix}/feedback", extras.give_feedback, methods=["POST"]),
        ]
    return [
        *found,
        Route("/api/gateway/analytics", extras.show_analytics),
        Route("/api/gateway/spending", extras.show_spending),
        Route("/metrics", extras.show_metrics),
        Route("/healthz", extras.show_health),
        Route("/readyz", extras.show_readiness),
        Route("/", extras.show_health),
    ]


@asynccontextmanager
async def _lifespan(gateway: Gateway, door: Authenticator, council: GatewayCouncil | None) -> AsyncIterator[None]:
    await gateway.start()
    try:
        yield
    finally:
        await door.settle()
        if council is not None:
            await council.close()
        await gateway.close()


async def _answer(request: Request, error: Exception) -> Response:
    trace, path = str(request.scope["state"].get("trace", "")), request.url.path
    if isinstance(error, HTTPException) and error.status_code in (404, 405):
        return error_response(path, _no_such_path(request, error), trace)
    return error_response(path, refusal_of(error, trace), trace)


def _no_such_path(request: Request, error: HTTPException) -> ErrorReply:
    what = f"{request.method} {request.url.path}"
    if error.status_code == 405:
        headers = error.headers or {}
        told = f"{what}: this path takes {headers.get('Allow', 'another method')}"
        return ErrorReply(405, told, code="method_not_supported", headers=headers)
    return ErrorReply(
        404, f"{what}: there is no such path here (POST /v1/chat/completions answers)", code="unknown_url"
    )
