"""The plans of stored rubrics, with the server's judges if it has any."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from rubrica.engine.compile import try_compile
from rubrica.engine.plan import Plan
from rubrica.engine.plan_cache import PLANS, PlanCache
from rubrica.errors import RubricError
from rubrica.workspace.draft import Draft, read_draft, rubric_of

if TYPE_CHECKING:  # a server without judges needs no model client and no price list
    from rubrica.judges.jury import Jury


class ServicePlans:
    """Plans by the hash of a stored definition, from the plan cache. Safe to use from several threads.

    >>> plans = ServicePlans()
    >>> definition = {"name": "Short", "scoring_type": "binary", "rules": [
    ...     {"type": "custom_expression", "name": "brief", "expression": "1 if word_count < 9 else 0"}]}
    >>> plans.of(definition, "a hash") is plans.of(definition, "a hash")
    True
    """

    def __init__(self, jury: Jury | None = None) -> None:
        self._jury = jury
        self._plans: PlanCache[Plan] = PLANS if jury is None else PlanCache(lambda plan: plan)

    def of(self, definition: Mapping[str, Any], hash: str) -> Plan:
        """The plan of a definition. `hash` stands for the definition: the same hash gives the same plan."""
        plan = self._plans.get(hash)
        if plan is None:
            known = PLANS.get(hash)
            plan = self.once(definition) if known is None else self.judged(known)
            self._plans.put(hash, plan)
        return plan

    def once(self, definition: Mapping[str, Any]) -> Plan:
        """The plan of a definition that is not kept, because nobody may ask for it again."""
        plan, problems = try_compile(rubric_of(definition))
        if problems:
            raise RubricError(problems)
        return self.judged(plan)

    def draft(self, body: Any) -> Draft:
        """What a request body says is to be stored; its plan is kept, for whoever is the first to use it."""
        draft = read_draft(body)
        PLANS.put(draft.rubric.hash, draft.compiled())
        return draft

    def judged(self, plan: Plan) -> Plan:
        """A plan with the server's judges."""
        return plan if self._jury is None else replace(plan, judge=self._jury.judge(plan.rubric))
