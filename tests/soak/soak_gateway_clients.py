"""Clients of `rubrica gateway`: they ask, read streams at any pace, and leave in the middle of an answer."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from uuid import UUID

import aiohttp
from soak_growth import Outcomes
from soak_processes import Served

from server_load import LOST

PACE = 0.05  # seconds between two requests of one client
TOPICS = ("moths", "France", "the Seine", "prime numbers", "a haiku", "bread", "tides", "Ann Smith")
EXPECTED = frozenset({200, 400, 408, 413, 429, 502, 503, 504})
"""502 to 504 where both models fail, which their providers do now and then; a 500 is never right."""


@dataclass
class GatewayClients:
    """All clients of one gateway, and the traces of what they were answered."""

    served: Served
    session: aiohttp.ClientSession
    stop: asyncio.Event
    traces: list[UUID] = field(default_factory=list)
    dice: random.Random = field(default_factory=lambda: random.Random(15))  # noqa: S311 - moments, not secrets

    @property
    def outcomes(self) -> Outcomes:
        return self.served.outcomes

    async def run(self) -> None:
        kinds: list[Callable[[], Awaitable[None]]] = [
            *(self._ask, self._ask, self._stream, self._stream, self._read_slowly, self._leave, self._leave),
            *(self._look, self._idle, self._idle),
        ]
        await asyncio.gather(*(self._over_and_over(kind) for kind in kinds))

    async def _over_and_over(self, work: Callable[[], Awaitable[None]]) -> None:
        while not self.stop.is_set():
            try:
                await work()
            except LOST as error:
                self.outcomes.lost[type(error).__name__] += 1
            await asyncio.sleep(self.dice.uniform(0.5, 1.5) * PACE)

    def _request(self, *, stream: bool) -> aiohttp.client._RequestContextManager:
        topic = f"What is there to know about {self.dice.choice(TOPICS)}, number {self.dice.randrange(10_000)}?"
        body = {"model": "rubrica", "messages": [{"role": "user", "content": topic}], "stream": stream}
        return self.session.post(f"{self.served.url}/v1/chat/completions", json=body)

    def _note(self, reply: aiohttp.ClientResponse, seconds: float, content: bytes) -> None:
        self.outcomes.add(reply.status, seconds)
        if reply.status not in EXPECTED:
            self.outcomes.blame(f"chat: {reply.status} {content[:300]!r}")
        elif reply.status == 200:
            self.traces.append(UUID(reply.headers["x-sleipner-trace"]))

    async def _ask(self) -> None:
        begun = time.monotonic()
        async with self._request(stream=False) as reply:
            content = await reply.read()
            self._note(reply, time.monotonic() - begun, content)

    async def _stream(self, pause: float = 0.0) -> None:
        begun = time.monotonic()
        async with self._request(stream=True) as reply:
            first = time.monotonic() - begun
            content = b""
            async for piece in reply.content.iter_any():
                content += piece
                await asyncio.sleep(pause)
            self._note(reply, first, content)
            ended = content.endswith(b"data: [DONE]\n\n") or b'"error"' in content
            if reply.status == 200 and not ended:
                self.outcomes.blame(f"a stream ended without its last event: {content[-200:]!r}")

    async def _read_slowly(self) -> None:
        await self._stream(pause=2 * PACE)

    async def _leave(self) -> None:
        """Go away in the middle of an answer, or before it begins."""
        asking = asyncio.create_task(self._stream(pause=PACE))
        await asyncio.wait([asking], timeout=self.dice.uniform(0.0, 0.3))
        if asking.cancel():
            self.outcomes.left += 1
        await asyncio.gather(asking, return_exceptions=True)

    async def _look(self) -> None:
        path = self.dice.choice(("/healthz", "/v1/models", "/metrics", "/api/gateway/analytics"))
        begun = time.monotonic()
        async with self.session.get(self.served.url + path) as reply:
            content = await reply.read()
        self.outcomes.add(reply.status, time.monotonic() - begun)
        if reply.status != 200:
            self.outcomes.blame(f"GET {path}: {reply.status} {content[:300]!r}")
        await asyncio.sleep(4 * PACE)

    async def _idle(self) -> None:
        """Open a connection, say nothing, and go after a while."""
        host, port = self.served.url.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(host, int(port))
        try:
            for _ in range(40):
                if self.stop.is_set():
                    break
                await asyncio.sleep(PACE)
        finally:
            self.outcomes.left += 1
            writer.close()
