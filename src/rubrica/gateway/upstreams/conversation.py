"""The messages of a chat completion request, as system text and turns of Anthropic's messages protocol."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rubrica.errors import JsonError
from rubrica.jsontext import decode_json
from rubrica.llm.anthropic import source_of
from rubrica.llm.http_model import schema_name
from rubrica.llm.images import linked

from .errors import list_field, unsupported_field

_PDF = "data:application/pdf;base64,"


def conversation(messages: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system's blocks, and the turns. Neighbours of one role are one turn, as this protocol has it."""
    system: list[dict[str, Any]] = []
    turns: list[dict[str, Any]] = []
    for place, message in enumerate(messages):
        where = f"messages[{place}]"
        match message["role"]:
            case "system" | "developer":
                system += _blocks(message.get("content"), where)
                continue
            case "user":
                role, blocks = "user", _blocks(message.get("content"), where)
            case "assistant":
                role, blocks = "assistant", [*_blocks(message.get("content"), where), *_calls(message, where)]
            case "tool":
                role, blocks = "user", [_result(message, where)]
            case other:
                raise unsupported_field(f"{where}.role", f"a Claude model does not know {other!r}")
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if not turns:
        raise unsupported_field("messages", "a Claude model needs a message that is not the system's")
    return system, turns


def _blocks(content: object, where: str) -> list[dict[str, Any]]:
    """A message's content. Texts that say nothing are left out: this protocol refuses them."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
    if not isinstance(parts, Sequence):
        raise unsupported_field(f"{where}.content", "is neither a text nor a list of parts")
    blocks = (_block(part, f"{where}.content[{place}]") for place, part in enumerate(parts))
    return [block for block in blocks if block.get("text", "-").strip()]


def _block(part: object, where: str) -> dict[str, Any]:
    block: dict[str, Any]
    match part:
        case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            block = {"type": "text", "text": text}
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            if (picture := linked(url)) is None:
                raise unsupported_field(where, "an image is an http(s) or data: URL")
            block = {"type": "image", "source": source_of(picture)}
        case {"type": "file", "file": {"file_data": str(data)}} if data.startswith(_PDF):
            source = {"type": "base64", "media_type": "application/pdf", "data": data.removeprefix(_PDF)}
            block = {"type": "document", "source": source}
        case {"type": str(kind)}:
            raise unsupported_field(where, f"a part of type {kind!r} cannot be shown to a Claude model like this")
        case _:
            raise unsupported_field(where, "is no part of a message")
    if isinstance(part, dict) and "cache_control" in part:
        block["cache_control"] = part["cache_control"]
    return block


def _calls(message: Mapping[str, Any], where: str) -> Iterator[dict[str, Any]]:
    if message.get("audio") is not None:
        raise unsupported_field(f"{where}.audio", "a Claude model does not hear")
    if message.get("function_call") is not None:
        raise unsupported_field(f"{where}.function_call", "functions of the older kind are not translated; use tools")
    for place, call in enumerate(list_field(message.get("tool_calls"), f"{where}.tool_calls")):
        match call:
            case {"id": str(name), "function": {"name": str(tool), "arguments": str(text)}}:
                given = _arguments(text, f"{where}.tool_calls[{place}].function.arguments")
                yield {"type": "tool_use", "id": schema_name(name), "name": tool, "input": given}
            case _:
                raise unsupported_field(f"{where}.tool_calls[{place}]", "is no call of a function")


def _arguments(text: str, where: str) -> dict[str, Any]:
    try:
        given = decode_json(text or "{}")
    except JsonError:
        given = None
    if not isinstance(given, dict):
        raise unsupported_field(where, "is no JSON object")
    return given


def _result(message: Mapping[str, Any], where: str) -> dict[str, Any]:
    name = message.get("tool_call_id")
    if not isinstance(name, str):
        raise unsupported_field(f"{where}.tool_call_id", "says which call this answers")
    found = _blocks(message.get("content"), where)
    return {"type": "tool_result", "tool_use_id": schema_name(name), **({"content": found} if found else {})}
