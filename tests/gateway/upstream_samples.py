"""Upstreams on the loopback provider, and what the tests of several files ask and read."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from loopback import Loopback
from pydantic import SecretStr

from rubrica.gateway.upstream import Stream, Upstream
from rubrica.gateway.upstreams.connect import connect_upstream
from rubrica.llm.http import HttpSession
from rubrica.llm.model import ModelError
from rubrica.llm.provider import ProviderLimits
from rubrica.llm.settings import Settings

ASK: dict[str, Any] = {"model": "whatever", "messages": [{"role": "user", "content": "What is 2 + 2?"}]}
STREAM = {**ASK, "stream": True}
COUNTED = {**STREAM, "stream_options": {"include_usage": True}}


def settings(server: Loopback, **more: Any) -> Settings:
    key = SecretStr(server.key or "sk-any")
    places = {"openai_base_url": server.openai_url, "anthropic_base_url": server.anthropic_url}
    return Settings(openai_key=key, anthropic_key=key, **places, **{"attempts": 1, **more})


@asynccontextmanager
async def upstream(
    server: Loopback, spec: str = "openai:gpt-4o-mini", gates: ProviderLimits | None = None, **more: Any
) -> AsyncIterator[Upstream]:
    async with HttpSession(connections=0) as session:
        yield connect_upstream(spec, settings(server, **more), session=session, gates=gates or ProviderLimits())


async def events(stream: Stream) -> list[bytes]:
    """All events of a stream, one by one."""
    blocks = [block async for block in stream]
    return [event + b"\n\n" for block in blocks for event in block.split(b"\n\n")[:-1]]


def chunks(found: list[bytes]) -> list[dict[str, Any]]:
    """What the events hold, but for the last, which has to be the one that ends a stream."""
    assert found[-1] == b"data: [DONE]\n\n"
    return [json.loads(event.removeprefix(b"data: ")) for event in found[:-1]]


def said(found: list[dict[str, Any]]) -> str:
    """The text of the first choice."""
    changes = (change for chunk in found for change in chunk["choices"] if change["index"] == 0)
    return "".join(change["delta"].get("content") or "" for change in changes)


async def trouble(call: Any) -> ModelError:
    """How a call fails."""
    try:
        await call
    except ModelError as error:
        return error
    raise AssertionError("it did not fail")
