"""``POST /v1/chat/completions``: read, let the gateway answer, and send the answer whole or as a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from rubrica.gateway.chat import read_chat
from rubrica.gateway.controls import read_controls
from rubrica.gateway.gateway import GONE, Gateway, GatewayAnswer, GatewayRequest
from rubrica.gateway.upstream import DONE
from rubrica.workspace.access import Caller, check_action

from .allowances import Allowances
from .events import KEEP_ALIVE, LAST, chunks, debug_event, with_debug
from .headers import Headers, headers_of, traced
from .intake import BodyMemory, BodyShare, meant_for_us, query_of, whole_body
from .presence import ClientPresence
from .refusals import refusal_of

JSON = (b"content-type", b"application/json")
EVENTS: Headers = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # proxies in between shall pass events on as they come
]
END: Message = {"type": "http.response.body", "body": b""}


class Completions:
    """The endpoint. Whatever goes wrong is told in OpenAI's shape: as a reply, or within a stream that has begun."""

    def __init__(self, gateway: Gateway, allowances: Allowances) -> None:
        self._gateway, self._allowances = gateway, allowances
        self._presence, self._memory = ClientPresence(), BodyMemory()
        self._most, self._keep_alive = gateway.settings.max_body, gateway.settings.keep_alive

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller = scope["state"]["caller"]
        share = BodyShare(self._memory)
        try:
            try:
                asked = await self._read(caller, scope, receive, share)
            except ClientDisconnect:
                return
            except Exception as error:  # noqa: BLE001 - the boundary of a request
                refusal = refusal_of(error, str(scope["state"]["trace"]))
                self._gateway.turn_away(scope["state"]["trace"], caller.key_id, refusal.status)
                await refusal.response(str(scope["state"]["trace"]))(scope, receive, send)
                return
            work = self._stream(asked, send) if asked.chat.stream else self._whole(asked, send)
            await self._presence.attend(receive, work)
        finally:
            share.release()

    async def _read(self, caller: Caller, scope: Scope, receive: Receive, share: BodyShare) -> GatewayRequest:
        at, trace = self._gateway.clock(), scope["state"]["trace"]
        check_action(caller, "asking for a completion")
        allowance = await self._allowances.of(caller.key_id)
        controls = read_controls(meant_for_us(scope), query_of(scope), allowance)
        chat = read_chat(await whole_body(scope, receive, self._most, share))
        return GatewayRequest(chat, controls, allowance, caller.key_id, trace, at)

    async def _whole(self, asked: GatewayRequest, send: Send) -> None:
        try:
            answered = await self._gateway.answer(asked)
            body, block = answered.completion.raw, answered.debug()
            if block is not None:
                body = with_debug(body, block)
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            await self._refuse(asked, error, send)
            return
        await send(_start([JSON, (b"content-length", b"%d" % len(body)), *headers_of(answered)]))
        await send({"type": "http.response.body", "body": body})

    async def _stream(self, asked: GatewayRequest, send: Send) -> None:
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
            async with aclosing(self._events(answered)) as events:
                async for event in events:
                    await send(_part(event))
            await send(END)
        except Exception as error:  # noqa: BLE001 - the boundary of a request
            await self._refuse(asked, error, send, begun=begun)
        finally:
            await self._leave(asked, work)

    async def _events(self, answered: GatewayAnswer) -> AsyncGenerator[bytes, None]:
        """All events of an answer. A debug block stands just before the last."""
        last = LAST
        if answered.live:
            async with aclosing(self._gateway.follow(answered)) as events:
                async for event in events:
                    if event.startswith(DONE):
                        last = event
                    else:
                        yield event
        else:
            yield b"".join(chunks(answered.completion, usage=answered.asked.chat.wants_usage))
        block = answered.debug()
        yield last if block is None else debug_event(str(answered.trace), answered.model, block) + last

    async def _refuse(self, asked: GatewayRequest, error: Exception, send: Send, *, begun: bool = False) -> None:
        refusal = refusal_of(error, str(asked.trace))
        self._gateway.fail(asked, refusal.status)
        if begun:
            await send(_part(refusal.event))
            await send(END)
            return
        headers = [JSON, *((name.encode(), value.encode()) for name, value in refusal.headers.items())]
        headers += [(b"content-length", b"%d" % len(refusal.body)), *traced(asked.trace)]
        await send(_start(headers, refusal.status))
        await send({"type": "http.response.body", "body": refusal.body})

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
