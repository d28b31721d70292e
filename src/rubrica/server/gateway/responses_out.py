"""Answers in the protocol of OpenAI's responses: whole, and as its events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from rubrica.errors import InputError
from rubrica.gateway.chat import Chat, chat_of, read_body
from rubrica.gateway.exchange import GatewayAnswer
from rubrica.gateway.upstreams.openai import text_of
from rubrica.llm.model import Usage

from .events import named_event, one_chunk, place_of, read_chunks
from .protocol import ClientRequest, usage_of
from .refusals import ErrorReply
from .response_memory import ResponseMemory
from .responses_in import chat_body, messages_of

CUT_SHORT = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why an answer is not complete, in both protocols."""

TOLD_BACK = (
    *("instructions", "max_output_tokens", "metadata", "previous_response_id", "temperature", "text", "top_p", "user"),
)
"""Fields of the request that the answer repeats."""


class ResponsesProtocol:
    """OpenAI's responses. Conversations are remembered for as long as there is room."""

    def __init__(self) -> None:
        self._memory = ResponseMemory()

    def read(self, raw: bytes, owner: str) -> ClientRequest:
        asked = read_body(raw)
        earlier: list[dict[str, Any]] = []
        if (previous := asked.get("previous_response_id")) is not None:
            if not isinstance(previous, str):
                raise InputError("`previous_response_id` is the id of a response")
            earlier = self._memory.find(owner, previous)
        messages = [*earlier, *messages_of(asked.get("input"))]
        if not messages:
            raise InputError("`input` is empty, and there is no earlier response to go on with")
        chat = chat_of(chat_body(asked, messages), len(raw))
        request = ResponseRequest(chat, asked)
        if asked.get("store") is not False:
            request.keep = lambda name, answer: self._memory.keep(owner, name, [*messages, answer])
        return request

    def error(self, refusal: ErrorReply) -> bytes:
        return refusal.body


