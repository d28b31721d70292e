"""What a run would ask and cost, without asking: a model that only counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from .budget import Price
from .model import ModelError, Reply, Request, Usage
from .price import estimate_tokens, price
from .prompt_cache import fewest_cached_characters, shared_texts

OUTPUT_TOKENS = 120
"""Tokens that a reply without a form is taken to have, where the request does not allow fewer."""
LIKELY_ITEMS = 2
"""Of a list in a reply."""


class CostEstimate(msgspec.Struct):
    """Calls and tokens so far. `usd` is None where the price is not known."""

    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0  # part of input_tokens that the provider would have kept from an earlier call
    usd: float | None = 0.0

    def add(self, usage: Usage, priced: Price = price) -> None:
        """One more call."""
        cost = priced(self.model, usage)
        self.merge(
            CostEstimate(self.model, 1, usage.input_tokens, usage.output_tokens, usage.cached_input_tokens, cost)
        )

    def merge(self, other: CostEstimate) -> None:
        """The calls of another estimate for the same model."""
        self.calls += other.calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cached_input_tokens += other.cached_input_tokens
        self.usd = None if self.usd is None or other.usd is None else self.usd + other.usd


class UsageEstimator:
    """Estimates the tokens of one request after another to a model, with what its provider keeps of them.

    A beginning that is long enough to be kept is written to the provider's cache by the first request that has it, and
    read from there by all others. Calls that start before the first has ended, or minutes later, find nothing; they
    are not told apart.
    """

    def __init__(self, model: str) -> None:
        self._kept_from = fewest_cached_characters(model)
        self._kept: dict[int, int] = {}  # tokens of beginnings, by their hash

    def of(self, request: Request) -> Usage:
        form, (system, shared_text) = str(request.schema), shared_texts(request)  # the form comes before all else
        known = kept = 0
        for beginning in ((system,), (system, shared_text)):
            if sum(map(len, beginning)) >= self._kept_from:
                key = hash((form, beginning))
                known = max(known, self._kept.get(key, 0))
                kept = self._kept.setdefault(key, sum(map(estimate_tokens, beginning)))
        sent = sum(estimate_tokens(message.content) for message in request.messages)
        return Usage(sent, min(request.max_tokens, likely_tokens(request.schema)), known, kept - known)


def likely_tokens(schema: Mapping[str, Any] | None) -> int:
    """About how many tokens a reply of this form has: texts about as long as models write them within their bounds.

    >>> reason = {"type": "string", "maxLength": 600}
    >>> likely_tokens({"type": "object", "properties": {"reason": reason, "score": {"type": "number"}}})
    112
    """
    match schema:
        case None:
            return OUTPUT_TOKENS
        case {"properties": fields}:
            return sum(4 + likely_tokens(part) for part in fields.values())
        case {"items": item}:
            return LIKELY_ITEMS * likely_tokens(item)
        case {"maxLength": longest}:
            return int(longest) // 6
        case _:
            return 4


class EstimatingModel:
    """Answers nothing, and counts what it would have been asked."""

    def __init__(self, name: str, priced: Price = price) -> None:
        self.name, self._priced = name, priced
        self.estimate = CostEstimate(name)
        self._estimator = UsageEstimator(name)

    async def __call__(self, request: Request) -> Reply:
        self.estimate.add(self._estimator.of(request), self._priced)
        raise ModelError("over_budget", "not asked: this is a dry run")

    async def close(self) -> None:
        """Nothing is open."""
