"""An upstream with retries, a concurrency limit and a circuit breaker, the same that judges have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from rubrica.gateway.upstream import Completion, Stream
from rubrica.llm.breaker import CircuitBreaker
from rubrica.llm.limits import AdaptiveLimit
from rubrica.llm.retry import Retrying, RetryPolicy

from .relay import Relay

R = TypeVar("R")


class Wire(Protocol[R]):
    """How one kind of model is asked: a request is written once, and may be sent several times."""

    @property
    def name(self) -> str: ...

    def write(self, body: Mapping[str, Any], *, stream: bool) -> R:
        """The request as it is sent; a ModelError says what cannot be."""
        ...

    async def complete(self, request: R) -> Completion:
        """One attempt."""
        ...

    async def begin(self, request: R) -> Relay:
        """One attempt; done when the first event has come."""
        ...


class RetryingUpstream(Retrying, Generic[R]):
    """One model. A stream is tried again only before its first event, and keeps its place until it has ended."""

    __slots__ = ("_wire",)

    def __init__(self, wire: Wire[R], limit: AdaptiveLimit, breaker: CircuitBreaker, patience: RetryPolicy) -> None:
        super().__init__(wire.name, limiter=limit, breaker=breaker, patience=patience)
        self._wire = wire

    async def complete(self, body: Mapping[str, Any]) -> Completion:
        # Written before anything is counted: what cannot be asked says nothing about the provider.
        return await self.run(self._wire.complete, self._wire.write(body, stream=False))

    async def open_stream(self, body: Mapping[str, Any]) -> Stream:
        relay, slot = await self.hold(self._wire.begin, self._wire.write(body, stream=True))
        relay.release = slot.step_out
        return relay

    async def close(self) -> None:
        """Nothing to do: connections belong to the session, and weights to whoever uses them."""
