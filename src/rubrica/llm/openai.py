"""Models behind OpenAI's chat completions protocol: OpenAI itself, and every server that speaks like it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from rubrica.llm.endpoint import Access, Endpoint, OptionalField, address, schema_name
from rubrica.llm.http import UNREADABLE, HttpSession
from rubrica.llm.images import Picture, pictures
from rubrica.llm.model import ChatMessage, Reply, Request, StopReason, TokenChance, Usage

_STOPS: dict[str | None, StopReason] = {"stop": "end", "length": "length", "content_filter": "refusal"}


class _Details(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: msgspec.Raw = msgspec.Raw(b"null")


class _Completion(msgspec.Struct):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    model: str | None = None
    usage: _Usage | None = None


class _Alternative(msgspec.Struct):
    token: str
    logprob: float


class _Token(_Alternative):
    top_logprobs: list[_Alternative] = []


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None


_completion = msgspec.json.Decoder(_Completion)
_logprobs = msgspec.json.Decoder(_Logprobs | None)


class OpenAIModel:
    """One model of one server.

    Where a model refuses structured output, a temperature, a seed or logprobs, the refused field is left out from
    then on, and `left_out` names it. Under OpenAI's own address the length limit is `max_completion_tokens`, as its
    reasoning models demand; elsewhere it is `max_tokens`, as other servers know it; where the one is refused, the other
    takes its place.

    >>> session = HttpSession()
    >>> OpenAIModel("openai:gpt-4o-mini", "gpt-4o-mini", key="sk-secret", session=session)
    OpenAIModel('openai:gpt-4o-mini')
    """

    def __init__(
        self,
        name: str,
        model: str,
        *,
        base_url: str = "https://api.openai.com/v1",
        key: str | None,
        session: HttpSession,
        timeout: float = 60.0,  # seconds for one HTTP call
        extra_headers: Mapping[str, str] | None = None,
        key_variable: str = "OPENAI_API_KEY",  # named in errors
    ) -> None:
        url = address(base_url, "/chat/completions")
        limits = ("max_completion_tokens", "max_tokens")
        self._limit, self._other_limit = limits if url.host == "api.openai.com" else limits[::-1]
        optional = (
            OptionalField("response_format", ("response_format", "response format", "json_schema"), any_fault=True),
            OptionalField("logprobs", ("logprobs",)),
            OptionalField("temperature", ("temperature",)),
            OptionalField("seed", ("seed",)),
            OptionalField(self._limit, (self._limit,)),
        )
        self.name = name
        self._model = model
        secret = {"Authorization": f"Bearer {key.strip()}" if key else None, **(extra_headers or {})}
        access = Access(secret, key_variable)
        self._endpoint = Endpoint(name, url, access, session=session, timeout=timeout, optional=optional)

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r})"

    @property
    def left_out(self) -> frozenset[str]:
        """Fields of the request this model turned out not to take."""
        return frozenset(self._endpoint.left_out)

    async def __call__(self, request: Request) -> Reply:
        started = time.perf_counter()
        images = await pictures(request)
        body = await self._endpoint.ask(lambda left_out: self._body(request, images, left_out))
        completion = self._endpoint.read(body, _completion)
        return self._reply(completion, request, (time.perf_counter() - started) * 1000)

    async def close(self) -> None:
        """Nothing to do: the session belongs to whoever made it."""

    def _body(self, request: Request, images: Mapping[str, Picture], left_out: set[str]) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": message.role, "content": _content(message, images)} for message in request.messages],
            self._other_limit if self._limit in left_out else self._limit: request.max_tokens,
        }
        if "temperature" not in left_out:
            body["temperature"] = request.temperature
        if request.schema is not None and "response_format" not in left_out:
            schema = {"name": schema_name(request.schema_name), "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if request.seed is not None and "seed" not in left_out:
            body["seed"] = request.seed
        if request.top_logprobs and "logprobs" not in left_out:
            body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        return body

    def _reply(self, completion: _Completion, request: Request, duration_ms: float) -> Reply:
        choice = completion.choices[0]
        refusal = choice.message.refusal
        return Reply(
            text=refusal or choice.message.content or "",
            model=completion.model or self._model,
            usage=_usage(completion.usage),
            stop="refusal" if refusal else _STOPS.get(choice.finish_reason, "other"),
            duration_ms=duration_ms,
            chances=_chances(choice.logprobs) if request.top_logprobs else (),
        )


def _content(message: ChatMessage, images: Mapping[str, Picture]) -> str | list[dict[str, Any]]:
    if not message.images:
        return message.content
    shown = [{"type": "image_url", "image_url": {"url": images[image].as_url}} for image in message.images]
    return [{"type": "text", "text": message.content}, *shown]


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage()
    details = usage.prompt_tokens_details
    cached = details.cached_tokens if details is not None else 0
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached or 0)


def _chances(logprobs: msgspec.Raw) -> tuple[TokenChance, ...]:
    try:
        read = _logprobs.decode(logprobs)
    except UNREADABLE:
        return ()  # servers differ here, and a reply without them is still a reply
    tokens = read.content if read is not None else None
    return tuple(
        # Reversed: where two alternatives read the same, the likelier one, which comes first, stays.
        TokenChance(token.token, token.logprob, {a.token: a.logprob for a in reversed(token.top_logprobs)})
        for token in tokens or ()
    )
