"""What stands beside the gateway when it is measured: a bare proxy, and a provider of slow streams.

Each runs in a process of its own: ``python -m benchmarks.gateway_peers bare URL`` or ``… streams``. Started, it prints
the port it listens on.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import aiohttp
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rubrica.server.listening import listen

EVENTS, PACE = 10, 0.4  # of a slow stream; seconds


def bare(provider: str) -> None:
    """A proxy that does nothing but pass on: what Starlette and aiohttp take by themselves."""

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            app.state.session = session
            yield

    async def passed_on(request: Request) -> Response:
        body, headers = await request.body(), {"Content-Type": "application/json"}
        session: aiohttp.ClientSession = request.app.state.session
        async with session.post(f"{provider}/chat/completions", data=body, headers=headers) as reply:
            return Response(await reply.read(), reply.status, media_type="application/json")

    app = Starlette(routes=[Route("/v1/chat/completions", passed_on, methods=["POST"])], lifespan=life)
    with listen("127.0.0.1", 0) as listening:
        print(listening.getsockname()[1], flush=True)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, ws="none")
        uvicorn.Server(config).run([listening])


class Slow(asyncio.Protocol):
    """One connection: every request gets a stream of a few events, with pauses."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport, self._buffer = transport, b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, body = self._buffer.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        if found and len(body) >= length:
            self._buffer = body[length:]
            self._task = asyncio.get_running_loop().create_task(self._answer())

    async def _answer(self) -> None:
        self._write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(EVENTS):
            last = number == EVENTS - 1
            choice: dict[str, Any] = {
                "index": 0,
                "delta": {"content": "word "},
                "finish_reason": "stop" if last else None,
            }
            event = {"id": "s", "object": "chat.completion.chunk", "created": 1, "model": "slow", "choices": [choice]}
            self._chunk(b"data: " + json.dumps(event).encode() + b"\n\n")
            await asyncio.sleep(PACE)
        self._chunk(b"data: [DONE]\n\n")
        self._write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self._write(b"%x\r\n%b\r\n" % (len(data), data))

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)


async def streams() -> None:
    server = await asyncio.get_running_loop().create_server(Slow, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@contextmanager
def peer(*args: str) -> Iterator[tuple[str, int]]:
    """The base URL and the process id of a peer that runs for as long as it is used."""
    command = [sys.executable, "-m", "benchmarks.gateway_peers", *args]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1", process.pid
        finally:
            process.kill()


if __name__ == "__main__":
    if sys.argv[1] == "bare":
        bare(sys.argv[2])
    else:
        asyncio.run(streams())
