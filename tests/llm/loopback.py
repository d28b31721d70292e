"""A provider on 127.0.0.1 that speaks both protocols, checks requests as the real ones do, and fails on demand.

    async with Loopback('{"score": 7}') as server:
        OpenAIModel("openai:any", "any", base_url=server.openai_url, key=server.key, session=session)
        AnthropicModel("anthropic:any", "any", base_url=server.anthropic_url, key=server.key, session=session)

Answers come from a text, a list (one per request, the last one repeated) or a function of what was Seen.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, Literal, Self

from aiohttp import web
from loopback_streams import StreamFault, events_of, send_events

Protocol = Literal["openai", "anthropic"]
Fault = (
    StreamFault
    | Literal[
        "rate_limited",  # 429, Retry-After in seconds
        "rate_limited_until",  # 429, Retry-After as an HTTP date
        "rate_limited_ms",  # 429, retry-after-ms
        "out_of_credit",  # 429 that no waiting cures
        "error",  # 500
        "unavailable",  # 503, an HTML page
        "overloaded",  # 529
        "refused",  # 400
        "redirect",  # 307
        "hang",  # until the client goes or the server closes
        "drop",  # the connection breaks in the middle of the body
        "truncated",  # half of the JSON, in good order otherwise
        "garbled",  # bytes that are no JSON
        "misencoded",  # says gzip, is not
        "wrong_shape",  # JSON of another shape
        "error_in_200",  # an error body with status 200
        "huge",  # a body of 3 MB
        "refusal",  # the model declines
        "length",  # the reply stops at max_tokens
        "wrong_type",  # a good body sent as text/html
    ]
)
FAULTS_WORTH_RETRYING: tuple[Fault, ...] = (
    *("rate_limited", "error", "unavailable", "overloaded", "drop", "truncated", "garbled", "wrong_shape"),
)
_WHOLE = ("drop", "truncated", "garbled", "misencoded", "wrong_shape", "error_in_200", "huge", "wrong_type")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it arrived. Header names are in lower case."""

    protocol: Protocol
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """The text of the last message."""
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


@dataclass(frozen=True, slots=True)
class Said:
    """One good answer."""

    text: str = "ok"
    input_tokens: int = 10  # not cached
    cached_tokens: int = 0
    cache_written: int = 0
    output_tokens: int = 5
    logprobs: Sequence[tuple[str, float, Mapping[str, float]]] = ()  # token, logprob, alternatives
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()  # tools that are called, with what
    model: str = "loopback-2026-11-15"


Turn = Said | str
Script = Turn | Sequence[Turn] | Callable[[Seen], Turn]


