"""The `sleipner.debug` block: what the gateway did for one request, for whoever asks with ``x-sleipner-debug``."""

from __future__ import annotations

import time
from typing import Any

from rubrica.model.evaluation import DimensionResult, Evaluation

from .bill import RequestBill
from .controls import TIERS, Debug
from .deployments import asked_model
from .grading import Grade
from .names import public_name
from .routed_answer import RoutedAnswer, RouteStep, StepName

STEPS: dict[StepName, tuple[int, str]] = {
    "classification": (1, "Question Classification"),
    "tier-0": (2, "Tier-0 Response"),
    "grading": (3, "Quality Grading (Multi-Dimensional)"),
    "decision": (4, "Routing Decision"),
    "council": (1, "Council"),
    **{tier: (4 + number, f"Tier-{number} Response") for number, tier in enumerate(TIERS) if number},
}


def debug_block(routed: RoutedAnswer, cost: RequestBill, level: Debug) -> dict[str, Any]:
    """The block at one level: `flow` is every step, `timing` only how long they took, `full` both."""
    found: dict[str, Any] = {}
    if level in ("flow", "full"):
        ordered = sorted(routed.steps, key=lambda step: STEPS[step.name][0])
        found["flow_steps"] = [_step(step, routed, cost, timed=level == "full") for step in ordered]
        if routed.council is not None:
            found["council"] = dict(routed.council.told)
    found["performance_metrics"] = _metrics(routed, cost, timed=level in ("timing", "full"))
    return found


def _step(step: RouteStep, routed: RoutedAnswer, cost: RequestBill, *, timed: bool) -> dict[str, Any]:
    number, name = STEPS[step.name]
    told: dict[str, Any] = {"step": number, "name": name, "status": step.status}
    if step.said:
        told["detail"] = step.said
    match step.name:
        case "classification" if routed.classified is not None:
            told |= {
                "questionType": routed.classified.type,
                "confidence": round(routed.classified.confidence, 2),
                "source": routed.classified.source,
                "cost": _usd(cost.classification),
            }
        case "tier-0":
            told["cost"] = _usd(cost.tier0)
        case name if (name in TIERS or name == "council") and not routed.tries:
            told["cost"] = _usd(cost.tier1)
        case "grading" if routed.grade is not None:
            told |= _grade(routed.grade, cost.grading)
        case _:
            pass
    if timed:
        told["timing"] = {"duration_ms": round(step.duration_ms, 1)}
        if step.name == "grading" and routed.grade is not None:
            told["timing"]["api_call_ms"] = round(routed.grade.api_call_ms, 1)
    return told


def _grade(grade: Grade, usd: float | None) -> dict[str, Any]:
    evaluation = grade.evaluation
    told: dict[str, Any] = {
        "score": round(grade.score, 1),
        "bounds": _bounds(evaluation.bounds if evaluation is not None else None, 1),
        "offlineEstimate": grade.estimated,
        "passed": grade.passed,
        "questionType": grade.question_type,
        "threshold": grade.threshold,
        "confidence": _rounded(evaluation.confidence if evaluation is not None else 0.0, 2),
        "variance": _rounded(evaluation.variance if evaluation is not None else None, 1),
        "dimensionScores": [],
        "cost": _usd(usd),
        "cost_breakdown": {},
    }
    if grade.note:
        told["note"] = grade.note
    if evaluation is not None:
        told["dimensionScores"] = [_dimension(name, result) for name, result in evaluation.dimensions.items()]
        told["cost_breakdown"] = _breakdown(evaluation)
    return told


def _dimension(name: str, result: DimensionResult) -> dict[str, Any]:
    return {
        "dimension": name,
        "score": result.value,
        "bounds": _bounds(result.bounds, 2),
        "reasoning": result.grounds,
        "confidence": round(result.confidence, 2),
    }


def _breakdown(evaluation: Evaluation) -> dict[str, Any]:
    return {
        name.upper(): {
            "input_tokens": result.cost.input_tokens,
            "output_tokens": result.cost.output_tokens,
            "cost": _usd(result.cost.usd),
        }
        for name, result in evaluation.dimensions.items()
        if result.cost is not None
    }


def _metrics(routed: RoutedAnswer, cost: RequestBill, *, timed: bool) -> dict[str, Any]:
    grade, classified = routed.grade, routed.classified
    told: dict[str, Any] = {
        "quality_score": round(grade.score, 1) if grade is not None else None,
        "tier_used": routed.tier,
        "question_type": classified.type if classified is not None else None,
        "model": public_name(asked_model(routed.completion or routed.stream, routed.upstream)),
        "degraded": routed.degraded or None,
        "cost": _usd(cost.total),
        "cost_by_part": {
            "tier-0": _usd(cost.tier0),
            "tier-1": _usd(cost.tier1),
            "classification": _usd(cost.classification),
            "grading": _usd(cost.grading),
        },
        "baseline_cost": _usd(cost.baseline),
        "savings": _usd(cost.savings),
    }
    if timed:
        told["total_ms"] = round((time.perf_counter() - routed.started) * 1000, 1)
        told["timing_ms"] = {step.name: round(step.duration_ms, 1) for step in routed.steps}
    return told


def _usd(amount: float | None) -> float | None:
    """US dollars without the noise of adding them up."""
    return _rounded(amount, 10)


def _bounds(bounds: tuple[float, float] | None, digits: int) -> list[float] | None:
    """Between what a value lies; None where it is that value."""
    return None if bounds is None or bounds[0] == bounds[1] else [round(end, digits) for end in bounds]


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)
