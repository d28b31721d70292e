"""A run as a stream of server-sent events: how far it is whenever that changes, and at the end what it came to.

The stream is made of what the run says of itself now, so it tells the same of a run that another process works off, and
a client that connects again misses nothing that still holds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from fastapi import Response
from starlette.types import Receive, Scope, Send

from rubrica.errors import RubricaError
from rubrica.workspace.run_listing import UNDER_WAY
from rubrica.workspace.run_service import RunStatus

from .event_stream import EVENTS, KEEP_ALIVE, STILL_THERE, event_block, stream_end, stream_part, stream_start
from .gateway.presence import ClientPresence
from .run_shapes import run_shown

EVERY = 0.3
EVERY_ELSEWHERE = 3.0
"""Seconds between two looks: at a run of this server, and at one of another process."""

Look = Callable[[], Awaitable[RunStatus | None]]
"""How far a run is now; None: whoever follows may not any more."""


def event_id(status: RunStatus) -> str:
    """Names what an event says: two looks that find the same are one event."""
    line = status.line
    return f"{line.id}-{line.evaluations}-{status.broken}-{'stopping' if status.stopping else line.state}"


class RunEvents(Response):
    """The stream. It ends with the run, with the client, or when the client may not follow any more."""

    def __init__(
        self, status: RunStatus, look: Look, presence: ClientPresence, seen: str = "", every: float | None = None
    ) -> None:
        super().__init__(media_type=EVENTS)
        self._status, self._look, self._presence, self._seen = status, look, presence, seen
        self._every = every or (EVERY if status.here else EVERY_ELSEWHERE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - as ASGI calls it
        await self._presence.attend(receive, self._tell(send))

    async def _tell(self, send: Send) -> None:
        await send(stream_start())
        status: RunStatus | None = self._status
        seen, quiet_since = self._seen, time.monotonic()
        while status is not None:
            if (mark := event_id(status)) != seen:
                name = "progress" if status.line.state in UNDER_WAY else "ended"
                await send(stream_part(event_block(name, run_shown(status), mark)))
                seen, quiet_since = mark, time.monotonic()
            elif time.monotonic() - quiet_since >= KEEP_ALIVE:
                await send(stream_part(STILL_THERE))
                quiet_since = time.monotonic()
            if status.line.state not in UNDER_WAY:
                break
            await asyncio.sleep(self._every)
            try:
                status = await self._look()
            except RubricaError as error:  # such as a run that is no longer shared
                await send(stream_part(event_block("error", {"detail": str(error)}, "last")))
                break
        await send(stream_end())
