"""Reads a request to the gateway: its body within bounds, and the headers meant for the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from rubrica.gateway.controls import PREFIX
from rubrica.server.gateway.refusals import OverloadedError, TooLargeError

MOST_HELD = 400_000_000
"""Bytes of large bodies that are under way at the same time."""

_PREFIX = PREFIX.encode()


@dataclass(slots=True)
class BodyMemory:
    """Bytes of large bodies under way: many at once cannot take all memory."""

    most: int = MOST_HELD
    held: int = 0


class BodyShare:
    """What one request takes of the memory for bodies, until it is released.

    >>> memory = BodyMemory(100)
    >>> share = BodyShare(memory)
    >>> share.add(60)
    >>> memory.held
    60
    >>> share.release()
    >>> memory.held
    0
    """

    __slots__ = ("_held", "_memory")

    def __init__(self, memory: BodyMemory) -> None:
        self._memory, self._held = memory, 0

    def add(self, count: int) -> None:
        """Take more; an OverloadedError says that others have it all."""
        if self._memory.held + count > self._memory.most:
            raise OverloadedError("too many large requests are under way (try again in a moment)")
        self._memory.held += count
        self._held += count

    def release(self) -> None:
        self._memory.held -= self._held
        self._held = 0


async def receive_body(scope: Scope, receive: Receive, most: int, share: BodyShare | None = None) -> bytes:
    """The body, refused as soon as it is known to have more than `most` bytes. One that comes in parts takes a share of
    the memory for bodies, where that is counted."""
    for name, value in scope["headers"]:
        if name == b"content-length" and (not value.isdigit() or int(value[:20]) > most):
            raise TooLargeError(most)
    message = await receive()
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False) and message["type"] == "http.request":
        if len(body) > most:
            raise TooLargeError(most)
        return body
    whole = bytearray(body)
    while message["type"] == "http.request" and message.get("more_body", False):
        message = await receive()
        part = message.get("body", b"")
        whole += part
        if len(whole) > most:
            raise TooLargeError(most)
        if share is not None:
            share.add(len(part))
    if message["type"] != "http.request":
        raise ClientDisconnect
    return bytes(whole)


def meant_for_us(scope: Scope) -> dict[str, str]:
    """The headers of a request that steer the gateway."""
    return {
        name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"] if name.startswith(_PREFIX)
    }


def query_of(scope: Scope) -> Mapping[str, str]:
    """The query of a request; of a name that comes several times, the first."""
    raw = scope["query_string"]
    if not raw:
        return {}
    return dict(reversed(parse_qsl(raw.decode("latin-1"), keep_blank_values=True)))
