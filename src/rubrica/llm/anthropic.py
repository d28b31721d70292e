"""Models behind Anthropic's messages protocol."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import msgspec

from rubrica.llm.endpoint import Access, Endpoint, OptionalField, address, schema_name
from rubrica.llm.http import HttpSession
from rubrica.llm.images import Picture, pictures
from rubrica.llm.model import ChatMessage, Reply, Request, StopReason, Usage

VERSION = "2023-06-01"
"""Of the protocol; sent with every request."""

CACHED_FROM = 4 * 1024
"""Characters of system text, about 1024 tokens: the least that most models keep in their prompt cache."""

_STOPS: dict[str | None, StopReason] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
_OPTIONAL = (
    OptionalField("tool_choice", ("tool_choice", "tool choice", "forces tool", "input_schema"), any_fault=True),
    OptionalField("output_config", ("output_config", "output format", "json_schema"), any_fault=True),
    OptionalField("temperature", ("temperature",)),
)


class _Block(msgspec.Struct):
    type: str
    text: str = ""
    input: msgspec.Raw = msgspec.Raw(b"null")


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _StopDetails(msgspec.Struct):
    explanation: str | None = None


class _Message(msgspec.Struct):
    content: list[_Block]
    usage: _Usage
    stop_reason: str | None
    model: str | None = None
    stop_details: _StopDetails | None = None


_message = msgspec.json.Decoder(_Message)


class AnthropicModel:
    """One Claude model.

    A schema is enforced by a tool that must be called; its input is the reply. Models that always think refuse a
    forced tool: they get the schema as their output format instead. Such a model also refuses a temperature. What it
    refused is left out from then on, and `left_out` names it. There is no seed and no logprobs in this protocol.

    >>> session = HttpSession()
    >>> AnthropicModel("anthropic:claude-haiku-4-5", "claude-haiku-4-5", key="sk-ant-secret", session=session)
    AnthropicModel('anthropic:claude-haiku-4-5')
    """

    def __init__(
        self,
        name: str,
        model: str,
        *,
        base_url: str = "https://api.anthropic.com",
        key: str | None,
        session: HttpSession,
        timeout: float = 60.0,  # seconds for one HTTP call
        extra_headers: Mapping[str, str] | None = None,
        key_variable: str = "ANTHROPIC_API_KEY",  # named in errors
    ) -> None:
        self.name = name
        self._model = model
        url = address(base_url.rstrip("/").removesuffix("/v1"), "/v1/messages")
        secret = {"x-api-key": key or None, **(extra_headers or {})}
        access = Access(secret, key_variable, {"anthropic-version": VERSION})
        self._endpoint = Endpoint(name, url, access, session=session, timeout=timeout, optional=_OPTIONAL)

    def __repr__(self) -> str:
        return f"AnthropicModel({self.name!r})"

    @property
    def left_out(self) -> frozenset[str]:
        """Fields of the request this model turned out not to take."""
        return frozenset(self._endpoint.left_out)

    async def __call__(self, request: Request) -> Reply:
        started = time.perf_counter()
        images = await pictures(request)
        body = await self._endpoint.ask(lambda left_out: self._body(request, images, left_out))
        message = self._endpoint.read(body, _message)
        stop = _STOPS.get(message.stop_reason, "other")
        return Reply(
            text=_text(message, stop),
            model=message.model or self._model,
            usage=_usage(message.usage),
            stop=stop,
            duration_ms=(time.perf_counter() - started) * 1000,
        )

    async def close(self) -> None:
        """Nothing to do: the session belongs to whoever made it."""

    def _body(self, request: Request, images: Mapping[str, Picture], left_out: set[str]) -> dict[str, Any]:
        system = _system(request)
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens,
            **({"system": system} if system else {}),
            "messages": [
                {"role": message.role, "content": _content(message, images)}
                for message in request.messages
                if message.role != "system"
            ],
        }
        if "temperature" not in left_out:
            body["temperature"] = request.temperature
        if request.schema is not None:
            body |= _structure(request, request.schema, left_out)
        return body


def _system(request: Request) -> list[dict[str, Any]]:
    """The system text as blocks, the last one marked for the prompt cache where caching can pay."""
    texts = [message.content for message in request.messages if message.role == "system"]
    blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in texts if text]
    if sum(map(len, texts)) >= CACHED_FROM:
        blocks[-1]["cache_control"] = {"type": "ephemeral"}
    return blocks


def _content(message: ChatMessage, images: Mapping[str, Picture]) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.content
    shown = [{"type": "image", "source": _source(images[image])} for image in message.images]
    return [*shown, {"type": "text", "text": message.content}]


def _source(picture: Picture) -> dict[str, str]:
    if picture.url:
        return {"type": "url", "url": picture.url}
    return {"type": "base64", "media_type": picture.media_type, "data": picture.base64}


def _structure(request: Request, schema: Mapping[str, Any], left_out: set[str]) -> dict[str, Any]:
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


def _usage(usage: _Usage) -> Usage:
    # This protocol counts what was read from and written to the cache apart from input_tokens.
    cached = usage.cache_read_input_tokens or 0
    fresh = (usage.input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    return Usage(fresh + cached, usage.output_tokens or 0, cached)
