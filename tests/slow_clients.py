"""Clients that connect and say nothing, send slowly, or do not read what they asked for."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator

PATIENCE = 30.0


@contextlib.contextmanager
def idle(port: int, count: int, said: bytes = b"") -> Iterator[list[socket.socket]]:
    """Connections that say something at most, and then nothing more."""
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=PATIENCE))
            with contextlib.suppress(OSError):  # it may have been closed already
                one.sendall(said)
            opened.append(one)
        yield opened


def still_open(connections: list[socket.socket]) -> int:
    """How many of them the server has not closed."""
    count = 0
    for one in connections:
        one.setblocking(False)
        try:
            count += one.recv(1, socket.MSG_PEEK) != b""
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count


def answered(port: int, request: bytes) -> tuple[bytes, float]:
    """What a plain client gets, and the seconds it waited."""
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as one:
        one.sendall(request)
        return all_of(one), time.monotonic() - begun


def all_of(connection: socket.socket) -> bytes:
    """Everything that comes until the server hangs up."""
    found = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(65_536):
            found += data
    return bytes(found)


@contextlib.contextmanager
def unread(port: int, request: bytes) -> Iterator[socket.socket]:
    """A client that asks, and has hardly any room for what it does not read."""
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        one.settimeout(PATIENCE)
        one.connect(("127.0.0.1", port))
        one.sendall(request)
        yield one
