"""A whole chat completion from the chunks of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rubrica.gateway.upstream import Completion
from rubrica.llm.openai import OpenAITokenCounts, usage_of

_encode = msgspec.json.Encoder().encode
_APART = ("choices", "object", "usage")


def assemble(chunks: Sequence[Mapping[str, Any]], model: str) -> Completion:
    """The answer that the chunks are pieces of.

    >>> pieces = [{"choices": [{"index": 0, "delta": {"content": text}}]} for text in ("Hel", "lo")]
    >>> assemble([*pieces, {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}], "any").text
    'Hello'
    """
    changes: dict[int, list[Mapping[str, Any]]] = {}
    for chunk in chunks:
        for change in chunk.get("choices") or ():
            changes.setdefault(change.get("index", 0), []).append(change)
    choices = [_choice(index, changes[index]) for index in sorted(changes)] or [_choice(0, ())]
    counted = next((chunk["usage"] for chunk in reversed(chunks) if chunk.get("usage")), None)
    about = {key: value for key, value in chunks[-1].items() if key not in _APART}
    whole = {**about, "object": "chat.completion", "choices": choices, "usage": counted}
    message = choices[0]["message"]
    return Completion(
        _encode(whole),
        message["content"] or "",
        str(about.get("model") or model),
        usage_of(msgspec.convert(counted, OpenAITokenCounts | None)),
        choices[0]["finish_reason"],
        "tool_calls" in message,
    )


def _choice(index: int, changes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    deltas = [change.get("delta") or {} for change in changes]
    texts = [delta["content"] for delta in deltas if delta.get("content")]
    calls = _calls(call for delta in deltas for call in delta.get("tool_calls") or ())
    thoughts = "".join(delta.get("reasoning_content") or "" for delta in deltas)
    tokens = [token for change in changes for token in (change.get("logprobs") or {}).get("content") or ()]
    message: dict[str, Any] = {"role": "assistant", "content": "".join(texts) if texts or not calls else None}
    if thoughts:
        message["reasoning_content"] = thoughts
    if calls:
        message["tool_calls"] = calls
    finish = next((change["finish_reason"] for change in reversed(changes) if change.get("finish_reason")), None)
    logprobs = {"content": tokens} if tokens else None
    return {"index": index, "message": message, "logprobs": logprobs, "finish_reason": finish}


def _calls(pieces: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The calls of tools: the first piece of each names it, all bring a stretch of its arguments."""
    calls: dict[int, dict[str, Any]] = {}
    for piece in pieces:
        function = piece.get("function") or {}
        call = calls.setdefault(
            piece.get("index", 0),
            {"id": piece.get("id"), "type": "function", "function": {"name": function.get("name"), "arguments": ""}},
        )
        call["function"]["arguments"] += function.get("arguments") or ""
    return [calls[index] for index in sorted(calls)]
