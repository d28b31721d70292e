"""Request bodies: JSON as the standard has it, not deeper than anything here needs, and of the right media type."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

import msgspec
from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

DEEPEST = 100
"""Levels of lists and objects."""

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
        data = msgspec.json.decode(body)
    except RecursionError:
        raise HTTPException(400, f"the body is nested more than {DEEPEST} levels deep") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from None
    if body.count(b"[") + body.count(b"{") > DEEPEST and _deeper(data, DEEPEST):
        raise HTTPException(400, f"the body is nested more than {DEEPEST} levels deep")
    return data


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


def _deeper(data: Any, levels: int) -> bool:
    level = [data]
    for _ in range(levels + 1):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return False
    return True


async def apart(body: bytes, work: Callable[P, T], *args: P.args, **options: P.kwargs) -> T:
    """Do something with what a body says: at once, or in a thread where the body is large and it may take a while."""
    return await asyncio.to_thread(work, *args, **options) if len(body) > LARGE else work(*args, **options)


class JsonRequest(Request):
    """A request whose body is read by `read_document`."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = await apart(body, read_document, body)
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
