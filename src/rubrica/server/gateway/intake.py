"""What comes in with a request: its body within bounds, and the headers that are meant for the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from rubrica.gateway.controls import PREFIX
from rubrica.server.gateway.refusals import TooLargeError

_PREFIX = PREFIX.encode()


async def whole_body(scope: Scope, receive: Receive, most: int) -> bytes:
    """The body, refused as soon as it is known to have more than `most` bytes."""
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
        whole += message.get("body", b"")
        if len(whole) > most:
            raise TooLargeError(most)
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
