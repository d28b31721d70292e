"""The plan cache: compiled rubrics that were used last, so that none is compiled twice for one use."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from rubrica.lru_cache import LruCache

from .plan import Plan

T = TypeVar("T")
MOST_KEPT = 512
MOST_PATTERNS = 3_000
"""Patterns in all plans that are kept. Texts may make each take up to two megabytes, for as long as it is kept."""


class PlanCache(LruCache[Hashable, T]):
    """Plans, or what holds one, by key: so many of them, with so many patterns in all. Threads may share it."""

    def __init__(self, plan_of: Callable[[T], Plan], most: int = MOST_KEPT, most_patterns: int = MOST_PATTERNS) -> None:
        super().__init__(most, weight=lambda value: plan_of(value).patterns, most_weight=most_patterns)


PLANS: PlanCache[Plan] = PlanCache(lambda plan: plan)
"""Plans without a judge, by the hash of their rubric."""
