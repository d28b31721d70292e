"""What a protocol in front of the gateway is: a client's request is read as a chat, and its answer told in its words.

Whatever protocol a request comes in, it goes one way: `Gateway.answer`. Answers come from there as a chat completion or
as a stream of its chunks, and only their form differs from here on.
"""

from __future__ import annotations

from typing import Protocol

from rubrica.gateway.chat import Chat, read_chat
from rubrica.gateway.exchange import GatewayAnswer
from rubrica.llm.model import Usage

from .events import debug_event, with_debug
from .refusals import ErrorReply


class ClientRequest(Protocol):
    """One request, and how its answer is told. It may remember what it told so far: it is used once."""

    @property
    def chat(self) -> Chat: ...

    def whole(self, answered: GatewayAnswer) -> bytes:
        """The body of a whole answer."""
        ...

    def part(self, block: bytes) -> bytes:
        """What the client gets for some events of a chat completion's stream; it may be nothing."""
        ...

    def end(self, answered: GatewayAnswer, last: bytes) -> bytes:
        """The last events of a stream, once the answer is complete; `last` is how the model's own ended."""
        ...

    def broken(self, refusal: ErrorReply) -> bytes:
        """How a stream ends that cannot go on."""
        ...


class ClientProtocol(Protocol):
    """How requests to one path are read, and errors told."""

    def read(self, raw: bytes, owner: str) -> ClientRequest:
        """A request from its body; `owner` is the key that it came with."""
        ...

    def error(self, refusal: ErrorReply) -> bytes:
        """The body of a reply without an answer."""
        ...


class ChatProtocol:
    """OpenAI's chat completions: what the models say is passed on as it is."""

    def read(self, raw: bytes, owner: str) -> ClientRequest:  # noqa: ARG002 - nothing is remembered of it
        return ChatRequest(read_chat(raw))

    def error(self, refusal: ErrorReply) -> bytes:
        return refusal.body


class ChatRequest:
    """A request for a chat completion."""

    __slots__ = ("chat",)

    def __init__(self, chat: Chat) -> None:
        self.chat = chat

    def whole(self, answered: GatewayAnswer) -> bytes:
        block = answered.debug()
        raw = answered.completion.raw
        return raw if block is None else with_debug(raw, block)

    def part(self, block: bytes) -> bytes:
        return block

    def end(self, answered: GatewayAnswer, last: bytes) -> bytes:
        """A debug block stands just before the last event."""
        block = answered.debug()
        return last if block is None else debug_event(str(answered.trace), answered.model, block) + last

    def broken(self, refusal: ErrorReply) -> bytes:
        return refusal.event


def usage_of(answered: GatewayAnswer) -> Usage:
    """The tokens of an answer, as far as they are counted."""
    routed = answered.routed
    answer = routed.completion or routed.stream
    return answer.usage if answer is not None else Usage()
