"""The interface of compiled rules."""

from __future__ import annotations

from math import inf
from typing import Protocol

from rubrica.model.evaluation import RuleHit

from .namespace import Namespace

Reach = tuple[float, float]
"""The least and the most points a rule can give."""


class CompiledRule(Protocol):
    """A rule ready to be applied. It never raises: a failure is a hit with an error and 0 points."""

    @property
    def reach(self) -> Reach: ...

    @property
    def names(self) -> frozenset[str] | None:
        """The names it reads besides patterns; None if it reads more of a context than names can express."""
        ...

    def __call__(self, namespace: Namespace) -> list[RuleHit]: ...


def points_between(rule: object, namespace: Namespace) -> Reach:
    """The least and the most points a rule gives, whatever the unread parts of texts contain.

    A rule may compute them in a method `between`; otherwise they are its `reach`.
    """
    owner = getattr(rule, "__self__", rule)
    between = getattr(owner, "between", None)
    if between is not None:
        low, high = between(namespace)
        return low, high
    return getattr(owner, "reach", (-inf, inf))


def names_of(rule: object) -> frozenset[str]:
    """The names a rule reads besides patterns, as far as it tells them."""
    return getattr(getattr(rule, "__self__", rule), "names", None) or frozenset()


def reach_with_zero(reach: Reach) -> Reach:
    """The reach of something that may also give nothing."""
    return min(reach[0], 0.0), max(reach[1], 0.0)


def total_reach(reaches: list[Reach]) -> Reach:
    """The reach of several rules together."""
    return sum(low for low, _ in reaches), sum(high for _, high in reaches)
