"""Spending limits that several models share: the most a call can cost is reserved before it is made, and settled after.

What is spent and what is reserved never pass the limit together, however many calls are under way at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from rubrica.errors import RubricaError
from rubrica.extras import requires

from .model import Model, ModelError, Reply, Request, Usage
from .token_bounds import most_usage

Price = Callable[[str, Usage], float | None]
"""US dollars of a call, by the model's name; None where the price is not known."""

ROUNDING = 1e-9
"""US dollars by which sums of floats may miss the limit."""


@dataclass(slots=True)
class Budget:
    """What may be spent, what has been, and what is reserved for work under way; in US dollars.

    >>> budget = Budget(1.0, lambda model, usage: 0.1)
    >>> budget.reserve(0.6), budget.reserve(0.6)
    (True, False)
    >>> budget.settle(0.6, 0.2)
    >>> budget.reserve(0.6), round(budget.left, 3)
    (True, 0.2)
    """

    limit: float
    price: Price
    spent: float = 0.0
    reserved: float = 0.0
    _waiting: list[asyncio.Future[None]] = field(default_factory=list, init=False, repr=False)

    def check(self, model: str) -> None:
        """Refuse a model whose price is not known: a limit on it would be a promise that cannot be kept."""
        if self.price(model, Usage(1000, 1000)) is None:
            raise RubricaError(f"{model}: price unknown, so a budget cannot be kept (leave the budget out)")

    @property
    def left(self) -> float:
        """What can still be reserved."""
        return self.limit - self.spent - self.reserved

    def reserve(self, usd: float) -> bool:
        """Set an amount aside, if it fits."""
        if usd > self.left + ROUNDING:
            return False
        self.reserved += usd
        return True

    async def acquire(self, usd: float) -> bool:
        """Set an amount aside, if need be after waiting for others to settle; False where that cannot help."""
        while not self.reserve(usd):
            if self.spent + usd > self.limit + ROUNDING:
                return False
            settled = asyncio.get_running_loop().create_future()
            self._waiting.append(settled)
            await settled
        return True

    def settle(self, reserved: float, usd: float) -> None:
        """Replace what was reserved by what was spent, and let those go on who wait."""
        self.reserved -= reserved
        self.spent += usd
        waiting, self._waiting = self._waiting, []
        for settled in waiting:
            if not settled.done():
                settled.set_result(None)


_REQUEST_BUDGET: ContextVar[Budget | None] = ContextVar("request_budget", default=None)


@contextmanager
def spending_from(budget: Budget) -> Iterator[Budget]:
    """Pay every call that is made inside, in tasks begun there too, from a budget of its own."""
    token = _REQUEST_BUDGET.set(budget)
    try:
        yield budget
    finally:
        _REQUEST_BUDGET.reset(token)


class Budgeted:
    """A model whose calls are paid from a budget, from that of the request it is asked for, or from both.

    A call that could cost more than is left is not made; where calls under way have reserved what is missing, it waits
    for them. One that is broken off, or times out, counts with the most it
    could have cost: whether the provider charges for it is not known.
    """

    __slots__ = ("_budget", "model")

    def __init__(self, model: Model, budget: Budget | None = None) -> None:
        if budget is not None:
            budget.check(model.name)
        self.model = model
        self._budget = budget

    @property
    def name(self) -> str:
        return self.model.name

    async def __call__(self, request: Request) -> Reply:
        budgets = [budget for budget in (self._budget, _REQUEST_BUDGET.get()) if budget is not None]
        if not budgets:
            return await self.model(request)
        usage = most_usage(request)
        most = [budget.price(self.name, usage) or 0.0 for budget in budgets]
        held: list[tuple[Budget, float]] = []
        paid = [0.0] * len(budgets)
        try:
            for budget, usd in zip(budgets, most, strict=True):
                if not await budget.acquire(usd):
                    raise ModelError("over_budget", _refused(budget, usd))
                held.append((budget, usd))
            paid = most
            reply = await self.model(request)
            paid = [0.0 if reply.cached else budget.price(self.name, reply.usage) or 0.0 for budget in budgets]
            return reply
        except ModelError as error:
            if error.trouble != "timeout":
                paid = [0.0] * len(budgets)
            raise
        finally:
            for (budget, reserved), usd in zip(held, paid, strict=False):
                budget.settle(reserved, usd)

    async def close(self) -> None:
        await self.model.close()


def _refused(budget: Budget, usd: float) -> str:
    used = f"${budget.spent:.4f} of the budget of ${budget.limit:g} is spent"
    under_way = f" and ${budget.reserved:.4f} reserved" if budget.reserved > ROUNDING else ""
    return f"not asked: {used}{under_way}, and this call can cost ${usd:.4f}"


def load_price(wanted: str) -> Price:
    """The price list. Loaded only now: it takes 0.15 s to read, and it is an extra."""
    with requires("judges", wanted):
        from .price import price
    return price
