"""Models behind OpenAI's chat completions protocol: OpenAI itself, and every server that speaks like it."""

from __future__ import annotations

import re
from collections.abc import Coroutine, Mapping
from typing import Annotated, Any, ClassVar

import msgspec
from yarl import URL

from rubrica.jsontext import UNREADABLE
from rubrica.llm.http import HttpAnswer
from rubrica.llm.http_model import HttpModel, OptionalField, address, schema_name
from rubrica.llm.images import Picture
from rubrica.llm.model import ChatMessage, Reply, Request, StopReason, TokenChance, Usage
from rubrica.llm.prompt_cache import fewest_cached_characters, shared_texts

_STOPS: dict[str | None, StopReason] = {"stop": "end", "length": "length", "content_filter": "refusal"}


class _Details(msgspec.Struct, gc=False):
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class OpenAITokenCounts(msgspec.Struct, gc=False):
    """Tokens of one call, as this protocol counts them."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Details | None = None


class _Message(msgspec.Struct, gc=False):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct, gc=False):
    message: _Message
    finish_reason: str | None = None
    logprobs: msgspec.Raw = msgspec.Raw(b"null")


class _Completion(msgspec.Struct, gc=False):
    choices: Annotated[list[_Choice], msgspec.Meta(min_length=1)]
    model: str | None = None
    usage: OpenAITokenCounts | None = None


class _Alternative(msgspec.Struct, gc=False):
    token: str
    logprob: float


class _Token(_Alternative, gc=False):
    top_logprobs: list[_Alternative] = []


class _Logprobs(msgspec.Struct, gc=False):
    content: list[_Token] | None = None


_OPTIONAL = (
    OptionalField("response_format", ("response_format", "response format", "json_schema"), any_fault=True),
    OptionalField("logprobs", ("logprobs",)),
    OptionalField("temperature", ("temperature",)),
    OptionalField("seed", ("seed",)),
    OptionalField("reasoning_effort", ("reasoning_effort", "reasoning.effort"), any_fault=True),
    OptionalField("prompt_cache_options", ("prompt_cache",), any_fault=True),
    OptionalField("stream_options", ("stream_options", "include_usage"), any_fault=True),
)
_CHAT = "/chat/completions"
_MARK: dict[str, Any] = {"prompt_cache_breakpoint": {"mode": "explicit"}}
_MARKED = re.compile(r"gpt-(5\.[6-9]|[6-9])")  # they keep a request up to a mark, and charge for keeping it
_completion = msgspec.json.Decoder(_Completion)
_logprobs = msgspec.json.Decoder(_Logprobs | None)


class CompletionAssembly:
    """A chat completion out of its events."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._refusals: list[str] = []
        self._finish: str | None = None
        self._model: str | None = None
        self._usage: Any = None

    @property
    def ended(self) -> bool:
        return self._finish is not None

    def take(self, event: Mapping[str, Any]) -> str:
        if isinstance(model := event.get("model"), str):
            self._model = model
        self._usage = event.get("usage") or self._usage
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
        if isinstance(finish := choice.get("finish_reason"), str):
            self._finish = finish
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            return ""
        if isinstance(refusal := delta.get("refusal"), str):
            self._refusals.append(refusal)
        text = delta.get("content")
        if not isinstance(text, str):
            return ""
        self._texts.append(text)
        return text

    def body(self) -> dict[str, Any]:
        message = {"content": "".join(self._texts), "refusal": "".join(self._refusals) or None}
        usage = self._usage if isinstance(self._usage, dict) else None
        return {
            "choices": [{"message": message, "finish_reason": self._finish}],
            "model": self._model,
            "usage": usage,
        }


