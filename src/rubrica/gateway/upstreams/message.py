"""Translates an answer of Anthropic's messages protocol to OpenAI's.

What a model thinks before it answers is not passed on: OpenAI's protocol has no place for it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from rubrica.gateway.upstream import Completion
from rubrica.llm.anthropic import AnthropicTokenCounts, usage_of
from rubrica.llm.model import Usage

FINISHES: dict[str | None, str] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
"""How an answer ended, in both protocols."""

_encode = msgspec.json.Encoder().encode


class Block(msgspec.Struct, gc=False):
    """One part of an answer: text, a call of a tool, thoughts."""

    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def arguments(self) -> str:
        return bytes(self.input).decode()


class StopDetails(msgspec.Struct, gc=False):
    """Why a model declined."""

    explanation: str | None = None


class AnthropicMessage(msgspec.Struct, gc=False):
    """A whole answer."""

    content: list[Block]
    usage: AnthropicTokenCounts
    stop_reason: str | None
    id: str = ""
    model: str | None = None
    stop_details: StopDetails | None = None


def completion_of(message: AnthropicMessage, model: str, *, created: int, answers_by_tool: bool) -> Completion:
    """The same as a chat completion; with `answers_by_tool`, what the one tool was given is the text."""
    told, finish = _message_of(message, answers_by_tool=answers_by_tool)
    usage = usage_of(message.usage)
    model = message.model or model
    whole = {
        "id": completion_id(message.id),
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [{"index": 0, "message": told, "logprobs": None, "finish_reason": finish}],
        "usage": counts(usage),
    }
    text = told["content"] or told["refusal"] or ""
    return Completion(_encode(whole), text, model, usage, finish, "tool_calls" in told)


def _message_of(message: AnthropicMessage, *, answers_by_tool: bool) -> tuple[dict[str, Any], str]:
    finish = FINISHES.get(message.stop_reason, "stop")
    texts = [block.text for block in message.content if block.type == "text"]
    called = [block for block in message.content if block.type == "tool_use"]
    if answers_by_tool and called:
        texts, called = [called[0].arguments], []
        finish = "stop" if finish == "tool_calls" else finish
    told: dict[str, Any] = {"role": "assistant", "content": "".join(texts) if texts else None, "refusal": None}
    if called:
        told["tool_calls"] = [
            {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": block.arguments}}
            for block in called
        ]
    elif not texts:
        told["refusal"] = message.stop_details.explanation if message.stop_details is not None else None
    return told, finish


def completion_id(name: str) -> str:
    """An answer's name in OpenAI's manner.

    >>> completion_id("msg_01XFD")
    'chatcmpl-01XFD'
    """
    return f"chatcmpl-{name.removeprefix('msg_')}"


def counts(usage: Usage) -> dict[str, Any]:
    """Token counts in OpenAI's manner.

    >>> counts(Usage(input_tokens=12, output_tokens=3, cached_input_tokens=8))["prompt_tokens_details"]
    {'cached_tokens': 8}
    """
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens},
    }
