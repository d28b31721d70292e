"""Middleware of the gateway: gives every request a trace id, and recognises its sender by a key."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rubrica.errors import StoreError
from rubrica.server.sign_in import Authenticator
from rubrica.store.columns import new_id

from .messages_out import error_response
from .refusals import ErrorReply, from_problem, refusal_of

OPEN_PATHS = frozenset({"/", "/healthz", "/readyz"})
_OURS = b"rk_"
_KEY_HEADERS = (b"authorization", b"x-api-key")
_DRAWN = 256


class TraceIds:
    """Makes ids of requests. Their noise is drawn in advance: a system call for each took a twentieth of a request.

    >>> from datetime import UTC
    >>> traces, now = TraceIds(), datetime(2026, 1, 1, tzinfo=UTC)
    >>> len({traces.new(now) for _ in range(1000)}), traces.new(now).version
    (1000, 7)
    """

    def __init__(self) -> None:
        self._noise: list[int] = []

    def new(self, now: datetime) -> UUID:
        if not self._noise:
            drawn = os.urandom(10 * _DRAWN)
            self._noise = [int.from_bytes(drawn[place : place + 10]) >> 6 for place in range(0, len(drawn), 10)]
        return new_id(now, self._noise.pop())


class GatewaySignIn:
    """Lets through who the door knows, and leaves `trace` and `caller` in ``scope["state"]``."""

    def __init__(self, app: ASGIApp, door: Authenticator, clock: Callable[[], datetime]) -> None:
        self._app, self._door, self._clock = app, door, clock
        self._traces = TraceIds()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state = scope.setdefault("state", {})
        trace = state["trace"] = self._traces.new(self._clock())
        if scope["path"] not in OPEN_PATHS:
            try:
                admitted = await self._door.admit(_with_our_keys_only(scope))
            except StoreError as error:
                await error_response(scope["path"], refusal_of(error, str(trace)), str(trace))(scope, receive, send)
                return
            if isinstance(admitted, Response):
                await error_response(scope["path"], from_problem(admitted), str(trace))(scope, receive, send)
                return
            state["caller"] = admitted
        await self._app(scope, receive, send)


def _with_our_keys_only(scope: Scope) -> Scope:
    """The request without a key that cannot be one of ours.

    OpenAI's and Anthropic's clients always send one. On a gateway without keys it stands for nothing; on one with keys
    it is as good as none.
    """
    foreign = [name for name, value in scope["headers"] if name in _KEY_HEADERS and not _is_ours(name, value)]
    if not foreign:
        return scope
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0] not in foreign]}


def _is_ours(name: bytes, value: bytes) -> bool:
    key = value.partition(b" ")[2] if name == b"authorization" else value
    return key.strip().startswith(_OURS)


UNKNOWN_PATH = ErrorReply(404, "there is no such path here; POST /v1/chat/completions answers", code="unknown_url")
