"""How many pages one visitor may open and keep: each costs the server most of a megabyte until its browser has gone.

A page whose browser never connects is dropped after a few seconds, or at once when its visitor opens many more. So who
only requests pages can neither fill the memory nor push out a page that somebody has open.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from nicegui import Client
from starlette.types import Scope

from rubrica.lru_cache import LruCache
from rubrica.server.limits import Bucket
from rubrica.server.problems import retry_after

CONNECTS = 20.0
"""Seconds in which the browser that requested a page must have connected; a page that was dropped loads anew."""
PAGES_PER_MINUTE = 240
"""Pages that one visitor may request."""
UPLOADS_PER_MINUTE = 60
"""Files that one visitor may upload."""
MOST_PAGES = 100
"""Pages of one visitor, open or just closed."""
MOST_UNCONNECTED = 20
"""Pages of one visitor whose browser has not connected yet."""
MOST_UNCONNECTED_OF_ALL = 200
COLLECTED = 20
"""Pages that are dropped until their memory is looked for: each is full of cycles, which would wait for long."""
MOST_VISITORS = 10_000
"""Visitors whose requests are counted."""

PAGE_VISIT = "rubrica_page_visit"
INTERNAL = "/_nicegui"
UPLOAD = "/_nicegui/client/"


def owner_of(scope: Scope) -> str:
    """Who a request is from: the key behind it or, on a server without keys, the address."""
    caller = scope.get("state", {}).get("caller")
    if caller is not None and caller.key_id is not None:
        return str(caller.key_id)
    return f"address {scope['client'][0] if scope.get('client') else ''}"


@dataclass(slots=True)
class PageVisit:
    """One request for a page, kept beside the page for as long as that lives."""

    owner: str
    drawn: bool = False
    connected: bool = False  # its browser has been there


def visit_of(client: Client) -> PageVisit | None:
    """The request that a page was drawn for."""
    try:
        visit = client.request.scope.get("state", {}).get(PAGE_VISIT)
    except RuntimeError:  # made by the framework itself
        return None
    return visit if isinstance(visit, PageVisit) else None


def owns(scope: Scope, client: Client) -> bool:
    """Whether a request is from whoever opened a page."""
    visit = visit_of(client)
    return visit is not None and visit.owner == owner_of(scope)


class PageLimits:
    """Counts the pages of each visitor."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._buckets = LruCache[tuple[str, int], Bucket](MOST_VISITORS)
        self._dropped = 0

    async def __call__(self, request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        """Pass a request on, unless it is one too many or meant for a page of somebody else."""
        path, owner = request.url.path, owner_of(request.scope)
        if path.startswith(UPLOAD):
            page = Client.instances.get(path.removeprefix(UPLOAD).partition("/")[0])
            if page is None or not owns(request.scope, page):
                return PlainTextResponse("there is no such page", 404)
            return self._too_often(owner, UPLOADS_PER_MINUTE, "files were uploaded") or await call(request)
        if path.startswith(INTERNAL):
            return await call(request)
        if refused := self._too_often(owner, PAGES_PER_MINUTE, "pages were opened") or self._too_many(owner):
            return refused
        visit = PageVisit(owner)
        request.scope.setdefault("state", {})[PAGE_VISIT] = visit
        try:
            return await call(request)
        finally:
            visit.drawn = True

    def drop_unconnected(self) -> None:
        """Drop the pages whose browser should have connected by now, and the oldest of those that are too many."""
        latest = time.time() - CONNECTS
        for client, _ in _unconnected():
            if client.created < latest:
                self._drop(client)
        waiting = _unconnected()
        while len(waiting) > MOST_UNCONNECTED_OF_ALL:
            [(most, _)] = Counter(visit.owner for _, visit in waiting).most_common(1)
            oldest = next(item for item in waiting if item[1].owner == most)
            waiting.remove(oldest)
            self._drop(oldest[0])

    def _drop(self, client: Client) -> None:
        client.delete()
        self._dropped += 1
        if self._dropped % COLLECTED == 0:
            gc.collect()

    def _too_often(self, owner: str, per_minute: int, what: str) -> Response | None:
        now, key = self._monotonic(), (owner, per_minute)
        bucket = self._buckets.get(key) or Bucket(per_minute, now)
        self._buckets.put(key, bucket)
        wait = bucket.take(now)
        if not wait:
            return None
        headers = retry_after(wait)
        told = f"Too many {what} in a short time. Try again in {headers['Retry-After']} s."
        return PlainTextResponse(told, 429, headers)

    def _too_many(self, owner: str) -> Response | None:
        """Make room for a further page of a visitor, or say why there is none."""
        waiting = [client for client, visit in _unconnected() if visit.owner == owner]
        for client in waiting[: max(0, len(waiting) - MOST_UNCONNECTED + 1)]:
            self._drop(client)
        self.drop_unconnected()
        own = sum(visit.owner == owner for client in Client.instances.values() if (visit := visit_of(client)))
        if own < MOST_PAGES:
            return None
        told = f"You have {MOST_PAGES} pages open. Close some of them, and try again in half a minute."
        return PlainTextResponse(told, 429, retry_after(30))


def note_connection(client: Client) -> None:
    """A page's browser has connected."""
    visit = visit_of(client)
    if visit is not None:
        visit.connected = True


def _unconnected() -> list[tuple[Client, PageVisit]]:
    """The drawn pages whose browser has not connected, the oldest first."""
    found = [(client, visit) for client in Client.instances.values() if (visit := visit_of(client)) is not None]
    return [(client, visit) for client, visit in found if visit.drawn and not visit.connected]
