"""The plan cache: compiled rubrics that were used last, so that none is compiled twice for one use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from .plan import Plan

T = TypeVar("T")
MOST_KEPT = 512
MOST_PATTERNS = 3_000
"""Patterns in all plans that are kept. Texts may make each take up to two megabytes, for as long as it is kept."""


class PlanCache(Generic[T]):
    """Plans, or what holds one, by key: so many of them, with so many patterns in all. Threads may share it.

    >>> cache = PlanCache(lambda plan: plan, most=2)
    >>> cache.get("no such key") is None
    True
    """

    def __init__(self, plan_of: Callable[[T], Plan], most: int = MOST_KEPT, most_patterns: int = MOST_PATTERNS) -> None:
        self._plan_of, self._most, self._most_patterns = plan_of, most, most_patterns
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._patterns = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable) -> T | None:
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def put(self, key: Hashable, value: T) -> None:
        """Keep something, in place of what was used longest ago. What was put last stays, however large it is."""
        with self._lock:
            self._remove(key)
            self._kept[key] = value
            self._patterns += self._plan_of(value).patterns
            while len(self._kept) > 1 and (len(self._kept) > self._most or self._patterns > self._most_patterns):
                self._remove(next(iter(self._kept)))

    def drop(self, key: Hashable) -> None:
        with self._lock:
            self._remove(key)

    def _remove(self, key: Hashable) -> None:
        gone = self._kept.pop(key, None)
        if gone is not None:
            self._patterns -= self._plan_of(gone).patterns


PLANS: PlanCache[Plan] = PlanCache(lambda plan: plan)
"""Plans without a judge, by the hash of their rubric."""
