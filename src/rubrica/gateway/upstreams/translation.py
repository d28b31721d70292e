"""Translates a chat completion request to Anthropic's messages protocol.

What has no counterpart and would change the answer is refused by name: several answers at once, log-probabilities,
sound, functions of the older kind, a stop sequence of white space. What only steers how an answer is come by is left
out: `seed`, penalties, `logit_bias`, `reasoning_effort`, `service_tier`, `store`, `metadata`, `prediction`, a tool's
`strict`, and whatever is unknown. `temperature` ends at 1; beside it `top_p` is left out, because newer models refuse
both together. `thinking` and `top_k`, which OpenAI does not have, are passed on.

A JSON Schema is kept to by a tool that must be called, whose input is the answer; where the request has tools of its
own or the model always thinks, by the output format; and by an instruction where the model refuses that, too. JSON mode
without a schema is an instruction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from rubrica.llm.http_model import schema_name

from .conversation import conversation
from .errors import list_field, unsupported_field

DEFAULT_MAX_TOKENS = 8192
"""Of an answer, where the request does not say: this protocol demands a number."""

NATIVE = ("thinking", "top_k")
JSON_ONLY = "Answer with one JSON object and nothing else: no words around it, no code fence."
_BY_SCHEMA = "Answer with JSON that follows this JSON Schema and nothing else: no words around it, no code fence.\n"


@dataclass(frozen=True, slots=True)
class Translation:
    """A request in the other protocol."""

    body: dict[str, Any]
    answers_by_tool: bool = False  # whether the input of the one tool is the answer
    spare: frozenset[str] = frozenset()  # fields without which the request is as good, or nearly


def translate(body: Mapping[str, Any], model: str, left_out: Collection[str] = ()) -> Translation:
    """A request for `model`, without the fields in `left_out`; a ModelError names what cannot be said.

    >>> asked = {"messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]}
    >>> translate({**asked, "max_tokens": 50}, "claude-haiku-4-5").body["system"]
    [{'type': 'text', 'text': 'Be brief.'}]
    >>> translate({**asked, "n": 2}, "claude-haiku-4-5")
    Traceback (most recent call last):
    rubrica.llm.model.ModelError: `n`: a Claude model gives one answer at a time
    """
    _refuse(body)
    system, messages = conversation(body["messages"])
    sent: dict[str, Any] = {
        "model": model,
        "max_tokens": _first(body, "max_completion_tokens", "max_tokens") or DEFAULT_MAX_TOKENS,
        "messages": messages,
        **{key: value for key, value in _sampling(body) if key not in left_out},
        **{key: body[key] for key in NATIVE if body.get(key) is not None},
    }
    if (user := _first(body, "user", "safety_identifier")) is not None:
        sent["metadata"] = {"user_id": user}
    if stops := _stops(body.get("stop")):
        sent["stop_sequences"] = stops
    sent |= _tools(body, messages)
    form = _form(body.get("response_format"))
    structure = _structure(form, sent, left_out)
    if form is not None and not structure:
        system.append({"type": "text", "text": form.instruction})
    if system:
        sent["system"] = system
    spare = frozenset({"temperature", "top_p", *structure})
    return Translation({**sent, **structure}, "tool_choice" in structure, spare)


def _first(body: Mapping[str, Any], *names: str) -> Any:
    return next((body[name] for name in names if body.get(name) is not None), None)


def _refuse(body: Mapping[str, Any]) -> None:
    if body.get("n") not in (None, 1):
        raise unsupported_field("n", "a Claude model gives one answer at a time")
    for field in ("logprobs", "top_logprobs"):
        if body.get(field):
            raise unsupported_field(field, "a Claude model does not tell the chances of its tokens")
    modalities = body.get("modalities")
    if body.get("audio") is not None:
        raise unsupported_field("audio", "a Claude model does not speak")
    if isinstance(modalities, list) and modalities != ["text"]:
        raise unsupported_field("modalities", "a Claude model answers in text only")
    for field in ("functions", "function_call"):
        if body.get(field):
            raise unsupported_field(field, "functions of the older kind are not translated; use tools")
    if body.get("web_search_options") is not None:
        raise unsupported_field("web_search_options", "this way of searching the web is OpenAI's own")


def _sampling(body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    temperature, top_p = body.get("temperature"), body.get("top_p")
    if temperature is not None:
        yield "temperature", min(temperature, 1) if isinstance(temperature, int | float) else temperature
    elif top_p is not None:
        yield "top_p", top_p


def _stops(stop: object) -> list[object]:
    if stop is None:
        return []
    stops = stop if isinstance(stop, list) else [stop]
    if any(isinstance(text, str) and not text.strip() for text in stops):
        raise unsupported_field("stop", "a Claude model cannot stop at white space alone")
    return stops


# --- tools and the form of the answer -----------------------------------------------------------------------


def _tools(body: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    tools = [_tool(tool, f"tools[{place}]") for place, tool in enumerate(list_field(body.get("tools"), "tools"))]
    if tools:
        choice = _choice(body.get("tool_choice"), body.get("parallel_tool_calls"))
        return {"tools": tools, **({"tool_choice": choice} if choice else {})}
    called = {block["name"] for turn in messages for block in turn["content"] if block["type"] == "tool_use"}
    if not called:
        return {}
    # Calls that the conversation shows must be of known tools, though none may be called any more.
    known = [{"name": name, "input_schema": {"type": "object"}} for name in sorted(called)]
    return {"tools": known, "tool_choice": {"type": "none"}}


def _tool(tool: object, where: str) -> dict[str, Any]:
    match tool:
        case {"type": "function", "function": {"name": str(name), **rest}}:
            parameters = rest.get("parameters") or {}
            if not isinstance(parameters, dict):
                raise unsupported_field(f"{where}.function.parameters", "is no JSON Schema")
            described = {"description": rest["description"]} if rest.get("description") else {}
            return {"name": name, **described, "input_schema": {"type": "object", **parameters}}
        case _:
            raise unsupported_field(where, "is no function; a Claude model can be given no other tool like this")


def _choice(choice: object, parallel: object) -> dict[str, Any]:
    chosen: dict[str, Any]
    match choice:
        case None | "auto":
            chosen = {"type": "auto"}
        case "none":
            return {"type": "none"}
        case "required":
            chosen = {"type": "any"}
        case {"type": "function", "function": {"name": str(name)}}:
            chosen = {"type": "tool", "name": name}
        case _:
            raise unsupported_field("tool_choice", "is none of auto, none, required and a function")
    if parallel is False:
        return {**chosen, "disable_parallel_tool_use": True}
    return {} if choice is None else chosen


@dataclass(frozen=True, slots=True)
class _Form:
    """The form that an answer shall have."""

    schema: Mapping[str, Any] | None = None
    name: str = "answer"
    description: str = ""

    @property
    def instruction(self) -> str:
        if self.schema is None:
            return JSON_ONLY
        return _BY_SCHEMA + msgspec.json.encode(self.schema).decode()


def _form(wanted: object) -> _Form | None:
    match wanted:
        case None | {"type": "text"}:
            return None
        case {"type": "json_object"}:
            return _Form()
        case {"type": "json_schema", "json_schema": {"schema": dict(schema), **rest}}:
            return _Form(schema, str(rest.get("name") or "answer"), str(rest.get("description") or ""))
        case _:
            raise unsupported_field("response_format", "is none of text, json_object and json_schema with its schema")


def _structure(form: _Form | None, sent: Mapping[str, Any], left_out: Collection[str]) -> dict[str, Any]:
    """What makes the model keep to a schema, as far as it has not refused that."""
    if form is None or form.schema is None:
        return {}
    is_object = form.schema.get("type") == "object"
    if is_object and "tools" not in sent and "thinking" not in sent and "tool_choice" not in left_out:
        name = schema_name(form.name)
        described = form.description or "Give your answer with this tool."
        tool = {"name": name, "description": described, "input_schema": form.schema}
        return {"tools": [tool], "tool_choice": {"type": "tool", "name": name, "disable_parallel_tool_use": True}}
    if is_object and "output_config" not in left_out:
        return {"output_config": {"format": {"type": "json_schema", "schema": form.schema}}}
    return {}
