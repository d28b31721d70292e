"""How much one caller may send: bytes in a body, requests in a minute."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import refusal


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
    """Refuses a body that is too large, at once by its declared length or as soon as what has come is too much. One
    that takes too long to come is the business of `rubrica.server.connection`."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most

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
        come = 0

        async def bounded() -> Message:
            nonlocal come
            message = await receive()
            come += len(message.get("body", b""))
            if come > self._most:
                raise HTTPException(413, self._told, {"Connection": "close"})
            return message

        return bounded

    @property
    def _told(self) -> str:
        return f"the body has more than {self._most:,} bytes (rubrica serve --max-body allows more)"
