"""What a run would ask and cost, without asking: a model that only counts."""

from __future__ import annotations

from dataclasses import dataclass

from .model import ModelError, Reply, Request, Usage
from .price import estimate_tokens, price

OUTPUT_TOKENS = 120
"""Tokens that a reply is taken to have, where the request does not allow fewer."""


@dataclass(slots=True)
class CostEstimate:
    """Calls and tokens so far. `usd` is None where the price is not known."""

    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def usd(self) -> float | None:
        return price(self.model, Usage(self.input_tokens, self.output_tokens))


class EstimatingModel:
    """Answers nothing, and counts what it would have been asked."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.estimate = CostEstimate(name)

    async def __call__(self, request: Request) -> Reply:
        estimate = self.estimate
        estimate.calls += 1
        estimate.input_tokens += sum(estimate_tokens(message.content) for message in request.messages)
        estimate.output_tokens += min(request.max_tokens, OUTPUT_TOKENS)
        raise ModelError("over_budget", "not asked: this is a dry run")

    async def close(self) -> None:
        """Nothing is open."""
