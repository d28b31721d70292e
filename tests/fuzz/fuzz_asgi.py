"""An application asked without a network: its life from start to end, and one request after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

PATIENCE = 30.0  # seconds that a request, a start or an end may take


@dataclass(frozen=True)
class Answered:
    """What came back."""

    status: int
    headers: Mapping[str, str]  # in lower case
    body: bytes


@dataclass
class Lifespan:
    """The start and the end of an application."""

    app: Any
    runner: asyncio.Runner
    _inbox: asyncio.Queue[dict[str, Any]] = field(default_factory=asyncio.Queue)
    _outbox: asyncio.Queue[dict[str, Any]] = field(default_factory=asyncio.Queue)

    async def start(self) -> asyncio.Task[None]:
        scope = {"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}
        task = asyncio.create_task(self.app(scope, self._inbox.get, self._outbox.put))
        await self._tell("startup")
        return task

    async def end(self, task: asyncio.Task[None]) -> None:
        await self._tell("shutdown")
        await asyncio.wait_for(task, PATIENCE)

    async def _tell(self, what: str) -> None:
        await self._inbox.put({"type": f"lifespan.{what}"})
        told = await asyncio.wait_for(self._outbox.get(), PATIENCE)
        assert told["type"] == f"lifespan.{what}.complete", told


@contextmanager
def living(app: Any, runner: asyncio.Runner) -> Iterator[None]:
    """Start an application, and end it."""
    life = Lifespan(app, runner)
    task = runner.run(life.start())
    try:
        yield
    finally:
        runner.run(life.end(task))


async def call(app: Any, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answered:
    """One request from this machine. Whatever the application lets through is raised here."""
    route, _, query = path.partition("?")
    sent = {"host": "localhost", "content-length": str(len(body)), **{k.lower(): v for k, v in headers.items()}}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": route,
        "raw_path": route.encode("utf-8", "surrogatepass"),
        "query_string": query.encode("utf-8", "surrogatepass"),
        "root_path": "",
        "headers": [(name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in sent.items()],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 80),
        "state": {},
    }
    waiting = [{"type": "http.request", "body": body, "more_body": False}]
    told: list[dict[str, Any]] = []
    gone = asyncio.Event()

    async def receive() -> dict[str, Any]:
        if waiting:
            return waiting.pop()
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        told.append(message)

    await asyncio.wait_for(app(scope, receive, send), PATIENCE)
    gone.set()
    start = next(message for message in told if message["type"] == "http.response.start")
    names = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in start["headers"]}
    return Answered(start["status"], names, b"".join(message.get("body", b"") for message in told))
