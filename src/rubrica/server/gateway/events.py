"""Server-sent events: a whole answer as chunks of a chat completion, chunks read again, and what the gateway says."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rubrica.gateway.upstream import Completion

KEEP_ALIVE = b": keep-alive\n\n"
"""A comment: clients pass over it, and proxies see that the connection is in use."""

LAST = b"data: [DONE]\n\n"
_PIECE = re.compile(r".{1,48}(?:\s|\Z)|.{1,48}", re.DOTALL)
_APART = ("object", "choices", "usage")
_encode = msgspec.json.Encoder().encode


def event(data: Mapping[str, Any]) -> bytes:
    """One event.

    >>> event({"ok": True})
    b'data: {"ok":true}\\n\\n'
    """
    return b"data: " + _encode(data) + b"\n\n"


def read_chunks(block: bytes) -> Iterator[dict[str, Any]]:
    """The chunks that some events of a stream hold.

    >>> list(read_chunks(b'data: {"choices": []}\\n\\n: a comment\\n\\n'))
    [{'choices': []}]
    """
    for line in block.split(b"\n"):
        if line.startswith(b"data:") and line[5:].strip() != b"[DONE]":
            yield msgspec.json.decode(line[5:])


def one_chunk(raw: bytes) -> dict[str, Any]:
    """A whole answer as the only chunk of a stream."""
    whole = msgspec.json.decode(raw)
    changes = []
    for choice in whole["choices"][:1]:
        message = dict(choice.get("message") or {})
        calls = [{"index": place, **call} for place, call in enumerate(message.get("tool_calls") or ())]
        finish = choice.get("finish_reason")
        changes.append({"index": 0, "delta": {**message, "tool_calls": calls}, "finish_reason": finish})
    return {**whole, "choices": changes}


def place_of(call: Mapping[str, Any], current: object) -> object:
    """Which call of a tool a piece belongs to: by its index or, of servers that send none, by its id.

    >>> place_of({"index": 1}, 0), place_of({"id": "a"}, None), place_of({"function": {"arguments": "{}"}}, "a")
    (1, 'a', 'a')
    """
    place = call.get("index")
    return place if place is not None else call.get("id") or current


def named_event(data: Mapping[str, Any]) -> bytes:
    """One event that is called as its data says.

    >>> named_event({"type": "ping"})
    b'event: ping\\ndata: {"type":"ping"}\\n\\n'
    """
    return b"event: " + str(data["type"]).encode() + b"\n" + event(data)


def chunks(answer: Completion, *, usage: bool) -> Iterator[bytes]:
    """A whole answer as the events of a stream, but for the last: role, content in pieces, finish, and token counts."""
    whole = msgspec.json.decode(answer.raw)
    base = {"object": "chat.completion.chunk", **{key: value for key, value in whole.items() if key not in _APART}}
    after = {"usage": None} if usage else {}
    for choice in whole["choices"]:
        for change in _changes(choice):
            yield event({**base, "choices": [{"index": choice.get("index", 0), **change}], **after})
    if usage:
        yield event({**base, "choices": [], "usage": whole.get("usage")})


def _changes(choice: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of one choice, in the order a model writes them."""
    message = dict(choice.get("message") or {})
    text, calls = message.pop("content", None), message.pop("tool_calls", None)
    others = {key: value for key, value in message.items() if value is not None and key != "role"}
    logprobs = choice.get("logprobs")
    yield _change({"role": message.get("role") or "assistant", "content": "" if text is not None else None, **others})
    if text:
        # Log-probabilities belong to tokens, whose bounds are not ours to know: their text stays in one piece.
        for piece in [text] if logprobs else pieces(text):
            yield _change({"content": piece}, logprobs)
    if calls:
        yield _change({"tool_calls": [{"index": place, **call} for place, call in enumerate(calls)]})
    yield _change({}, finish=choice.get("finish_reason"))


def _change(delta: dict[str, Any], logprobs: Any = None, finish: str | None = None) -> dict[str, Any]:
    return {"delta": delta, "logprobs": logprobs, "finish_reason": finish}


def pieces(text: str) -> list[str]:
    """A text in pieces of a few words.

    >>> pieces("one two")
    ['one two']
    >>> "".join(pieces("so many words " * 50)) == "so many words " * 50
    True
    """
    return _PIECE.findall(text)


def debug_event(trace: str, model: str, block: Mapping[str, Any]) -> bytes:
    """The debug block as a chunk without choices; the last one before the end."""
    return event(
        {
            "id": f"chatcmpl-{trace}",
            "object": "chat.completion.chunk",
            "created": int(time.time()),
            "model": model,
            "choices": [],
            "sleipner": {"debug": block},
        }
    )


def with_debug(raw: bytes, block: Mapping[str, Any]) -> bytes:
    """A whole answer with the debug block added at its end; all else stays as it is, byte by byte.

    >>> with_debug(b'{"id": 1.50}', {})
    b'{"id": 1.50,"sleipner":{"debug":{}}}'
    """
    body = raw.rstrip()
    return body[:-1].rstrip() + b',"sleipner":' + _encode({"debug": block}) + b"}"
