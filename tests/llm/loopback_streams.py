"""Answers of the loopback provider as streams of server-sent events, in both protocols, with faults half-way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

from aiohttp import web

StreamFault = Literal[
    "cut",  # the connection breaks half-way
    "unfinished",  # the body ends half-way, in good order otherwise
    "garbled_event",  # an event half-way is no JSON
    "error_event",  # an event half-way says that the provider is overloaded
    "error_first",  # the same in place of the first event
    "stalled",  # nothing comes after half of it, until the client goes or the server closes
    "no_last_event",  # the answer is complete, but the last event is missing
    "crlf",  # lines end as they do in HTTP
    "lumps",  # events come in pieces that are no events
    "keep_alives",  # comments between the events
]
STREAM_FAULTS: tuple[StreamFault, ...] = get_args(StreamFault)
_NOT_SENT = 16  # characters of an event that come with the next one, in lumps


def events_of(body: dict[str, Any], asked: dict[str, Any]) -> list[bytes]:
    """A whole answer as events."""
    return list(_messages(body) if body.get("type") == "message" else _completions(body, asked))


def error_event(protocol: str) -> bytes:
    if protocol == "anthropic":
        return _event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    return b'data: {"error": {"message": "The server had an error", "type": "server_error", "code": null}}\n\n'


def _words(text: str) -> list[str]:
    pieces = text.split(" ")
    return [piece + " " for piece in pieces[:-1]] + pieces[-1:]


def _completions(body: dict[str, Any], asked: dict[str, Any]) -> Iterator[bytes]:
    counted = (asked.get("stream_options") or {}).get("include_usage")
    base = {"id": body["id"], "object": "chat.completion.chunk", "created": body["created"], "model": body["model"]}
    base |= {"usage": None} if counted else {}

    def chunk(index: int, delta: dict[str, Any], finish: str | None = None) -> bytes:
        change = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        return b"data: " + json.dumps({**base, "choices": [change]}).encode() + b"\n\n"

    for choice in body["choices"]:
        index, message = choice["index"], choice["message"]
        yield chunk(index, {"role": "assistant", "content": "", "refusal": None})
        for piece in _words(message["content"] or "") if message["content"] else ():
            yield chunk(index, {"content": piece})
        if message["refusal"]:
            yield chunk(index, {"refusal": message["refusal"]})
        for place, call in enumerate(message.get("tool_calls") or ()):
            function = call["function"]
            first = {**call, "index": place, "function": {"name": function["name"], "arguments": ""}}
            yield chunk(index, {"tool_calls": [first]})
            for piece in _words(function["arguments"]):
                yield chunk(index, {"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
        yield chunk(index, {}, choice["finish_reason"])
    if counted:
        yield b"data: " + json.dumps({**base, "choices": [], "usage": body["usage"]}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> bytes:
    return f"event: {data['type']}\ndata: {json.dumps(data)}\n\n".encode()


def _messages(body: dict[str, Any]) -> Iterator[bytes]:
    begun = {**body, "content": [], "stop_reason": None, "usage": {**body["usage"], "output_tokens": 1}}
    yield _event({"type": "message_start", "message": begun})
    yield _event({"type": "ping"})
    for index, block in enumerate(body["content"]):
        empty = {"text": {"text": ""}, "tool_use": {"input": {}}, "thinking": {"thinking": "", "signature": ""}}
        yield _event({"type": "content_block_start", "index": index, "content_block": block | empty[block["type"]]})
        for delta in _deltas(block):
            yield _event({"type": "content_block_delta", "index": index, "delta": delta})
        yield _event({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": body["stop_reason"], "stop_sequence": None, "stop_details": body["stop_details"]}
    yield _event({"type": "message_delta", "delta": ending, "usage": {"output_tokens": body["usage"]["output_tokens"]}})
    yield _event({"type": "message_stop"})


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    match block["type"]:
        case "text":
            yield from ({"type": "text_delta", "text": piece} for piece in _words(block["text"]))
        case "tool_use":
            given = _words(json.dumps(block["input"])) if block["input"] else []
            yield from ({"type": "input_json_delta", "partial_json": piece} for piece in ("", *given))
        case "thinking":
            yield {"type": "thinking_delta", "thinking": "Let me see."}
            yield {"type": "signature_delta", "signature": "c2lnbmF0dXJl"}


async def send_events(
    request: web.Request, events: Sequence[bytes], fault: str | None, pace: float, closing: asyncio.Event
) -> web.StreamResponse:
    """Send the events one by one, `pace` seconds apart, up to the fault."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    half = len(events) // 2
    for place, event in enumerate(_spoilt(events, fault)):
        if pace:
            await asyncio.sleep(pace)
        if place == half:
            match fault:
                case "cut":
                    if request.transport is not None:
                        request.transport.abort()
                    return response
                case "unfinished":
                    break
                case "stalled":
                    await closing.wait()
        await response.write(event)
    await response.write_eof()
    return response


def _spoilt(events: Sequence[bytes], fault: str | None) -> list[bytes]:
    half = len(events) // 2
    protocol = "anthropic" if events[0].startswith(b"event:") else "openai"
    match fault:
        case "garbled_event":
            return [*events[:half], b"data: {half an ev\n\n", *events[half:]]
        case "error_event":
            return [*events[:half], error_event(protocol)]
        case "error_first":
            return [error_event(protocol)]
        case "no_last_event":
            return list(events[:-1])
        case "crlf":
            return [event.replace(b"\n", b"\r\n") for event in events]
        case "lumps":
            whole = b"".join(events)
            cuts = [0, *range(_NOT_SENT, len(whole), 7 * _NOT_SENT), len(whole)]
            return [whole[start:end] for start, end in pairwise(cuts)]
        case "keep_alives":
            return [part for event in events for part in (b": still there\n\n", event)]
        case _:
            return list(events)
