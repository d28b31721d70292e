"""Translates a stream of Anthropic's messages protocol to OpenAI's as it arrives."""

from __future__ import annotations

from typing import Any

import msgspec

from rubrica.jsontext import UNREADABLE
from rubrica.llm.anthropic import AnthropicTokenCounts, usage_of
from rubrica.llm.model import ModelError

from .errors import stream_error
from .message import FINISHES, Block, StopDetails, completion_id, counts
from .relay import EventSource, Relay

_encode = msgspec.json.Encoder().encode


class _Start(msgspec.Struct, gc=False):
    id: str = ""
    model: str | None = None
    usage: AnthropicTokenCounts | None = None


class _Delta(msgspec.Struct, gc=False):
    type: str = ""
    text: str = ""
    partial_json: str = ""
    stop_reason: str | None = None
    stop_details: StopDetails | None = None


class _Event(msgspec.Struct, gc=False):
    type: str
    index: int = 0
    message: _Start | None = None
    content_block: Block | None = None
    delta: _Delta | None = None
    usage: AnthropicTokenCounts | None = None


_event = msgspec.json.Decoder(_Event).decode
_CHOICE = b',"choices":[{"index":0,"delta":'


class TranslatedStream(Relay):
    """An answer under way; every event that tells the client something becomes a chunk of a chat completion."""

    def __init__(
        self, name: str, model: str, source: EventSource, *, created: int, answers_by_tool: bool, tells_counts: bool
    ) -> None:
        super().__init__(name, model, source)
        self._created, self._answers_by_tool, self._tells_counts = created, answers_by_tool, tells_counts
        self._head = b""  # of every chunk, from its id to its delta
        self._tail = b',"logprobs":null,"finish_reason":null}]' + (b',"usage":null' if tells_counts else b"") + b"}\n\n"
        self._counted = AnthropicTokenCounts()
        self._calls = 0  # of tools, so far
        self._bare = False  # whether the call under way has no arguments yet

    def _read(self, block: bytes) -> bytes:
        out = b""
        for line in block.split(b"\n"):
            if not line.startswith(b"data:"):
                continue
            data = line[5:]
            try:
                out += self._said(_event(data), data)
            except UNREADABLE:
                self._trouble = ModelError("garbled", f"{self._name}: an event of the stream is no JSON")
            except ModelError as error:
                self._trouble = error
            if self._trouble is not None:
                break
        return out

    def _said(self, event: _Event, data: bytes) -> bytes:
        match event.type:
            case "content_block_delta" if event.delta is not None:
                return self._piece(event.delta)
            case "content_block_start" if event.content_block is not None:
                return self._block(event.content_block)
            case "content_block_stop":
                return self._block_end()
            case "message_start" if event.message is not None:
                self._start(event.message)
            case "message_delta" if event.delta is not None:
                return self._finish(event.delta, event.usage)
            case "message_stop":
                self._complete = True
            case "error":
                raise stream_error(self._name, data)
        return b""  # pings, and events that do not exist yet

    def _start(self, message: _Start) -> None:
        self.model = message.model or self.model
        self._counted = message.usage or self._counted
        self.usage = usage_of(self._counted)  # of an answer that is not heard to its end, this much is known
        about = {"id": completion_id(message.id), "object": "chat.completion.chunk", "created": self._created}
        self._head = b"data: " + _encode({**about, "model": self.model})[:-1] + _CHOICE

    def _chunk(self, delta: dict[str, Any]) -> bytes:
        if not self._head:
            raise ModelError("garbled", f"{self._name}: the stream does not start with a message")
        return self._head + _encode(delta) + self._tail

    def _opening(self) -> bytes:
        """The chunk that says who speaks. It waits for the first block: until then another may still be asked."""
        if self._begun:
            return b""
        self._begun = True
        return self._chunk({"role": "assistant", "content": "", "refusal": None})

    def _block(self, block: Block) -> bytes:
        opening = self._opening()
        if block.type != "tool_use" or self._answers_by_tool:
            return opening
        self._calls, self._bare = self._calls + 1, True
        function = {"name": block.name, "arguments": ""}
        call = {"index": self._calls - 1, "id": block.id, "type": "function", "function": function}
        return opening + self._chunk({"tool_calls": [call]})

    def _piece(self, delta: _Delta) -> bytes:
        text = delta.text or delta.partial_json
        if not text:  # thoughts, signatures, citations
            return b""
        if delta.partial_json and not self._answers_by_tool:
            return self._given(text)
        self._pieces.append(text)
        return self._chunk({"content": text})

    def _given(self, arguments: str) -> bytes:
        self._bare = False
        return self._chunk({"tool_calls": [{"index": self._calls - 1, "function": {"arguments": arguments}}]})

    def _block_end(self) -> bytes:
        return self._given("{}") if self._bare else b""  # clients expect JSON, even of a call without arguments

    def _finish(self, delta: _Delta, usage: AnthropicTokenCounts | None) -> bytes:
        if usage is not None:
            self._counted = _updated(self._counted, usage)
        self.usage = usage_of(self._counted)
        if delta.stop_reason is None:
            return b""
        out = self._opening()
        reason = delta.stop_details.explanation if delta.stop_details is not None else None
        if reason and not self._pieces:
            self._pieces.append(reason)
            out += self._chunk({"refusal": reason})
        finish = FINISHES.get(delta.stop_reason, "stop")
        self.finish = "stop" if finish == "tool_calls" and self._answers_by_tool else finish
        out += self._chunk({}).replace(b'"finish_reason":null', b'"finish_reason":' + _encode(self.finish))
        if self._tells_counts:
            about = self._head.removesuffix(_CHOICE)
            out += about + b',"choices":[],"usage":' + _encode(counts(self.usage)) + b"}\n\n"
        return out


def _updated(counted: AnthropicTokenCounts, usage: AnthropicTokenCounts) -> AnthropicTokenCounts:
    """Counts grow: what a later event tells stands for what an earlier one told."""
    told = {field: value for field, value in msgspec.structs.asdict(usage).items() if value is not None}
    return msgspec.structs.replace(counted, **told)
