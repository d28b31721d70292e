"""Defaults for the embedded model, which is too small to answer well without a system message.

Asked for the capital of France without a system message, or with llama.cpp's own temperature, it answers with a
hundred words of French. With a plain system message, always taking the likeliest word, it names Paris.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .upstream import Completion, Stream, Upstream

SYSTEM = {"role": "system", "content": "You are a helpful assistant."}
SAMPLING = {"temperature": 0, "repeat_penalty": 1.1}


class GuidedUpstream:
    """A model that gets a system message and a way of sampling where the request has none."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    @property
    def name(self) -> str:
        return self._upstream.name

    async def complete(self, body: Mapping[str, Any]) -> Completion:
        return await self._upstream.complete(with_defaults(body))

    async def open_stream(self, body: Mapping[str, Any]) -> Stream:
        return await self._upstream.open_stream(with_defaults(body))

    async def close(self) -> None:
        await self._upstream.close()


def with_defaults(body: Mapping[str, Any]) -> dict[str, Any]:
    """A request with what it left open.

    >>> with_defaults({"messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5})["temperature"]
    0.5
    """
    messages = list(body["messages"])
    if not any(message.get("role") in ("system", "developer") for message in messages):
        messages.insert(0, SYSTEM)
    sampling = SAMPLING if body.get("temperature") is None else {}
    return {**body, **sampling, "messages": messages}
