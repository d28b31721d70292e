"""The service under load: executing a rubric against a bare FastAPI route that returns the same JSON.

Ours is the real command over a SQLite file: it signs in, reads, judges, and has committed the score when it answers.
The bare route reads its body and returns a dictionary that is ready. Each runs in a process of its own, under the same
uvicorn, and is asked by a client that does as little as it can, so that the server is what is measured. Times are wall
times, measured in turn; the ratio is the median over the rounds.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from urllib.request import Request, urlopen

import uvicorn
from fastapi import FastAPI

from .floor import Ratio
from .texts import texts

CONCURRENCY = 64
REQUESTS, ROUNDS = 2_000, 9
RUBRIC = "norm-macdonald-classic"
TARGET = 0.35
_URL = re.compile(r"http://127\.0\.0\.1:(\d+)")
_LENGTH = b"content-length:"


def executions_a_second() -> Ratio:
    """Requests a second of /execute against the bare route, at the same concurrency."""
    contexts = [
        json.dumps({"prompt": "Go on.", "response": f"In 1974 a doctor spoke. {text}", "metadata": {"token_count": 60}})
        for text in texts(500)
    ]
    with tempfile.TemporaryDirectory() as folder, _serving(Path(folder)) as port:
        path, answer = _first_answer(port, contexts[0])
        file = Path(folder) / "answer.json"
        file.write_text(json.dumps(answer))
        with _bare(file) as bare_port:
            requests = {p: [_request(p, path, context) for context in contexts] for p in (port, bare_port)}
            for p, sent in requests.items():
                asyncio.run(_load(p, sent, REQUESTS // 2))  # both are warm from now on
            rounds = [
                tuple(asyncio.run(_load(p, sent, REQUESTS)) for p, sent in requests.items()) for _ in range(ROUNDS)
            ]
    mine, bare = (median(column) for column in zip(*rounds, strict=True))
    ratio = median(floor / spent for spent, floor in rounds)  # of each round: a busy neighbour slows both
    detail = f"{REQUESTS / mine:,.0f} requests/s, each committed, against {REQUESTS / bare:,.0f}"
    what = f"/execute of rules, {CONCURRENCY} at once, SQLite"
    return Ratio(what, "a bare FastAPI route with the same JSON", ratio, TARGET, detail)


# --- the two servers --------------------------------------------------------------------------------------


@contextmanager
def _serving(folder: Path) -> Iterator[int]:
    """The port of `rubrica serve` over a new database."""
    command = [sys.executable, "-m", "rubrica", "serve", "--offline", "--port", "0", "--db", str(folder / "rubrica.db")]
    with _running(command) as port:
        yield port


@contextmanager
def _bare(answer: Path) -> Iterator[int]:
    with _running([sys.executable, "-m", "benchmarks.service", str(answer)]) as port:
        yield port


@contextmanager
def _running(command: Sequence[str]) -> Iterator[int]:
    """The port that a command says it serves at, for as long as it is used."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield next(int(found[1]) for line in process.stdout if (found := _URL.search(line)))
        finally:
            process.terminate()


def serve_bare(answer: dict[str, Any]) -> None:
    """Serve one route that returns an answer, and say where."""
    app = FastAPI()

    @app.post("/api/evaluations/{reference}/execute", status_code=201)
    async def execute(reference: str, body: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG001
        return answer

    listening = socket.create_server(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run([listening])


# --- the client -------------------------------------------------------------------------------------------


def _first_answer(port: int, context: str) -> tuple[str, dict[str, Any]]:
    """The path to execute the rubric at, by its id, and what it answers."""
    base = f"http://127.0.0.1:{port}"
    with urlopen(f"{base}/api/evaluations/{RUBRIC}") as reply:  # noqa: S310 - loopback
        path = f"/api/evaluations/{json.load(reply)['id']}/execute"
    request = Request(base + path, context.encode(), {"Content-Type": "application/json"})  # noqa: S310
    with urlopen(request) as reply:  # noqa: S310
        assert reply.status == 201
        return path, json.load(reply)


def _request(port: int, path: str, body: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body.encode())}\r\n\r\n{body}".encode()


class _Asking(asyncio.Protocol):
    """One connection: sends a request, reads the reply to its end, sends the next."""

    def __init__(self, requests: Iterator[bytes], done: asyncio.Future[None]) -> None:
        self._requests, self._done = requests, done
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head = self._buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        lines = bytes(self._buffer[:head]).lower().split(b"\r\n")
        length = next(int(line[len(_LENGTH) :]) for line in lines if line.startswith(_LENGTH))
        if len(self._buffer) < head + 4 + length:
            return
        if b" 201 " not in lines[0]:
            self._done.set_exception(RuntimeError(bytes(self._buffer).decode()))
            return
        self._buffer.clear()
        self._ask()

    def _ask(self) -> None:
        request = next(self._requests, None)
        if request is not None:
            self._transport.write(request)
        else:
            self._transport.close()
            if not self._done.done():
                self._done.set_result(None)

    def connection_lost(self, error: Exception | None) -> None:
        if not self._done.done():
            self._done.set_exception(error or RuntimeError("the server hung up"))


async def _load(port: int, requests: Sequence[bytes], count: int) -> float:
    """Seconds that so many requests take."""
    loop = asyncio.get_running_loop()
    left = iter([requests[i % len(requests)] for i in range(count)])
    ends: list[asyncio.Future[None]] = [loop.create_future() for _ in range(CONCURRENCY)]
    started = time.perf_counter()
    for done in ends:
        await loop.create_connection(lambda done=done: _Asking(left, done), "127.0.0.1", port)  # type: ignore[misc]
    await asyncio.gather(*ends)
    return time.perf_counter() - started


if __name__ == "__main__":
    serve_bare(json.loads(Path(sys.argv[1]).read_text()))
