"""The `sleipner.debug` block: its schema, field by field, and what each level shows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest
from gateway_stage import CAPITAL, GOOD, POOR, Scripted

from gateway_samples import trusting_rubric
from rubrica.gateway.bill import bill
from rubrica.gateway.chat import read_chat
from rubrica.gateway.classifier import Classifier
from rubrica.gateway.controls import Controls, Debug
from rubrica.gateway.debug import debug_block
from rubrica.gateway.flow import Route
from rubrica.gateway.grading import Grader
from rubrica.llm.model import ModelError
from rubrica.llm.price import price
from rubrica.model.context import Context
from rubrica.model.evaluation import Cost, Score
from rubrica.packs.library import load

DIMENSIONS = ["accuracy", "completeness", "clarity", "depth", "safety"]
SCORES = {"accuracy": 10, "completeness": 10, "clarity": 10, "depth": 2, "safety": 10}


async def judge(axes: Mapping[str, Any], context: Context) -> dict[str, Score]:
    return {
        name: Score(SCORES[name], f"{name} is fine", 0.9, "llm", cost=Cost(0.0025, 145, 28), duration_ms=2100.04)
        for name in axes
    }


def block(level: Debug, first: Any = GOOD, second: Any = GOOD, *, judged: bool = True, **asked: str) -> dict[str, Any]:
    """What a request gets to see, as it comes out of JSON."""
    chat = read_chat(json.dumps({"messages": [{"role": "user", "content": asked.get("question", CAPITAL)}]}).encode())
    grader = Grader(
        load(asked["rubric"]) if "rubric" in asked else trusting_rubric(), judge if judged else None, deadline=5.0
    )
    other = Scripted("http://10.0.0.7/v1#gpt-4o", second) if second is not None else None
    route = Route(Scripted("openai:gpt-4o-mini", first), other, grader, Classifier())
    routed = asyncio.run(route(chat, Controls()))
    found: dict[str, Any] = json.loads(json.dumps(debug_block(routed, bill(routed, route, price), level)))
    return found


def steps(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in found["flow_steps"]}


def test_the_grading_step_has_every_field_of_its_schema() -> None:
    step = steps(block("full"))["Quality Grading (Multi-Dimensional)"]
    assert isinstance(step["timing"].pop("duration_ms"), float)
    assert step == {
        "step": 3,
        "name": "Quality Grading (Multi-Dimensional)",
        "status": "complete",
        "score": 96.0,
        "bounds": None,
        "offlineEstimate": False,
        "passed": True,
        "questionType": "FACTUAL",
        "threshold": 85.0,
        "confidence": 0.9,
        "variance": 10.2,
        "dimensionScores": [
            {
                "dimension": name,
                "score": SCORES[name],
                "bounds": None,
                "reasoning": f"{name} is fine",
                "confidence": 0.9,
            }
            for name in DIMENSIONS
        ],
        "cost": 0.0125,
        "timing": {"api_call_ms": 2100.0},
        "cost_breakdown": {
            name.upper(): {"input_tokens": 145, "output_tokens": 28, "cost": 0.0025} for name in DIMENSIONS
        },
    }


def test_the_metrics_have_every_field_of_their_schema() -> None:
    found = block("full")["performance_metrics"]
    assert {key: found[key] for key in ("quality_score", "tier_used", "question_type")} == {
        "quality_score": 96.0,
        "tier_used": "tier-0",
        "question_type": "FACTUAL",
    }
    assert found.keys() == {
        "quality_score", "tier_used", "question_type", "model", "degraded", "cost", "cost_by_part", "baseline_cost",
        "savings", "total_ms", "timing_ms",
    }  # fmt: skip
    assert found["cost_by_part"] == {"tier-0": 0.0000078, "tier-1": 0.0, "classification": 0.0, "grading": 0.0125}
    assert found["timing_ms"].keys() == {"classification", "tier-0", "grading", "decision"}


def test_steps_come_in_the_order_of_the_way() -> None:
    passed, escalated = block("full"), block("full", POOR, judged=False)
    assert [step["step"] for step in passed["flow_steps"]] == [1, 2, 3, 4]
    assert [step["name"] for step in escalated["flow_steps"]] == [
        "Question Classification",
        "Tier-0 Response",
        "Quality Grading (Multi-Dimensional)",
        "Routing Decision",
        "Tier-1 Response",
    ]
    assert escalated["performance_metrics"]["tier_used"] == "tier-1"


def test_the_classification_tells_who_classified_and_how_sure() -> None:
    step = steps(block("full"))["Question Classification"]
    assert (step["questionType"], step["source"], step["cost"]) == ("FACTUAL", "offline", 0.0)
    assert 0.5 < step["confidence"] <= 1


@pytest.mark.parametrize(
    ("level", "keys", "timed"),
    [
        ("full", {"flow_steps", "performance_metrics"}, True),
        ("flow", {"flow_steps", "performance_metrics"}, False),
        ("timing", {"performance_metrics"}, True),
    ],
)
def test_each_level_shows_its_part(level: Debug, keys: set[str], timed: bool) -> None:
    found = block(level)
    assert found.keys() == keys
    assert ("timing_ms" in found["performance_metrics"]) is timed
    assert all(("timing" in step) is timed for step in found.get("flow_steps", ()))


def test_offline_nobody_is_paid_and_the_fields_are_the_same() -> None:
    step = steps(block("full", judged=False))["Quality Grading (Multi-Dimensional)"]
    assert (step["cost"], step["cost_breakdown"], step["timing"]["api_call_ms"]) == (0.0, {}, 0.0)
    assert [one["dimension"] for one in step["dimensionScores"]] == DIMENSIONS


def test_an_offline_estimate_is_told_with_its_bounds_and_so_is_what_settles_it() -> None:
    found = steps(block("full", judged=False, rubric="answer-quality"))
    grading, decision = found["Quality Grading (Multi-Dimensional)"], found["Routing Decision"]
    low, high = grading["bounds"]
    assert grading["offlineEstimate"]
    assert low < grading["score"] < high
    assert {tuple(one["bounds"]) for one in grading["dimensionScores"]} == {(1, 10)}
    assert not any("known within" in one["reasoning"] for one in grading["dimensionScores"])
    assert "the grade is open" in decision["detail"]
    assert "(--grader MODEL)" in decision["detail"]
    assert "--judge" not in decision["detail"]


def test_a_decision_by_an_offline_estimate_says_so() -> None:
    found = steps(block("flow", "2 + 2 = 5", judged=False, rubric="answer-quality", question="What is 2 + 2?"))
    low, high = found["Quality Grading (Multi-Dimensional)"]["bounds"]
    assert f"(an offline estimate within {low:g} to {high:g}) does not reach 85" in found["Routing Decision"]["detail"]
    by_points = steps(block("flow", judged=False))["Routing Decision"]["detail"]
    assert "(an offline estimate) reaches 85" in by_points


def test_a_step_that_failed_says_why() -> None:
    found = block("flow", ModelError("overloaded", "HTTP 503"))
    assert steps(found)["Tier-0 Response"] | {"cost": 0.0} == {
        "step": 2, "name": "Tier-0 Response", "status": "failed", "detail": "HTTP 503", "cost": 0.0,
    }  # fmt: skip


def test_models_are_named_without_where_they_run() -> None:
    found = block("full", POOR, judged=False)["performance_metrics"]
    assert found["model"] == "gpt-4o"
    assert (found["cost"], found["savings"]) == (None, None)  # a server of one's own has no price


def test_a_degraded_answer_says_so() -> None:
    assert "there is no tier-1" in block("full", POOR, None, judged=False)["performance_metrics"]["degraded"]
