"""Compiled rubrics: kept while there is room for them, and made for each user one at a time."""

from __future__ import annotations

from typing import Any

import pytest

from rubrica.engine.plan import Plan
from rubrica.engine.plan_cache import PLANS, PlanCache
from rubrica.errors import RubricError
from rubrica.server.plans import ServicePlans


def definition(patterns: int = 1, name: str = "Many") -> dict[str, Any]:
    found = [{"name": f"p{number}", "regex": f"x{number}y", "score": 1} for number in range(patterns)]
    rules = [{"type": "pattern_detection", "patterns": found}]
    return {"name": name, "scoring_type": "cumulative", "max_score": 10, "rules": rules}


def run_rubrics(most: int, most_patterns: int) -> PlanCache[Plan]:
    return PlanCache(lambda plan: plan, most, most_patterns)


def plan(patterns: int) -> Plan:
    return ServicePlans().once(definition(patterns))


def test_what_was_used_last_is_kept() -> None:
    kept = run_rubrics(most=2, most_patterns=100)
    for key in "abc":
        kept.put(key, plan(1))
        kept.get("a")
    assert [key for key in "abc" if kept.get(key)] == ["a", "c"]
    kept.drop("a")
    kept.drop("a")
    assert kept.get("a") is None


def test_patterns_take_room_too_and_what_was_put_last_stays() -> None:
    kept = run_rubrics(most=10, most_patterns=5)
    kept.put("a", plan(2))
    kept.put("b", plan(3))
    assert [key for key in "ab" if kept.get(key)] == ["a", "b"]
    kept.put("b", plan(2))  # in place of the other
    kept.put("c", plan(1))
    assert [key for key in "abc" if kept.get(key)] == ["a", "b", "c"]
    kept.put("d", plan(9))
    assert [key for key in "abcd" if kept.get(key)] == ["d"]


def test_a_plan_that_is_made_once_is_kept_nowhere() -> None:
    plans = ServicePlans()
    made = plans.once(definition(name="Tried out"))
    assert PLANS.get(made.rubric.hash) is None
    assert plans.of(definition(name="Tried out"), made.rubric.hash) is not made
    assert plans.once(definition(name="Tried out")) is not made


def test_a_definition_that_no_longer_works_is_told() -> None:
    broken = definition()
    broken["rules"][0]["patterns"][0]["regex"] = "(?=x)"
    with pytest.raises(RubricError, match="lookahead"):
        ServicePlans().of(broken, "hash")
