"""Clients that keep a gateway's connections and do nothing with them: others are answered at once all the same."""

from __future__ import annotations

import json
import socket
import time
from pathlib import Path

import pytest
from gateway_stage import PATIENCE, Scripted, Staged, stage, until

from rubrica.server.connection import Connection
from rubrica.server.connection_limits import ConnectionLimits
from slow_clients import all_of, answered, idle, still_open, unread

FEW = ConnectionLimits(total=50, per_address=50, check_seconds=0.05)
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
SLOW = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{"
LONG = "A sentence of an answer that is long. " * 400_000


class Hasty(Connection):
    """A connection that waits a moment only."""

    head_seconds = 0.3
    body_seconds = 0.3
    read_seconds = 0.3


def port(on: Staged) -> int:
    return int(on.url.rpartition(":")[2])


def question(**more: object) -> bytes:
    body = json.dumps({"messages": [{"role": "user", "content": "Why?"}], **more}).encode()
    head = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nx-sleipner-grading: off\r\nConnection: close\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize("said", [b"", b"GET /healthz HTTP/1.1\r\nX-Slow: ", SLOW], ids=["silent", "head", "body"])
def test_with_600_clients_that_do_nothing_another_is_answered_at_once(tmp_path: Path, said: bytes) -> None:
    with stage(tmp_path, Scripted(), limits=FEW) as on, idle(port(on), 600, said) as others:
        for request in (HEALTH, question()):
            reply, seconds = answered(port(on), request)
            assert reply.startswith(b"HTTP/1.1 200")
            assert seconds < 2
        assert still_open(others) <= FEW.total


def test_while_all_are_being_answered_one_more_is_told_to_come_back(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(delay=PATIENCE), limits=ConnectionLimits(total=2, per_address=2)) as on:
        busy = [socket.create_connection(("127.0.0.1", port(on)), timeout=PATIENCE) for _ in range(2)]
        try:
            for one in busy:
                one.sendall(question())
            on.run(until(lambda: on.gateway.metrics.in_flight == 2))
            reply, _ = answered(port(on), HEALTH)
            assert reply == b"" or reply.startswith(b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1")
            assert still_open(busy) == 2
        finally:
            for one in busy:
                one.close()
        on.run(until(lambda: on.gateway.metrics.in_flight == 0))
        assert answered(port(on), HEALTH)[0].startswith(b"HTTP/1.1 200")


def test_one_address_cannot_take_the_places_of_others(tmp_path: Path) -> None:
    few = ConnectionLimits(total=50, per_address=5, check_seconds=0.05)
    with stage(tmp_path, Scripted(), limits=few) as on, idle(port(on), 20) as others:
        assert answered(port(on), HEALTH)[0].startswith(b"HTTP/1.1 200")
        assert still_open(others) <= few.per_address


@pytest.mark.parametrize(
    ("said", "told"), [(b"", b""), (b"GET / HTTP/1.1\r\n", b"HTTP/1.1 400"), (SLOW, b"HTTP/1.1 408")]
)
def test_a_request_that_does_not_come_to_its_end_is_given_up(tmp_path: Path, said: bytes, told: bytes) -> None:
    with stage(tmp_path, Scripted(), http=Hasty, limits=FEW) as on, idle(port(on), 3, said) as others:
        assert all(all_of(one).startswith(told) for one in others)
        assert on.gateway.metrics.in_flight == 0


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_nobody_reads_is_given_up(tmp_path: Path, stream: bool) -> None:
    model = Scripted(script=LONG if not stream else "word " * 300_000)
    with (
        stage(tmp_path, model, http=Hasty, limits=FEW) as on,
        unread(port(on), question(stream=stream)) as one,
    ):
        on.run(until(lambda: len(model.asked)))
        began = time.monotonic()
        on.run(until(lambda: on.gateway.metrics.in_flight == 0))
        assert time.monotonic() - began < PATIENCE / 2
        on.run(until(lambda: _reset(one)))
        if stream:
            assert model.cancelled == 1


def test_a_slow_reader_that_does_read_gets_all_of_its_answer(tmp_path: Path) -> None:
    with stage(tmp_path, Scripted(script=LONG), http=Hasty, limits=FEW) as on:
        reply, _ = answered(port(on), question())
        assert len(reply) > len(LONG)


def _reset(connection: socket.socket) -> bool:
    """Whether the other end has ended it, without reading anything."""
    return connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
