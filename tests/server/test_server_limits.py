"""How much may come: bytes in a body, requests in a minute."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from fastapi import APIRouter, Request
from hypothesis import given
from hypothesis import strategies as st

from rubrica.server.limits import Bucket
from rubrica.server.settings import ServerSettings
from servers import Running, serving

LIMIT = 10_000
router = APIRouter()


@router.post("/measure")
async def measure(request: Request) -> int:
    return len(await request.body())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    file = tmp_path_factory.mktemp("small") / "rubrica.db"
    settings = ServerSettings(max_body=LIMIT, preload=False)
    with serving(str(file), keyless=True, settings=settings, extra=router) as running:
        yield running


@pytest.mark.parametrize(("size", "status"), [(0, 200), (LIMIT, 200), (LIMIT + 1, 413), (50 * LIMIT, 413)])
def test_a_body_over_the_limit_is_refused_by_its_declared_length(small: Running, size: int, status: int) -> None:
    reply = small.anyone.post("/measure", b"x" * size)
    assert reply.status == status
    if status == 413:
        assert "10,000 bytes" in reply.json["detail"]


@pytest.mark.parametrize(("chunks", "status"), [(1, 200), (10, 200), (11, 413), (500, 413)])
def test_a_body_without_a_length_is_counted_as_it_comes(small: Running, chunks: int, status: int) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(chunks):
            yield b"x" * (LIMIT // 10)

    async def send() -> int:
        try:
            async with small.session.post(small.url + "/measure", data=body()) as reply:
                return reply.status
        except ConnectionError:  # the server hung up on the rest of the body before its reply was read
            return 413

    assert small.run(send()) == status
    assert small.anyone.get("/healthz").status == 200


@pytest.mark.parametrize("length", ["-1", "1e9", "99999999999999999999999999", "0x10", "+5", "5, 6"])
def test_a_length_that_is_none_is_refused(small: Running, length: str) -> None:
    async def send() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(small.url.rpartition(":")[2]))
        head = f"POST /measure HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        reply = await reader.read()
        writer.close()
        return reply

    assert small.run(send()).split()[1] in (b"400", b"413")


def test_a_key_that_asks_too_often_is_told_when_to_come_back(server: Running) -> None:
    ann = server.newcomer("viewer", "ann", per_minute=30)
    replies = ann.together([("GET", "/api/whoami", None)] * 40)
    statuses = [reply.status for reply in replies]
    assert 30 <= statuses.count(200) <= 32  # some fill up again while they are asked
    refused = next(reply for reply in replies if reply.status == 429)
    assert refused.json["type"] == "urn:rubrica:problem:too-many"
    assert 1 <= int(refused.headers["Retry-After"]) <= 2
    assert server.viewer.get("/api/whoami").status == 200


@given(
    st.integers(1, 10_000),
    st.lists(st.floats(0, 30), min_size=1, max_size=200),
)
def test_a_bucket_never_gives_more_than_its_room_and_what_flowed_in(per_minute: int, pauses: list[float]) -> None:
    bucket, now, given_out = Bucket(per_minute, 0.0), 0.0, 0
    for pause in pauses:
        now += pause
        given_out += bucket.take(now) == 0.0
    assert given_out <= per_minute + now * per_minute / 60 + 1e-6


@given(st.integers(1, 10_000))
def test_whoever_waits_as_long_as_told_is_let_through(per_minute: int) -> None:
    bucket = Bucket(per_minute, 0.0)
    while not (wait := bucket.take(0.0)):
        pass
    assert bucket.wait(0.0) == wait
    assert bucket.take(wait * 0.9) > 0
    assert bucket.take(wait * 1.000001) == 0.0
