"""The real application on a loopback port, with a key for each role, and a client to ask it with.

    def test_an_author_creates(server):                          # once on SQLite, once on PostgreSQL
        reply = server.author.post("/api/evaluations", {"name": "…"})
        assert (reply.status, reply.json["version"]) == (201, "1.0.0")

`serving(url)` starts one over any database; with ``keyless=True`` there are no keys, and everybody is the local admin.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import msgspec
import pytest
import uvicorn
from fastapi import APIRouter

from databases import fresh
from rubrica.judges.jury import Jury
from rubrica.server.app import create_app
from rubrica.server.connection import Connection, serving_config
from rubrica.server.connection_limits import ConnectionLimits
from rubrica.server.listening import listen
from rubrica.server.service import Service, utc_now
from rubrica.server.settings import ServerSettings
from rubrica.workspace.access import ROLES, Role
from rubrica.workspace.keys import IssuedKey, KeyRequest, issue

T = TypeVar("T")
PATIENCE = 60.0


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]  # of any case
    body: bytes

    @cached_property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Client:
    """Asks one server with one key. A body that is not bytes is sent as JSON."""

    server: Running
    key: str | None
    issued: IssuedKey | None = None  # None: nobody, or a key of the test's own making

    @property
    def user(self) -> str:
        return self.issued.key.user if self.issued is not None else ""

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, headers=headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Reply:
        return self.ask("POST", path, body, headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Reply:
        return self.ask("PUT", path, body, headers)

    def patch(self, path: str, body: Any = None, **headers: str) -> Reply:
        return self.ask("PATCH", path, body, headers)

    def delete(self, path: str, **headers: str) -> Reply:
        return self.ask("DELETE", path, headers=headers)

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One request. A header may be written `If_Match`."""
        return self.together([(method, path, body)], headers)[0]

    def together(
        self, requests: Sequence[tuple[str, str, Any]], headers: Mapping[str, str] | None = None
    ) -> list[Reply]:
        """Several requests at the same time; their replies in the same order."""

        async def all_of_them() -> list[Reply]:
            return await asyncio.gather(*(self.send(*request, headers=headers) for request in requests))

        return self.server.run(all_of_them())

    async def send(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One request, on the server's own event loop."""
        sent = {name.replace("_", "-"): value for name, value in (headers or {}).items()}
        if self.key is not None:
            sent.setdefault("Authorization", f"Bearer {self.key}")
        if body is not None and not isinstance(body, bytes):
            sent.setdefault("Content-Type", "application/json")
            body = msgspec.json.encode(body)
        async with self.server.session.request(
            method,
            self.server.url + path,
            data=io.BytesIO(body) if body is not None else None,
            headers=sent,
            allow_redirects=False,
        ) as reply:
            return Reply(reply.status, reply.headers, await reply.read())


@dataclass
class Running:
    """A server in a thread of its own."""

    url: str
    service: Service
    loop: asyncio.AbstractEventLoop
    session: aiohttp.ClientSession
    issued: Mapping[Role, IssuedKey] = field(default_factory=dict)

    def client(self, role: Role | None) -> Client:
        """The ready-made caller of a role; None: nobody, without a key."""
        if role is None:
            return Client(self, None)
        return Client(self, self.issued[role].secret, self.issued[role])

    @property
    def anyone(self) -> Client:
        return self.client(None)

    @property
    def viewer(self) -> Client:
        return self.client("viewer")

    @property
    def player(self) -> Client:
        return self.client("player")

    @property
    def author(self) -> Client:
        return self.client("author")

    @property
    def admin(self) -> Client:
        return self.client("admin")

    def newcomer(self, role: Role, user: str, per_minute: int = 100_000) -> Client:
        """Another user, with a key of that role."""
        issued = self.write(issue, KeyRequest(role, user, per_minute=per_minute), self.service.clock())
        return Client(self, issued.secret, issued)

    def read(self, query: Callable[..., T], *args: Any, **options: Any) -> T:
        return self.run(self.service.database.read(query, *args, **options))

    def write(self, query: Callable[..., T], *args: Any, **options: Any) -> T:
        return self.run(self.service.database.write(query, *args, **options))

    def run(self, work: Awaitable[T]) -> T:
        """Wait for something on the server's event loop."""

        async def waited() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(waited(), self.loop).result(PATIENCE)


@contextlib.contextmanager
def serving(
    database_url: str,
    *,
    keyless: bool = False,
    settings: ServerSettings | None = None,
    clock: Callable[[], datetime] = utc_now,
    extra: APIRouter | None = None,
    http: type[Connection] = Connection,
    limits: ConnectionLimits | None = None,
    jury: Jury | None = None,
) -> Iterator[Running]:
    """Serve a database on a free port. Unless told otherwise the bundled rubrics are left out, which is quicker.

    Routes of `extra` are served too: what a test needs that no part of the API does.
    """
    settings = replace(settings or ServerSettings(preload=False), database=database_url)
    own = tempfile.TemporaryDirectory(
        prefix="runs-", ignore_cleanup_errors=True
    )  # and not a folder of wherever the tests are called
    if settings.runs == Path("runs"):
        settings = replace(settings, runs=Path(own.name))
    listening = listen("127.0.0.1", 0)
    ready: Future[Running] = Future()
    stop = threading.Event()
    service = Service.open(settings, clock=clock, jury=jury)
    app = create_app(service)
    app.router.routes.extend(extra.routes if extra is not None else [])
    config = serving_config(app, http=http, limits=limits)
    thread = threading.Thread(target=_serve, args=(config, service, listening, ready, stop), daemon=True)
    thread.start()
    try:
        running = ready.result(PATIENCE)
        if not keyless:
            running.issued = {
                role: running.write(issue, KeyRequest(role, f"the {role}", per_minute=100_000), clock())
                for role in ROLES
            }
        yield running
    finally:
        stop.set()
        thread.join(PATIENCE)
        listening.close()
        own.cleanup()


class Prompt(uvicorn.Server):
    """A server that ends as soon as it is told to, and not at its next tick."""

    def __init__(self, config: uvicorn.Config, stop: threading.Event) -> None:
        super().__init__(config)
        self._stop = stop
        self.session: aiohttp.ClientSession | None = None

    async def main_loop(self) -> None:
        await self.on_tick(0)  # this sets the Date header
        while not self._stop.is_set():
            await asyncio.sleep(0.005)
        if self.session is not None:
            await self.session.close()  # or it would wait for the client to hang up
        for _ in range(100):
            if self.server_state.connections:  # those of a test that opened some by itself are closed after this
                await asyncio.sleep(0.001)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.server_state.connections or self.server_state.tasks:
            await super().shutdown(sockets)
            return
        for server in self.servers:  # with nobody left it would wait for a tenth of a second all the same
            server.close()
        await self.lifespan.shutdown()


def _serve(
    config: uvicorn.Config,
    service: Service,
    listening: socket.socket,
    ready: Future[Running],
    stop: threading.Event,
) -> None:
    async def main() -> None:
        server = Prompt(config, stop)
        work = asyncio.create_task(server.serve([listening]))
        while not server.started:
            if work.done():
                raise RuntimeError("the server did not start") from work.exception()
            await asyncio.sleep(0.005)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        async with aiohttp.ClientSession(auto_decompress=True) as session:
            server.session = session
            ready.set_result(Running(url, service, asyncio.get_running_loop(), session))
            await work

    try:
        asyncio.run(main())
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)


@pytest.fixture
def server(database_url: str) -> Iterator[Running]:
    """A server with keys over a fresh database, once of each kind. The bundled rubrics are left out."""
    with serving(database_url) as running:
        yield running


@pytest.fixture
def full_server(database_url: str) -> Iterator[Running]:
    """The same with the bundled rubrics in it."""
    with serving(database_url, settings=ServerSettings()) as running:
        yield running


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server that the tests of a module share, which is quicker: what each leaves behind is there for the others."""
    with fresh(request, tmp_path_factory.mktemp("shared")) as url, serving(url) as running:
        yield running
