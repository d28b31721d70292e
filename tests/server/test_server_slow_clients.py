"""Clients that keep a server's connections and do nothing with them: others are answered at once all the same."""

from __future__ import annotations

import asyncio
import resource
import socket
import subprocess
from pathlib import Path

import aiohttp
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from rubrica.server.connection import serving_config
from rubrica.server.connection_limits import ConnectionLimits, ConnectionRegistry
from rubrica.server.listening import listen
from servers import serving
from slow_clients import answered, idle, still_open
from warm_start import rubrica_command

FEW = ConnectionLimits(total=50, per_address=50, check_seconds=0.05)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
SLOW = b"POST /api/evaluations HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{"


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nX-Slow: ", SLOW], ids=["silent", "head", "body"])
def test_with_600_clients_that_do_nothing_another_is_answered_at_once(tmp_path: Path, said: bytes) -> None:
    with serving(str(tmp_path / "rubrica.db"), keyless=True, limits=FEW) as running:
        port = int(running.url.rpartition(":")[2])
        with idle(port, 600, said) as others:
            reply, seconds = answered(port, HEALTH)
            assert reply.startswith(b"HTTP/1.1 200")
            assert seconds < 2
            assert still_open(others) <= FEW.total


@pytest.mark.parametrize("command", ["serve", "gateway"])
def test_a_server_with_few_files_outlives_600_clients_that_do_nothing(tmp_path: Path, command: str) -> None:
    options = ["--port", "0", "--db", str(tmp_path / "rubrica.db")]
    options += ["--no-studio"] if command == "serve" else ["--tier0", "scripted:none.jsonl"]
    (tmp_path / "none.jsonl").write_text('{"reply": "yes"}\n')
    with subprocess.Popen(
        rubrica_command(command, *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={"COLUMNS": "200", "PATH": "", "HOME": str(tmp_path)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (300, 500)),
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            port = int(line.partition("http://127.0.0.1:")[2].split()[0].partition("/")[0])
            with idle(port, 600):
                reply, seconds = answered(port, HEALTH)
            assert reply.startswith(b"HTTP/1.1 200")
            assert seconds < 2
        finally:
            process.kill()


def test_a_websocket_takes_a_place_until_it_is_closed() -> None:
    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            return
        await receive()
        await send({"type": "websocket.accept"})
        await receive()

    async def scenario(listening: socket.socket) -> None:
        config = serving_config(echo, lifespan="off", ws="auto", limits=FEW)
        server = uvicorn.Server(config)
        work = asyncio.create_task(server.serve([listening]))
        async with aiohttp.ClientSession() as session:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
            async with session.ws_connect(url):
                await _until(config.registry, 1)
                await asyncio.sleep(3 * FEW.check_seconds)  # a look at it does not take it for closed
                assert len(config.registry) == 1
            await _until(config.registry, 0)
        server.should_exit = True
        await work

    with listen("127.0.0.1", 0) as listening:
        asyncio.run(scenario(listening))


async def _until(registry: ConnectionRegistry, count: int) -> None:
    async with asyncio.timeout(20):
        while len(registry) != count:
            await asyncio.sleep(0.01)
