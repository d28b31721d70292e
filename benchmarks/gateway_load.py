"""Clients that take as little as they can: they know just enough HTTP/1.1 to find where a reply ends."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

BODY = json.dumps({"model": "gpt-4", "messages": [{"role": "user", "content": "What should one know about it?"}]})
LETTER = (
    "Our team moves its nightly reports from one database to another next month. Some of them read tables that change "
    "while they run, and two have been wrong twice this year without anybody noticing for a week. Explain how we can "
    "tell, before the move, which reports would come out differently, and what to check every morning after it. "
)
GRADED = json.dumps({"model": "gpt-4", "messages": [{"role": "user", "content": LETTER}]})
STREAM = json.dumps({**json.loads(BODY), "stream": True})
_LENGTH = b"content-length:"


def request(url: str, body: str, *, graded: bool = False) -> bytes:
    """A request for a completion."""
    host = urlsplit(url).netloc
    head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    head += "" if graded else "x-sleipner-grading: off\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


@dataclass
class Load:
    """What came of many requests."""

    seconds: float = 0.0
    times: list[float] = field(default_factory=list)  # of each, in seconds

    @property
    def per_second(self) -> float:
        return len(self.times) / self.seconds

    def within(self, share: float) -> float:
        """Seconds within which so many were answered."""
        return sorted(self.times)[min(len(self.times) - 1, int(share * len(self.times)))]


class Asking(asyncio.Protocol):
    """One connection that asks again as soon as it is answered."""

    def __init__(self, asked: bytes, tickets: Iterator[int], load: Load, ended: asyncio.Future[None]) -> None:
        self._asked, self._tickets, self._load, self._ended = asked, tickets, load, ended
        self._buffer = b""
        self._began = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._next()

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer = self._buffer + data if self._buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = buffer[:end].lower()
        start = head.index(_LENGTH) + len(_LENGTH)
        stop = head.find(b"\r\n", start)
        if len(buffer) < end + 4 + int(head[start : stop if stop >= 0 else None]):
            return
        if not buffer.startswith(b"HTTP/1.1 200"):
            self._finish(RuntimeError(buffer[:2000].decode(errors="replace")))
            return
        self._load.times.append(time.perf_counter() - self._began)
        self._buffer = b""
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        self._finish(RuntimeError(f"the connection broke: {exc}"))

    def _next(self) -> None:
        if next(self._tickets, None) is None:
            self._finish(None)
            self._transport.close()
            return
        self._began = time.perf_counter()
        self._transport.write(self._asked)

    def _finish(self, error: Exception | None) -> None:
        if self._ended.done():
            return
        if error is None:
            self._ended.set_result(None)
        else:
            self._ended.set_exception(error)


async def load(url: str, count: int, at_once: int, *, graded: bool = False) -> Load:
    """Ask so many times, so many at once."""
    loop, found = asyncio.get_running_loop(), Load()
    tickets, asked, place = iter(range(count)), request(url, GRADED if graded else BODY, graded=graded), urlsplit(url)
    ends = [loop.create_future() for _ in range(at_once)]
    began = time.perf_counter()
    for end in ends:
        await loop.create_connection(
            lambda end=end: Asking(asked, tickets, found, end),  # type: ignore[misc]
            place.hostname or "127.0.0.1",
            place.port or 80,
        )
    await asyncio.gather(*ends)
    found.seconds = time.perf_counter() - began
    return found


@dataclass
class Held:
    """What came of one stream."""

    first: float = 0.0  # when its first event came
    last: float = 0.0
    events: int = 0
    complete: bool = False


async def hold(url: str, count: int) -> list[Held]:
    """Open so many streams at once, and read them to their end."""
    place, asked = urlsplit(url), request(url, STREAM)

    async def one() -> Held:
        held = Held()
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(asked)
        while not held.complete and (data := await reader.read(65_536)):
            held.first = held.first or time.perf_counter()
            held.events += data.count(b"data: {")
            held.complete = b"[DONE]" in data
        held.last = time.perf_counter()
        writer.close()
        return held

    return await asyncio.gather(*(one() for _ in range(count)))
