"""Claude models, asked in Anthropic's messages protocol and answering in OpenAI's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rubrica.gateway.upstream import Completion
from rubrica.llm.http import HttpAnswer
from rubrica.llm.http_model import HttpModel, OptionalField, refused_field

from .message import AnthropicMessage, completion_of
from .openai import wants_counts
from .relay import HttpSource, Relay
from .translated_stream import TranslatedStream
from .translation import Translation, translate

_OPTIONAL = (
    OptionalField("tool_choice", ("tool_choice", "tool choice", "forces tool")),
    OptionalField("output_config", ("output_config", "output format", "output_format", "structured output")),
    OptionalField("temperature", ("temperature",)),
    OptionalField("top_p", ("top_p",)),
)
_message = msgspec.json.Decoder(AnthropicMessage)
_encode = msgspec.json.Encoder().encode


class AnthropicRequest(msgspec.Struct, frozen=True):
    """A request, and how it is said as far as is known."""

    asked: Mapping[str, Any]
    translation: Translation


class AnthropicWire:
    """One Claude model. A field that it turns out not to take, and that can be spared, is left out from then on."""

    def __init__(self, client: HttpModel, clock: Callable[[], float] = time.time) -> None:
        self._client, self._clock = client, clock
        self._left_out: set[str] = set()

    @property
    def name(self) -> str:
        return self._client.name

    def write(self, body: Mapping[str, Any], *, stream: bool) -> AnthropicRequest:  # noqa: ARG002 - said the same either way
        return AnthropicRequest(body, translate(body, self._client.model, self._left_out))

    async def complete(self, request: AnthropicRequest) -> Completion:
        started = time.perf_counter()
        translation, left_out = request.translation, set(self._left_out)
        while True:  # every round leaves out one more field
            answer = await self._client.post(_encode(translation.body))
            if 200 <= answer.status < 300:
                break
            translation = self._without_refused(answer, request, translation, left_out)
        whole = completion_of(
            self._client.read(answer.body, _message),
            self._client.model,
            created=int(self._clock()),
            answers_by_tool=translation.answers_by_tool,
        )
        return msgspec.structs.replace(whole, duration_ms=(time.perf_counter() - started) * 1000)

    async def begin(self, request: AnthropicRequest) -> Relay:
        translation, left_out = request.translation, set(self._left_out)
        while True:
            incoming = await self._client.open(_encode({**translation.body, "stream": True}))
            if 200 <= incoming.status < 300:
                break
            translation = self._without_refused(await incoming.read_all(), request, translation, left_out)
        stream = TranslatedStream(
            self.name,
            self._client.model,
            HttpSource(incoming),
            created=int(self._clock()),
            answers_by_tool=translation.answers_by_tool,
            tells_counts=wants_counts(request.asked),
        )
        return await stream.begin()

    def _without_refused(
        self, answer: HttpAnswer, request: AnthropicRequest, translation: Translation, left_out: set[str]
    ) -> Translation:
        """The request without the field that was refused; raises any other refusal."""
        refused = refused_field(answer, translation.spare & translation.body.keys(), _OPTIONAL)
        if refused is None:
            raise self._client.error_of(answer)
        left_out.add(refused)
        if b"schema" not in answer.body:  # one client's schema says nothing about the model
            self._left_out.add(refused)
        return translate(request.asked, self._client.model, left_out)
