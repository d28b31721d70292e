"""Answers and errors in Anthropic's messages protocol: whole, and as its events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from rubrica.errors import JsonError
from rubrica.gateway.chat import Chat
from rubrica.gateway.exchange import GatewayAnswer
from rubrica.gateway.upstreams.openai import text_of
from rubrica.jsontext import decode_json
from rubrica.llm.model import ModelError, Usage

from .events import named_event, one_chunk, place_of, read_chunks
from .messages_in import read_messages
from .protocol import ClientRequest, usage_of
from .refusals import ErrorReply

STOPS = {"length": "max_tokens", "tool_calls": "tool_use", "function_call": "tool_use", "content_filter": "refusal"}
"""How an answer ended, in both protocols; any other way is the end of a turn."""

ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
PATHS = ("/v1/messages", "/api/v1/messages")


class MessagesProtocol:
    """Anthropic's messages."""

    def read(self, raw: bytes, owner: str) -> ClientRequest:  # noqa: ARG002 - nothing is remembered of it
        return MessageRequest(read_messages(raw))

    def error(self, refusal: ErrorReply) -> bytes:
        return msgspec.json.encode(_error(refusal))


def error_response(path: str, refusal: ErrorReply, trace: str) -> Response:
    """The reply to a request that cannot be answered, as clients of this path understand it."""
    reply = refusal.response(trace)
    if path.startswith(PATHS):
        reply.body = MessagesProtocol().error(refusal)
        reply.headers["content-length"] = str(len(reply.body))
    return reply


def _error(refusal: ErrorReply) -> dict[str, Any]:
    kind = ERRORS.get(refusal.status, "invalid_request_error" if refusal.status < 500 else "api_error")
    return {"type": "error", "error": {"type": kind, "message": refusal.message}}


class MessageRequest:
    """One request, and its answer as far as it is told."""

    def __init__(self, chat: Chat) -> None:
        self.chat = chat
        self._content: list[dict[str, Any]] = []  # the last block is open
        self._call: object = None  # which one of the chunks, while a call is told
        self._begun = self._refused = False
        self._finish: str | None = None
        self._about: dict[str, Any] = {}
        self._ours: dict[str, Any] = {}

    def whole(self, answered: GatewayAnswer) -> bytes:
        for _ in self._said(one_chunk(answered.completion.raw)):
            pass
        for block in self._content:
            if block["type"] == "tool_use":
                block["input"] = _input(block["input"])
        message = {**self._message(usage_of(answered)), "content": self._content, **self._end()}
        return msgspec.json.encode(message | self._extra(answered))

    def part(self, block: bytes) -> bytes:
        return b"".join(named_event(event) for chunk in read_chunks(block) for event in self._said(chunk))

    def end(self, answered: GatewayAnswer, last: bytes) -> bytes:  # noqa: ARG002 - this protocol ends in its own way
        usage = usage_of(answered)
        events = [*self._begin(), *self._close()]
        events.append({"type": "message_delta", "delta": self._end(), "usage": counts(usage)})
        events.append({"type": "message_stop", **self._extra(answered)})
        return b"".join(map(named_event, events))

    def broken(self, refusal: ErrorReply) -> bytes:
        return named_event(_error(refusal))

    def _said(self, chunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The events for a chunk of a chat completion."""
        if not self._about:
            self._about = {"id": chunk.get("id"), "model": chunk.get("model")}
        self._ours |= chunk.get("sleipner") or {}
        for choice in chunk.get("choices") or ():
            if choice.get("index"):
                continue
            yield from self._begin()
            delta = choice.get("delta") or {}
            self._refused = self._refused or bool(delta.get("refusal"))
            if text := text_of(delta.get("content")) or delta.get("refusal"):
                yield from self._words(text)
            for call in delta.get("tool_calls") or ():
                yield from self._called(call)
            self._finish = choice.get("finish_reason") or self._finish

    def _begin(self) -> Iterator[dict[str, Any]]:
        if not self._begun:
            self._begun = True
            # The tokens of a prompt are known at the end: `message_delta` tells them.
            message = {**self._message(Usage()), "content": [], "stop_reason": None, "stop_sequence": None}
            yield {"type": "message_start", "message": message}

    def _words(self, text: str) -> Iterator[dict[str, Any]]:
        if not self._content or self._content[-1]["type"] != "text":
            yield from self._open({"type": "text", "text": ""})
        self._content[-1]["text"] += text
        yield self._delta({"type": "text_delta", "text": text})

    def _called(self, call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        function, place = call.get("function") or {}, place_of(call, self._call)
        if place != self._call or place is None:
            yield from self._open(
                {"type": "tool_use", "id": call.get("id") or "", "name": function.get("name") or "", "input": {}}
            )
            self._call, self._content[-1]["input"] = place, ""  # collected as a text
        if given := function.get("arguments"):
            self._content[-1]["input"] += given
            yield self._delta({"type": "input_json_delta", "partial_json": given})

    def _open(self, block: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield from self._close()
        self._content.append(dict(block))
        self._call = None
        yield {"type": "content_block_start", "index": len(self._content) - 1, "content_block": block}

    def _close(self) -> Iterator[dict[str, Any]]:
        if self._content:
            yield {"type": "content_block_stop", "index": len(self._content) - 1}

    def _delta(self, delta: dict[str, Any]) -> dict[str, Any]:
        return {"type": "content_block_delta", "index": len(self._content) - 1, "delta": delta}

    def _message(self, usage: Usage) -> dict[str, Any]:
        name = str(self._about.get("id") or "").removeprefix("chatcmpl-")
        about = {"id": f"msg_{name}", "type": "message", "role": "assistant", "model": self._about.get("model") or ""}
        return {**about, "usage": counts(usage)}

    def _end(self) -> dict[str, Any]:
        stop = STOPS.get(self._finish or "", "end_turn")
        if stop == "end_turn" and any(block["type"] == "tool_use" for block in self._content):
            stop = "tool_use"  # some servers say so of any end
        return {"stop_reason": "refusal" if self._refused else stop, "stop_sequence": None}

    def _extra(self, answered: GatewayAnswer) -> dict[str, Any]:
        """What the gateway itself has to say: why an answer is refused, and the debug block."""
        debug = answered.debug()
        ours = self._ours if debug is None else {**self._ours, "debug": debug}
        return {"sleipner": ours} if ours else {}


def counts(usage: Usage) -> dict[str, int]:
    """Token counts in Anthropic's manner, which tells apart what came from its cache.

    >>> counts(Usage(input_tokens=12, output_tokens=3, cached_input_tokens=8))["input_tokens"]
    4
    """
    read, written = usage.cached_input_tokens, usage.cache_write_tokens
    return {
        "input_tokens": max(usage.input_tokens - read - written, 0),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": usage.output_tokens,
    }


def _input(arguments: str) -> dict[str, Any]:
    try:
        given = decode_json(arguments or "{}")
    except JsonError:
        given = None
    if not isinstance(given, dict):
        raise ModelError("garbled", "the arguments of a tool call are no JSON object")
    return given
