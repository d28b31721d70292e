"""A spending limit that several models share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rubrica.errors import RubricaError

from .model import Model, ModelError, Reply, Request, Usage

Price = Callable[[str, Usage], float | None]


@dataclass(slots=True)
class Budget:
    """What may be spent, and what has been, in US dollars."""

    limit: float
    price: Price
    spent: float = 0.0

    def check(self, model: str) -> None:
        """Refuse a model whose price is not known: a limit on it would be a promise that cannot be kept."""
        if self.price(model, Usage(1000, 1000)) is None:
            raise RubricaError(f"{model}: price unknown, so a budget cannot be kept (leave the budget out)")

    def pay(self, model: str, reply: Reply) -> None:
        if not reply.cached:
            self.spent += self.price(model, reply.usage) or 0.0

    @property
    def used_up(self) -> bool:
        return self.spent >= self.limit


class Budgeted:
    """A model that is not asked any more once the budget is used up. Calls already under way are still paid."""

    __slots__ = ("_budget", "_model")

    def __init__(self, model: Model, budget: Budget) -> None:
        budget.check(model.name)
        self._model = model
        self._budget = budget

    @property
    def name(self) -> str:
        return self._model.name

    async def __call__(self, request: Request) -> Reply:
        if self._budget.used_up:
            spent, limit = self._budget.spent, self._budget.limit
            raise ModelError("over_budget", f"not asked: ${spent:.4f} of the budget of ${limit:g} is spent")
        reply = await self._model(request)
        self._budget.pay(self.name, reply)
        return reply

    async def close(self) -> None:
        await self._model.close()
