"""What goes over the wire for one POST, and what of the answers is understood: shown by a server that writes bytes."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Mapping

import pytest
from yarl import URL

from rubrica.llm.http import HttpAnswer, HttpSession
from rubrica.llm.model import ModelError

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class ByteServer:
    """Answers each request with the next of some bytes, and keeps the requests by connection."""

    def __init__(self, *answers: bytes, patient: bool = True) -> None:
        self._answers, self._patient = list(answers), patient
        self.connections: list[list[bytes]] = []
        self._talks: list[asyncio.Task[None] | None] = []

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests: list[bytes] = []
        self.connections.append(requests)
        self._talks.append(asyncio.current_task())
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                body = await reader.readexactly(length) if self._patient else b""
                requests.append(head + body)
                writer.write(self._answers.pop(0))
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ConnectionError, IndexError):
            writer.transport.abort()

    async def post(self, bodies: list[bytes], headers: Mapping[str, str] | None = None) -> list[HttpAnswer]:
        """The answers to some bodies, sent one after the other."""
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, HttpSession() as session:
            url = URL(f"http://127.0.0.1:{port}/v1/chat?api-version=2")
            found = [await session.post(url, headers or {}, body, 10.0) for body in bodies]
        await asyncio.gather(*filter(None, self._talks))
        return found


def test_a_request_is_one_head_with_every_header_once_and_the_body() -> None:
    server = ByteServer(GOOD, GOOD)
    asyncio.run(server.post([b'{"a":1}', b'{"a":22}'], {"Authorization": "Bearer k", "content-type": "text/x"}))
    (first, second), *others = server.connections
    assert not others  # the connection was used again
    head, _, body = first.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    assert line == "POST /v1/chat?api-version=2 HTTP/1.1"
    named = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    assert len(named) == len(fields)
    assert named["content-length"] == "7"
    assert named["authorization"] == "Bearer k"
    assert named["content-type"] == "text/x"  # a caller's own wins
    assert named["host"].startswith("127.0.0.1:")
    assert named["user-agent"] == "rubrica"
    assert (body, second[-8:]) == (b'{"a":1}', b'{"a":22}')


def test_what_only_announces_an_answer_is_passed_over() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    (answer,) = asyncio.run(ByteServer(early + GOOD).post([b"{}"]))
    assert (answer.status, answer.body) == (200, b"{}")


def test_chunked_and_compressed_answers_are_read() -> None:
    packed = gzip.compress(b'{"text": "' + b"long " * 50_000 + b'"}')
    pieces = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (packed[:10], packed[10:])) + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n"
    server = ByteServer(head + pieces, GOOD)
    long, short = asyncio.run(server.post([b"{}", b"{}"]))
    assert len(long.body) == 250_012
    assert short.body == b"{}"
    assert len(server.connections) == 1


def test_an_answer_that_ends_with_its_connection_is_whole() -> None:
    async def run() -> bytes:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"{}")
            writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end")
            writer.close()

        server = await asyncio.start_server(talk, "127.0.0.1", 0)
        async with server, HttpSession() as session:
            url = URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
            return (await session.post(url, {}, b"{}", 10.0)).body

    assert asyncio.run(run()) == b"until the end"


def test_a_connection_whose_request_was_answered_half_way_is_not_used_again() -> None:
    refused = b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n"
    server = ByteServer(refused, GOOD, patient=False)
    large, small = asyncio.run(server.post([b"x" * 20_000_000, b""]))
    assert (large.status, small.status) == (413, 200)
    assert [len(requests) for requests in server.connections] == [1, 1]


def test_a_server_without_tls_is_told_from_one_without_trust() -> None:
    async def run() -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        async with server, HttpSession() as session:
            url = URL(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
            await session.post(url, {}, b"{}", 10.0)

    with pytest.raises(ModelError, match=r"127\.0\.0\.1:\d+: no ") as caught:
        asyncio.run(run())
    assert caught.value.trouble == "unreachable"


def test_a_header_cannot_end_its_line() -> None:
    with pytest.raises(ValueError, match="line break"):
        asyncio.run(ByteServer(GOOD).post([b"{}"], {"traceparent": "00\r\nX-Admin: 1"}))
