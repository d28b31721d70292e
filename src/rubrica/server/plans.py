"""Compiled rubrics, kept by content hash, so that executing one again costs no parsing."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from rubrica.engine.compile import compile_rubric
from rubrica.engine.load import rubric_from_data
from rubrica.engine.plan import Plan

if TYPE_CHECKING:  # a server without judges needs no model client and no price list
    from rubrica.judges.jury import Jury

MOST_KEPT = 512


class Plans:
    """The plans used last, with the server's judges if it has any. Safe to use from several threads.

    >>> plans = Plans()
    >>> definition = {"name": "Short", "scoring_type": "binary", "rules": [
    ...     {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}]}
    >>> plans.of(definition, "a hash") is plans.of(definition, "a hash")
    True
    """

    def __init__(self, jury: Jury | None = None, most: int = MOST_KEPT) -> None:
        self._jury = jury
        self._most = most
        self._plans: OrderedDict[str, Plan] = OrderedDict()
        self._lock = Lock()

    def of(self, definition: Mapping[str, Any], hash: str) -> Plan:
        """The plan of a definition. `hash` stands for the definition: the same hash gives the same plan."""
        with self._lock:
            plan = self._plans.get(hash)
            if plan is not None:
                self._plans.move_to_end(hash)
                return plan
        rubric = rubric_from_data(definition)  # outside the lock: a large rubric takes a while
        plan = compile_rubric(rubric, None if self._jury is None else self._jury.judge(rubric))
        with self._lock:
            self._plans[hash] = plan
            while len(self._plans) > self._most:
                self._plans.popitem(last=False)
        return plan
