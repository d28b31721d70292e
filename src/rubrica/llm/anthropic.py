"""Models behind Anthropic's messages protocol."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

import msgspec
from yarl import URL

from rubrica.errors import JsonError
from rubrica.jsontext import decode_json
from rubrica.llm.http_model import HttpModel, OptionalField, address, schema_name
from rubrica.llm.images import Picture
from rubrica.llm.model import ChatMessage, Reply, Request, StopReason, Usage
from rubrica.llm.prompt_cache import fewest_cached_characters, shared_texts
from rubrica.llm.reasoning import THINKING

VERSION = "2023-06-01"
FEWEST_THOUGHTS = 1_024
"""Tokens; the protocol takes no smaller budget."""
REPLY_TOKENS = 512
"""Left for a reply where the limit is too low for all the thoughts of an effort."""
"""Of the protocol; sent with every request."""

_STOPS: dict[str | None, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
_OPTIONAL = (
    OptionalField("tool_choice", ("tool_choice", "tool choice", "forces tool", "input_schema"), any_fault=True),
    OptionalField("output_config", ("output_config", "output format", "json_schema"), any_fault=True),
    OptionalField("temperature", ("temperature",)),
    OptionalField("thinking", ("thinking",), any_fault=True),
)


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str = ""
    input: msgspec.Raw = msgspec.Raw(b"null")


class AnthropicTokenCounts(msgspec.Struct, gc=False):
    """Tokens of one call, as this protocol counts them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _StopDetails(msgspec.Struct, gc=False):
    explanation: str | None = None


class _Message(msgspec.Struct, gc=False):
    content: list[_Block]
    usage: AnthropicTokenCounts
    stop_reason: str | None
    model: str | None = None
    stop_details: _StopDetails | None = None


_message = msgspec.json.Decoder(_Message)


class MessageAssembly:
    """A message out of its events."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._given: list[str] = []  # to the tool that holds a reply to its schema
        self._message: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}
        self.ended = False

    def take(self, event: Mapping[str, Any]) -> str:
        match event:
            case {"type": "message_start", "message": dict(message)}:
                self._message = {"model": message.get("model")}
                self._usage |= message.get("usage") or {}
            case {"type": "message_delta", "delta": dict(delta)}:
                self._message |= {name: delta[name] for name in ("stop_reason", "stop_details") if name in delta}
                self._usage |= {name: count for name, count in (event.get("usage") or {}).items() if count is not None}
                self.ended = delta.get("stop_reason") is not None or self.ended
            case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
                self._texts.append(text)
                return text
            case {"type": "content_block_delta", "delta": {"type": "input_json_delta", "partial_json": str(text)}}:
                self._given.append(text)
                return text
        return ""

    def body(self) -> dict[str, Any]:
        given = "".join(self._given)
        try:
            block: dict[str, Any] = {"type": "tool_use", "input": decode_json(given)}
        except JsonError:  # it was not called, or is cut off
            block = {"type": "text", "text": given or "".join(self._texts)}
        return {"stop_reason": None, **self._message, "content": [block], "usage": self._usage}


class AnthropicModel(HttpModel):
    """One Claude model.

    A schema is enforced by a tool that must be called; its input is the reply. Models that always think refuse a
    forced tool: they get the schema as their output format instead. Such a model also refuses a temperature. What it
    refused is left out from then on, and `left_out` names it. There is no seed and no logprobs in this protocol.

    The provider keeps the beginning of a request only as far as a mark in it. Marked are the end of the system text and
    the end of what a message shares with others, where that is long enough to be kept.

    >>> from rubrica.llm.http import HttpSession
    >>> session = HttpSession()
    >>> AnthropicModel("anthropic:claude-haiku-4-5", "claude-haiku-4-5", key="sk-ant-secret", session=session)
    AnthropicModel('anthropic:claude-haiku-4-5')
    """

    protocol: ClassVar = "anthropic"  # how the gateway speaks with it

    base_url = "https://api.anthropic.com"
    key_variable = "ANTHROPIC_API_KEY"

    def _address(self, base_url: str) -> URL:
        return address(base_url.rstrip("/").removesuffix("/v1"), "/v1/messages")

    def _secret(self, key: str | None) -> dict[str, str | None]:
        return {"x-api-key": key or None}

    def _public(self) -> dict[str, str]:
        return {"anthropic-version": VERSION}

    def _optional_fields(self) -> tuple[OptionalField, ...]:
        return _OPTIONAL

    def _assembly(self) -> MessageAssembly:
        return MessageAssembly()

    def _body(self, request: Request, images: Mapping[str, Picture]) -> dict[str, Any]:
        least, (system_text, shared_text) = fewest_cached_characters(self._model), shared_texts(request)
        system = _system(request, marked=len(system_text) >= least)
        split = bool(shared_text) and len(system_text) + len(shared_text) >= least
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens,
            **({"system": system} if system else {}),
            "messages": [
                {"role": message.role, "content": _content(message, images, split=split)}
                for message in request.messages
                if message.role != "system"
            ],
        }
        left_out = self._left_out
        budget = _thoughts(request)
        if budget and "thinking" not in left_out:
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
            left_out = left_out | {"temperature", "tool_choice"}  # neither goes with it
        if "temperature" not in left_out:
            body["temperature"] = request.temperature
        if request.schema is not None:
            body |= _structure(request, request.schema, left_out)
        return body

    def _reply(self, body: bytes, request: Request, duration_ms: float) -> Reply:  # noqa: ARG002
        message = self.read(body, _message)
        stop = _STOPS.get(message.stop_reason, "other")
        return Reply(
            text=_text(message, stop),
            model=message.model or self._model,
            usage=usage_of(message.usage),
            stop=stop,
            duration_ms=duration_ms,
        )


def _thoughts(request: Request) -> int:
    """Tokens of thought that a request asks for: its effort's, or what its limit leaves beside a reply; 0 is none."""
    if not request.effort:
        return 0
    if THINKING[request.effort] < request.max_tokens:
        return THINKING[request.effort]
    left = request.max_tokens - REPLY_TOKENS
    return left if left >= FEWEST_THOUGHTS else 0


