"""Whether an answer that calls tools can stand: the tool is there, its arguments follow the schema, and it fits.

All but the last is known for certain. Whether a tool fits the request is for a grader to say. Without one, words give a
hint: a call is in doubt whose tool shares none with the request, while another tool shares several.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from rubrica.errors import JsonError
from rubrica.jsontext import UNREADABLE, decode_json
from rubrica.text.texts import Texts
from rubrica.text.words import stems

from .chat import Chat
from .schema_check import SchemaCheck
from .upstream import Completion

SHARED_BY_ANOTHER = 2
"""Words that another tool shares with the request, from which on it is the likelier one."""

MOST_SHOWN, LONGEST_SHOWN = 60, 400
"""Tools that a grader is shown, and characters of what is said about each."""

_JOINED = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.]+")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that a request offers."""

    name: str
    description: str = ""
    parameters: Any = True  # a JSON Schema

    @property
    def words(self) -> frozenset[str]:
        """What it is about."""
        properties = self.parameters.get("properties") if isinstance(self.parameters, dict) else None
        named = " ".join([self.name, *(properties if isinstance(properties, dict) else ())])
        return stems(Texts(response=f"{_JOINED.sub(' ', named)} {self.description}"), "response")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call in an answer."""

    name: str
    arguments: str  # JSON, unless the tool takes any text
    takes_text: bool = False


@dataclass(frozen=True, slots=True)
class CallCheck:
    """What code can say about the calls of an answer."""

    fault: str = ""  # why they cannot be made
    doubt: str = ""  # why they may not be what the request needs


def check_calls(chat: Chat, calls: Sequence[ToolCall]) -> CallCheck | None:
    """What is wrong with the calls of an answer; None where that cannot be known, as the request names no tools."""
    tools = {tool.name: tool for tool in tools_of(chat.body)}
    if not tools or not calls:
        return None
    for call in calls:
        fault = _not_wanted(call, chat.body.get("tool_choice")) or _fault(call, tools.get(call.name))
        if fault:
            return CallCheck(fault)
    return CallCheck(doubt=_doubt(chat, calls, tools))


def calls_of(answer: Completion) -> list[ToolCall]:
    """The calls that an answer makes."""
    try:
        message = msgspec.json.decode(answer.raw)["choices"][0]["message"]
        found = [_call(one) for one in message.get("tool_calls") or ()]
        return [*found, *([_named(message["function_call"])] if message.get("function_call") else [])]
    except (*UNREADABLE, LookupError, TypeError, AttributeError):
        return []


def _call(call: Mapping[str, Any]) -> ToolCall:
    if (custom := call.get("custom")) is not None:
        return ToolCall(str(custom.get("name") or ""), str(custom.get("input") or ""), takes_text=True)
    return _named(call.get("function") or {})


def _named(function: Mapping[str, Any]) -> ToolCall:
    return ToolCall(str(function.get("name") or ""), str(function.get("arguments") or ""))


def tools_of(body: Mapping[str, Any]) -> list[Tool]:
    """The tools that a request offers, as far as they have a name."""
    offered = [*_listed(body.get("tools")), *({"function": one} for one in _listed(body.get("functions")))]
    found = []
    for tool in offered:
        match tool:
            case {"function": {"name": str(name), **rest}} | {"custom": {"name": str(name), **rest}}:
                found.append(Tool(name, str(rest.get("description") or ""), rest.get("parameters", True)))
    return found


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _not_wanted(call: ToolCall, choice: object) -> str:
    match choice:
        case "none":
            return f"{call.name} is called, though no tool may be"
        case {"function": {"name": str(name)}} if name != call.name:
            return f"{call.name} is called in place of {name}"
        case _:
            return ""


def _fault(call: ToolCall, tool: Tool | None) -> str:
    if tool is None:
        return f"there is no tool {call.name[:100]!r}"
    if call.takes_text:
        return ""
    try:
        given = decode_json(call.arguments or "{}")
    except JsonError:
        return f"the arguments of {call.name} are no JSON"
    if not isinstance(given, dict):
        return f"the arguments of {call.name} are no JSON object"
    wrong = SchemaCheck(tool.parameters).fault(given)
    return f"{call.name}: {wrong}" if wrong else ""


def _doubt(chat: Chat, calls: Sequence[ToolCall], tools: Mapping[str, Tool]) -> str:
    """Of the first call of a request: later ones follow from what tools gave, and not from its words."""
    if chat.turns[-1].role != "user" or len(tools) < 2:
        return ""
    asked = stems(Texts(response=chat.question), "response")
    if any(asked & tools[call.name].words for call in calls):
        return ""
    shared = {name: len(asked & tool.words) for name, tool in tools.items()}
    likelier = max(shared, key=shared.__getitem__)
    if shared[likelier] < SHARED_BY_ANOTHER:
        return ""
    return f"{calls[0].name} shares no word with the request, and {likelier} shares {shared[likelier]}"


def shown_calls(chat: Chat, answer: Completion, calls: Sequence[ToolCall]) -> str:
    """The calls of an answer, and the tools there were, as a grader reads them."""
    made = [f"- {call.name}({call.arguments})" for call in calls]
    tools = tools_of(chat.body)
    offered = [f"- {tool.name}: {tool.description}"[:LONGEST_SHOWN] for tool in tools[:MOST_SHOWN]]
    more = [f"- and {len(tools) - MOST_SHOWN} more"] if len(tools) > MOST_SHOWN else []
    said = [answer.text.strip(), ""] if answer.text.strip() else []
    return "\n".join([*said, "Tools called:", *made, "", "Tools to choose from:", *offered, *more])
