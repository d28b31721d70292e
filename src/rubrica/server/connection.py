"""A client's connection, with an end to its patience: a client that sends or reads too slowly frees its place for
others. Every server of ours is served over connections of this kind."""

from __future__ import annotations

import asyncio
import socket
import struct
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .connection_limits import ConnectionLimits, ConnectionRegistry, raise_file_limit
from .listening import WAITING

HEAD_SECONDS = 20.0
"""Seconds in which the head of a request must have come, from the connection or from the last reply on."""

LARGEST_HEAD = 65_536
"""Bytes of a head that is not complete."""

BODY_SECONDS = 60.0
"""Seconds in which a body must have come; a large one has more, by `BODY_RATE`."""

BODY_RATE = 100_000
"""Bytes of a body that earn it another second."""

READ_SECONDS = 20.0
"""Seconds in which a client must take some of a reply that waits for it."""

READ_RATE = 1_000
"""Bytes of a reply that a client takes in a second, at the least."""


class Connection(HttpToolsProtocol):
    """What uvicorn does with a connection; it sets no bounds of its own to how long a client may take, and to how many
    clients there are. How large a body may get is the business of `rubrica.server.limits`."""

    head_seconds = HEAD_SECONDS
    body_seconds = BODY_SECONDS
    read_seconds = READ_SECONDS
    _head_since: float | None = None  # when a head was begun to wait for that is still coming
    _head_come = 0  # bytes of it so far
    _body_since: float | None = None  # when the body began that is still coming
    _body_come = 0
    _unread: tuple[float, int] | None = None  # since when so many bytes have waited for a client that reads too slowly
    _upgraded = False  # to a WebSocket, which has signs of life of its own

    def __init__(self, config: uvicorn.Config, *args: Any, **options: Any) -> None:
        super().__init__(config, *args, **options)
        if not isinstance(config, ServingConfig):
            raise TypeError("connections of this kind are served with a ServingConfig")
        self._registry = config.registry

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if self._registry.add(self, self.client[0] if self.client is not None else "", self.loop):
            self._head_since = self.loop.time()
        else:
            self._reply(503, "Too many connections; try again in a moment.")

    def connection_lost(self, exc: Exception | None) -> None:
        self._registry.remove(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle = self.cycle
        if cycle is None or cycle.response_complete:  # no request is under way: what has come is part of a head
            if self._head_since is None:
                self._head_since = self.loop.time()
            self._head_come += len(data)
            if self._head_come > LARGEST_HEAD:
                self._refuse("The head of the request is too large.")
        elif cycle.more_body:
            self._head_since, self._head_come = None, 0
            if self._body_since is None:
                self._body_since, self._body_come = self.loop.time(), 0
            self._body_come += len(data)

    def on_message_complete(self) -> None:
        self._head_since = self._body_since = None
        self._head_come = 0
        self._registry.answer(self)
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete:  # otherwise the next request has come already
            self._registry.wait(self)

    def handle_websocket_upgrade(self) -> None:
        self._upgraded = True
        super().handle_websocket_upgrade()

    def make_room(self) -> None:
        """Close at once: somebody else needs the place."""
        self._cut()

    def check(self, now: float) -> bool:
        """Close it if its client is too slow; False: it has been closed already, and nobody told."""
        if self._upgraded:
            return not self.transport.is_closing()
        if self._head_since is not None and now - self._head_since > self.head_seconds:
            self._refuse("The request took too long to come.")
        elif self._sends_too_slowly(now):
            self._body_since = None
            if self.cycle is None or self.cycle.response_started:
                self._cut()
            else:
                self._reply(408, "The body took too long to come.")
        elif self._reads_too_slowly(now):
            self._cut()
        return True

    def _sends_too_slowly(self, now: float) -> bool:
        if self._body_since is None or self.flow.read_paused:  # paused: it is we who do not read
            return False
        return now - self._body_since > self.body_seconds + self._body_come / BODY_RATE

    def _reads_too_slowly(self, now: float) -> bool:
        """Whether so much of a reply waits that nothing more is written, or that closing waits for it, and too little
        was taken of it for a while."""
        waiting = self.transport.get_write_buffer_size()
        if not waiting or not (self.flow.write_paused or self.transport.is_closing()):
            self._unread = None
            return False
        since, before = self._unread or (now, waiting)
        if before - waiting >= READ_RATE * self.read_seconds or before < waiting:
            since, before = now, waiting
        self._unread = (since, before)
        return now - since >= self.read_seconds

    def _refuse(self, reason: str) -> None:
        self._head_since = None
        if self.transport.is_closing():
            return
        if self._head_come and (self.cycle is None or self.cycle.response_complete):
            self.send_400_response(reason)
        else:
            self.transport.close()

    def _cut(self) -> None:
        """Close at once, and let the system forget what the client has not read: it would keep that for minutes."""
        if (link := self.transport.get_extra_info("socket")) is not None:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()

    def _reply(self, status: int, reason: str) -> None:
        """Answer without asking the application, and close."""
        head = f"HTTP/1.1 {status} {'Request Timeout' if status == 408 else 'Service Unavailable'}\r\n"
        retry = "retry-after: 1\r\n" if status == 503 else ""
        about = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(reason)}\r\nconnection: close\r\n"
        self.transport.write(f"{head}{retry}{about}\r\n{reason}".encode())
        self.transport.close()


class ServingConfig(uvicorn.Config):
    """How uvicorn serves an app of ours, and the connections that it holds."""

    def __init__(self, app: Any, *, limits: ConnectionLimits | None = None, **options: Any) -> None:
        super().__init__(app, **options)
        self.registry = ConnectionRegistry(limits or ConnectionLimits.for_files(raise_file_limit()))


def serving_config(app: Any, **options: Any) -> ServingConfig:
    """How an app of ours is served: quietly, with connections of this kind."""
    return ServingConfig(
        app,
        **{
            "http": Connection,
            "lifespan": "on",
            "ws": "none",
            "log_level": "warning",
            "access_log": False,
            "server_header": False,
            "backlog": min(WAITING, raise_file_limit() // 4),  # asyncio accepts as many at once before we can count
            "proxy_headers": False,  # anybody could send them: rubrica.server.proxies reads those of named proxies
            **options,
        },
    )
