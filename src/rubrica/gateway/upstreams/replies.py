"""Models that answer from a file, for tests, demos and dry runs: their reply is the answer, in one piece."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any
from uuid import uuid4

import msgspec

from rubrica.gateway.upstream import Completion
from rubrica.llm.model import ChatMessage, Model, Reply, Request, Role, StopReason

from .message import counts
from .openai import PassThroughStream, text_of, wants_counts

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "assistant": "assistant"}
_FINISHES: dict[StopReason, str] = {"length": "length", "refusal": "content_filter"}
_encode = msgspec.json.Encoder().encode


class RepliesUpstream:
    """A Model in the place of a provider. It is shown the texts of the conversation and nothing else."""

    def __init__(self, model: Model, clock: Callable[[], float] = time.time) -> None:
        self._model, self._clock = model, clock

    @property
    def name(self) -> str:
        return self._model.name

    async def complete(self, body: Mapping[str, Any]) -> Completion:
        reply = await self._model(_request(body))
        finish = _FINISHES.get(reply.stop, "stop")
        message = {"role": "assistant", "content": reply.text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        whole = {**self._about(reply), "object": "chat.completion", "choices": [choice], "usage": counts(reply.usage)}
        return Completion(_encode(whole), reply.text, reply.model, reply.usage, finish, False, reply.duration_ms)

    async def open_stream(self, body: Mapping[str, Any]) -> PassThroughStream:
        reply = await self._model(_request(body))
        about = {**self._about(reply), "object": "chat.completion.chunk"}
        finish = _FINISHES.get(reply.stop, "stop")
        chunks = [
            {**about, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
            {**about, "choices": [{"index": 0, "delta": {"content": reply.text}, "finish_reason": None}]},
            {**about, "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {**about, "choices": [], "usage": counts(reply.usage)},
        ]
        source = _Ready([b"data: " + _encode(chunk) + b"\n\n" for chunk in chunks])
        return await PassThroughStream(self.name, reply.model, source, hides_counts=not wants_counts(body)).begin()

    async def close(self) -> None:
        await self._model.close()

    def _about(self, reply: Reply) -> dict[str, Any]:
        return {"id": f"chatcmpl-{uuid4().hex}", "created": int(self._clock()), "model": reply.model}


class _Ready:
    """Events that are all there."""

    def __init__(self, events: list[bytes]) -> None:
        self._events = iter(events)

    async def block(self) -> bytes:
        return next(self._events, b"")

    async def drain(self) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing is open."""


def _request(body: Mapping[str, Any]) -> Request:
    messages = tuple(
        ChatMessage(_ROLES.get(message["role"], "user"), text_of(message.get("content")))
        for message in body["messages"]
    )
    return Request(messages)
