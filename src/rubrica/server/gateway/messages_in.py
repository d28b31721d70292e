"""Requests in Anthropic's messages protocol, read as a chat completion request.

What only steers how an answer is come by is left out: `thinking`, `top_k`, `service_tier`, `container`, and thoughts of
earlier turns. Tools that run at Anthropic's, and files that are kept there, are refused by name: nobody else has them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rubrica.errors import InputError
from rubrica.gateway.chat import Chat, chat_of, read_body

SAME = ("model", "stream", "temperature", "top_p")
"""Fields that both protocols have."""


def read_messages(raw: bytes, *, counted: bool = False) -> Chat:
    """A request from its body; an InputError says what a client has to mend. One that is only counted has no limit.

    >>> asked = {"max_tokens": 50, "system": "Be brief.", "messages": [{"role": "user", "content": "Why?"}]}
    >>> [(turn.role, turn.text) for turn in read_messages(msgspec.json.encode(asked)).turns]
    [('system', 'Be brief.'), ('user', 'Why?')]
    """
    asked = read_body(raw)
    limit = asked.get("max_tokens")
    if not counted and (type(limit) is not int or limit < 1):
        raise InputError("max_tokens: a number of tokens is required")
    messages = asked.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InputError("messages: a list of at least one message is required")
    body: dict[str, Any] = {name: asked[name] for name in SAME if name in asked}
    body["messages"] = [
        *_system(asked.get("system")),
        *(part for place, message in enumerate(messages) for part in _turn(message, f"messages.{place}")),
    ]
    if not counted:
        body["max_completion_tokens"] = limit
    if asked.get("stop_sequences"):
        body["stop"] = asked["stop_sequences"]
    match asked.get("metadata"):
        case {"user_id": str(user)}:
            body["user"] = user
    return chat_of(body | _tools(asked) | _form(asked), len(raw))


def _system(system: object) -> list[dict[str, Any]]:
    if system is None or system == "":
        return []
    return [{"role": "system", "content": _content(system, "system")}]


def _turn(message: object, where: str) -> Iterator[dict[str, Any]]:
    """A message as one or several: results of tools are messages of their own in the other protocol."""
    match message:
        case {"role": "user", "content": str(text)}:
            yield {"role": "user", "content": text}
        case {"role": "user", "content": list(blocks)}:
            yield from _user(blocks, where)
        case {"role": "assistant", "content": str(text)}:
            yield {"role": "assistant", "content": text}
        case {"role": "assistant", "content": list(blocks)}:
            yield _assistant(blocks, where)
        case {"role": "user" | "assistant"}:
            raise InputError(f"{where}.content: a text or a list of blocks is required")
        case _:
            raise InputError(f"{where}.role: it is user or assistant (what the system says stands in `system`)")


def _user(blocks: Sequence[object], where: str) -> Iterator[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for place, block in enumerate(blocks):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            result, shown = _result(block, f"{where}.content.{place}")
            yield result
            parts += shown
        else:
            parts.append(_part(block, f"{where}.content.{place}"))
    if parts:
        yield {"role": "user", "content": _plain(parts)}


def _result(block: Mapping[str, Any], where: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What a tool gave: its words, and the pictures, for which a result has no place in the other protocol."""
    if not isinstance(name := block.get("tool_use_id"), str):
        raise InputError(f"{where}.tool_use_id: it says which call this answers")
    content = block.get("content") or ""
    if not isinstance(content, str | list):
        raise InputError(f"{where}.content: a text or a list of blocks is required")
    parts = [_text(content)] if isinstance(content, str) else [_part(one, where) for one in content]
    words = "\n".join(part["text"] for part in parts if part["type"] == "text")
    said = f"Error: {words}" if block.get("is_error") is True else words
    return {"role": "tool", "tool_call_id": name, "content": said}, [part for part in parts if part["type"] != "text"]


def _assistant(blocks: Sequence[object], where: str) -> dict[str, Any]:
    parts, calls = [], []
    for place, block in enumerate(blocks):
        match block:
            case {"type": "tool_use", "id": str(name), "name": str(tool), "input": dict(given)}:
                function = {"name": tool, "arguments": msgspec.json.encode(given).decode()}
                calls.append({"id": name, "type": "function", "function": function})
            case {"type": "thinking" | "redacted_thinking"}:
                continue
            case _:
                parts.append(_part(block, f"{where}.content.{place}"))
    content = _plain(parts) if parts else None
    return {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {})}


def _content(content: object, where: str) -> str | list[dict[str, Any]]:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InputError(f"{where}: a text or a list of blocks is required")
    return _plain([_part(block, f"{where}.{place}") for place, block in enumerate(content)])


def _plain(parts: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """Content in its simplest form: not every server takes parts."""
    return str(parts[0]["text"]) if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _part(block: object, where: str) -> dict[str, Any]:
    part: dict[str, Any]
    match block:
        case {"type": "text", "text": str(text)}:
            part = _text(text)
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            part = {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            part = {"type": "image_url", "image_url": {"url": url}}
        case {"type": "document", "source": {"type": "text", "data": str(text)}}:
            part = _text(text)
        case {"type": "document", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            name = str(block.get("title") or "document.pdf") if isinstance(block, dict) else ""
            part = {"type": "file", "file": {"filename": name, "file_data": f"data:{kind};base64,{data}"}}
        case {"type": str(kind)}:
            raise InputError(f"{where}: a block of type {kind!r} cannot be passed on like this")
        case _:
            raise InputError(f"{where}: it is no block of content")
    if isinstance(block, dict) and isinstance(block.get("cache_control"), dict):
        part["cache_control"] = block["cache_control"]
    return part


# --- tools and the form of the answer -----------------------------------------------------------------------


def _tools(asked: Mapping[str, Any]) -> dict[str, Any]:
    tools = asked.get("tools")
    if not tools:
        return {}
    if not isinstance(tools, list):
        raise InputError("tools: it is a list")
    found: dict[str, Any] = {"tools": [_tool(tool, f"tools.{place}") for place, tool in enumerate(tools)]}
    match asked.get("tool_choice"):
        case None:
            return found
        case {"type": "auto" | "any" | "none" as kind, **rest}:
            found["tool_choice"] = {"auto": "auto", "any": "required", "none": "none"}[kind]
        case {"type": "tool", "name": str(name), **rest}:
            found["tool_choice"] = {"type": "function", "function": {"name": name}}
        case _:
            raise InputError("tool_choice: its type is auto, any, none, or tool with a name")
    if rest.get("disable_parallel_tool_use") is True:
        found["parallel_tool_calls"] = False
    return found


def _tool(tool: object, where: str) -> dict[str, Any]:
    match tool:
        case {"name": str(name), "input_schema": dict(schema), **rest}:
            described = {"description": rest["description"]} if rest.get("description") else {}
            return {"type": "function", "function": {"name": name, **described, "parameters": schema}}
        case {"type": str(kind)}:
            raise InputError(f"{where}: a tool of type {kind!r} runs at Anthropic's only (give it an input_schema)")
        case _:
            raise InputError(f"{where}: a tool has a name and an input_schema")


def _form(asked: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema that an answer shall follow."""
    config = asked.get("output_config")
    form = config.get("format") if isinstance(config, dict) else asked.get("output_format")
    match form:
        case None:
            return {}
        case {"type": "json_schema", "schema": dict(schema)}:
            named = {"name": "answer", "strict": True, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
        case _:
            raise InputError("output_config.format: its type is json_schema, with a schema")
