"""Workers of one server on one port: pages live in the memory of one of them, and the others pass requests for pages
on to it.

A page and its websocket must reach the same process, and the system gives connections to any. The process with the
pages therefore also listens on a socket file in a folder that only its siblings can open, and believes what they say
there of who calls. Requests to the API are answered by whoever gets them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import aiohttp
from starlette.types import ASGIApp, Receive, Scope, Send

from .problems import refusal, retry_after
from .sign_in import API, OPEN_PATHS

CALLER = b"x-rubrica-caller"
ANYWHERE = (OPEN_PATHS - {"/"}) | {"/signout"}
"""Paths that every worker answers itself, beside the API's."""
_OF_A_CONNECTION = frozenset(
    {
        b"connection",
        b"keep-alive",
        b"proxy-authenticate",
        b"proxy-authorization",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    }
)
_OF_A_SOCKET = frozenset({b"sec-websocket-key", b"sec-websocket-version", b"sec-websocket-extensions"})
Headers = list[tuple[bytes, bytes]]


class PageForwarder:
    """An app without pages, in front of a sibling that has them."""

    def __init__(self, app: ASGIApp, place: Path) -> None:
        self._app, self._place = app, place
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            try:
                await self._app(scope, receive, send)
            finally:
                if self._session is not None:
                    await self._session.close()
        elif scope["type"] == "websocket":
            await self._forward_socket(scope, receive, send)
        elif scope["path"].startswith(API) or scope["path"] in ANYWHERE:
            await self._app(scope, receive, send)
        else:
            await self._forward(scope, receive, send)

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(str(self._place), limit=0),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=aiohttp.ClientTimeout(total=None, connect=10),
                auto_decompress=False,
                skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
            )
        return self._session

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = {name for name, _ in scope["headers"]}
        has_body = b"content-length" in names or b"transfer-encoding" in names
        asking = self._opened().request(
            scope["method"],
            _address(scope, "http"),
            headers=_passed(scope),
            data=_body(receive) if has_body else None,
            allow_redirects=False,
        )
        try:
            async with asking as reply:
                headers = [(name.lower(), value) for name, value in reply.raw_headers]
                kept = [own for own in headers if own[0] not in _OF_A_CONNECTION]
                await send({"type": "http.response.start", "status": reply.status, "headers": kept})
                async for part in reply.content.iter_any():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body", "body": b""})
        except aiohttp.ClientConnectorError:
            told = "the pages are being started anew (try again in a moment)"
            await refusal(scope, 503, told, headers=retry_after(1))(scope, receive, send)

    async def _forward_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # that somebody connects
        headers = [own for own in _passed(scope).items() if own[0].lower().encode("latin-1") not in _OF_A_SOCKET]
        try:
            inner = await self._opened().ws_connect(
                _address(scope, "http"), headers=dict(headers), max_msg_size=0, autoclose=True, compress=0
            )
        except aiohttp.ClientError:
            await send({"type": "websocket.close", "code": 1008})
            return
        async with inner:
            await send({"type": "websocket.accept", "subprotocol": inner.protocol})
            both = [asyncio.create_task(_inwards(receive, inner)), asyncio.create_task(_outwards(inner, send))]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for task in both:
                task.cancel()
            await asyncio.gather(*both, return_exceptions=True)


class SiblingPages:
    """The app with the pages: what comes through the socket file was sent by a sibling, which says for whom."""

    def __init__(self, app: ASGIApp, own: ASGIApp) -> None:
        self._app, self._own = app, own  # as it is served to others, and to siblings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or scope.get("client") is not None:
            await self._app(scope, receive, send)
            return
        called = [value for name, value in scope["headers"] if name == CALLER]
        rest = [own for own in scope["headers"] if own[0] != CALLER]
        client = (called[0].decode("latin-1"), 0) if called else None
        await self._own({**scope, "headers": rest, "client": client}, receive, send)


def _address(scope: Scope, scheme: str) -> str:
    host = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"host"), "localhost")
    query = scope["query_string"].decode("latin-1")
    path = scope.get("raw_path", scope["path"].encode()).decode("latin-1")
    return f"{scheme}://{host}{path}{'?' if query else ''}{query}"


def _passed(scope: Scope) -> dict[str, str]:
    """The headers that go on, with the caller's address in place of whatever was said of it."""
    dropped = _OF_A_CONNECTION | {CALLER}
    passed: dict[str, str] = {}
    for name, value in scope["headers"]:
        if name not in dropped:
            known, text = passed.get(name.decode("latin-1")), value.decode("latin-1")
            joint = "; " if name == b"cookie" else ", "
            passed[name.decode("latin-1")] = text if known is None else f"{known}{joint}{text}"
    if scope.get("client"):
        passed[CALLER.decode()] = scope["client"][0]
    return passed


async def _body(receive: Receive) -> AsyncIterator[bytes]:
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ConnectionResetError("the client went away")
        if part := message.get("body", b""):
            yield part
        if not message.get("more_body", False):
            return


async def _inwards(receive: Receive, inner: aiohttp.ClientWebSocketResponse) -> None:
    while (message := await receive())["type"] == "websocket.receive":
        if message.get("text") is not None:
            await inner.send_str(message["text"])
        else:
            await inner.send_bytes(message.get("bytes") or b"")


async def _outwards(inner: aiohttp.ClientWebSocketResponse, send: Send) -> None:
    async for message in inner:
        if message.type is aiohttp.WSMsgType.TEXT:
            await send({"type": "websocket.send", "text": message.data})
        elif message.type is aiohttp.WSMsgType.BINARY:
            await send({"type": "websocket.send", "bytes": message.data})
    with suppress(RuntimeError):  # the client was quicker
        await send({"type": "websocket.close", "code": inner.close_code or 1000})
