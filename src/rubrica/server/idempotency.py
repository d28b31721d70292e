"""A POST that carries an Idempotency-Key has one effect and one reply, however often it is sent.

The middleware reserves the key before the route runs, `write_once` keeps the reply in the transaction that has the
effect, and a request that comes to nothing lets go of the key again.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar, cast
from uuid import uuid4

from fastapi import Request, Response
from sqlalchemy import Connection
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rubrica.errors import StoreError
from rubrica.store.idempotency import ABANDONED, IdempotencySlot, StoredReply, release, renew, reserve, save_reply
from rubrica.workspace.access import Caller, Role

from .problems import refusal, refusal_of, retry_after
from .responses import RouteAnswer, render
from .service import Service

P = ParamSpec("P")
T = TypeVar("T")
LOG = logging.getLogger("rubrica.server")
RENEWED = ABANDONED.total_seconds() / 3
"""Seconds between two signs of life of a request that takes long."""

_KEY = re.compile(rb"[!-~]{1,255}\Z")


@dataclass(slots=True)
class IdempotencyClaim:
    """An idempotency key that a request holds, until its reply is kept or it comes to nothing."""

    slot: IdempotencySlot
    settled: bool = False


async def write_once(
    request: Request,
    respond: Callable[[T], RouteAnswer],
    query: Callable[Concatenate[Connection, P], T],
    *args: P.args,
    **options: P.kwargs,
) -> Response:
    """Run a query in one transaction and answer with what `respond` makes of its result.

    Where the request carried an Idempotency-Key, its reply is kept in the same transaction. `respond` is pure: it may
    run in another thread, and again if the database asks for another try.
    """
    service = cast("Service", request.app.state.service)
    claim: IdempotencyClaim | None = request.scope["state"].get("claim")
    if claim is None:
        return render(respond(await service.database.write(query, *args, **options)))

    def both(conn: Connection) -> Response:
        reply = render(respond(query(conn, *args, **options)))
        save_reply(conn, claim.slot, reply.status_code, dict(reply.headers), bytes(reply.body), service.clock())
        return reply

    reply = await service.database.write(both)
    claim.settled = True
    return reply


class Idempotency:
    """Reserves the Idempotency-Key of a POST, or gives the reply it already has."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        key = _key(scope)
        if key is None:
            await self._app(scope, receive, send)
            return
        if not _KEY.match(key):
            detail = "an Idempotency-Key has 1 to 255 visible ASCII characters"
            await refusal(scope, 400, detail)(scope, receive, send)
            return
        try:
            body = await _read_body(receive)
            if body is None:  # the client went away
                return
            caller: Caller = scope["state"]["caller"]
            slot = IdempotencySlot(caller.user_id, key.decode(), _digest(scope, body, caller.role), uuid4())
            earlier = await self._service.database.write(reserve, slot, self._service.clock())
        except (HTTPException, StoreError) as error:
            await refusal_of(scope, error)(scope, receive, send)
            return
        if earlier is not None:
            await _again(scope, slot, earlier)(scope, receive, send)
            return
        claim = scope["state"]["claim"] = IdempotencyClaim(slot)
        renewing = asyncio.get_running_loop().create_task(self._renew(slot))

        async def settled(message: Message) -> None:
            await self._settle(claim)  # before the client hears of it: it may send the request again at once
            await send(message)

        try:
            await self._app(scope, _replayed(body, receive), settled)
        finally:
            renewing.cancel()
            await self._settle(claim)

    async def _settle(self, claim: IdempotencyClaim) -> None:
        """Let go of a key unless the reply was kept."""
        if claim.settled:
            return
        claim.settled = True
        try:
            await self._service.database.write(release, claim.slot)
        except StoreError as error:
            LOG.warning("an idempotency key stays reserved for a while: %s", error)

    async def _renew(self, slot: IdempotencySlot) -> None:
        while True:
            await asyncio.sleep(RENEWED)
            with suppress(StoreError):  # the next sign of life may come through
                await self._service.database.write(renew, slot, self._service.clock())


def _key(scope: Scope) -> bytes | None:
    if scope["type"] == "http" and scope["method"] == "POST" and "caller" in scope["state"]:
        for name, value in scope["headers"]:
            if name == b"idempotency-key":
                return bytes(value)
    return None


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body; None if the client went away before its end."""
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read already, given once more; then whatever else the client does."""
    given = False

    async def replayed() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


def _digest(scope: Scope, body: bytes, role: Role) -> bytes:
    """What was asked, in 32 bytes: path, query, media type and body, and with which role: a lesser key of the same user
    is not told what a stronger one was."""
    media = next((value for name, value in scope["headers"] if name == b"content-type"), b"")
    digest = hashlib.sha256()
    for part in (scope["path"].encode(), scope["query_string"], media, body, role.encode()):
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.digest()


def _again(scope: Scope, slot: IdempotencySlot, earlier: StoredReply) -> Response:
    """What a key that is taken stands for."""
    if earlier.request != slot.request:
        return refusal(scope, 422, "this Idempotency-Key was used for another request (make a new key for each)")
    if earlier.status is None:
        detail = "the request with this Idempotency-Key is under way (send it again for its reply)"
        return refusal(scope, 409, detail, headers=retry_after(1))
    return Response(earlier.body, earlier.status, {**earlier.headers, "Idempotency-Replayed": "true"})
