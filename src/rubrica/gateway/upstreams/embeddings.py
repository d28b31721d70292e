"""Models that turn texts into vectors, by OpenAI's protocol: what they say is passed on byte by byte."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rubrica.errors import RubricaError
from rubrica.llm.http import HttpSession
from rubrica.llm.model import Usage
from rubrica.llm.openai import OpenAIModel, OpenAITokenCounts, usage_of
from rubrica.llm.provider import ClientOptions, ProviderLimits
from rubrica.llm.provider_table import check_form
from rubrica.llm.retry import Retrying
from rubrica.llm.settings import Settings


class Vectors(msgspec.Struct, frozen=True):
    """What a model made of some texts."""

    raw: bytes  # a list of embeddings, as the client gets it
    usage: Usage


class _Answer(msgspec.Struct, gc=False):
    data: msgspec.Raw
    usage: OpenAITokenCounts | None = None


_answer = msgspec.json.Decoder(_Answer)


class EmbeddingsUpstream:
    """One model, with the retries, the limit and the breaker that every model has."""

    def __init__(self, client: OpenAIModel, calls: Retrying) -> None:
        self._client, self._calls = client, calls

    @property
    def name(self) -> str:
        return self._client.name

    async def embed(self, body: Mapping[str, Any]) -> Vectors:
        """The vectors for a request, whose `model` is replaced."""
        return await self._calls.run(self._attempt, msgspec.json.encode({**body, "model": self._client.model}))

    async def _attempt(self, body: bytes) -> Vectors:
        answer = await self._client.embed(body)
        if not 200 <= answer.status < 300:
            raise self._client.error_of(answer)
        return Vectors(answer.body, usage_of(self._client.read(answer.body, _answer).usage))


def connect_embeddings(
    spec: str, settings: Settings, *, session: HttpSession, gates: ProviderLimits
) -> EmbeddingsUpstream:
    """The model a user named; one that cannot embed by this protocol is refused now."""
    connected = check_form(spec).connect(spec, ClientOptions(settings, gates, session))
    client, gate = connected.client, connected.gate
    if not isinstance(client, OpenAIModel) or gate is None:
        raise RubricaError(f"embeddings: {spec} does not speak OpenAI's protocol (name openai:MODEL or URL#MODEL)")
    calls = Retrying(spec, limiter=gate.limit, breaker=gate.breaker, patience=gate.patience)
    return EmbeddingsUpstream(client, calls)
