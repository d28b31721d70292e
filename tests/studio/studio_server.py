"""The studio on a loopback port of this process, with keys, and a page's socket as a browser opens one.

A process has one studio, so all tests that need it share it: each makes visitors of its own.
"""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import aiohttp
import httpx
import uvicorn
from nicegui import Client, ui
from socketio import AsyncClient

from rubrica.server.app import create_app
from rubrica.server.connection import serving_config
from rubrica.server.listening import listen
from rubrica.server.service import Service
from rubrica.server.settings import ServerSettings
from rubrica.studio.mount import attach
from rubrica.studio.studio import Studio
from rubrica.workspace.access import Role
from rubrica.workspace.keys import IssuedKey, KeyRequest, issue

_CLIENT = re.compile(r"""client_id['"]: ?['"]([0-9a-f-]{36})""")
PATIENCE = 30.0


@dataclass
class StudioServer:
    """A running studio."""

    url: str
    service: Service
    loop: asyncio.AbstractEventLoop
    numbers: Iterator[int] = field(default_factory=lambda: iter(range(10_000)))

    def run(self, work: Any) -> Any:
        """Wait for something on the server's event loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE)

    def write(self, query: Callable[..., Any], *args: Any) -> Any:
        return self.run(self.service.database.write(query, *args))

    def visitor(self, role: Role = "author") -> Browsing:
        """Somebody new, signed in with a key of their own."""
        issued = self.write(issue, KeyRequest(role, f"visitor {next(self.numbers)}"), self.service.clock())
        visitor = Browsing(self, issued)
        visitor.sign_in()
        return visitor


@dataclass
class Browsing:
    """A visitor with a session, without a browser."""

    server: StudioServer
    issued: IssuedKey
    cookie: str = ""

    def sign_in(self) -> None:
        reply = self.ask("POST", "/signin", data={"key": self.issued.secret})
        self.cookie = reply.headers["Set-Cookie"].partition(";")[0]

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        return self.asked([path], method, **options)[0]

    def asked(self, paths: list[str], method: str = "GET", **options: Any) -> list[httpx.Response]:
        """Requests, one after the other."""
        headers = {"Cookie": self.cookie, "Origin": self.server.url} if self.cookie else {}
        with httpx.Client(base_url=self.server.url, headers=headers, timeout=PATIENCE) as client:
            return [client.request(method, path, **options) for path in paths]

    def page(self, path: str) -> Client:
        """Request a page; the server's side of it."""
        reply = self.ask("GET", path)
        assert reply.status_code == 200, reply.text
        found = _CLIENT.search(reply.text)
        assert found is not None, reply.text[:2000]
        return Client.instances[found[1]]

    @asynccontextmanager
    async def connected(self, page_id: str) -> AsyncIterator[AsyncClient]:
        """A socket for a page; a ConnectionError where the server refuses it."""
        query = {
            "client_id": page_id,
            "tab_id": str(uuid4()),
            "document_id": str(uuid4()),
            "next_message_id": 0,
            "implicit_handshake": "true",
        }
        headers = {"Cookie": self.cookie, "Origin": self.server.url}
        address = f"{self.server.url}?{urlencode(query)}"
        async with aiohttp.ClientSession() as session:
            socket = AsyncClient(reconnection=False, http_session=session)
            await socket.connect(address, headers, transports=["websocket"], socketio_path="/_nicegui_ws/socket.io")
            try:
                yield socket
            finally:
                await socket.disconnect()


def typed(page: Client, label: str, text: str) -> dict[str, Any]:
    """The message that a page sends when somebody writes a text into one of its fields."""
    element = field_of(page, label)
    listener = next(one.id for one in element._event_listeners.values() if one.type == "update:value")
    return {"id": element.id, "client_id": page.id, "listener_id": listener, "args": [f'"{text}"']}


def field_of(page: Client, label: str) -> ui.input:
    return next(one for one in page.elements.values() if isinstance(one, ui.input) and one.props.get("label") == label)


def words(page: Client) -> str:
    """All that a page says, as far as it is drawn."""
    said = [getattr(one, "text", "") or getattr(one, "content", "") for one in list(page.elements.values())]
    return "\n".join(part for part in said if isinstance(part, str) and part)


async def becomes(holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait until something holds."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it does not come to hold"
        await asyncio.sleep(0.02)


@contextmanager
def studio_server(settings: ServerSettings) -> Iterator[StudioServer]:
    """Serve the studio of this process until the block ends."""
    service = Service.open(settings)
    app = create_app(service)
    attach(app, Studio(service, app.state.door))
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(serving_config(app, ws="auto"))
    loops: list[asyncio.AbstractEventLoop] = []

    async def main() -> None:
        loops.append(asyncio.get_running_loop())
        await server.serve([listening])

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    try:
        until = time.monotonic() + PATIENCE
        while not server.started:
            assert time.monotonic() < until, "the studio did not start"
            time.sleep(0.01)
        yield StudioServer(f"http://127.0.0.1:{listening.getsockname()[1]}", service, loops[0])
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()
