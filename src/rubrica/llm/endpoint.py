"""One address of a provider: asks it, learns which optional fields it does not take, and reads its answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import lru_cache
from typing import Any, TypeVar

import msgspec
from yarl import URL

from rubrica.llm.http import (
    LONGEST_MESSAGE,
    MASKED,
    UNREADABLE,
    Answer,
    HttpSession,
    complaint,
    retry_after,
    trouble_of,
)
from rubrica.llm.model import ModelError

T = TypeVar("T")

_encode = msgspec.json.Encoder(enc_hook=dict).encode  # a schema may be any Mapping


@dataclass(frozen=True, slots=True)
class OptionalField:
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


@dataclass(frozen=True, slots=True)
class Access:
    """What opens a provider's door. Values of `secret` headers are never shown; a None is not sent."""

    secret: Mapping[str, str | None] = dataclass_field(repr=False)
    key_variable: str  # where a user puts the key
    public: Mapping[str, str] = dataclass_field(default_factory=dict)

    def headers(self) -> dict[str, str]:
        sent = {**self.public, **{name: value.strip() for name, value in self.secret.items() if value is not None}}
        if not all(value.isprintable() for value in sent.values()):
            raise ModelError("unauthorised", f"a key holds no line breaks; set {self.key_variable} to the key alone")
        return sent

    def hide(self, text: str) -> str:
        """The text without any secret in it, nor what a provider shows of one."""
        for value in self.secret.values():
            for secret in (value, value.removeprefix("Bearer ")) if value else ():
                text = text.replace(secret.strip(), "[key]") if len(secret.strip()) >= 8 else text
        return MASKED.sub("[key]", text)

    def remedy(self) -> str:
        sent = None not in self.secret.values()
        return f"check {self.key_variable}" if sent else f"no key was sent; set {self.key_variable}"


class Endpoint:
    """One model's address: asks with its headers, and remembers what the model does not take."""

    def __init__(
        self,
        name: str,
        url: URL,
        access: Access,
        *,
        session: HttpSession,
        timeout: float,
        optional: tuple[OptionalField, ...],
    ) -> None:
        if url.scheme not in ("http", "https") or not url.host:
            raise ModelError("rejected", f"{name}: the base URL must start with http:// or https://")
        if url.user or url.password:
            raise ModelError("rejected", f"{name}: keep user and password out of the base URL; use the key")
        self.name = name
        self.left_out: set[str] = set()
        self._url, self._access, self._headers = url, access, access.headers()
        self._session, self._timeout, self._optional = session, timeout, optional

    def __repr__(self) -> str:
        return f"Endpoint({self.name!r})"

    async def ask(self, write: Callable[[set[str]], dict[str, Any]]) -> bytes:
        """Post what `write` gives; the body of the answer.

        `write` gets the optional fields to leave out. Where the model refuses one of them, that is remembered
        and the request goes out again without it: a refusal of this kind costs nothing.
        """
        answer = Answer(0, {}, b"")
        for _ in range(len(self._optional) + 1):
            body = write(self.left_out)
            answer = await self._session.post(self._url, self._headers, _encode(body), self._timeout)
            if 200 <= answer.status < 300:
                return answer.body
            refused = self._refused(answer, body)
            if refused is None:
                break
            self.left_out.add(refused)
        raise self._error(answer)

    def read(self, body: bytes, decoder: msgspec.json.Decoder[T]) -> T:
        """The answer in the shape the protocol promises."""
        try:
            return decoder.decode(body)
        except UNREADABLE as error:
            reason = complaint(body).message or str(error)
        raise ModelError("garbled", f"{self.name}: the answer is not what the protocol says: {self._shown(reason)}")

    def _refused(self, answer: Answer, body: Mapping[str, Any]) -> str | None:
        if answer.status not in (400, 422):
            return None
        said = complaint(answer.body)
        text = f"{said.param} {said.message}".lower()
        not_taken = any(words in text for words in _NOT_TAKEN)
        for field in self._optional:
            if field.name in body and (field.any_fault or not_taken) and any(hint in text for hint in field.hints):
                return field.name
        return None

    def _error(self, answer: Answer) -> ModelError:
        said = complaint(answer.body)
        trouble, words = trouble_of(answer, said.codes)
        reason = f": {self._shown(said.message)}" if said.message else ""
        if trouble == "unauthorised":
            reason += f" ({self._access.remedy()})"
        wait = retry_after(answer.headers) if trouble in ("rate_limited", "overloaded") else None
        message = f"{self.name}: {words} (HTTP {answer.status}){reason}"
        return ModelError(trouble, message, retry_after=wait, status=answer.status)

    def _shown(self, words: str) -> str:
        words = " ".join(self._access.hide(words).split())
        return words if len(words) <= LONGEST_MESSAGE else words[: LONGEST_MESSAGE - 1] + "…"


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
