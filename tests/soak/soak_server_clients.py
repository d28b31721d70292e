"""Clients of `rubrica serve`: they read, write, execute, play, look at pages, judge, dawdle and vanish."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from soak_growth import Outcomes
from soak_processes import Served

from server_load import LOST, Ask, Load

PACE = 0.05  # seconds between two requests of one client
READ = (
    *("/healthz", "/openapi.json", "/api/evaluations", "/api/evaluations?limit=5&search=made", "/api/games"),
    *(
        "/api/players",
        "/api/marketplace/trending",
        "/api/leaderboard",
        "/api/evaluations/first",
        "/api/evaluations/first/versions",
        "/api/keys",
    ),
)
PAGES = ("/", "/rubrics", "/games", "/market", "/sandbox", "/runs", "/reviews", "/gateway", "/build/new", "/nowhere")
EXPECTED = frozenset({200, 201, 204, 302, 303, 304, 307, 400, 404, 408, 409, 413, 422, 429})
"""What a server under this load may answer; 429 where a client asks too often."""


@dataclass
class ServerClients:
    """All clients of one server, and what they were told."""

    served: Served
    session: aiohttp.ClientSession
    stop: asyncio.Event
    load: Load = field(default_factory=Load)
    dice: random.Random = field(default_factory=lambda: random.Random(14))  # noqa: S311 - moments, not secrets

    @property
    def outcomes(self) -> Outcomes:
        return self.served.outcomes

    async def run(self) -> None:
        await self.load.prepare(self.ask)
        work: list[Awaitable[None]] = [
            self.load.run(self.ask, self.stop),
            self._over_and_over(self._read),
            self._over_and_over(self._read),
            self._over_and_over(self._page),
            self._over_and_over(self._judge),
            self._over_and_over(self._vanish),
            self._over_and_over(self._vanish_early),
            *(self._over_and_over(self._dawdle) for _ in range(4)),
        ]
        await asyncio.gather(*work)

    async def _over_and_over(self, work: Callable[[], Awaitable[None]]) -> None:
        while not self.stop.is_set():
            try:
                await work()
            except LOST as error:
                self.outcomes.lost[type(error).__name__] += 1
            await asyncio.sleep(self.dice.uniform(0.5, 1.5) * PACE)

    @property
    def ask(self) -> Ask:
        async def ask(method: str, path: str, body: Any = None, key: str | None = None) -> tuple[int, Any]:
            headers = {"If-Match": "*"} if key is None else {"Idempotency-Key": key}
            status, content = await self._send(method, path, body, headers)
            await asyncio.sleep(0 if self.stop.is_set() else PACE)
            return status, json.loads(content) if content else None

        return ask

    async def _send(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        begun = time.monotonic()
        async with self.session.request(
            method, self.served.url + path, json=body, headers=headers, allow_redirects=False
        ) as reply:
            content = await reply.read()
        self.outcomes.add(reply.status, time.monotonic() - begun)
        if reply.status not in EXPECTED:
            self.outcomes.blame(f"{method} {path}: {reply.status} {content[:300]!r}")
        return reply.status, content

    async def _read(self) -> None:
        await self._send("GET", self.dice.choice(READ))

    async def _page(self) -> None:
        await self._send("GET", self.dice.choice(PAGES))
        await asyncio.sleep(10 * PACE)  # people look at a page for a while

    async def _judge(self) -> None:
        """Ask the server's judge, whose provider fails now and then."""
        body = {"prompt": "What is a moth?", "response": f"A moth is an insect, says page {self.dice.random()}."}
        await self._send("POST", "/api/evaluations/answer-quality/test", body)
        await asyncio.sleep(10 * PACE)

    async def _vanish(self) -> None:
        """Send a request whose effect may happen once at most, and go before it is answered."""
        key = f"execute-{next(self.load.numbers)}"
        path, body = "/api/evaluations/first/execute", {"prompt": key, "response": "A moth."}
        self.load.sent[key] = (path, body)
        sending = asyncio.create_task(self._send("POST", path, body, {"Idempotency-Key": key}))
        done, _ = await asyncio.wait([sending], timeout=self.dice.uniform(0.0, 0.02))
        if not done:
            sending.cancel()
            self.outcomes.left += 1
        answered = (await asyncio.gather(sending, return_exceptions=True))[0]
        if isinstance(answered, tuple) and answered[0] in (200, 201):
            self.load.told[key] = json.loads(answered[1])
        await asyncio.sleep(4 * PACE)

    async def _vanish_early(self) -> None:
        """Send half of a body, and go."""
        host, port = self.served.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        head = "POST /api/evaluations/first/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f'{head}Content-Length: 1000\r\n\r\n{{"prompt": '.encode())
        await writer.drain()
        writer.close()
        self.outcomes.left += 1
        await asyncio.sleep(4 * PACE)

    async def _dawdle(self) -> None:
        """Send a request byte by byte, and give up after a while."""
        host, port = self.served.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        try:
            for byte in b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 20:
                if self.stop.is_set():
                    break
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(2 * PACE)
        finally:
            self.outcomes.left += 1
            writer.close()
