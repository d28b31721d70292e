"""Requests for embeddings: passed on to one model, and priced, budgeted and recorded like all others."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from rubrica.errors import InputError
from rubrica.llm.model import ModelError, Usage
from rubrica.llm.token_bounds import most_tokens
from rubrica.store.gateway import RequestRecord

from .controls import Allowance
from .exchange import ANSWERED
from .gateway import Gateway
from .names import public_name
from .routed_answer import AllDownError
from .upstreams.embeddings import EmbeddingsUpstream, Vectors

MOST_INPUTS = 2_048
"""Texts of one request, as OpenAI has it."""


@dataclass(frozen=True, slots=True)
class EmbeddingsRequest:
    """One request."""

    body: Mapping[str, Any]
    allowance: Allowance
    key_id: UUID | None
    trace: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class EmbeddingsAnswer:
    """What came of it."""

    vectors: Vectors
    model: str
    usd: float | None  # None: the price is not known


class Embeddings:
    """Answers requests for embeddings by one model."""

    def __init__(self, gateway: Gateway, upstream: EmbeddingsUpstream) -> None:
        self._gateway, self._upstream = gateway, upstream

    async def answer(self, asked: EmbeddingsRequest) -> EmbeddingsAnswer:
        """The vectors. Of a request that fails it is booked that it did by whoever tells the client."""
        spending, name, started = self._gateway.spending, self._upstream.name, time.perf_counter()
        tokens, price = input_tokens(asked.body), self._gateway.parts.prices
        counted = await self._gateway.count(asked.key_id, asked.allowance, lambda: (tokens, 0))
        if spending.limited(asked.allowance):
            self._gateway.check_priced([name])
        most = price(name, Usage(tokens))
        reservation = await spending.reserve(asked.key_id, asked.allowance, most or 0.0)
        usd: float | None = None
        try:
            vectors = await self._upstream.embed(asked.body)
            usd = price(name, vectors.usage) if vectors.usage.input_tokens else None
        except ModelError as error:
            usd = 0.0
            raise AllDownError({"embeddings": error}) from error
        finally:
            spending.settle(reservation, usd)
            self._gateway.rates.settle(counted, tokens)
        if usd is None and spending.limited(asked.allowance):
            spending.note_unknown(name)
        self._gateway.note(
            RequestRecord(
                trace=asked.trace,
                at=asked.at,
                status=ANSWERED,
                total_ms=(time.perf_counter() - started) * 1000,
                key_id=asked.key_id,
                team=asked.allowance.team,
                tier="embeddings",
                model=public_name(name)[:200],
                tier0_usd=usd,  # in the books it stands with the cheap model's
                tier1_usd=0.0,
                classification_usd=0.0,
                grading_usd=0.0,
                total_usd=usd,
                input_tokens=vectors.usage.input_tokens,
            )
        )
        return EmbeddingsAnswer(vectors, public_name(name), usd)


def input_tokens(body: Mapping[str, Any]) -> int:
    """The most tokens that a request holds; an InputError says what a client has to mend.

    >>> input_tokens({"input": ["so many words", "and more"]}), input_tokens({"input": [[5, 6], [7]]})
    (12, 3)
    """
    given = body.get("input")
    several = [given] if isinstance(given, str) or _are_tokens(given) else given
    if isinstance(several, list) and 0 < len(several) <= MOST_INPUTS:
        if all(isinstance(one, str) and one for one in several):
            return sum(map(most_tokens, several))
        if all(map(_are_tokens, several)):
            return sum(map(len, several))
    raise InputError(f"`input` is a text, a list of tokens, or a list of up to {MOST_INPUTS:,} of one kind, none empty")


def _are_tokens(given: object) -> bool:
    return isinstance(given, list) and bool(given) and all(type(one) is int for one in given)