class _Refusal(Exception):  # noqa: N818 - what the server answers, not a fault of it
    def __init__(self, status: int, kind: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.headers: dict[str, str] = {}
        self.status, self.kind, self.message, self.param = status, kind, message, param


@dataclass(slots=True)
class Loopback:
    """The server.

    With a `fault_rate`, that share of the requests gets one of the `faults`, drawn by `seed`. Without one, the first
    request gets the first of the `faults`, the second the second, and those after the last none.
    """

    script: Script = "ok"
    faults: Sequence[Fault | None] = ()
    fault_rate: float | None = None
    seed: int = 0
    latency: float = 0.0  # seconds
    retry_after: float = 1.0  # seconds
    key: str | None = "sk-loopback-5up3r53cr3t"  # None: any key or none will do
    refuses: Collection[str] = ()  # optional fields this model does not take
    knows: Collection[str] = ()  # fields this server takes beyond those of its protocol
    pace: float = 0.0  # seconds between the events of a stream
    seen: list[Seen] = field(default_factory=list)
    requests: int = 0  # all of them, refused ones too
    failed: int = 0  # how many got a fault
    left: int = 0  # how many clients went before their answer was complete
    busiest: int = 0  # how many were answered at the same time, at most
    port: int = 0
    _runner: web.AppRunner | None = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _under_way: int = 0
    _random: random.Random = field(default_factory=random.Random)

    async def __aenter__(self) -> Self:
        self._random = random.Random(self.seed)  # noqa: S311 - a test's dice
        self._closing = asyncio.Event()
        app = web.Application(client_max_size=64_000_000)
        app.router.add_post("/v1/chat/completions", self._openai)
        app.router.add_post("/v1/messages", self._anthropic)
        app.router.add_post("/v1/embeddings", self._embeddings)
        self._runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing.set()
        if self._runner is not None:
            await self._runner.cleanup()

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def connections(self) -> int:
        """How many are open now."""
        server = self._runner.server if self._runner is not None else None
        return len(server.connections) if server is not None else 0

    async def _openai(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, "openai")

    async def _anthropic(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, "anthropic")

    async def _embeddings(self, request: web.Request) -> web.StreamResponse:
        """A vector for every text: how long it is, and whether anybody asks."""
        self.requests += 1
        body = await request.json()
        self.seen.append(Seen("openai", {name.lower(): value for name, value in request.headers.items()}, body))
        if (fault := self._fault()) is not None:
            try:
                _fail(fault, self.retry_after)
            except _Refusal as refusal:
                return _refused(refusal, "openai")
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors = [
            {"object": "embedding", "index": place, "embedding": [float(len(text)), float("?" in text)]}
            for place, text in enumerate(texts)
        ]
        counts = {"prompt_tokens": 10 * len(texts), "total_tokens": 10 * len(texts)}
        return web.json_response({"object": "list", "data": vectors, "model": body["model"], "usage": counts})

    async def _answer(self, request: web.Request, protocol: Protocol) -> web.StreamResponse:
        self._under_way += 1
        self.busiest = max(self.busiest, self._under_way)
        try:
            return await self._answered(request, protocol)
        except (asyncio.CancelledError, ConnectionError):
            self.left += not self._closing.is_set()
            raise
        finally:
            self._under_way -= 1

    async def _answered(self, request: web.Request, protocol: Protocol) -> web.StreamResponse:
        self.requests += 1
        raw = await request.read()
        if self.latency:
            await asyncio.sleep(self.latency)
        fault = self._fault()
        self.failed += fault is not None
        try:
            seen = self._checked(request, protocol, raw)
            self.seen.append(seen)
            if fault is not None:
                _fail(fault, self.retry_after)
        except _Refusal as refusal:
            return _refused(refusal, protocol)
        if fault == "hang":
            await self._closing.wait()
        spoken = _spoken(seen, self._said(seen), fault)
        if seen.body.get("stream") and fault not in _WHOLE:
            events = events_of(spoken, seen.body)
            return await send_events(request, events, fault, self.pace, self._closing)
        return await _sent(request, json.dumps(spoken).encode(), fault)

    def _fault(self) -> Fault | None:
        if self.fault_rate is None:
            return self.faults[self.requests - 1] if self.requests <= len(self.faults) else None
        return self._random.choice(self.faults) if self._random.random() < self.fault_rate else None

    def _said(self, seen: Seen) -> Said:
        script = self.script
        if callable(script):
            turn = script(seen)
        elif isinstance(script, Said | str):
            turn = script
        else:
            turn = script[min(len(self.seen), len(script)) - 1]
        return turn if isinstance(turn, Said) else Said(turn)

    def _checked(self, request: web.Request, protocol: Protocol, raw: bytes) -> Seen:
        headers = {name.lower(): value for name, value in request.headers.items()}
        if self.key is not None:
            sent = headers.get("x-api-key" if protocol == "anthropic" else "authorization", "")
            _check_key(sent.removeprefix("Bearer "), self.key, protocol)
        if headers.get("content-type") != "application/json":
            raise _Refusal(400, "invalid_request_error", "the content type must be application/json")
        try:
            body = json.loads(raw)
        except ValueError:
            raise _Refusal(400, "invalid_request_error", "the body is not valid JSON") from None
        check = _check_openai if protocol == "openai" else _check_anthropic
        check({name: value for name, value in body.items() if name not in self.knows}, headers)
        for name in self.refuses:
            if name in body:
                raise _not_taken(name, protocol)
        return Seen(protocol, headers, body)


def _check_key(sent: str, key: str, protocol: Protocol) -> None:
    if protocol == "anthropic":
        if sent != key:
            raise _Refusal(401, "authentication_error", "invalid x-api-key" if sent else "x-api-key is required")
    elif not sent:
        raise _Refusal(401, "invalid_request_error", "You sent no API key in the Authorization header.")
    elif sent != key:  # the real one shows a part of the key too
        masked = f"{sent[:8]}********{sent[-4:]}"
        raise _Refusal(401, "invalid_request_error", f"Incorrect API key provided: {masked}. Find yours online.")


def _not_taken(name: str, protocol: Protocol) -> _Refusal:
    kind = "invalid_request_error"
    wording = {
        "response_format": "This response_format type is unavailable now",
        "tool_choice": "Thinking may not be enabled when tool_choice forces tool use.",
        "temperature": "`temperature` is deprecated for this model.",
        "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
        "Use 'max_completion_tokens' instead.",
    }
    message = wording.get(name, f"Unsupported parameter: '{name}' is not supported with this model.")
    return _Refusal(400, kind, message, name if protocol == "openai" else None)


def _demand(holds: object, message: str, param: str | None = None) -> None:
    if not holds:
        raise _Refusal(400, "invalid_request_error", message, param)


def _check_openai(body: dict[str, Any], _: Mapping[str, str]) -> None:
    known = {"model", "messages", "temperature", "max_tokens", "max_completion_tokens", "seed", "response_format"}
    known |= {"logprobs", "top_logprobs", "top_p", "stop", "n", "user", "stream", "stream_options"}
    known |= {"tools", "tool_choice", "parallel_tool_calls"}
    for name in body.keys() - known:
        _demand(False, f"Unrecognized request argument supplied: {name}", name)
    _demand(isinstance(body.get("model"), str), "you must provide a model parameter", "model")
    _demand(isinstance(body.get("messages"), list) and body["messages"], "messages must not be empty", "messages")
    for message in body["messages"]:
        roles = ("system", "developer", "user", "assistant", "tool")
        _demand(message.get("role") in roles, "unknown role", "messages")
        for part in message["content"] if isinstance(message["content"], list) else ():
            _demand(part.get("type") in ("text", "image_url"), "unknown content part", "messages")
            url = part.get("image_url", {}).get("url", "https://")
            _demand(url.startswith(("https://", "http://", "data:image/")), "not an image URL", "messages")
    _demand(not {"max_tokens", "max_completion_tokens"} <= body.keys(), "set one length limit only", "max_tokens")
    _demand(0 <= body.get("temperature", 1) <= 2, "temperature must be between 0 and 2", "temperature")
    _demand(body.get("logprobs") or "top_logprobs" not in body, "top_logprobs needs logprobs", "top_logprobs")
    _demand(0 <= body.get("top_logprobs", 0) <= 20, "top_logprobs must be between 0 and 20", "top_logprobs")
    options = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    _demand(body.get("stream") or "stream_options" not in body, options, "stream_options")
    if "json_schema" in body.get("response_format", {}):
        schema = body["response_format"]["json_schema"]
        _demand(_NAME.fullmatch(schema["name"]), "the schema's name has other characters", "response_format")
        closed = schema["schema"].get("additionalProperties") is False
        _demand(closed or not schema["strict"], "Invalid schema for response_format: not closed", "response_format")


def _check_anthropic(body: dict[str, Any], headers: Mapping[str, str]) -> None:
    _demand(headers.get("anthropic-version") == "2023-06-01", "anthropic-version: header is required")
    known = {"model", "messages", "system", "temperature", "max_tokens", "tools", "tool_choice", "output_config"}
    known |= {"top_p", "stop_sequences", "metadata", "stream", "thinking"}
    for name in body.keys() - known:
        _demand(False, f"{name}: Extra inputs are not permitted")
    for name in ("model", "messages", "max_tokens"):
        _demand(body.get(name), f"{name}: Field required")
    for message in body["messages"]:
        _demand(message["role"] in ("user", "assistant"), "messages: role must be user or assistant")
        _demand(message["content"], "messages: text content blocks must be non-empty")
        for part in message["content"] if isinstance(message["content"], list) else ():
            source = part.get("source", {})
            kinds = ("text", "image", "document", "tool_use", "tool_result")
            _demand(part["type"] in kinds, "messages: unknown content block")
            _demand(part.get("text", "-").strip(), "messages: text content blocks must contain non-whitespace text")
            _demand(
                _NAME.fullmatch(part.get("id", part.get("tool_use_id", "-"))), "messages: id should match a pattern"
            )
            _demand(part["type"] != "image" or source.get("data") or source.get("url"), "source: Field required")
    _demand(0 <= body.get("temperature", 1) <= 1, "temperature: range: 0..1")
    both = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    _demand(not {"temperature", "top_p"} <= body.keys(), both)
    _check_turns(body["messages"], known_tools=bool(body.get("tools")))
    _demand(all(text.strip() for text in body.get("stop_sequences", ())), "stop_sequences: must contain non-whitespace")
    names = [tool["name"] for tool in body.get("tools", ())]
    _demand(all(map(_NAME.fullmatch, names)), "tools: name should match the pattern")
    _demand(all(tool["input_schema"]["type"] == "object" for tool in body.get("tools", ())), "input_schema: object")
    _demand(body.get("tool_choice", {}).get("name") in (*names, None), "tool_choice: no such tool")


def _check_turns(messages: Sequence[Mapping[str, Any]], *, known_tools: bool) -> None:
    """Roles take turns, and every call of a tool has its result in the turn after it."""
    open_calls: set[str] = set()
    for before, message in zip((None, *messages), messages, strict=False):
        _demand(before is None or before["role"] != message["role"], "messages: roles must alternate")
        parts = message["content"] if isinstance(message["content"], list) else ()
        results = {part["tool_use_id"] for part in parts if part["type"] == "tool_result"}
        _demand(results == open_calls, "messages: tool_use ids were found without tool_result blocks after")
        open_calls = {part["id"] for part in parts if part["type"] == "tool_use"}
        _demand(known_tools or not open_calls, "tools: must be given where messages hold tool_use blocks")


def _fail(fault: Fault, retry_after: float) -> None:
    slow_down = _Refusal(429, "rate_limit_error", "This request would exceed your rate limit.")
    match fault:
        case "rate_limited":
            slow_down.headers["Retry-After"] = f"{retry_after:g}"
            raise slow_down
        case "rate_limited_until":
            until = datetime.now(UTC) + timedelta(seconds=retry_after)
            slow_down.headers["Retry-After"] = format_datetime(until, usegmt=True)
            raise slow_down
        case "rate_limited_ms":
            slow_down.headers["retry-after-ms"] = f"{retry_after * 1000:g}"
            raise slow_down
        case "out_of_credit":
            raise _Refusal(429, "insufficient_quota", "You exceeded your current quota, see your plan.")
        case "error":
            raise _Refusal(500, "api_error", "Internal server error")
        case "unavailable":
            raise web.HTTPServiceUnavailable(text="<html>Service Unavailable</html>", content_type="text/html")
        case "overloaded":
            raise _Refusal(529, "overloaded_error", "Overloaded")
        case "refused":
            raise _Refusal(400, "invalid_request_error", "the prompt is too long: 300000 tokens > 200000 maximum")
        case "redirect":
            raise web.HTTPTemporaryRedirect("/v1/chat/completions")  # here again: a follower is counted
        case _:
            return


def _refused(refusal: _Refusal, protocol: Protocol) -> web.Response:
    body: dict[str, Any]
    error: dict[str, str | None]
    if protocol == "anthropic":
        error = {"type": refusal.kind, "message": refusal.message}
        body = {"type": "error", "error": error, "request_id": "req_loopback"}
    else:
        code = "invalid_api_key" if refusal.status == 401 else None
        error = {"message": refusal.message, "type": refusal.kind, "param": refusal.param, "code": code}
        body = {"error": error}
    return web.json_response(body, status=refusal.status, headers=refusal.headers)


def _spoken(seen: Seen, said: Said, fault: Fault | None) -> dict[str, Any]:
    if fault == "error_in_200":
        return {"error": {"message": "upstream provider failed", "code": 502}}
    if fault == "wrong_shape":
        return {"object": "chat.completion", "choices": [], "content": "not a list"}
    return _completion(seen, said, fault) if seen.protocol == "openai" else _message(seen, said, fault)


def _completion(seen: Seen, said: Said, fault: Fault | None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text, "refusal": None}
    finish = "stop"
    if said.calls:
        message["content"], finish = said.text or None, "tool_calls"
        message["tool_calls"] = [
            {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for place, (name, given) in enumerate(said.calls)
        ]
    if fault == "refusal":
        message |= {"content": None, "refusal": "I can't help with that."}
    elif fault == "length":
        message["content"] = said.text[: len(said.text) // 2]
        finish = "length"
    logprobs = None
    if seen.body.get("logprobs"):
        logprobs = {
            "content": [
                {
                    "token": token,
                    "logprob": chance,
                    "bytes": list(token.encode()),
                    "top_logprobs": [{"token": t, "logprob": c, "bytes": None} for t, c in others.items()],
                }
                for token, chance, others in said.logprobs
            ],
            "refusal": None,
        }
    prompt_tokens = said.input_tokens + said.cached_tokens + said.cache_written
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 1_763_000_000,
        "model": said.model,
        "choices": [
            {"index": index, "message": message, "logprobs": logprobs, "finish_reason": finish}
            for index in range(seen.body.get("n") or 1)
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": said.output_tokens,
            "total_tokens": prompt_tokens + said.output_tokens,
            "prompt_tokens_details": {
                "cached_tokens": said.cached_tokens,
                **({"cache_write_tokens": said.cache_written} if said.cache_written else {}),
                "audio_tokens": 0,
            },
        },
    }


def _message(seen: Seen, said: Said, fault: Fault | None) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": said.text}]
    stop, details = "end_turn", None
    if said.calls:
        content = content if said.text else []
        content += [
            {"type": "tool_use", "id": f"toolu_{place}", "name": name, "input": dict(given)}
            for place, (name, given) in enumerate(said.calls)
        ]
        stop = "tool_use"
    elif seen.body.get("tool_choice", {}).get("type") == "tool":
        name = seen.body["tool_choice"]["name"]
        content = [{"type": "tool_use", "id": "toolu_loopback", "name": name, "input": _tool_input(said.text)}]
        stop = "tool_use"
    elif "output_config" in seen.body:  # a model that always thinks
        content.insert(0, {"type": "thinking", "thinking": "", "signature": "c2lnbmF0dXJl"})
    if fault == "refusal":
        content, stop = [], "refusal"
        details = {"type": "refusal", "category": "other", "explanation": "I can't help with that."}
    elif fault == "length":
        stop = "max_tokens"
        if content[0]["type"] == "text":
            content[0]["text"] = said.text[: len(said.text) // 2]
        else:
            content[0]["input"] = {}
    return {
        "id": "msg_loopback",
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "stop_details": details,
        "usage": {
            "input_tokens": said.input_tokens,
            "cache_creation_input_tokens": said.cache_written,
            "cache_read_input_tokens": said.cached_tokens,
            "output_tokens": said.output_tokens,
        },
    }


def _tool_input(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return {"text": text}  # a script that is no JSON: a model that fills the tool badly


async def _sent(request: web.Request, body: bytes, fault: Fault | None) -> web.StreamResponse:
    match fault:
        case "drop":
            response = web.StreamResponse(headers={"Content-Type": "application/json"})
            response.content_length = len(body)
            await response.prepare(request)
            await response.write(body[: len(body) // 2])
            if request.transport is not None:
                request.transport.abort()
            return response
        case "truncated":
            return web.Response(body=body[: len(body) // 2], content_type="application/json")
        case "garbled":
            return web.Response(body=b"\xff\xfe\x00{]" * 7, content_type="application/json")
        case "misencoded":
            return web.Response(body=body, headers={"Content-Encoding": "gzip", "Content-Type": "application/json"})
        case "huge":
            return web.Response(body=body + b" " * 3_000_000, content_type="application/json")
        case "wrong_type":
            return web.Response(body=body, content_type="text/html")
        case _:
            return web.Response(body=body, content_type="application/json")
