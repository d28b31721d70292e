"""Models that speak OpenAI's protocol: requests and answers pass through as they are, and are read on the way.

Only `model` is replaced. What comes back is what the provider sent, byte by byte; a small decoder picks out the text,
the token counts and how it ended, and skips the rest. A stream is asked for its token counts, so that its cost is
known; where the client did not want them, that one event is left out again.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from rubrica.gateway.upstream import Completion
from rubrica.jsontext import UNREADABLE
from rubrica.llm.http_model import HttpModel, OptionalField, refused_field
from rubrica.llm.model import ModelError
from rubrica.llm.openai import OpenAITokenCounts, usage_of

from .errors import stream_error
from .relay import EventSource, HttpSource, Relay, last_end

_STREAM_OPTIONS = OptionalField("stream_options", ("stream_options", "include_usage"), any_fault=True)
_MARK = "cache_control"
_NOTHING = (b"", b"null", b"[]")
_encode = msgspec.json.Encoder().encode


class _Message(msgspec.Struct, gc=False):
    content: Any = None  # a text, or parts where a server has them
    refusal: str | None = None
    tool_calls: msgspec.Raw = msgspec.Raw(b"")
    function_call: msgspec.Raw = msgspec.Raw(b"")


class _Choice(msgspec.Struct, gc=False):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct, gc=False):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    model: str | None = None
    usage: OpenAITokenCounts | None = None


class _Delta(msgspec.Struct, gc=False):
    content: Any = None
    refusal: str | None = None


class _Change(msgspec.Struct, gc=False):
    index: int = 0
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Change] | None = None
    model: str | None = None
    usage: OpenAITokenCounts | None = None
    object: str | None = None
    error: msgspec.Raw = msgspec.Raw(b"")


_completion = msgspec.json.Decoder(_Completion)
_chunk = msgspec.json.Decoder(_Chunk).decode


class OpenAIRequest(msgspec.Struct, frozen=True):
    """A request as it is sent."""

    body: bytes
    unadorned: Mapping[str, Any] | None = None  # the same without a wish that is ours and not the client's


class OpenAIWire:
    """One model of one server."""

    def __init__(self, client: HttpModel) -> None:
        self._client = client
        self._counts_streams = True  # until the server says that it cannot
        self._plain_parts = client.name.startswith("openai:")  # others may know more than OpenAI's own

    @property
    def name(self) -> str:
        return self._client.name

    def write(self, body: Mapping[str, Any], *, stream: bool) -> OpenAIRequest:
        sent = {**body, "model": self._client.model}
        if self._plain_parts:
            sent["messages"] = [_without_marks(message) for message in sent["messages"]]
        if not stream:
            if sent.get("stream"):
                del sent["stream"]
                sent.pop("stream_options", None)
            return OpenAIRequest(_encode(sent))
        options = sent.get("stream_options")
        if wants_counts(body) or not self._counts_streams or not isinstance(options, dict | None):
            return OpenAIRequest(_encode(sent))
        return OpenAIRequest(_encode({**sent, "stream_options": {**(options or {}), "include_usage": True}}), sent)

    async def complete(self, request: OpenAIRequest) -> Completion:
        started = time.perf_counter()
        answer = await self._client.post(request.body)
        if not 200 <= answer.status < 300:
            raise self._client.error_of(answer)
        whole = self._client.read(answer.body, _completion)
        choice = whole.choices[0]
        message = choice.message
        return Completion(
            answer.body,
            text_of(message.content) or message.refusal or "",
            whole.model or self._client.model,
            usage_of(whole.usage),
            choice.finish_reason,
            bytes(message.tool_calls) not in _NOTHING or bytes(message.function_call) not in _NOTHING,
            (time.perf_counter() - started) * 1000,
        )

    async def begin(self, request: OpenAIRequest) -> Relay:
        incoming = await self._client.open(request.body)
        if not 200 <= incoming.status < 300:
            answer = await incoming.read_all()
            if request.unadorned is None or not refused_field(answer, ("stream_options",), (_STREAM_OPTIONS,)):
                raise self._client.error_of(answer)
            self._counts_streams = False
            return await self.begin(OpenAIRequest(_encode(request.unadorned)))
        source, hides_counts = HttpSource(incoming), request.unadorned is not None
        return await PassThroughStream(self.name, self._client.model, source, hides_counts=hides_counts).begin()


class PassThroughStream(Relay):
    """A stream of chat completion chunks, handed on as it comes."""

    def __init__(self, name: str, model: str, source: EventSource, *, hides_counts: bool) -> None:
        super().__init__(name, model, source)
        self._hides_counts = hides_counts

    def _read(self, block: bytes) -> bytes:
        out = block
        for line in block.split(b"\n"):
            if not line.startswith(b"data:"):
                continue
            data = line[5:]
            try:
                chunk = _chunk(data)
            except UNREADABLE:
                if data.strip() == b"[DONE]":
                    self._complete = True
                else:
                    self._trouble = ModelError("garbled", f"{self._name}: an event of the stream is no JSON")
                return _before(out, line)
            if chunk.choices is None and (chunk.error or chunk.object == "error"):
                self._trouble = stream_error(self._name, data)
                return _before(out, line)
            if self._note(chunk):
                out = _remove_event(out, line)
        return out

    def _note(self, chunk: _Chunk) -> bool:
        """Whether it holds token counts that the client did not ask for, and nothing else."""
        if not self._begun:
            self._begun = True
            self.model = chunk.model or self.model
        choices = chunk.choices
        if choices:
            for change in choices:
                if change.index:
                    continue
                delta = change.delta
                if delta is not None and (text := delta.content or delta.refusal):
                    self._pieces.append(text if type(text) is str else text_of(text))
                if change.finish_reason is not None:
                    self.finish = change.finish_reason
        if chunk.usage is None:
            return False
        self.usage = usage_of(chunk.usage)
        return self._hides_counts and not choices


def wants_counts(body: Mapping[str, Any]) -> bool:
    """Whether a stream shall end with its token counts."""
    options = body.get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def text_of(content: object) -> str:
    """The text of a message, whether it is one text or parts.

    >>> text_of("yes"), text_of([{"type": "text", "text": "yes"}, {"type": "thinking"}]), text_of(None)
    ('yes', 'yes', '')
    """
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else ()
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _without_marks(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """A message without marks for the cache of Anthropic's, which OpenAI refuses: it keeps one by itself."""
    content = message.get("content")
    if not isinstance(content, list) or not any(isinstance(part, dict) and _MARK in part for part in content):
        return message
    plain = [{key: part[key] for key in part if key != _MARK} if isinstance(part, dict) else part for part in content]
    return {**message, "content": plain}


def _before(block: bytes, line: bytes) -> bytes:
    """The events of a block before the one with this line."""
    return block[: last_end(block, 0, block.rfind(line))]


def _remove_event(block: bytes, line: bytes) -> bytes:
    """A block without one of its events."""
    start = block.find(line)
    end = start + len(line)
    while block[end : end + 1] in (b"\r", b"\n"):
        end += 1
    return block[:start] + block[end:]
