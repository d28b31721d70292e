"""Middleware around every reply: request id, security headers, and never a traceback."""

from __future__ import annotations

import re
import secrets

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import refusal, refusal_of

SECURITY = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
POLICY = (
    b"content-security-policy",
    b"default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    b"frame-ancestors 'none'",
)
CACHING = (b"cache-control", b"private, no-cache")
"""Replies differ by caller; a cache asks again each time, which an ETag makes cheap."""

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}\Z")


class Envelope:
    """The outermost layer: whatever happens inside, a proper reply comes out."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        state = scope.setdefault("state", {})
        state["request_id"] = request_id.decode()
        begun = False

        async def addressed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                _add_headers(message["headers"], request_id)
            await send(message)

        if b"%00" in scope["query_string"] or "\0" in scope["path"]:
            await refusal(scope, 400, "no name or text here holds a NUL character")(scope, receive, addressed)
            return
        try:
            await self._app(scope, receive, addressed)
        except Exception as error:  # the boundary of a request
            reply = refusal_of(scope, error)  # this logs it
            if begun:
                raise  # too late for a proper reply: the server breaks the connection off
            await reply(scope, receive, addressed)


def _request_id(scope: Scope) -> bytes:
    """The id a proxy gave the request, if it is one, or a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id" and _REQUEST_ID.match(value):
            return bytes(value)
    return secrets.token_hex(8).encode()


def _add_headers(headers: list[tuple[bytes, bytes]], request_id: bytes) -> None:
    given = {name for name, _ in headers}
    headers.append((b"x-request-id", request_id))
    headers += [(name, value) for name, value in (*SECURITY, POLICY, CACHING) if name not in given]