class OpenAIModel(HttpModel):
    """One model of one server.

    Where a model refuses structured output, a temperature, a seed or logprobs, the refused field is left out from
    then on, and `left_out` names it. Under OpenAI's own address the length limit is `max_completion_tokens`, as its
    reasoning models demand; elsewhere it is `max_tokens`, as other servers know it; where the one is refused, the other
    takes its place.

    Servers of this protocol keep the beginning of a request by themselves. OpenAI's models from GPT-5.6 on are told how
    far: else they would keep, for a price, the whole of every request, and find only the whole of it again.

    >>> from rubrica.llm.http import HttpSession
    >>> session = HttpSession()
    >>> OpenAIModel("openai:gpt-4o-mini", "gpt-4o-mini", key="sk-secret", session=session)
    OpenAIModel('openai:gpt-4o-mini')
    """

    protocol: ClassVar = "openai"  # how the gateway speaks with it

    base_url = "https://api.openai.com/v1"
    key_variable = "OPENAI_API_KEY"

    def _address(self, base_url: str) -> URL:
        return address(base_url, _CHAT)

    def embed(self, body: bytes) -> Coroutine[Any, Any, HttpAnswer]:
        """One attempt to turn texts into vectors, with a body that is written already."""
        path = self._url.path.removesuffix(_CHAT) + "/embeddings"
        url = self._url.with_path(path).with_query(self._url.query)
        return self._session.post(url, self._headers(), body, self._timeout)

    def _secret(self, key: str | None) -> dict[str, str | None]:
        return {"Authorization": f"Bearer {key.strip()}" if key else None}

    def _optional_fields(self) -> tuple[OptionalField, ...]:
        limit, _ = self._limits
        return (*_OPTIONAL, OptionalField(limit, (limit,)))

    @property
    def _limits(self) -> tuple[str, str]:
        """What the length limit is called here, and what else it may be called."""
        if self._url.host == "api.openai.com":
            return "max_completion_tokens", "max_tokens"
        return "max_tokens", "max_completion_tokens"

    def _marks(self, request: Request) -> tuple[ChatMessage, ...]:
        """The messages in which the shared beginning of a request ends, where this model wants to be told."""
        if not _MARKED.match(self._model) or "prompt_cache_options" in self._left_out:
            return ()
        least, (system, shared_text) = fewest_cached_characters(self._model), shared_texts(request)
        goes_on = not shared_text and any(message.role == "assistant" for message in request.messages)
        if goes_on or len(system) + len(shared_text) < least:  # a conversation that goes on is kept whole, as it grows
            return ()
        instructions = [message for message in request.messages if message.role == "system" and len(system) >= least]
        return (*instructions[-1:], *(message for message in request.messages if isinstance(message.shared, int)))

    def _assembly(self) -> CompletionAssembly:
        return CompletionAssembly()

    def _stream_fields(self) -> dict[str, Any]:
        counted = {} if "stream_options" in self._left_out else {"stream_options": {"include_usage": True}}
        return {"stream": True, **counted}

    def _body(self, request: Request, images: Mapping[str, Picture]) -> dict[str, Any]:
        left_out = self._left_out
        limit, other_limit = self._limits
        marked = self._marks(request)
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [
                {"role": message.role, "content": _content(message, images, marked=message in marked)}
                for message in request.messages
            ],
            other_limit if limit in left_out else limit: request.max_tokens,
        }
        if marked:
            body["prompt_cache_options"] = {"mode": "explicit"}
        if "temperature" not in left_out:
            body["temperature"] = request.temperature
        if request.schema is not None and "response_format" not in left_out:
            schema = {"name": schema_name(request.schema_name), "strict": True, "schema": request.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if request.effort and "reasoning_effort" not in left_out:
            body["reasoning_effort"] = request.effort
        if request.seed is not None and "seed" not in left_out:
            body["seed"] = request.seed
        if request.top_logprobs and "logprobs" not in left_out:
            body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        return body

    def _reply(self, body: bytes, request: Request, duration_ms: float) -> Reply:
        completion = self.read(body, _completion)
        choice = completion.choices[0]
        refusal = choice.message.refusal
        return Reply(
            text=refusal or choice.message.content or "",
            model=completion.model or self._model,
            usage=usage_of(completion.usage),
            stop="refusal" if refusal else _STOPS.get(choice.finish_reason, "other"),
            duration_ms=duration_ms,
            chances=_chances(choice.logprobs) if request.top_logprobs else (),
        )


def _content(message: ChatMessage, images: Mapping[str, Picture], *, marked: bool) -> str | list[dict[str, Any]]:
    if not message.images and not marked:
        return message.content
    shown = [{"type": "image_url", "image_url": {"url": images[image].as_url}} for image in message.images]
    end = message.shared if isinstance(message.shared, int) else len(message.content)
    shared = {"type": "text", "text": message.content[:end], **(_MARK if marked else {})}
    own = message.content[end:]
    # What is shared comes first, pictures included.
    return [*shown, shared, {"type": "text", "text": own}] if own else [shared, *shown]


def usage_of(usage: OpenAITokenCounts | None) -> Usage:
    """The same as we count them."""
    if usage is None:
        return Usage()
    details = usage.prompt_tokens_details
    if details is None:
        return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0)
    read, written = details.cached_tokens or 0, details.cache_write_tokens or 0
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, read, written)


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