def _system(request: Request, *, marked: bool) -> list[dict[str, Any]]:
    """The system text as blocks, the last one marked for the prompt cache where caching can pay."""
    texts = [message.content for message in request.messages if message.role == "system"]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts if text]
    return [*blocks[:-1], blocks[-1] | _MARK] if marked else blocks


def _content(message: ChatMessage, images: Mapping[str, Picture], *, split: bool) -> str | list[dict[str, Any]]:
    shown: list[dict[str, Any]] = [{"type": "image", "source": source_of(images[image])} for image in message.images]
    if split and isinstance(message.shared, int):
        shared, own = message.content[: message.shared], message.content[message.shared :]
        return [*shown, {"type": "text", "text": shared} | _MARK, {"type": "text", "text": own}]
    return [*shown, {"type": "text", "text": message.content}] if shown else message.content


def source_of(picture: Picture) -> dict[str, str]:
    """A picture as this protocol has it."""
    if picture.url:
        return {"type": "url", "url": picture.url}
    return {"type": "base64", "media_type": picture.media_type, "data": picture.base64}


def _structure(request: Request, schema: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    name = schema_name(request.schema_name)
    if "tool_choice" not in left_out:
        tool = {"name": name, "description": "Give your answer with this tool.", "input_schema": schema}
        choice = {"type": "tool", "name": name, "disable_parallel_tool_use": True}
        return {"tools": [tool], "tool_choice": choice}
    if "output_config" not in left_out:
        return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
    return {}


def _text(message: _Message, stop: StopReason) -> str:
    if stop != "refusal":
        for block in message.content:
            if block.type == "tool_use":
                return bytes(block.input).decode(errors="replace")
    text = "".join(block.text for block in message.content if block.type == "text")
    details = message.stop_details
    return text or (details.explanation if details is not None else None) or ""


def usage_of(usage: AnthropicTokenCounts) -> Usage:
    """The same as we count them."""
    # This protocol counts what was read from and written to the cache apart from input_tokens.
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    return Usage((usage.input_tokens or 0) + read + written, usage.output_tokens or 0, read, written)
