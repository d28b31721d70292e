"""A stream on its way through the gateway: blocks of server-sent events come in, and go out to the client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Protocol, Self

from rubrica.gateway.upstream import DONE
from rubrica.llm.http import StreamingAnswer
from rubrica.llm.model import ModelError, Usage

LAST = DONE + b"\n\n"
LONGEST_EVENT = 20_000_000
"""Bytes; a longer event is no piece of an answer."""

_DRAINED_WITHIN = 0.5  # seconds that an upstream may take to end its body after the last event


class EventSource(Protocol):
    """Where events come from."""

    async def block(self) -> bytes:
        """One or more whole events, as they came; nothing at the end."""
        ...

    async def drain(self) -> None:
        """The last event has come: nothing after it matters."""
        ...

    def close(self) -> None:
        """End it, whatever is still to come."""
        ...


class HttpSource:
    """Events that come over HTTP."""

    __slots__ = ("_incoming", "_rest")

    def __init__(self, incoming: StreamingAnswer) -> None:
        self._incoming = incoming
        self._rest = bytearray()  # the beginning of an event whose end has not come yet

    async def block(self) -> bytes:
        rest = self._rest
        while chunk := await self._incoming.some():
            if not rest and chunk.endswith(b"\n\n"):  # nearly always: events are sent one by one
                return chunk
            seen = max(0, len(rest) - 3)
            rest += chunk
            end = last_end(rest, seen, len(rest))
            if end:
                block = bytes(rest[:end])
                del rest[:end]
                return block
            if len(rest) > LONGEST_EVENT:
                raise ModelError("garbled", f"an event of the stream is longer than {LONGEST_EVENT:,} bytes")
        block = bytes(rest).strip()
        rest.clear()
        return block + b"\n\n" if block else b""  # some servers forget the empty line after the last event

    async def drain(self) -> None:
        await self._incoming.drain(_DRAINED_WITHIN)

    def close(self) -> None:
        self._incoming.close()


def last_end(data: bytes | bytearray, start: int, end: int) -> int:
    """Where the last event that is whole ends, between two places; 0 where none does.

    >>> last_end(b"data: 1\\n\\ndata: 2\\r\\n\\r\\ndata: 3", 0, 27)
    20
    """
    found = data.rfind(b"\n\n", start, end), data.rfind(b"\n\r\n", start, end)
    return max(found[0] + 2 if found[0] >= 0 else 0, found[1] + 3 if found[1] >= 0 else 0)


class Relay(ABC):
    """An answer under way. A protocol adds how its events are read, and what the client gets of them.

    What is iterated are blocks of one or more whole events; the last event, ``data: [DONE]``, is always alone.
    """

    def __init__(self, name: str, model: str, source: EventSource) -> None:
        self.model = model
        self.text = ""
        self.usage = Usage()
        self.finish: str | None = None
        self.release: Callable[[], None] | None = None  # called once, when the stream has ended
        self._name, self._source = name, source
        self._pieces: list[str] = []  # of the text
        self._begun = False  # whether an event came that says something
        self._complete = False  # whether the last one came
        self._trouble: ModelError | None = None  # what an event told or was, once what came before it is handed on
        self._told = False  # whether the client got the last one
        self._ended = False
        self._first = b""

    @abstractmethod
    def _read(self, block: bytes) -> bytes:
        """Take note of the events of a block; what the client gets for it, which may be nothing.

        Where one of them is trouble, that is left in `_trouble`.
        """

    async def begin(self) -> Self:
        """Wait for the first event. Trouble up to here is trouble of an attempt: the client has seen nothing yet."""
        try:
            while not self._begun:
                block = await self._next()
                if self._told:
                    raise ModelError("garbled", f"{self._name}: the stream ended before it began")
                self._first += block
                if self._trouble is not None:
                    raise self._trouble
        except BaseException:
            self._end()
            raise
        return self

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._first:
            first, self._first = self._first, b""
            return first
        if self._ended:
            raise StopAsyncIteration
        try:
            block = await self._next()
        except ModelError:
            if self._ended:  # closed from elsewhere, meanwhile
                raise StopAsyncIteration from None
            self._end()
            raise
        except BaseException:
            self._end()
            raise
        if not block:
            self._end()
            raise StopAsyncIteration
        return block

    async def aclose(self) -> None:
        self._first = b""
        self._end()

    async def _next(self) -> bytes:
        if self._told:
            await self._source.drain()
            return b""
        while not self._complete:
            if self._trouble is not None:
                raise self._trouble
            block = await self._source.block()
            if not block:
                self._check_whole()
                break
            out = self._read(block)
            if out:
                return out
        self._told = True
        return LAST

    def _check_whole(self) -> None:
        """Servers may leave out the last event, but not the end of the answer."""
        if not self._begun:
            raise ModelError("garbled", f"{self._name}: the answer is no stream of events")
        if self.finish is None:
            raise ModelError("unreachable", f"{self._name}: the stream ended before the answer was complete")

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self.text = "".join(self._pieces)
        self._source.close()
        if self.release is not None:
            self.release()
