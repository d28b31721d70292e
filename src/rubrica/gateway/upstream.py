"""What a model behind the gateway is: a chat completion request in, the same protocol's answer or stream out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

import msgspec

from rubrica.llm.model import Usage

DONE = b"data: [DONE]"
"""How the last event of every stream begins."""


class HedgedCall(msgspec.Struct, frozen=True, gc=False):
    """A call that was under way beside the one whose answer was taken, and was ended for it."""

    model: str  # as the settings name it
    first: bool = False  # whether it was asked before the other
    usage: Usage | None = None  # None: it was ended before its answer came


class Completion(msgspec.Struct, frozen=True):
    """One whole answer."""

    raw: bytes  # a chat.completion object, as the client gets it
    text: str  # of its first choice; empty where it only calls tools
    model: str  # as the provider names it
    usage: Usage
    finish: str | None = None
    calls_tools: bool = False
    duration_ms: float = 0.0
    asked: str = ""  # the model as the settings name it, where a tier has several deployments …
    deployment: str = ""  # … and which of them it was
    hedged: tuple[HedgedCall, ...] = ()  # other deployments that were asked as well


class Stream(Protocol):
    """An answer under way: blocks of one or more whole server-sent events, as they come. The last event is alone.

    `text`, `usage` and `finish` are complete once the iterator has ended. Closing it early ends the upstream's work.
    """

    model: str
    text: str
    usage: Usage
    finish: str | None

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class Upstream(Protocol):
    """A model that answers chat completion requests. Trouble is a ModelError, after all retries."""

    @property
    def name(self) -> str: ...  # as a user wrote it: openai:gpt-4o-mini

    async def complete(self, body: Mapping[str, Any]) -> Completion: ...

    async def open_stream(self, body: Mapping[str, Any]) -> Stream:
        """Returns once the first event has come: trouble up to there is a ModelError, and somebody else may answer."""
        ...

    async def close(self) -> None: ...
