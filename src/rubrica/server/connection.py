"""A client's connection, with an end to its patience: a request that is sent too slowly frees its place for others."""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_SECONDS = 20.0
"""Seconds in which the head of a request must have come, from the connection or from the last reply on."""

LARGEST_HEAD = 65_536
"""Bytes of a head that is not complete."""


class Connection(HttpToolsProtocol):
    """What uvicorn does with a connection; it sets no bounds of its own to how long or large a head may get.

    How long and large a body may get is the business of `rubrica.server.limits`.
    """

    head_seconds = HEAD_SECONDS
    _come = 0  # bytes of the head so far
    _patience: asyncio.TimerHandle | None = None  # None: no head is expected just now

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect()

    def connection_lost(self, exc: Exception | None) -> None:
        self._relax()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._patience is None and (self.cycle is None or self.cycle.response_complete):
            self._expect()
        super().data_received(data)
        if self._patience is not None:
            self._come += len(data)
            if self._come > LARGEST_HEAD:
                self._refuse("The head of the request is too large.")

    def on_headers_complete(self) -> None:
        self._relax()
        super().on_headers_complete()

    def _expect(self) -> None:
        self._come = 0
        self._patience = self.loop.call_later(self.head_seconds, self._refuse, "The request took too long to come.")

    def _relax(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _refuse(self, reason: str) -> None:
        self._relax()
        if self.transport.is_closing():
            return
        if self._come and (self.cycle is None or self.cycle.response_complete):
            self.send_400_response(reason)
        else:
            self.transport.close()


def serving_config(app: Any, **options: Any) -> uvicorn.Config:
    """How an app of ours is served: quietly, with connections of this kind."""
    return uvicorn.Config(
        app,
        **{
            "http": Connection,
            "lifespan": "on",
            "ws": "none",
            "log_level": "warning",
            "access_log": False,
            "server_header": False,
            "proxy_headers": False,  # anybody could send them: rubrica.server.proxies reads those of named proxies
            **options,
        },
    )
