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

Protocol = Literal["openai", "anthropic"]
Fault = Literal[
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
FAULTS_WORTH_RETRYING: tuple[Fault, ...] = (
    *("rate_limited", "error", "unavailable", "overloaded", "drop", "truncated", "garbled", "wrong_shape"),
)
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
    cache_written: int = 0  # Anthropic's protocol only
    output_tokens: int = 5
    logprobs: Sequence[tuple[str, float, Mapping[str, float]]] = ()  # token, logprob, alternatives
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
    seen: list[Seen] = field(default_factory=list)
    requests: int = 0  # all of them, refused ones too
    failed: int = 0  # how many got a fault
    port: int = 0
    _runner: web.AppRunner | None = None
    _closing: asyncio.Event = field(default_factory=asyncio.Event)
    _random: random.Random = field(default_factory=random.Random)

    async def __aenter__(self) -> Self:
        self._random = random.Random(self.seed)  # noqa: S311 - a test's dice
        self._closing = asyncio.Event()
        app = web.Application(client_max_size=64_000_000)
        app.router.add_post("/v1/chat/completions", self._openai)
        app.router.add_post("/v1/messages", self._anthropic)
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

    async def _answer(self, request: web.Request, protocol: Protocol) -> web.StreamResponse:
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
        body = json.dumps(_spoken(seen, self._said(seen), fault)).encode()
        return await _sent(request, body, fault)

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
        check(body, headers)
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
    for name in body.keys() - known - {"logprobs", "top_logprobs"}:
        _demand(False, f"Unrecognized request argument supplied: {name}", name)
    _demand(isinstance(body.get("model"), str), "you must provide a model parameter", "model")
    _demand(isinstance(body.get("messages"), list) and body["messages"], "messages must not be empty", "messages")
    for message in body["messages"]:
        _demand(message.get("role") in ("system", "user", "assistant"), "unknown role", "messages")
        for part in message["content"] if isinstance(message["content"], list) else ():
            _demand(part.get("type") in ("text", "image_url"), "unknown content part", "messages")
            url = part.get("image_url", {}).get("url", "https://")
            _demand(url.startswith(("https://", "http://", "data:image/")), "not an image URL", "messages")
    _demand(not {"max_tokens", "max_completion_tokens"} <= body.keys(), "set one length limit only", "max_tokens")
    _demand(0 <= body.get("temperature", 1) <= 2, "temperature must be between 0 and 2", "temperature")
    _demand(body.get("logprobs") or "top_logprobs" not in body, "top_logprobs needs logprobs", "top_logprobs")
    _demand(0 <= body.get("top_logprobs", 0) <= 20, "top_logprobs must be between 0 and 20", "top_logprobs")
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]
        _demand(_NAME.fullmatch(schema["name"]), "the schema's name has other characters", "response_format")
        closed = schema["schema"].get("additionalProperties") is False
        _demand(closed or not schema["strict"], "Invalid schema for response_format: not closed", "response_format")


def _check_anthropic(body: dict[str, Any], headers: Mapping[str, str]) -> None:
    _demand(headers.get("anthropic-version") == "2023-06-01", "anthropic-version: header is required")
    known = {"model", "messages", "system", "temperature", "max_tokens", "tools", "tool_choice", "output_config"}
    for name in body.keys() - known:
        _demand(False, f"{name}: Extra inputs are not permitted")
    for name in ("model", "messages", "max_tokens"):
        _demand(body.get(name), f"{name}: Field required")
    for message in body["messages"]:
        _demand(message["role"] in ("user", "assistant"), "messages: role must be user or assistant")
        _demand(message["content"], "messages: text content blocks must be non-empty")
        for part in message["content"] if isinstance(message["content"], list) else ():
            source = part.get("source", {})
            _demand(part["type"] in ("text", "image"), "messages: unknown content block")
            _demand(part["type"] != "image" or source.get("data") or source.get("url"), "source: Field required")
    _demand(0 <= body.get("temperature", 1) <= 1, "temperature: range: 0..1")
    names = [tool["name"] for tool in body.get("tools", ())]
    _demand(all(map(_NAME.fullmatch, names)), "tools: name should match the pattern")
    _demand(all(tool["input_schema"]["type"] == "object" for tool in body.get("tools", ())), "input_schema: object")
    _demand(body.get("tool_choice", {}).get("name") in (*names, None), "tool_choice: no such tool")


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
    prompt_tokens = said.input_tokens + said.cached_tokens
    return {
        "id": "chatcmpl-loopback",
        "object": "chat.completion",
        "created": 1_763_000_000,
        "model": said.model,
        "choices": [{"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": said.output_tokens,
            "total_tokens": prompt_tokens + said.output_tokens,
            "prompt_tokens_details": {"cached_tokens": said.cached_tokens, "audio_tokens": 0},
        },
    }


def _message(seen: Seen, said: Said, fault: Fault | None) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": said.text}]
    stop, details = "end_turn", None
    if "tool_choice" in seen.body:
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
