"""Request bodies: JSON as the standard has it, not deeper than anything here needs, and of the right media type."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from rubrica.errors import JsonError
from rubrica.jsontext import decode_json

LARGE = 65_536
"""Bytes of a body that is worked on in a thread, so that nobody else waits."""

P = ParamSpec("P")
T = TypeVar("T")


def read_json(body: bytes) -> Any:
    """The data of a JSON text. NaN, half a surrogate pair, a number beyond range and a deep nest are refused with 400.

    >>> read_json(b'{"weight": 0.5}')
    {'weight': 0.5}
    """
    try:
        return decode_json(body)
    except JsonError as error:
        raise HTTPException(400, f"the body is not JSON that can be read: {error}") from None


def read_document(body: bytes) -> Any:
    """The same, where every key of an object counts: one that is given twice is refused too, for one would be lost.

    >>> read_document(b'{"weight": 0.5, "weight": 0.6}')
    Traceback (most recent call last):
        ...
    starlette.exceptions.HTTPException: 400: the body gives the key 'weight' twice
    """
    data = read_json(body)
    json.loads(body, object_pairs_hook=_refuse_twice, parse_int=_unread, parse_float=_unread)
    return data


def _refuse_twice(pairs: list[tuple[str, Any]]) -> None:
    if len({key for key, _ in pairs}) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise HTTPException(400, f"the body gives the key {twice[:60]!r} twice")


def _unread(_: str) -> None:
    """A number is not looked at."""


async def run_by_size(body: bytes, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Do something with what a body says: at once, or in a thread where the body is large and it may take a while."""
    return await asyncio.to_thread(work, *args, **options) if len(body) > LARGE else work(*args, **options)


class JsonRequest(Request):
    """A request whose body is read by `read_document`."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = await run_by_size(body, read_document, body)
        return self._json


class JsonRoute(APIRoute):
    """A route whose body, if it takes one, is JSON. Give it to a router: ``APIRouter(route_class=JsonRoute)``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        respond = super().get_route_handler()
        takes_body = self.body_field is not None

        async def handle(request: Request) -> Response:
            asked = JsonRequest(request.scope, request.receive)
            if takes_body and not is_json(asked.headers.get("content-type", "")) and await asked.body():
                raise HTTPException(415, "this path takes JSON (send it with Content-Type: application/json)")
            return await respond(asked)

        return handle


def is_json(media_type: str) -> bool:
    """Whether a Content-Type says JSON.

    >>> is_json("application/json; charset=utf-8"), is_json("application/merge-patch+json"), is_json("text/plain")
    (True, True, False)
    """
    kind = media_type.partition(";")[0].strip().lower()
    return kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json"))
