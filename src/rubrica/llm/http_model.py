"""What models behind HTTP share: one attempt, which learns the optional fields a model does not take."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Coroutine, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeVar

import msgspec
from yarl import URL

from rubrica.jsontext import UNREADABLE
from rubrica.llm.http import (
    LONGEST_MESSAGE,
    MASKED,
    HttpAnswer,
    HttpSession,
    StreamingAnswer,
    read_error_body,
    retry_after,
    trouble_in,
)
from rubrica.llm.images import Picture, pictures
from rubrica.llm.model import ModelError, Reply, Request
from rubrica.llm.text_stream import EventLines, StreamAssembly, TextListener, current_listener

T = TypeVar("T")

LARGEST_STREAM = 8_000_000
"""Bytes; events take several times the text that they carry."""
_encode = msgspec.json.Encoder(enc_hook=dict).encode  # a schema may be any Mapping
PASSED_ON: ContextVar[Mapping[str, str]] = ContextVar("rubrica_passed_on")
"""Headers of a request that are sent along with whatever is asked for it: the trace that it belongs to."""


class OptionalField(msgspec.Struct, frozen=True):
    """A field of a request that some models refuse. The request is as good, or nearly, without it.

    `hints` are how refusals name it. With `any_fault`, every complaint that names it counts; without,
    only one that says the model does not take it, so that a value out of range stays an error.
    """

    name: str
    hints: tuple[str, ...]
    any_fault: bool = False


_NOT_TAKEN = (
    *("not support", "unsupported", "deprecated", "not allowed", "not permitted", "not available", "unavailable"),
    *("unknown", "unrecogni", "only the default", "may not be", "compatible"),
)


@dataclass(frozen=True)
class Credentials:
    """What opens a provider's door. Values of `secret` headers are never shown; a None is not sent."""

    secret: Mapping[str, str | None] = dataclass_field(repr=False)
    key_variable: str  # where a user puts the key
    public: Mapping[str, str] = dataclass_field(default_factory=dict)

    def __post_init__(self) -> None:
        if not all(value.isprintable() for value in self.headers.values()):
            raise ModelError("unauthorised", f"a key holds no line breaks; set {self.key_variable} to the key alone")

    @cached_property
    def headers(self) -> dict[str, str]:
        return {**self.public, **{name: value.strip() for name, value in self.secret.items() if value is not None}}

    def hide(self, text: str) -> str:
        """The text without any secret in it, nor what a provider shows of one."""
        for value in self.secret.values():
            for secret in (value, value.removeprefix("Bearer ")) if value else ():
                text = text.replace(secret.strip(), "[key]") if len(secret.strip()) >= 8 else text
        return MASKED.sub("[key]", text)

    def remedy(self) -> str:
        sent = None not in self.secret.values()
        return f"check {self.key_variable}" if sent else f"no key was sent; set {self.key_variable}"


