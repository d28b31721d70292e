"""Replacing an application while it serves, and a port that several workers share."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rubrica.errors import RubricaError
from rubrica.server.gateway.reloading import ReloadableApp
from rubrica.server.listening import listen, reserve


class Answering:
    """An application that answers with its name, once it may."""

    def __init__(self, name: str, *, starts: bool = True) -> None:
        self.name, self.starts = name, starts
        self.may, self.asked = asyncio.Event(), asyncio.Event()
        self.ended = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await receive()
            await send({"type": "lifespan.startup.complete" if self.starts else "lifespan.startup.failed"})
            if self.starts:
                await receive()
                self.ended = True
                await send({"type": "lifespan.shutdown.complete"})
            return
        self.asked.set()
        await self.may.wait()
        assert not self.ended
        await send({"type": "http.response.start", "status": 200, "name": self.name})


@asynccontextmanager
async def living(app: ASGIApp) -> AsyncIterator[None]:
    """The application as a server runs it."""
    told: asyncio.Queue[Message] = asyncio.Queue()
    heard: asyncio.Queue[Message] = asyncio.Queue()
    life = asyncio.ensure_future(app({"type": "lifespan"}, told.get, heard.put))
    await told.put({"type": "lifespan.startup"})
    assert (await heard.get())["type"] == "lifespan.startup.complete"
    yield
    await told.put({"type": "lifespan.shutdown"})
    assert (await heard.get())["type"] == "lifespan.shutdown.complete"
    await life


async def asked(app: ASGIApp) -> str:
    heard: asyncio.Queue[Message] = asyncio.Queue()
    await app({"type": "http"}, heard.get, heard.put)
    return str((await heard.get())["name"])


def test_requests_under_way_end_where_they_began() -> None:
    async def story() -> None:
        old, new = Answering("old"), Answering("new")
        new.may.set()
        coming = iter([old, new])
        app = ReloadableApp(lambda: next(coming))
        async with living(app):
            first = asyncio.create_task(asked(app))
            await old.asked.wait()
            assert await app.reload()
            assert await asked(app) == "new"
            assert not old.ended
            old.may.set()
            assert await first == "old"
        assert old.ended
        assert new.ended

    asyncio.run(story())


@pytest.mark.parametrize("fault", ["opening", "starting"])
def test_what_cannot_be_opened_or_started_changes_nothing(fault: str) -> None:
    async def story() -> None:
        old = Answering("old")
        old.may.set()
        broken = Answering("broken", starts=False)

        def opening() -> ASGIApp:
            if not old.asked.is_set():
                return old
            if fault == "opening":
                raise RubricaError("no such setting")
            return broken

        app = ReloadableApp(opening)
        async with living(app):
            assert await asked(app) == "old"
            assert not await app.reload()
            assert await asked(app) == "old"
        assert old.ended

    asyncio.run(story())


def test_workers_of_two_gateways_never_share_a_port() -> None:
    with reserve("127.0.0.1", 0) as held:
        port = held.getsockname()[1]
        with (
            listen("127.0.0.1", port, shared=True),
            listen("127.0.0.1", port, shared=True),
            pytest.raises(RubricaError, match="--port"),
        ):
            reserve("127.0.0.1", port)