class ResponseRequest:
    """One request, and its answer as far as it is told."""

    def __init__(self, chat: Chat, asked: Mapping[str, Any]) -> None:
        self.chat = chat
        self.keep: Callable[[str, dict[str, Any]], None] = _forget  # what is done with the answer, by its name
        self._asked, self._name = asked, f"resp_{uuid4().hex}"
        self._created, self._model = int(time.time()), ""
        self._output: list[dict[str, Any]] = []  # the last item is open
        self._call: object = None  # which one of the chunks, while a call is told
        self._count = 0  # of events
        self._finish: str | None = None
        self._reasoning = 0  # tokens
        self._ours: dict[str, Any] = {}

    def whole(self, answered: GatewayAnswer) -> bytes:
        for _ in (*self._said(one_chunk(answered.completion.raw)), *self._close()):
            pass
        return msgspec.json.encode(self._finished(answered))

    def part(self, block: bytes) -> bytes:
        return b"".join(self._event(event) for chunk in read_chunks(block) for event in self._said(chunk))

    def end(self, answered: GatewayAnswer, last: bytes) -> bytes:  # noqa: ARG002 - this protocol ends in its own way
        events = b"".join(map(self._event, (*self._begin(), *self._close())))
        response = self._finished(answered)
        return events + self._event({"type": f"response.{response['status']}", "response": response})

    def broken(self, refusal: ErrorReply) -> bytes:
        told = {"code": refusal.code or "server_error", "message": refusal.message}
        if not self._count:
            return self._event({"type": "error", **told, "param": None})
        failed = {**self._response("failed"), "error": {**told, "code": "server_error"}}
        return self._event({"type": "response.failed", "response": failed})

    def _event(self, data: dict[str, Any]) -> bytes:
        self._count += 1
        return named_event({**data, "sequence_number": self._count - 1})

    def _said(self, chunk: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The events for a chunk of a chat completion."""
        self._model = self._model or str(chunk.get("model") or "")
        self._ours |= chunk.get("sleipner") or {}
        details = (chunk.get("usage") or {}).get("completion_tokens_details") or {}
        self._reasoning = details.get("reasoning_tokens") or self._reasoning
        for choice in chunk.get("choices") or ():
            if choice.get("index"):
                continue
            yield from self._begin()
            delta = choice.get("delta") or {}
            if text := text_of(delta.get("content")):
                yield from self._words(text, "output_text", "text")
            if refused := delta.get("refusal"):
                yield from self._words(refused, "refusal", "refusal")
            for call in delta.get("tool_calls") or ():
                yield from self._called(call)
            self._finish = choice.get("finish_reason") or self._finish

    def _begin(self) -> Iterator[dict[str, Any]]:
        if not self._count:
            response = self._response("in_progress")
            yield {"type": "response.created", "response": response}
            yield {"type": "response.in_progress", "response": response}

    def _words(self, text: str, kind: str, field: str) -> Iterator[dict[str, Any]]:
        item = self._output[-1] if self._output else {}
        if item.get("type") != "message" or item["content"][0]["type"] != kind:
            yield from self._close()
            part = {"type": kind, field: "", **({"annotations": []} if kind == "output_text" else {})}
            item = {"id": f"msg_{uuid4().hex}", "type": "message", "role": "assistant", "content": [part]}
            yield from self._open(item, [])
            yield {"type": "response.content_part.added", **self._place(), "content_index": 0, "part": dict(part)}
        item["content"][0][field] += text
        yield {"type": f"response.{kind}.delta", **self._place(), "content_index": 0, "delta": text, **_chances(kind)}

    def _called(self, call: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        function, place = call.get("function") or {}, place_of(call, self._call)
        if place != self._call or place is None:
            yield from self._close()
            named = {"call_id": call.get("id") or "", "name": function.get("name") or "", "arguments": ""}
            yield from self._open({"id": f"fc_{uuid4().hex}", "type": "function_call", **named})
            self._call = place
        if given := function.get("arguments"):
            self._output[-1]["arguments"] += given
            yield {"type": "response.function_call_arguments.delta", **self._place(), "delta": given}

    def _open(self, item: dict[str, Any], content: Sequence[object] | None = None) -> Iterator[dict[str, Any]]:
        item["status"], self._call = "in_progress", None
        self._output.append(item)
        shown = {**item} if content is None else {**item, "content": content}
        yield {"type": "response.output_item.added", "output_index": len(self._output) - 1, "item": shown}

    def _close(self) -> Iterator[dict[str, Any]]:
        """The events that end the item that is open."""
        if not self._output:
            return
        item, place = self._output[-1], self._place()
        item["status"] = "completed"
        if item["type"] == "function_call":
            yield {"type": "response.function_call_arguments.done", **place, "arguments": item["arguments"]}
        else:
            part, at = item["content"][0], {**place, "content_index": 0}
            field = "refusal" if part["type"] == "refusal" else "text"
            yield {"type": f"response.{part['type']}.done", **at, field: part[field], **_chances(part["type"])}
            yield {"type": "response.content_part.done", **at, "part": part}
        yield {"type": "response.output_item.done", "output_index": place["output_index"], "item": item}

    def _place(self) -> dict[str, Any]:
        return {"item_id": self._output[-1]["id"], "output_index": len(self._output) - 1}

    def _response(self, status: str) -> dict[str, Any]:
        asked = self._asked
        return {
            "id": self._name,
            "object": "response",
            "created_at": self._created,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "model": self._model,
            "output": [],
            "parallel_tool_calls": asked.get("parallel_tool_calls") is not False,
            "store": asked.get("store") is not False,
            "tool_choice": asked.get("tool_choice") or "auto",
            "tools": asked.get("tools") or [],
            "usage": None,
            **{name: asked.get(name) for name in TOLD_BACK},
        }

    def _finished(self, answered: GatewayAnswer) -> dict[str, Any]:
        """The whole response, which is remembered."""
        reason = CUT_SHORT.get(self._finish or "")
        response = self._response("incomplete" if reason else "completed")
        response["incomplete_details"] = {"reason": reason} if reason else None
        response["output"], response["usage"] = self._output, self._counts(usage_of(answered))
        debug = answered.debug()
        ours = self._ours if debug is None else {**self._ours, "debug": debug}
        self.keep(self._name, _message(self._output))
        return {**response, "sleipner": ours} if ours else response

    def _counts(self, usage: Usage) -> dict[str, Any] | None:
        """Token counts; None where the model told none."""
        if not usage.input_tokens and not usage.output_tokens:
            return None
        read = {"cached_tokens": usage.cached_input_tokens, "cache_write_tokens": usage.cache_write_tokens}
        return {
            "input_tokens": usage.input_tokens,
            "input_tokens_details": read,
            "output_tokens": usage.output_tokens,
            "output_tokens_details": {"reasoning_tokens": self._reasoning},
            "total_tokens": usage.input_tokens + usage.output_tokens,
        }


def _forget(_name: str, _answer: dict[str, Any]) -> None:
    """What is done with an answer that shall not be stored."""


def _chances(kind: str) -> dict[str, Any]:
    """The log-probabilities of an event's text: clients expect the field, and none are asked for."""
    return {"logprobs": []} if kind == "output_text" else {}


def _message(output: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The items of a response as one message of the conversation."""
    parts = [part for item in output if item["type"] == "message" for part in item["content"]]
    words = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
    calls = [
        {"id": item["call_id"], "type": "function", "function": {"name": item["name"], "arguments": item["arguments"]}}
        for item in output
        if item["type"] == "function_call"
    ]
    return {"role": "assistant", "content": words or None, **({"tool_calls": calls} if calls else {})}