class HttpModel(ABC):
    """One model at one address. A protocol adds where and how to ask, and how to read the answer.

    Where the model refuses an optional field, it is left out from then on, and `left_out` names it.
    """

    base_url: ClassVar[str]  # of the provider itself
    key_variable: ClassVar[str]  # where a user puts its key

    def __init__(
        self,
        name: str,
        model: str,
        *,
        base_url: str | None = None,
        key: str | None,
        session: HttpSession,
        timeout: float = 60.0,  # seconds for one HTTP call
        extra_headers: Mapping[str, str] | None = None,
        key_variable: str | None = None,  # named in errors
    ) -> None:
        self.name = name
        self._model = model
        self._url = self._address(self.base_url if base_url is None else base_url)
        if self._url.scheme not in ("http", "https") or not self._url.host:
            raise ModelError("rejected", f"{name}: the base URL must start with http:// or https://")
        if self._url.user or self._url.password:
            raise ModelError("rejected", f"{name}: keep user and password out of the base URL; use the key")
        secret = {**self._secret(key), **(extra_headers or {})}
        self._access = Credentials(secret, key_variable or self.key_variable, self._public())
        self._session, self._timeout = session, timeout
        self._optional = self._optional_fields()
        self._left_out: set[str] = set()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def model(self) -> str:
        """As the provider knows it."""
        return self._model

    @property
    def left_out(self) -> frozenset[str]:
        """Fields of the request this model turned out not to take."""
        return frozenset(self._left_out)

    async def __call__(self, request: Request) -> Reply:
        """One attempt. Where an optional field is refused, the request goes out again without it; that is free."""
        started = time.perf_counter()
        pictured = any(message.images for message in request.messages)
        images = await pictures(request) if pictured else {}
        listener = current_listener()
        while True:  # every round leaves out one more field
            fields, body = self._written(request, images, streamed=listener is not None)
            if listener is None:
                answer = await self._session.post(self._url, self._access.headers, body, self._timeout)
            else:
                answer = await self._listen(body, listener)
            if 200 <= answer.status < 300:
                return self._reply(answer.body, request, (time.perf_counter() - started) * 1000)
            refused = refused_field(answer, fields, self._optional)
            if refused is None:
                raise self.error_of(answer)
            self._left_out.add(refused)

    async def _listen(self, body: bytes, listener: TextListener) -> HttpAnswer:
        """The answer to a request that is streamed, put together as if it had come whole."""
        listener.begin()
        answer = await self.open(body)
        if not 200 <= answer.status < 300 or "event-stream" not in answer.headers.get("content-type", ""):
            return await answer.read_all()  # an error, or a server that does not stream
        lines, whole, size = EventLines(), self._assembly(), 0
        try:
            while chunk := await answer.some():
                if (size := size + len(chunk)) > LARGEST_STREAM:
                    # who floods once would do so again, and be paid again
                    raise ModelError("rejected", f"{self.name}: the answer is longer than {LARGEST_STREAM:,} bytes")
                for event in lines.take(chunk):
                    if "error" in event:
                        words = self.shown(read_error_body(_encode(event)).message)
                        raise ModelError("overloaded", f"{self.name}: the provider failed half-way: {words}")
                    if piece := whole.take(event):
                        listener.receive(piece)
        finally:
            answer.close()
        if not whole.ended:
            raise ModelError("unreachable", f"{self.name}: the connection broke before the answer was complete")
        return HttpAnswer(answer.status, answer.headers, _encode(whole.body()))

    def post(self, body: bytes) -> Coroutine[Any, Any, HttpAnswer]:
        """One attempt with a body that is written already; the answer with whatever status it has."""
        return self._session.post(self._url, self._headers(), body, self._timeout)

    def open(self, body: bytes) -> Coroutine[Any, Any, StreamingAnswer]:
        """The same for an answer that comes bit by bit."""
        return self._session.open(self._url, self._headers(), body, self._timeout)

    def _headers(self) -> dict[str, str]:
        passed_on = PASSED_ON.get(None)
        return {**self._access.headers, **passed_on} if passed_on else self._access.headers

    async def close(self) -> None:  # noqa: B027 - the same for every protocol
        """Nothing to do: the session belongs to whoever made it."""

    @abstractmethod
    def _address(self, base_url: str) -> URL: ...

    @abstractmethod
    def _secret(self, key: str | None) -> dict[str, str | None]:
        """The headers that carry the key."""

    def _public(self) -> dict[str, str]:
        """The other headers of the protocol."""
        return {}

    @abstractmethod
    def _optional_fields(self) -> tuple[OptionalField, ...]: ...

    @abstractmethod
    def _body(self, request: Request, images: Mapping[str, Picture]) -> dict[str, Any]:
        """What is sent, without the fields in `_left_out`."""

    @abstractmethod
    def _reply(self, body: bytes, request: Request, duration_ms: float) -> Reply: ...

    @abstractmethod
    def _assembly(self) -> StreamAssembly:
        """What puts the events of a stream together."""

    def _stream_fields(self) -> dict[str, Any]:
        """What a request says beside the rest that wants its answer in pieces."""
        return {"stream": True}

    def _written(
        self, request: Request, images: Mapping[str, Picture], *, streamed: bool = False
    ) -> tuple[tuple[str, ...], bytes]:
        """The names of the fields that are sent, and all of it in JSON; nothing else needs to live on while waiting."""
        body = self._body(request, images) | (self._stream_fields() if streamed else {})
        return tuple(body), _encode(body)

    def read(self, body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
        """The answer in the shape the protocol promises."""
        try:
            return decoder.decode(body)
        except UNREADABLE as error:
            reason = read_error_body(body).message or str(error)
        raise ModelError("garbled", f"{self.name}: the answer is not what the protocol says: {self.shown(reason)}")

    def error_of(self, answer: HttpAnswer) -> ModelError:
        """What an answer that is no success means."""
        said = read_error_body(answer.body)
        trouble, words = trouble_in(answer, said.codes)
        reason = f": {self.shown(said.message)}" if said.message else ""
        if trouble == "unauthorised":
            reason += f" ({self._access.remedy()})"
        wait = retry_after(answer.headers) if trouble in ("rate_limited", "overloaded") else None
        message = f"{self.name}: {words} (HTTP {answer.status}){reason}"
        return ModelError(trouble, message, retry_after=wait, status=answer.status, code=said.code)

    def shown(self, words: str) -> str:
        """A provider's own words, fit for an error: short, and without any key."""
        words = " ".join(self._access.hide(words).split())
        return words if len(words) <= LONGEST_MESSAGE else words[: LONGEST_MESSAGE - 1] + "…"


def refused_field(answer: HttpAnswer, sent: Collection[str], optional: Iterable[OptionalField]) -> str | None:
    """Which of the `optional` fields that were sent is what the model complains about, if any."""
    if answer.status not in (400, 422):
        return None
    said = read_error_body(answer.body)
    text = f"{said.param} {said.message}".lower()
    not_taken = any(words in text for words in _NOT_TAKEN)
    for field in optional:
        if field.name in sent and (field.any_fault or not_taken) and any(hint in text for hint in field.hints):
            return field.name
    return None


def address(base_url: str, path: str) -> URL:
    """The URL of `path` under a base URL, whose query stays.

    >>> str(address("https://example.test/v1/", "/chat/completions"))
    'https://example.test/v1/chat/completions'
    """
    try:
        base = URL(base_url)
    except ValueError:
        return URL()  # no host: refused by Endpoint, with words
    return base.with_path(base.path.rstrip("/") + path).with_query(base.query) if base.host else base


@lru_cache(maxsize=256)
def schema_name(name: str) -> str:
    """A name both providers accept for a schema: letters, digits, `_` and `-`, at most 64.

    >>> schema_name("answer quality/accuracy")
    'answer_quality_accuracy'
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "reply"
