"""An application that can be replaced while it serves: new requests go to the new one, those under way end in the old.

A replacement is opened and started before anything changes. One that cannot be leaves everything as it was.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable, Coroutine
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rubrica.errors import RubricaError

LOG = logging.getLogger("rubrica.gateway")


class AppGeneration:
    """One application from its start to its end, and how many requests are under way in it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.busy = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._told: asyncio.Queue[Message] = asyncio.Queue()
        self._started: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._life: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Let it start. A RubricaError says why it could not."""
        self._life = asyncio.create_task(self._live(), name="gateway-generation")
        await self._told.put({"type": "lifespan.startup"})
        if failure := await self._started:
            raise RubricaError(f"the gateway could not start: {failure}")

    async def end(self) -> None:
        """Let it end, once its requests have."""
        await self._idle.wait()
        await self._told.put({"type": "lifespan.shutdown"})
        if self._life is not None:
            await self._life

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.busy += 1
        self._idle.clear()
        try:
            await self.app(scope, receive, send)
        finally:
            self.busy -= 1
            if not self.busy:
                self._idle.set()

    async def _live(self) -> None:
        scope: Scope = {"type": "lifespan", "asgi": {"version": "3.0", "spec_version": "2.0"}, "state": {}}
        try:
            await self.app(scope, self._told.get, self._hear)
        except Exception as error:
            if self._started.done():
                raise
            self._started.set_result(str(error) or type(error).__name__)
        finally:
            if not self._started.done():
                self._started.set_result("it ended at once")

    async def _hear(self, message: Message) -> None:
        if message["type"].startswith("lifespan.startup") and not self._started.done():
            failed = message["type"].endswith("failed")
            self._started.set_result(message.get("message", "no reason was given") if failed else "")


class ReloadableApp:
    """Serves what `opening` makes; with `on_hangup`, what it makes anew for every SIGHUP."""

    def __init__(self, opening: Callable[[], ASGIApp], *, on_hangup: bool = False) -> None:
        self._opening, self._on_hangup = opening, on_hangup
        self._first: ASGIApp | None = opening()  # what is wrong with it is told now
        self._current: AppGeneration | None = None
        self._reloading = asyncio.Lock()
        self._tasks: set[asyncio.Task[object]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._current is not None:
            await self._current.answer(scope, receive, send)

    async def reload(self) -> bool:
        """Open and start a new application, and let the old one end; False: it cannot be, and the old one stays."""
        async with self._reloading:
            try:
                fresh = AppGeneration(await asyncio.to_thread(self._opening))
                await fresh.start()
            except Exception as error:  # whatever is wrong with it, what serves goes on
                foreseen = isinstance(error, RubricaError | OSError)
                said = "the configuration cannot be used, and stays as it was: %s"
                LOG.error(said, error, exc_info=None if foreseen else error)
                return False
            old, self._current = self._current, fresh
            if old is not None:
                LOG.warning("the configuration was read again; %d requests end with the old one", old.busy)
                self._spawn(old.end())
            return True

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        first, self._first = self._first, None
        if first is None:
            raise RuntimeError("an application is started once")
        self._current = AppGeneration(first)
        try:
            await self._current.start()
        except RubricaError as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        if self._on_hangup:
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, lambda: self._spawn(self.reload()))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if self._on_hangup:
            asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
        while self._tasks:
            await asyncio.wait(self._tasks)
        await self._current.end()
        await send({"type": "lifespan.shutdown.complete"})

    def _spawn(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
