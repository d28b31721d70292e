"""Notices clients that have disconnected, so that work for them is cancelled.

Watching one takes a task of its own, and most requests that only pass through are over before that pays. So whoever
is served for a while is watched, and a look every now and then finds who is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.types import Receive

A_WHILE = 0.1
"""Seconds: a client that goes is noticed after twice as long at most."""


class ClientPresence:
    """Watches over the clients that are served on one event loop."""

    def __init__(self) -> None:
        self._served: set[_Client] = set()
        self._looking = False

    async def attend(self, receive: Receive, work: Coroutine[Any, Any, None]) -> bool:
        """Do the work unless the client goes away, which cancels it; whether it was done. Its body must be read."""
        client = _Client(receive)
        self._served.add(client)
        if not self._looking:
            self._looking = True
            asyncio.get_running_loop().call_later(A_WHILE, self._look)
        try:
            await work
        except asyncio.CancelledError:
            if not client.has_gone():
                raise
            return False
        finally:
            self._served.discard(client)
            client.leave()
        return True

    def _look(self) -> None:
        """Begin to watch who was served already when it was last looked."""
        for client in self._served:
            client.stay()
        self._looking = bool(self._served)
        if self._looking:
            asyncio.get_running_loop().call_later(A_WHILE, self._look)


class _Client:
    """One client, and the task that serves it."""

    __slots__ = ("_gone", "_receive", "_stays", "_task", "_watch")

    def __init__(self, receive: Receive) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("a request is served by a task")
        self._receive, self._task = receive, task
        self._gone = self._stays = False
        self._watch: asyncio.Task[None] | None = None

    def stay(self) -> None:
        if self._stays and self._watch is None:
            self._watch = asyncio.get_running_loop().create_task(self._until_gone())
        self._stays = True

    def leave(self) -> None:
        if self._watch is not None:
            self._watch.cancel()

    def has_gone(self) -> bool:
        """Whether that is why the task was cancelled; somebody else may want it to end, too."""
        return self._gone and self._task.uncancel() == 0

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._gone = True
        self._task.cancel()
