"""A session of the council as a stream of server-sent events: one as each thing happens, and the result at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import msgspec
from fastapi import Response
from starlette.types import Receive, Scope, Send

from rubrica.council.events import Concluded, Event, Listener
from rubrica.council.result import CouncilResult

from .event_stream import KEEP_ALIVE, STILL_THERE, event_block, stream_end, stream_part, stream_start
from .gateway.presence import ClientPresence

Session = Callable[[Listener], Awaitable[CouncilResult]]
Refuse = Callable[[Exception], Response]


class CouncilEvents(Response):
    """The stream. What goes wrong before the first event is a reply of its own; later it is an event, the last one.

    The session ends when the client goes away.
    """

    def __init__(
        self, session: Session, refuse: Refuse, presence: ClientPresence, keep_alive: float = KEEP_ALIVE
    ) -> None:
        super().__init__(media_type="text/event-stream")
        self._session, self._refuse, self._presence = session, refuse, presence
        self._keep_alive = keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._presence.attend(receive, self._tell(scope, receive, send))

    async def _tell(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False
        try:
            async with aclosing(_blocks(self._session, self._keep_alive)) as blocks:
                async for block in blocks:
                    if not begun:
                        begun = True
                        await send(stream_start())
                    await send(stream_part(block))
        except Exception as error:  # noqa: BLE001 - the boundary of a session
            refused = self._refuse(error)
            if not begun:
                await refused(scope, receive, send)
                return
            await send(stream_part(event_block("error", msgspec.json.decode(refused.body), "last")))
        await send(stream_end())


async def _blocks(session: Session, keep_alive: float) -> AsyncGenerator[bytes, None]:
    """The events as they come. The last one holds the whole result, which is there a moment after it."""
    happened: asyncio.Queue[Event | None] = asyncio.Queue()
    work = asyncio.ensure_future(session(happened.put_nowait))
    work.add_done_callback(lambda _: happened.put_nowait(None))
    last: dict[str, Any] = {}
    number = 0
    try:
        while True:
            try:
                async with asyncio.timeout(keep_alive if number else None):
                    event = await happened.get()
            except TimeoutError:
                yield STILL_THERE
                continue
            if event is None:
                break
            number += 1
            if isinstance(event, Concluded):
                last = event.to_dict()
            else:
                plain = event.to_dict()
                yield event_block(plain["event"], plain, number)
        result = work.result()
        yield event_block("concluded", {**last, "result": result.to_dict()}, "last")
    finally:
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
