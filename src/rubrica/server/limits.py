"""How much one caller may send: bytes in a body, requests in a minute."""

from __future__ import annotations

import asyncio

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import refusal

BODY_SECONDS = 60.0
"""Seconds in which a body must have come."""


class Bucket:
    """A bucket of tokens that fills by itself; each request takes one.

    >>> bucket = Bucket(per_minute=60, now=0.0)
    >>> sum(bucket.take(0.0) == 0.0 for _ in range(100))
    60
    >>> bucket.take(0.25), bucket.take(1.0)
    (0.75, 0.0)
    """

    __slots__ = ("_at", "_level", "_per_second", "_room")

    def __init__(self, per_minute: int, now: float) -> None:
        self._room = float(per_minute)
        self._per_second = per_minute / 60
        self._level = self._room
        self._at = now

    def take(self, now: float) -> float:
        """Take a token. 0: there was one; otherwise the seconds until there will be."""
        self._fill(now)
        if self._level < 1:
            return (1 - self._level) / self._per_second
        self._level -= 1
        return 0.0

    def wait(self, now: float) -> float:
        """The seconds until there will be a token; takes none."""
        self._fill(now)
        return max(0.0, (1 - self._level) / self._per_second)

    def _fill(self, now: float) -> None:
        self._level = min(self._room, self._level + (now - self._at) * self._per_second)
        self._at = now


class BodyLimit:
    """Refuses a body that is too large, at once by its declared length or as soon as what has come is too much; and
    one that takes too long to come, for somebody may send it byte by byte to keep the server busy."""

    def __init__(self, app: ASGIApp, most: int, patience: float = BODY_SECONDS) -> None:
        self._app = app
        self._most = most
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        for name, value in scope["headers"]:
            if name == b"content-length":
                if not value.isdigit() or int(value[:20]) > self._most:
                    await refusal(scope, 413, self._told)(scope, receive, send)
                    return
                if value != b"0":
                    receive = self._bounded(receive)
            elif name == b"transfer-encoding":
                receive = self._bounded(receive)
        await self._app(scope, receive, send)

    def _bounded(self, receive: Receive) -> Receive:
        come, complete = 0, False
        until = asyncio.get_running_loop().time() + self._patience

        async def bounded() -> Message:
            nonlocal come, complete
            if complete:  # what follows is that the client goes away, which may take as long as it likes
                return await receive()
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(408, "the body took too long to come", {"Connection": "close"}) from None
            come += len(message.get("body", b""))
            if come > self._most:
                raise HTTPException(413, self._told, {"Connection": "close"})
            complete = not message.get("more_body", False)
            return message

        return bounded

    @property
    def _told(self) -> str:
        return f"the body has more than {self._most:,} bytes (rubrica serve --max-body allows more)"
