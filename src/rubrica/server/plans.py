"""Compiled rubrics, kept by content hash, so that executing one again costs no parsing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rubrica.engine.compile import try_compile
from rubrica.engine.plan import Plan
from rubrica.errors import RubricError
from rubrica.workspace.draft import rubric_of
from rubrica.workspace.score_records import patterns_of

if TYPE_CHECKING:  # a server without judges needs no model client and no price list
    from rubrica.judges.jury import Jury

T = TypeVar("T")
MOST_KEPT = 512
MOST_PATTERNS = 3_000
"""Patterns in all plans that are kept. Texts may make each take up to two megabytes, for as long as it is kept."""


class WeightedCache(Generic[T]):
    """Things that were used last, by key: so many of them, with so many patterns in the plans that they hold."""

    def __init__(self, plan_of: Callable[[T], Plan], most: int = MOST_KEPT, most_patterns: int = MOST_PATTERNS) -> None:
        self._plan_of, self._most, self._most_patterns = plan_of, most, most_patterns
        self._things: OrderedDict[str, T] = OrderedDict()
        self._patterns = 0

    def get(self, key: str) -> T | None:
        thing = self._things.get(key)
        if thing is not None:
            self._things.move_to_end(key)
        return thing

    def put(self, key: str, thing: T) -> None:
        """Keep something, in place of what was used longest ago. What was put last stays, however large it is."""
        self.drop(key)
        self._things[key] = thing
        self._patterns += self._weight(thing)
        while len(self._things) > 1 and (len(self._things) > self._most or self._patterns > self._most_patterns):
            _, oldest = self._things.popitem(last=False)
            self._patterns -= self._weight(oldest)

    def drop(self, key: str) -> None:
        thing = self._things.pop(key, None)
        if thing is not None:
            self._patterns -= self._weight(thing)

    def _weight(self, thing: T) -> int:
        return patterns_of(self._plan_of(thing))


class PlanCache:
    """The plans used last, with the server's judges if it has any. Safe to use from several threads.

    >>> plans = PlanCache()
    >>> definition = {"name": "Short", "scoring_type": "binary", "rules": [
    ...     {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}]}
    >>> plans.of(definition, "a hash") is plans.of(definition, "a hash")
    True
    """

    def __init__(self, jury: Jury | None = None, most: int = MOST_KEPT) -> None:
        self._jury = jury
        self._plans: WeightedCache[Plan] = WeightedCache(lambda plan: plan, most)
        self._lock = Lock()

    def of(self, definition: Mapping[str, Any], hash: str) -> Plan:
        """The plan of a definition. `hash` stands for the definition: the same hash gives the same plan."""
        with self._lock:
            plan = self._plans.get(hash)
        if plan is None:
            plan = self.once(definition)  # outside the lock: a large rubric takes a while
            with self._lock:
                self._plans.put(hash, plan)
        return plan

    def once(self, definition: Mapping[str, Any]) -> Plan:
        """The plan of a definition that is not kept, because nobody may ask for it again."""
        rubric = rubric_of(definition)
        plan, problems = try_compile(rubric)  # the engine keeps plans too, without regard to what they take
        if problems:
            raise RubricError(problems)
        return plan if self._jury is None else replace(plan, judge=self._jury.judge(rubric))
