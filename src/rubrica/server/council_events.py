"""A session of the council as a stream of server-sent events, from its beginning or from where a client was.

An event's id names the session and the event's number in it, so that a client which connects again says by it what it
has seen, wherever it connects.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from uuid import UUID

from fastapi import Request, Response
from starlette.types import Receive, Scope, Send

from rubrica.errors import MissingError, RubricaError
from rubrica.store.council_sessions import StoredEvent
from rubrica.workspace.access import Caller
from rubrica.workspace.council_sessions import open_session, session_news

from .event_stream import EVENTS, KEEP_ALIVE, STILL_THERE, event_block, stream_end, stream_part, stream_start
from .gateway.presence import ClientPresence
from .service import Service
from .shared import shared_instance

ADMITTED_FOR = 10.0
"""Seconds after which a stream asks whether the key is still good."""


def session_path(session_id: UUID) -> str:
    """Where a session is read."""
    return f"/api/council/sessions/{session_id}"


def event_id(session_id: UUID, number: int) -> str:
    """What a client says it has seen.

    >>> seen_of(event_id(UUID(int=7), 3))
    (UUID('00000000-0000-0000-0000-000000000007'), 3)
    """
    return f"{session_id}.{number}"


def seen_of(text: str) -> tuple[UUID, int] | None:
    """The session and the number that an id names; None where it is none of ours."""
    session, _, number = text.strip().partition(".")
    try:
        return (UUID(session), int(number)) if number.isascii() and number.isdecimal() and len(number) < 10 else None
    except ValueError:
        return None


def followed(request: Request, caller: Caller, service: Service, session_id: UUID, after: int = 0) -> Response:
    """The stream of a session after an event."""
    return SessionEvents(request, caller, service, session_id, after)


async def resumed(request: Request, caller: Caller, service: Service) -> Response:
    """The stream that a client's `Last-Event-ID` goes on with; 204 where there is nothing left to tell."""
    seen = seen_of(request.headers.get("last-event-id", ""))
    if seen is None:
        return Response(status_code=204)
    try:
        news = await service.database.read(session_news, caller, *seen)
    except MissingError:
        return Response(status_code=204)
    if news.line.state != "running" and not news.events:
        return Response(status_code=204)
    return followed(request, caller, service, *seen)


class SessionEvents(Response):
    """The stream. It ends with the session, with the client, or when the client may not follow any more; the session
    goes on without it."""

    def __init__(self, request: Request, caller: Caller, service: Service, session_id: UUID, after: int) -> None:
        super().__init__(media_type=EVENTS)
        self._request, self._caller, self._service = request, caller, service
        self._session_id, self._after = session_id, after
        self.keep_alive = KEEP_ALIVE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as ASGI calls it
        presence = shared_instance(self._request.app, ClientPresence)
        await presence.attend(receive, self._tell(send))

    async def _tell(self, send: Send) -> None:
        start = stream_start()
        start["headers"] = [*start["headers"], (b"content-location", session_path(self._session_id).encode())]
        await send(start)
        try:
            async with aclosing(self._blocks()) as blocks:
                async for block in blocks:
                    await send(stream_part(block))
        except RubricaError as error:  # such as a session that was deleted meanwhile
            await send(stream_part(event_block("error", {"detail": str(error)}, "last")))
        await send(stream_end())

    async def _blocks(self) -> AsyncGenerator[bytes, None]:
        admitted = time.monotonic()
        following = self._service.sessions.follow(self._caller, self._session_id, self._after, self.keep_alive)
        async with aclosing(following) as events:
            async for event in events:
                if time.monotonic() - admitted > ADMITTED_FOR:
                    admitted = time.monotonic()
                    if not await self._may_still():
                        return
                yield STILL_THERE if event is None else await self._block(event)

    async def _block(self, event: StoredEvent) -> bytes:
        data: dict[str, Any] = dict(event.data)
        if event.name == "concluded":
            session = await self._service.database.read(open_session, self._caller, self._session_id)
            data["result"] = session.result
        return event_block(event.name, data, event_id(self._session_id, event.number))

    async def _may_still(self) -> bool:
        found = await self._request.app.state.door.admit(self._request.scope)
        return isinstance(found, Caller) or found.status_code not in (401, 403)
