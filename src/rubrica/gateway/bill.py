"""What a request cost, part by part, and what it would have cost to ask tier-1 alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from rubrica.llm.model import Usage

from .deployments import asked_model, hedged_of
from .flow import Route
from .grading import Grade
from .names import public_name, public_names
from .routed_answer import RoutedAnswer
from .upstream import Completion, HedgedCall, Stream, Upstream

Price = Callable[[str, Usage], float | None]
"""US dollars for a call to a model by name; None where the price is not known."""

ANY_USAGE = Usage(1000, 1000)
CLASSIFIER, GRADERS = "classifier", "graders"
"""In place of models that nobody named."""


class RequestBill(msgspec.Struct, frozen=True):
    """US dollars. None: not known, because some model has no known price; never taken for 0."""

    tier0: float | None
    tier1: float | None
    classification: float | None
    grading: float | None
    baseline: float | None  # tier-1 alone: measured where it answered, else by the tokens of tier-0's answer
    models: dict[str, float | None] = {}  # what each model was paid

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
    asked = _asked(routed, route)
    parts: list[tuple[str, float | None]] = []
    first: float | None = 0.0
    above: float | None = 0.0
    for tier, upstream, answer in asked:
        model = asked_model(answer, upstream)
        usd = paid_for(model, answer.usage, price)
        parts.append((public_name(model), usd))
        if tier == "tier-0":
            first = _together(first, usd)
        else:
            above = _together(above, usd)
    for tier, call, taken in _hedged(routed, asked):
        usd = paid_for(call.model, call.usage or taken.usage, price)
        parts.append((public_name(call.model), usd))
        if tier == "tier-0":
            first = _together(first, usd)
        else:
            above = _together(above, usd)
    classified = routed.classified.cost if routed.classified is not None else None
    classification = 0.0 if classified is None else classified.usd
    grades = [routed.grade, routed.second_grade, *(one.grade for one in routed.tries)]
    grading: float | None = 0.0
    for grade in grades:
        grading = _together(grading, _grading(grade))
    if classified is not None:
        parts.append((CLASSIFIER, classification))
    if judges := _judges(*grades):
        parts.append((judges, grading))
    return RequestBill(
        first,
        above,
        classification,
        grading,
        _baseline(route, asked, price),
        _by_model(parts),
    )


def _asked(routed: RoutedAnswer, route: Route) -> list[tuple[str, Upstream, Completion | Stream]]:
    """Every answer that was paid for, with its tier, in the order they were asked for."""
    found: list[tuple[str, Upstream, Completion | Stream]] = []
    if routed.passed_over is not None:
        found.append(("tier-0", route.tier0, routed.passed_over))
    found += [(one.tier, one.upstream, one.answer) for one in routed.tries if one.answer is not None]
    answer = routed.withheld if routed.refused else routed.completion or routed.stream
    upstream = route.tier(routed.tier)
    if answer is not None and upstream is not None and all(answer is not one for _, _, one in found):
        found.append((routed.tier, upstream, answer))
    return found


def _hedged(
    routed: RoutedAnswer, asked: Sequence[tuple[str, Upstream, Completion | Stream]]
) -> Iterator[tuple[str, HedgedCall, Completion | Stream]]:
    """Every call that was under way beside an answer and ended for it, with its tier and the answer that was taken."""
    for tier, _, answer in asked:
        yield from ((tier, call, answer) for call in hedged_of(answer))
    if asked:
        yield from ((tier, call, asked[-1][2]) for tier, call in routed.hedged)


def _baseline(route: Route, asked: Sequence[tuple[str, Upstream, Completion | Stream]], price: Price) -> float | None:
    if route.tier1 is None:
        return None
    if not asked:
        return 0.0
    tier, _, answer = asked[-1]
    return paid_for(asked_model(answer, route.tier1) if tier == route.last else route.tier1.name, answer.usage, price)


def _by_model(parts: Iterable[tuple[str, float | None]]) -> dict[str, float | None]:
    """Sums by model; None where one of its parts is not known."""
    found: dict[str, list[float | None]] = defaultdict(list)
    for model, usd in parts:
        found[model].append(usd)
    return {model: None if None in sums else sum(filter(None, sums)) for model, sums in found.items()}


def _judges(*grades: Grade | None) -> str:
    """Who graded, as one name; empty where no model did, which costs nothing."""
    names: set[str] = set()
    for grade in grades:
        if grade is not None and grade.evaluation is None:
            names.add(GRADERS)
        elif grade is not None and grade.evaluation is not None:
            found = grade.evaluation.dimensions.values()
            names |= {public_names(result.judge or GRADERS) for result in found if result.source == "llm"}
    return ", ".join(sorted(names))


def paid_for(model: str, usage: Usage, price: Price) -> float | None:
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
