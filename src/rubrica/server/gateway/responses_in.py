"""Requests in the protocol of OpenAI's responses, read as a chat completion request.

What only steers how an answer is come by is left out: `reasoning`, `text.verbosity`, `include`, `truncation`,
`service_tier` and the like. Tools that run at OpenAI's, and what is kept there, are refused by name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubrica.errors import InputError

SAME = ("model", "stream", "temperature", "top_p", "parallel_tool_calls", "user", "safety_identifier")
"""Fields that both protocols have."""

ELSEWHERE = ("background", "conversation", "prompt")
"""Fields that ask for something that is kept or done at OpenAI's only."""

ROLES = ("user", "assistant", "system", "developer")


def chat_body(asked: Mapping[str, Any], messages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The request for a chat completion, once its messages are known."""
    for name in ELSEWHERE:
        if asked.get(name):
            raise InputError(f"`{name}` cannot be had here: it is for what OpenAI keeps and runs itself")
    body: dict[str, Any] = {name: asked[name] for name in SAME if asked.get(name) is not None}
    instructions = asked.get("instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise InputError("`instructions` is a text")
    told = [{"role": "system", "content": instructions}] if instructions else []
    body["messages"] = [*told, *messages]
    if asked.get("max_output_tokens") is not None:
        body["max_completion_tokens"] = asked["max_output_tokens"]
    if body.get("stream") is True:
        body["stream_options"] = {"include_usage": True}
    return body | _tools(asked) | _form(asked)


def messages_of(given: object) -> list[dict[str, Any]]:
    """The messages of an `input`: one text, or items.

    >>> messages_of("Why?")
    [{'role': 'user', 'content': 'Why?'}]
    """
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if not isinstance(given, list):
        raise InputError("`input` is a text or a list of items")
    messages: list[dict[str, Any]] = []
    for place, item in enumerate(given):
        _add(item, messages, f"input[{place}]")
    return messages


def _add(item: Any, messages: list[dict[str, Any]], where: str) -> None:
    match item:
        case {"role": str(role), "content": content} if item.get("type", "message") == "message" and role in ROLES:
            messages.append({"role": role, "content": _content(content, where)})
        case {"type": "function_call", "call_id": str(call_id), "name": str(name), "arguments": str(arguments)}:
            call = {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(call)
        case {"type": "function_call_output", "call_id": str(call_id), "output": output}:
            messages.append({"role": "tool", "tool_call_id": call_id, "content": _content(output, where)})
        case {"type": "reasoning"}:
            return
        case {"type": str(kind)}:
            raise InputError(f"{where}: an item of type {kind!r} cannot be passed on like this")
        case _:
            raise InputError(f"{where}: an item is a message with role and content, a function_call, or its output")


def _content(content: object, where: str) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InputError(f"{where}: a text or a list of parts is required")
    parts = [_part(part, f"{where}.content[{place}]") for place, part in enumerate(content)]
    return str(parts[0]["text"]) if len(parts) == 1 and parts[0]["type"] == "text" else parts


def _part(part: object, where: str) -> dict[str, Any]:
    match part:
        case {"type": "input_text" | "output_text" | "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "refusal", "refusal": str(text)}:
            return {"type": "refusal", "refusal": text}
        case {"type": "input_image", "image_url": str(url), **rest}:
            detail = {"detail": rest["detail"]} if rest.get("detail") else {}
            return {"type": "image_url", "image_url": {"url": url, **detail}}
        case {"type": "input_file", "file_data": str(data), **rest}:
            return {"type": "file", "file": {"filename": str(rest.get("filename") or "file"), "file_data": data}}
        case {"type": str(kind)}:
            raise InputError(f"{where}: a part of type {kind!r} cannot be passed on like this")
        case _:
            raise InputError(f"{where}: it is no part of a message")


# --- tools and the form of the answer -----------------------------------------------------------------------


def _tools(asked: Mapping[str, Any]) -> dict[str, Any]:
    tools = asked.get("tools")
    if not tools:
        return {}
    if not isinstance(tools, list):
        raise InputError("`tools` is a list")
    found: dict[str, Any] = {"tools": [_tool(tool, f"tools[{place}]") for place, tool in enumerate(tools)]}
    match asked.get("tool_choice"):
        case None:
            return found
        case "auto" | "none" | "required" as choice:
            return {**found, "tool_choice": choice}
        case {"type": "function", "name": str(name)}:
            return {**found, "tool_choice": {"type": "function", "function": {"name": name}}}
        case _:
            raise InputError("`tool_choice` is none of auto, none, required and a function")


def _tool(tool: object, where: str) -> dict[str, Any]:
    match tool:
        case {"type": "function", "name": str(name), **rest}:
            more = {key: rest[key] for key in ("description", "parameters", "strict") if rest.get(key) is not None}
            return {"type": "function", "function": {"name": name, **more}}
        case {"type": str(kind)}:
            raise InputError(f"{where}: a tool of type {kind!r} runs at OpenAI's only (give it as a function)")
        case _:
            raise InputError(f"{where}: a tool is a function with a name and parameters")


def _form(asked: Mapping[str, Any]) -> dict[str, Any]:
    text = asked.get("text")
    match text.get("format") if isinstance(text, dict) else None:
        case None | {"type": "text"}:
            return {}
        case {"type": "json_object"}:
            return {"response_format": {"type": "json_object"}}
        case {"type": "json_schema", "name": str(name), "schema": dict(schema), **rest}:
            more = {key: rest[key] for key in ("description", "strict") if rest.get(key) is not None}
            named = {"name": name, "schema": schema, **more}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
        case _:
            raise InputError("`text.format` is none of text, json_object, and json_schema with a name and its schema")
