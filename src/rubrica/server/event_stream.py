"""Server-sent events: what a stream begins with, and how an event is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from pydantic import BaseModel
from starlette.types import Message

EVENTS = "text/event-stream"
KEEP_ALIVE = 10.0
"""Seconds without an event after which a comment says that the stream goes on."""

STILL_THERE = b": keep-alive\n\n"
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # proxies in between shall pass events on as they come
]


def event_block(name: str, data: Mapping[str, Any] | BaseModel, number: int | str) -> bytes:
    """One server-sent event. Its id is what a browser that connects again by itself says it has seen.

    >>> event_block("ranked", {"ranking": ["A", "B"]}, 5)
    b'id: 5\\nevent: ranked\\ndata: {"ranking":["A","B"]}\\n\\n'
    """
    plain = data.model_dump(mode="json") if isinstance(data, BaseModel) else data
    return f"id: {number}\nevent: {name}\ndata: ".encode() + msgspec.json.encode(plain) + b"\n\n"


def stream_start() -> Message:
    """The beginning of a stream."""
    return {"type": "http.response.start", "status": 200, "headers": list(_HEADERS)}


def stream_part(block: bytes) -> Message:
    """A part of a stream that goes on."""
    return {"type": "http.response.body", "body": block, "more_body": True}


def stream_end() -> Message:
    return {"type": "http.response.body", "body": b""}
