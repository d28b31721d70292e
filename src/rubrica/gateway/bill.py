"""What a request cost, part by part, and what it would have cost to ask tier-1 alone."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rubrica.llm.model import Usage

from .flow import Route, RoutedAnswer
from .grading import Grade

Price = Callable[[str, Usage], float | None]
"""US dollars for a call to a model by name; None where the price is not known."""

ANY_USAGE = Usage(1000, 1000)


class RequestBill(msgspec.Struct, frozen=True):
    """US dollars. None: not known, because some model has no known price; never taken for 0."""

    tier0: float | None
    tier1: float | None
    classification: float | None
    grading: float | None
    baseline: float | None  # tier-1 alone: measured where it answered, else by the tokens of tier-0's answer

    @property
    def total(self) -> float | None:
        """All parts together.

        >>> RequestBill(0.001, 0.0, 0.0, 0.002, 0.01).total, RequestBill(None, 0.0, 0.0, 0.0, None).total
        (0.003, None)
        """
        parts = (self.tier0, self.tier1, self.classification, self.grading)
        return None if None in parts else sum(part for part in parts if part is not None)

    @property
    def savings(self) -> float | None:
        """Against tier-1 alone. Below 0 where an answer was paid for that did not pass."""
        total = self.total
        return None if total is None or self.baseline is None else self.baseline - total


def bill(routed: RoutedAnswer, route: Route, price: Price) -> RequestBill:
    """The bill of a request whose answer is complete."""
    used: dict[str, Usage] = {}
    if routed.passed_over is not None:
        used["tier-0"] = routed.passed_over.usage
    answer = routed.withheld if routed.refused else routed.completion or routed.stream
    if answer is not None:
        used[routed.tier] = answer.usage
    tier1 = route.tier1
    first = _paid(route.tier0.name, used["tier-0"], price) if "tier-0" in used else 0.0
    second = _paid(tier1.name, used["tier-1"], price) if tier1 is not None and "tier-1" in used else 0.0
    measured = used.get("tier-1") or used.get("tier-0")
    classified = routed.classified.cost if routed.classified is not None else None
    return RequestBill(
        first,
        second,
        0.0 if classified is None else classified.usd,
        _together(_grading(routed.grade), _grading(routed.second_grade)),
        None if tier1 is None else 0.0 if measured is None else _paid(tier1.name, measured, price),
    )


def _paid(model: str, usage: Usage, price: Price) -> float | None:
    """What an answer cost. One without token counts has a price that nobody knows, unless nobody bills at all."""
    counted = usage.input_tokens or usage.output_tokens
    return price(model, usage) if counted or price(model, ANY_USAGE) == 0 else None


def _together(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _grading(grade: Grade | None) -> float | None:
    """What grading cost. Of a grade that was broken off nobody knows: some judges may have been asked."""
    if grade is None:
        return 0.0
    if grade.evaluation is None:
        return None
    return 0.0 if grade.cost is None else grade.cost.usd
