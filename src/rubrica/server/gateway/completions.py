"""Requests for an answer, in any protocol: read, let the gateway answer, and send the answer whole or as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import UUID

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from rubrica.gateway.controls import read_controls
from rubrica.gateway.exchange import GONE, GatewayAnswer, GatewayRequest
from rubrica.gateway.gateway import Gateway
from rubrica.gateway.model_names import ModelNames
from rubrica.gateway.trace_context import read_trace_context
from rubrica.gateway.upstream import DONE
from rubrica.workspace.access import Caller, check_action

from .allowances import Allowances
from .events import KEEP_ALIVE, LAST, chunks
from .headers import Headers, headers_of, traced
from .intake import BodyMemory, BodyShare, meant_for_us, query_of, receive_body
from .presence import ClientPresence
from .protocol import ClientProtocol, ClientRequest
from .refusals import ErrorReply, refusal_of

JSON = (b"content-type", b"application/json")
EVENTS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # proxies in between shall pass events on as they come
]
END: Message = {"type": "http.response.body", "body": b""}


class Completions:
    """An endpoint that answers. Whatever goes wrong is told as the protocol tells it, also within a stream that has
    begun."""

    def __init__(self, gateway: Gateway, allowances: Allowances, protocol: ClientProtocol, names: ModelNames) -> None:
        self._gateway, self._allowances, self._protocol, self._names = gateway, allowances, protocol, names
        self._presence, self._memory = ClientPresence(), BodyMemory()
        self._most, self._keep_alive = gateway.settings.max_body, gateway.settings.keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller = scope["state"]["caller"]
        share = BodyShare(self._memory)
        try:
            try:
                request, asked = await self._read(caller, scope, receive, share)
            except ClientDisconnect:
                return
            except Exception as error:  # noqa: BLE001 - the boundary of a request
                refusal = refusal_of(error, str(scope["state"]["trace"]))
                self._gateway.turn_away(scope["state"]["trace"], caller.key_id, refusal.status)
                await self._tell(refusal, scope["state"]["trace"], send)
                return
            work = self._stream(request, asked, send) if asked.chat.stream else self._whole(request, asked, send)
            await self._presence.attend(receive, work)
        finally:
            share.release()

    async def _read(
        self, caller: Caller, scope: Scope, receive: Receive, share: BodyShare
    ) -> tuple[ClientRequest, GatewayRequest]:
        at, trace = self._gateway.clock(), scope["state"]["trace"]
        check_action(caller, "asking for a completion")
        allowance = await self._allowances.of(caller.key_id)
        headers, query = meant_for_us(scope), query_of(scope)
        controls = read_controls(headers, query, allowance)
        request = self._protocol.read(await receive_body(scope, receive, self._most, share), str(caller.key_id))
        chat, chosen = self._names.resolve(request.chat, allowance)
        if chosen:
            controls = read_controls({**chosen, **headers}, query, allowance)
        context = read_trace_context(scope["headers"])
        return request, GatewayRequest(chat, controls, allowance, caller.key_id, trace, at, context=context)

    async def _whole(self, request: ClientRequest, asked: GatewayRequest, send: Send) -> None:
        try:
            answered = await self._gateway.answer(asked)
            body = request.whole(answered)
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            await self._refuse(asked, error, send)
            return
        await send(_start([JSON, (b"content-length", b"%d" % len(body)), *headers_of(answered)]))
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, request: ClientRequest, asked: GatewayRequest, send: Send) -> None:
        """Events as soon as there are any; signs of life until then, once the client has waited for a while."""
        work = asyncio.ensure_future(self._gateway.answer(asked))
        begun = False
        try:
            while not (await asyncio.wait([work], timeout=self._keep_alive))[0]:
                if not begun:
                    await send(_start([*EVENTS, *traced(asked.trace)]))
                    begun = True
                await send(_part(KEEP_ALIVE))
            answered = work.result()
            if not begun:
                await send(_start([*EVENTS, *headers_of(answered)]))
                begun = True
            async with aclosing(self._events(request, answered)) as events:
                async for event in events:
                    await send(_part(event))
            await send(END)
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            await self._refuse(asked, error, send, request if begun else None)
        finally:
            await self._leave(asked, work)

    async def _events(self, request: ClientRequest, answered: GatewayAnswer) -> AsyncGenerator[bytes, None]:
        """All events of an answer."""
        last = LAST
        if answered.live:
            async with aclosing(self._gateway.follow(answered)) as events:
                async for event in events:
                    if event.startswith(DONE):
                        last = event
                    elif told := request.part(event):
                        yield told
        else:
            yield request.part(b"".join(chunks(answered.completion, usage=answered.asked.chat.wants_usage)))
        yield request.end(answered, last)

    async def _refuse(
        self, asked: GatewayRequest, error: Exception, send: Send, begun: ClientRequest | None = None
    ) -> None:
        refusal = refusal_of(error, str(asked.trace))
        self._gateway.fail(asked, refusal.status)
        if begun is not None:
            await send(_part(begun.broken(refusal)))
            await send(END)
            return
        await self._tell(refusal, asked.trace, send)

    async def _tell(self, refusal: ErrorReply, trace: UUID, send: Send) -> None:
        body = self._protocol.error(refusal)
        headers = [JSON, *((name.encode(), value.encode()) for name, value in refusal.headers.items())]
        headers += [(b"content-length", b"%d" % len(body)), *traced(trace)]
        await send(_start(headers, refusal.status))
        await send({"type": "http.response.body", "body": body})

    async def _leave(self, asked: GatewayRequest, work: asyncio.Future[GatewayAnswer]) -> None:
        """Let nothing go on for a client that has gone, and leave nothing unbooked."""
        if not work.done():
            work.cancel()
        elif not work.cancelled():
            if work.exception() is None:
                await self._gateway.abandon(work.result())
            else:
                self._gateway.fail(asked, GONE)


def _start(headers: Headers, status: int = 200) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def _part(body: bytes) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": True}
